/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a trace as people write it: 16 hexadecimal digits, or the
 * beginning of them, which stands for all identities that begin so. */
#ifndef EF_TRACE_TRACE_ID_H
#define EF_TRACE_TRACE_ID_H

#include <stdint.h>

#include "base/error.h"

/* Reads 1 to 16 digits (0-9, a-f): the identities `*low` to `*high`, both
 * included. Returns 0 or -EINVAL with `err`. */
int ef_trace_id_parse(const char *text, uint64_t *low, uint64_t *high, struct ef_error *err);

#endif
