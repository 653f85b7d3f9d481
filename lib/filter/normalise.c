/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tree of a filter in its one normal form; see ast.h. */
#include <config.h>

#include <stdio.h>

#include "filter/ast.h"
#include "filter/value.h"

static void
print_value(FILE *out, const struct ef_field *field, const struct ef_value_range *range)
{
    char text[EF_VALUE_TEXT_SIZE];
    bool is_range;
    fputs(ef_value_range_format(field, range, &is_range, text), out);
    if (is_range) {
        fprintf(out, "..%s", ef_value_format(field, range->high, text));
    }
}

static void
print_set(FILE *out, const struct ef_node *node)
{
    fputs(" in {", out);
    for (const struct ef_operand *operand = node->operands; operand; operand = operand->next) {
        print_value(out, node->field, &operand->range);
        fputs(operand->next ? ", " : "}", out);
    }
}

static void
print_test(FILE *out, const struct ef_node *node)
{
    static const char *const relations[] = {"==", "!=", "===", "~=", "<", "<=", ">", ">="};
    fprintf(out, "%s%s", node->all ? "all " : "", node->field->name);
    if (node->has_mask) {
        char text[EF_VALUE_TEXT_SIZE];
        fprintf(out, " & %s", ef_value_format(node->field, node->mask, text));
    }
    if (node->type == EF_NODE_IN) {
        print_set(out, node);
    } else if (node->type == EF_NODE_COMPARE) {
        fprintf(out, " %s ", relations[node->relation]);
        if (node->right_field) {
            fputs(node->right_field->name, out);
        } else {
            print_value(out, node->field, &node->operands->range);
        }
    }
}

static void print_node(FILE *out, const struct ef_node *node);

static void
print_inner(FILE *out, const struct ef_node *node, bool parenthesis)
{
    fputs(parenthesis ? "(" : "", out);
    print_node(out, node);
    fputs(parenthesis ? ")" : "", out);
}

static void
print_node(FILE *out, const struct ef_node *node)
{
    if (node->type > EF_NODE_NOT) {
        print_test(out, node);
        return;
    }
    if (node->type == EF_NODE_NOT) {
        fputc('!', out);
        print_inner(out, node->first, node->first->type != EF_NODE_EXISTS && node->first->type != EF_NODE_NOT);
        return;
    }
    for (const struct ef_node *child = node->first; child; child = child->next) {
        print_inner(out, child, node->type == EF_NODE_AND && child->type == EF_NODE_OR);
        fputs(!child->next ? "" : node->type == EF_NODE_AND ? " && " : " || ", out);
    }
}

char *
ef_filter_normalise(const struct ef_node *root)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return NULL;
    }
    if (root) {
        print_node(out, root);
    }
    return fclose(out) ? NULL : text;
}
