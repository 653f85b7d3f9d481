/* SPDX-License-Identifier: Apache-2.0 */
/* The values that a test of the filter language asks for, as ranges: what
 * compile.c makes programs of, and lib/store its terms. Pure functions. */
#ifndef EF_FILTER_RANGES_H
#define EF_FILTER_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/ast.h"

/* The greatest value of the field's type. */
ef_u128 ef_value_greatest(const struct ef_field *field);

/* The values that fulfil a relation to `value`; false if there are none. For a
 * prefix, greater means beyond it and less before it, as in Wireshark. != and
 * ~= give the same as ==: the caller negates. */
bool ef_range_of_relation(const struct ef_field *field, enum ef_relation relation, const struct ef_value_range *value,
                          struct ef_value_range *range);

/* Sorts the `n` ranges at `ranges` and joins those that meet; returns how many
 * are left. Those with low > high hold no value and are dropped. */
size_t ef_ranges_merge(struct ef_value_range *ranges, size_t n);

/* Writes the values 0 to `greatest` that are in none of the `n` merged ranges
 * into `out`, which has room for n + 1; returns how many ranges they make. */
size_t ef_ranges_complement(const struct ef_value_range *ranges, size_t n, ef_u128 greatest,
                            struct ef_value_range *out);

#endif
