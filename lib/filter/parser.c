/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive descent over the tokens of a filter:
 *
 *     expression := conjunction { "||" conjunction }
 *     conjunction := factor { "&&" factor }
 *     factor := "!" factor | "(" expression ")" | test
 *     test := ["any" | "all"] FIELD ["&" VALUE] [RELATION VALUE | ["not"] "in" set]
 *     set := "{" member { "," member } "}"
 *     member := VALUE [".." VALUE]
 *
 * Each nested factor counts towards EF_FILTER_MAX_DEPTH. */
#include <config.h>

#include "filter/ast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct ef_lexer lexer;
    struct ef_token token; /* The next one, not yet consumed. */
    int depth;
    struct ef_error *err;
};

static int parse_expression(struct parser *p, struct ef_node **out);
static int parse_factor(struct parser *p, struct ef_node **out);

static int
advance(struct parser *p)
{
    return ef_lexer_next(&p->lexer, &p->token, p->err);
}

/* Fails at the next token. */
static int
expected(const struct parser *p, const char *what)
{
    if (p->token.type == EF_TOKEN_END) {
        return ef_error_set_at(p->err, -EINVAL, p->token.offset, "expected %s, but the text ends", what);
    }
    return ef_error_set_at(p->err, -EINVAL, p->token.offset, "expected %s, found '%.*s'", what,
                           EF_MIN(p->token.len, 80), p->token.start);
}

static struct ef_node *
node_create(enum ef_node_type type)
{
    struct ef_node *node = calloc(1, sizeof *node);
    if (node) {
        node->type = type;
    }
    return node;
}

void
ef_node_destroy(struct ef_node *node)
{
    if (!node) {
        return;
    }
    for (struct ef_node *child = node->first, *next; child; child = next) {
        next = child->next;
        ef_node_destroy(child);
    }
    for (struct ef_operand *operand = node->operands, *next; operand; operand = next) {
        next = operand->next;
        free(operand);
    }
    free(node);
}

static void
add_child(struct ef_node *parent, struct ef_node *child)
{
    *(parent->last ? &parent->last->next : &parent->first) = child;
    child->previous = parent->last;
    parent->last = child;
}

/* Reads one word into `token`. */
static int
parse_value(struct parser *p, struct ef_token *token)
{
    if (p->token.type != EF_TOKEN_WORD) {
        return expected(p, "a value");
    }
    *token = p->token;
    return advance(p);
}

/* Reads VALUE, or VALUE .. VALUE if `range`, and appends it at `*end`. */
static int
parse_operand(struct parser *p, bool range, struct ef_operand **end)
{
    struct ef_operand *operand = calloc(1, sizeof *operand);
    if (!operand) {
        return -ENOMEM;
    }
    *end = operand;
    int rc = parse_value(p, &operand->low);
    if (!rc && range && p->token.type == EF_TOKEN_RANGE) {
        rc = advance(p);
        return rc ? rc : parse_value(p, &operand->high);
    }
    return rc;
}

static int
parse_set(struct parser *p, struct ef_node *node)
{
    if (p->token.type != EF_TOKEN_LEFT_BRACE) {
        return expected(p, "'{' with a list of values, as in {80, 443, 8000..8099}");
    }
    struct ef_operand **end = &node->operands;
    do {
        int rc = advance(p);
        rc = rc ? rc : parse_operand(p, true, end);
        if (rc) {
            return rc;
        }
        end = &(*end)->next;
    } while (p->token.type == EF_TOKEN_COMMA);
    return p->token.type == EF_TOKEN_RIGHT_BRACE ? advance(p) : expected(p, "',' or '}'");
}

/* What may follow FIELD ["&" VALUE]; makes `*out` a NOT for "not in". */
static int
parse_comparison(struct parser *p, struct ef_node **out)
{
    struct ef_node *test = *out;
    if (!test->has_mask) {
        test->sign = p->token;
    }
    if (p->token.type == EF_TOKEN_NOT && p->token.len == 3) { /* Not for "!". */
        struct ef_node *not = node_create(EF_NODE_NOT);
        if (!not ) {
            return -ENOMEM;
        }
        add_child(not, test);
        *out = not ;
        int rc = advance(p);
        if (rc || p->token.type != EF_TOKEN_IN) {
            return rc ? rc : expected(p, "'in'");
        }
    }
    if (p->token.type == EF_TOKEN_IN) {
        test->type = EF_NODE_IN;
        int rc = advance(p);
        return rc ? rc : parse_set(p, test);
    }
    if (p->token.type == EF_TOKEN_RELATION) {
        test->type = EF_NODE_COMPARE;
        test->relation = p->token.relation;
        int rc = advance(p);
        return rc ? rc : parse_operand(p, false, &test->operands);
    }
    return 0;
}

/* After a complete factor only a joining word may follow; says what is wrong
 * where something else does that people write. */
static int
check_end_of_factor(const struct parser *p, bool parenthesis)
{
    switch (p->token.type) {
    case EF_TOKEN_RELATION:
    case EF_TOKEN_IN:
    case EF_TOKEN_BIT_AND:
        return ef_error_set_at(p->err, -EINVAL, p->token.offset,
                               parenthesis ? "'%.*s' compares a field, not an expression in parentheses"
                                           : "a second '%.*s' in one comparison; join two comparisons with '&&'",
                               p->token.len, p->token.start);
    case EF_TOKEN_WORD:
    case EF_TOKEN_LEFT:
    case EF_TOKEN_LEFT_BRACE:
    case EF_TOKEN_NOT:
        return expected(p, "'&&', '||' or the end");
    default:
        return 0;
    }
}

static int
parse_test(struct parser *p, struct ef_node **out)
{
    struct ef_node *node = *out = node_create(EF_NODE_EXISTS);
    int rc = 0;
    if (!node) {
        return -ENOMEM;
    }
    if (p->token.type == EF_TOKEN_ANY || p->token.type == EF_TOKEN_ALL) {
        node->quantified = true;
        node->all = p->token.type == EF_TOKEN_ALL;
        rc = advance(p);
    }
    if (rc || p->token.type != EF_TOKEN_WORD) {
        return rc ? rc : expected(p, "a field or protocol");
    }
    node->name = p->token;
    rc = advance(p);
    if (!rc && p->token.type == EF_TOKEN_LEFT) {
        return ef_error_set_at(p->err, -EINVAL, node->name.offset, "functions ('%.*s(...)') are not supported",
                               EF_MIN(node->name.len, 80), node->name.start);
    }
    if (!rc && p->token.type == EF_TOKEN_BIT_AND) {
        node->type = EF_NODE_BITS;
        node->has_mask = true;
        node->sign = p->token;
        rc = advance(p);
        rc = rc ? rc : parse_value(p, &node->mask_token);
    }
    rc = rc ? rc : parse_comparison(p, out);
    return rc ? rc : check_end_of_factor(p, false);
}

static int
parse_not(struct parser *p, struct ef_node **out)
{
    struct ef_node *child = NULL;
    *out = node_create(EF_NODE_NOT);
    if (!*out) {
        return -ENOMEM;
    }
    int rc = advance(p);
    rc = rc ? rc : parse_factor(p, &child);
    if (child) {
        add_child(*out, child);
    }
    return rc;
}

static int
parse_parenthesis(struct parser *p, struct ef_node **out)
{
    int rc = advance(p);
    rc = rc ? rc : parse_expression(p, out);
    if (rc || p->token.type != EF_TOKEN_RIGHT) {
        return rc ? rc : expected(p, "'&&', '||' or ')'");
    }
    rc = advance(p);
    return rc ? rc : check_end_of_factor(p, true);
}

static int
parse_factor(struct parser *p, struct ef_node **out)
{
    if (p->token.type != EF_TOKEN_NOT && p->token.type != EF_TOKEN_LEFT) {
        return parse_test(p, out);
    }
    if (p->depth >= EF_FILTER_MAX_DEPTH) {
        return ef_error_set_at(p->err, -EINVAL, p->token.offset, "nested deeper than %d", EF_FILTER_MAX_DEPTH);
    }
    p->depth++;
    int rc = p->token.type == EF_TOKEN_NOT ? parse_not(p, out) : parse_parenthesis(p, out);
    p->depth--;
    return rc;
}

/* Parses elements joined by `joint`; `*out` is the only element, or a node of
 * `type` with all of them. */
static int
parse_joined(struct parser *p, enum ef_token_type joint, enum ef_node_type type,
             int (*element)(struct parser *, struct ef_node **), struct ef_node **out)
{
    int rc = element(p, out);
    if (rc || p->token.type != joint) {
        return rc;
    }
    struct ef_node *node = node_create(type);
    if (!node) {
        return -ENOMEM;
    }
    add_child(node, *out);
    *out = node;
    while (!rc && p->token.type == joint) {
        struct ef_node *child = NULL;
        rc = advance(p);
        rc = rc ? rc : element(p, &child);
        if (child) {
            add_child(node, child);
        }
    }
    return rc;
}

static int
parse_conjunction(struct parser *p, struct ef_node **out)
{
    return parse_joined(p, EF_TOKEN_AND, EF_NODE_AND, parse_factor, out);
}

static int
parse_expression(struct parser *p, struct ef_node **out)
{
    return parse_joined(p, EF_TOKEN_OR, EF_NODE_OR, parse_conjunction, out);
}

int
ef_filter_parse(const char *text, struct ef_node **root, struct ef_error *err)
{
    struct parser p = {.err = err};
    *root = NULL;
    if (strnlen(text, EF_FILTER_MAX_TEXT + 1) > EF_FILTER_MAX_TEXT) {
        return ef_error_set_at(err, -EINVAL, EF_FILTER_MAX_TEXT, "a filter has at most %d bytes", EF_FILTER_MAX_TEXT);
    }
    ef_lexer_init(&p.lexer, text);
    int rc = advance(&p);
    if (rc || p.token.type == EF_TOKEN_END) {
        return rc;
    }
    rc = parse_expression(&p, root);
    if (!rc && p.token.type != EF_TOKEN_END) {
        rc = expected(&p, "'&&', '||' or the end");
    }
    if (rc) {
        ef_node_destroy(*root);
        *root = NULL;
    }
    return rc;
}
