/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of values; see ranges.h. */
#include <config.h>

#include "filter/ranges.h"

#include <stdlib.h>

ef_u128
ef_value_greatest(const struct ef_field *field)
{
    return field->type == EF_FIELD_DURATION || field->type == EF_FIELD_TIME ? UINT64_MAX
           : field->bits == 128                                             ? ~(ef_u128) 0
                                                                            : ((ef_u128) 1 << field->bits) - 1;
}

bool
ef_range_of_relation(const struct ef_field *field, enum ef_relation relation, const struct ef_value_range *value,
                     struct ef_value_range *range)
{
    *range = *value;
    switch (relation) {
    case EF_RELATION_LT:
        *range = (struct ef_value_range){0, value->low - 1};
        return value->low > 0;
    case EF_RELATION_LE:
        range->low = 0;
        return true;
    case EF_RELATION_GT:
        *range = (struct ef_value_range){value->high + 1, ef_value_greatest(field)};
        return value->high < ef_value_greatest(field);
    case EF_RELATION_GE:
        range->high = ef_value_greatest(field);
        return true;
    default:
        return true;
    }
}

static int
compare_ranges(const void *a_, const void *b_)
{
    const struct ef_value_range *a = a_, *b = b_;
    return (a->low > b->low) - (a->low < b->low);
}

size_t
ef_ranges_merge(struct ef_value_range *ranges, size_t n)
{
    size_t kept = 0;
    qsort(ranges, n, sizeof *ranges, compare_ranges);
    for (size_t i = 0; i < n; i++) {
        struct ef_value_range *last = kept ? &ranges[kept - 1] : NULL;
        if (ranges[i].low > ranges[i].high) {
            continue;
        }
        if (last && (last->high == ~(ef_u128) 0 || ranges[i].low <= last->high + 1)) {
            last->high = EF_MAX(last->high, ranges[i].high);
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    return kept;
}

size_t
ef_ranges_complement(const struct ef_value_range *ranges, size_t n, ef_u128 greatest, struct ef_value_range *out)
{
    size_t n_out = 0;
    ef_u128 next = 0; /* The least value that no range before has. */
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].low > next) {
            out[n_out++] = (struct ef_value_range){next, ranges[i].low - 1};
        }
        if (ranges[i].high >= greatest) {
            return n_out;
        }
        next = ranges[i].high + 1;
    }
    out[n_out++] = (struct ef_value_range){next, greatest};
    return n_out;
}
