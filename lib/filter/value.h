/* SPDX-License-Identifier: Apache-2.0 */
/* Values as written in a filter: read by the type of the field that they are
 * compared with, and printed back in their normal form. */
#ifndef EF_FILTER_VALUE_H
#define EF_FILTER_VALUE_H

#include "base/error.h"
#include "filter/ast.h"

/* Reads the value `token` for `field`. A prefix ("10.0.0.0/8") is the range of
 * its addresses, anything else a range of one. Returns 0, or -EINVAL with
 * `err` at the token. */
int ef_value_parse(const struct ef_field *field, const struct ef_token *token, struct ef_value_range *range,
                   struct ef_error *err);

enum { EF_VALUE_TEXT_SIZE = 64 };

/* Writes one value as text that ef_value_parse() reads back. Returns `buf`. */
char *ef_value_format(const struct ef_field *field, ef_u128 value, char buf[EF_VALUE_TEXT_SIZE]);

/* The same for a range: one value, a prefix, or (`*is_range` is set, and
 * ef_value_format() does low and high) neither. Returns `buf`. */
char *ef_value_range_format(const struct ef_field *field, const struct ef_value_range *range, bool *is_range,
                            char buf[EF_VALUE_TEXT_SIZE]);

/* "an IPv4 address or prefix" and the like. */
const char *ef_value_type_name(const struct ef_field *field);

#endif
