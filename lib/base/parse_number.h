/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers typed by people and programs: whole text or an error, never a prefix. */
#ifndef EF_BASE_PARSE_NUMBER_H
#define EF_BASE_PARSE_NUMBER_H

#include <stdint.h>

#include "base/error.h"

/* Reads a decimal or 0x-hexadecimal number in [min, max]; `what` names it in
 * the error ("--workers"). Returns 0, -EINVAL or -ERANGE with `err`. */
int ef_parse_u64(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out, struct ef_error *err);

/* Reads a size in bytes: a number with an optional unit K, M, G (powers of
 * 1024; "Ki", "KiB" and the like are the same). Errors as above. */
int ef_parse_size(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out, struct ef_error *err);

#endif
