/* SPDX-License-Identifier: Apache-2.0 */
/* The first token: a secret in a file, made when the controller is installed, with
 * which the first admin makes the others ("access": {"admin_token": FILE}). The file
 * is read whenever such a secret is shown, so that it can be changed, or removed
 * once it has served, while the controller runs. */
#ifndef CONTROLLER_ADMIN_TOKEN_H
#define CONTROLLER_ADMIN_TOKEN_H

#include <stdbool.h>

enum { ADMIN_TOKEN_MIN_BYTES = 32, ADMIN_TOKEN_MAX_BYTES = 256 };

/* True if the first line of `file` is `secret`. A file that is not there, or whose
 * line is shorter or longer than a secret may be, has none. The time that this
 * takes tells nothing about the secret but its length. */
bool admin_token_is(const char *file, const char *secret);

#endif
