/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a person where a copy goes and why, by the very decision that
 * forwarding makes (plan.h). No state. */
#ifndef RESHUFFLER_EXPLAIN_H
#define RESHUFFLER_EXPLAIN_H

#include "reshuffler/plan.h"

struct evbuffer;

/* Explains the frame that the words give as hexadecimal digits; blanks between
 * bytes and colons do not matter. Writes lines into `reply`. Returns 0 or -EINVAL
 * with `err`. */
int ef_explain_words(const struct ef_plan *plan, int n, char *const words[], struct evbuffer *reply,
                     struct ef_error *err);

#endif
