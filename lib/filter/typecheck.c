/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the words of a filter's tree their meaning: fields, and values by the
 * type of their field. Rewrites what has two spellings into one of them, so
 * that compile.c and normalise.c meet few cases. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "filter/ast.h"
#include "filter/filter.h"
#include "filter/names.h"
#include "filter/value.h"

static int
unknown_field(const struct ef_field_scope *in, const struct ef_token *name, struct ef_error *err)
{
    const struct ef_field *nearest = ef_field_nearest(in->table, name->start, (size_t) name->len);
    int len = EF_MIN(name->len, 80);
    if (nearest) {
        return ef_error_set_at(err, -EINVAL, name->offset, "there is no field '%.*s'; did you mean %s?", len,
                               name->start, nearest->name);
    }
    return ef_error_set_at(err, -EINVAL, name->offset, "'%.*s' is neither a field nor a protocol", len, name->start);
}

static int
wrong_kind(const struct ef_field *field, const struct ef_token *name, struct ef_error *err)
{
    if (field->kinds == EF_FILTER_CONDITION) {
        return ef_error_set_at(err, -EINVAL, name->offset,
                               "%s is about traces: it belongs in the condition, not in the filter of packets",
                               field->name);
    }
    return ef_error_set_at(err, -EINVAL, name->offset,
                           "%s is about packets: it belongs in the filter, not in the condition", field->name);
}

static int
find_field(const struct ef_field_scope *in, const struct ef_token *name, const struct ef_field **field,
           struct ef_error *err)
{
    *field = ef_field_find(in->table, name->start, (size_t) name->len);
    if (!*field) {
        return unknown_field(in, name, err);
    }
    return (*field)->kinds & in->kind ? 0 : wrong_kind(*field, name, err);
}

/* Fields whose values may be compared with each other; Wireshark takes any
 * two kinds of number. */
static enum ef_field_type
type_class(const struct ef_field *field)
{
    return field->type == EF_FIELD_BOOLEAN ? EF_FIELD_NUMBER : field->type;
}

static int
check_two_fields(const struct ef_field_scope *in, struct ef_node *node, struct ef_error *err)
{
    const struct ef_token *name = &node->operands->low;
    int rc = find_field(in, name, &node->right_field, err);
    if (rc) {
        return rc;
    }
    const struct ef_field *left = node->field, *right = node->right_field;
    if (node->has_mask) {
        return ef_error_set_at(err, -EINVAL, name->offset, "after '&', %s can be compared only with a value",
                               left->name);
    }
    if (type_class(left) != type_class(right) || left->type == EF_FIELD_ADDRESS) {
        return ef_error_set_at(err, -EINVAL, name->offset, "%s cannot be compared with %s: it needs %s", left->name,
                               right->name, ef_value_type_name(left));
    }
    return 0;
}

static bool
is_field(const struct ef_field_scope *in, const struct ef_token *word)
{
    return ef_field_find(in->table, word->start, (size_t) word->len);
}

static int
check_mask(const struct ef_field_scope *in, struct ef_node *node, struct ef_error *err)
{
    const struct ef_field *field = node->field;
    if (field->type == EF_FIELD_BOOLEAN || field->type >= EF_FIELD_ADDRESS) {
        return ef_error_set_at(err, -EINVAL, node->mask_token.offset, "'&' does not apply to %s, which is %s",
                               field->name, ef_value_type_name(field));
    }
    if (is_field(in, &node->mask_token)) {
        return ef_error_set_at(err, -EINVAL, node->mask_token.offset,
                               "'&' takes a value, not a field; two tests are joined with '&&'");
    }
    struct ef_value_range range;
    int rc = ef_value_parse(field, &node->mask_token, &range, err);
    if (!rc && range.low != range.high) {
        return ef_error_set_at(err, -EINVAL, node->mask_token.offset, "a mask is written as a value, not as a prefix");
    }
    node->mask = range.low;
    return rc;
}

static int
check_operand(const struct ef_field_scope *in, struct ef_node *node, struct ef_operand *operand, struct ef_error *err)
{
    if (operand->low.type == EF_TOKEN_END) {
        return 0;
    }
    if (is_field(in, &operand->low) || (operand->high.len && is_field(in, &operand->high))) {
        return ef_error_set_at(err, -EINVAL, operand->low.offset, "only values may stand in braces, not fields");
    }
    int rc = ef_value_parse(node->field, &operand->low, &operand->range, err);
    if (rc && in->names && node->field->type == EF_FIELD_ADDRESS) {
        rc = ef_filter_resolve_name(in->names, node, operand, err);
    }
    if (!rc && operand->high.type == EF_TOKEN_WORD) {
        struct ef_value_range high;
        rc = ef_value_parse(node->field, &operand->high, &high, err);
        operand->range.high = high.high;
    }
    return rc;
}

/* `all` and `any` before == and != are the relations that say so themselves. */
static void
resolve_quantifier(struct ef_node *node)
{
    bool equality = node->relation <= EF_RELATION_ANY_NE;
    if (!node->quantified || !equality) {
        return;
    }
    bool equal = node->relation == EF_RELATION_EQ || node->relation == EF_RELATION_ALL_EQ;
    node->relation =
        equal ? (node->all ? EF_RELATION_ALL_EQ : EF_RELATION_EQ) : (node->all ? EF_RELATION_NE : EF_RELATION_ANY_NE);
    node->all = false;
}

static int
check_test(const struct ef_field_scope *in, struct ef_node *node, struct ef_error *err)
{
    int rc = find_field(in, &node->name, &node->field, err);
    if (rc) {
        return rc;
    }
    if (node->quantified && node->type != EF_NODE_COMPARE) {
        return ef_error_set_at(err, -EINVAL, node->name.offset,
                               "'any' and 'all' need a comparison, as in all ip.addr == 10.0.0.0/8");
    }
    if (node->type != EF_NODE_EXISTS && node->field->type == EF_FIELD_PROTOCOL) {
        return ef_error_set_at(err, -EINVAL, node->sign.offset,
                               "%s is a protocol, which only exists or not; compare one of its fields",
                               node->field->name);
    }
    if (node->has_mask && (rc = check_mask(in, node, err))) {
        return rc;
    }
    if (node->type == EF_NODE_COMPARE) {
        resolve_quantifier(node);
        if (is_field(in, &node->operands->low)) {
            return check_two_fields(in, node, err);
        }
    }
    for (struct ef_operand *operand = node->operands; operand; operand = operand->next) {
        if ((rc = check_operand(in, node, operand, err))) {
            return rc;
        }
    }
    return 0;
}

int
ef_filter_typecheck(struct ef_node *node, const struct ef_field_scope *in, struct ef_error *err)
{
    if (node->type > EF_NODE_NOT) {
        return check_test(in, node, err);
    }
    for (struct ef_node *child = node->first; child; child = child->next) {
        int rc = ef_filter_typecheck(child, in, err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}
