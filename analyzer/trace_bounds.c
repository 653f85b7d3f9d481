/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions as bounds of columns; see trace_bounds.h. */
#include <config.h>

#include "analyzer/trace_bounds.h"

#include "analyzer/trace_row.h"
#include "filter/ast.h"
#include "filter/fields.h"
#include "filter/ranges.h"

struct list {
    struct ef_archive_bound *bounds;
    unsigned n;
};

/* The column that has the field's value, or NULL. */
static const char *
column_of(const struct ef_field *field)
{
    switch (field->access == EF_ACCESS_COMPUTED ? field->computed : 0) {
    case EF_COMPUTED_TRACE_LOOP:
        return "loop";
    case EF_COMPUTED_TRACE_DEBUG:
        return "debug";
    case EF_COMPUTED_TRACE_DROP:
        return "fate";
    case EF_COMPUTED_TRACE_COPIES:
        return "n_copies";
    case EF_COMPUTED_TRACE_MISSING:
        return "n_missing";
    default:
        return NULL;
    }
}

/* The values that a test lets through, as one range; false if it is of another kind. */
static bool
range_of(const struct ef_node *node, struct ef_value_range *range)
{
    if (node->type == EF_NODE_EXISTS) {
        *range = (struct ef_value_range){1, 1};
        return node->field->type == EF_FIELD_BOOLEAN;
    }
    bool is_simple = node->type == EF_NODE_COMPARE && !node->has_mask && !node->right_field && !node->all &&
                     (node->relation == EF_RELATION_EQ || node->relation >= EF_RELATION_LT);
    return is_simple && ef_range_of_relation(node->field, node->relation, &node->operands->range, range);
}

static void
add_test(struct list *list, const struct ef_node *node)
{
    struct ef_value_range range;
    const char *column = column_of(node->field);
    if (!column || list->n == EF_TRACE_MAX_BOUNDS || !range_of(node, &range)) {
        return;
    }
    if (node->field->computed == EF_COMPUTED_TRACE_DROP) {
        if (range.low != 1) {
            return; /* All fates but one are no range. */
        }
        range = (struct ef_value_range){EF_FATE_DROPPED, EF_FATE_DROPPED};
    }
    list->bounds[list->n++] = (struct ef_archive_bound){
        .column = (unsigned) ef_row_schema_find(&ef_trace_schema, column),
        .min = (uint64_t) EF_MIN(range.low, (ef_u128) UINT64_MAX),
        .max = (uint64_t) EF_MIN(range.high, (ef_u128) UINT64_MAX),
    };
}

/* Of a conjunction each part; of anything else nothing is known. */
static void
add_tree(struct list *list, const struct ef_node *node)
{
    if (node->type == EF_NODE_AND) {
        for (const struct ef_node *child = node->first; child; child = child->next) {
            add_tree(list, child);
        }
    } else if (node->type == EF_NODE_EXISTS || node->type == EF_NODE_COMPARE) {
        add_test(list, node);
    }
}

unsigned
ef_trace_bounds(const struct ef_filter *condition, struct ef_archive_bound bounds[EF_TRACE_MAX_BOUNDS])
{
    struct list list = {.bounds = bounds};
    struct ef_node *root = NULL;
    struct ef_error err = EF_ERROR_INIT;
    const struct ef_field_scope scope = {&ef_packet_fields, EF_FILTER_CONDITION};
    if (condition && !ef_filter_parse(ef_filter_text(condition), &root, &err) && root &&
        !ef_filter_typecheck(root, &scope, &err)) {
        add_tree(&list, root);
    }
    ef_node_destroy(root);
    return list.n;
}
