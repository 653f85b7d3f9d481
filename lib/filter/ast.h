/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a filter: parser.c builds it from words, typecheck.c fills in
 * fields and values, compile.c and normalise.c read it. It lives only while a
 * filter is compiled. Depth is bounded by EF_FILTER_MAX_DEPTH, so that walking
 * it by recursion is safe; `and` and `or` have any number of children. */
#ifndef EF_FILTER_AST_H
#define EF_FILTER_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "filter/fields.h"
#include "filter/lexer.h"

enum { EF_FILTER_MAX_DEPTH = 100, EF_FILTER_MAX_TEXT = 65535 };

enum ef_node_type {
    EF_NODE_AND,
    EF_NODE_OR,
    EF_NODE_NOT,
    EF_NODE_EXISTS,  /* field */
    EF_NODE_BITS,    /* field & mask */
    EF_NODE_COMPARE, /* field [& mask] relation value, or relation right_field */
    EF_NODE_IN,      /* field [& mask] in { ranges } */
};

/* Inclusive; a single value and a prefix are ranges, too. */
struct ef_value_range {
    ef_u128 low, high;
};

/* A value or a range as written, and what typecheck.c made of it. One that it
 * added itself (a name's second address) has no words. */
struct ef_operand {
    struct ef_token low, high; /* high.type is EF_TOKEN_END where no range was written. */
    struct ef_value_range range;
    struct ef_operand *next;
};

struct ef_node {
    enum ef_node_type type;
    struct ef_node *first, *last;    /* Children of AND, OR, NOT. */
    struct ef_node *next, *previous; /* Siblings. */

    /* Of the tests: */
    struct ef_token name, sign; /* As written. */
    bool quantified;            /* `any` or `all` stands in front ... */
    bool all;                   /* ... and it is this one. */
    bool has_mask;
    enum ef_relation relation;
    struct ef_token mask_token;
    struct ef_operand *operands; /* One, or several of IN. */
    const struct ef_field *field, *right_field;
    ef_u128 mask; /* Same unit as the field's values. */
};

/* Frees the tree; NULL is fine. */
void ef_node_destroy(struct ef_node *node);

/* Parses `text`. `*root` is NULL for an empty text. Returns 0, -EINVAL with
 * `err`, or -ENOMEM. The caller frees the tree with ef_node_destroy(). */
int ef_filter_parse(const char *text, struct ef_node **root, struct ef_error *err);

struct ef_filter_names;

/* The fields that a text may use: those of a table that are of a kind; and the
 * names that stand for addresses. */
struct ef_field_scope {
    const struct ef_field_table *table;
    unsigned kind;                       /* enum ef_filter_kind */
    const struct ef_filter_names *names; /* NULL: none. */
};

/* Looks up the fields and reads the values of the whole tree. Returns 0 or
 * -EINVAL with `err`. */
int ef_filter_typecheck(struct ef_node *root, const struct ef_field_scope *in, struct ef_error *err);

/* The tree as text in its one normal form, which parses to an equal tree.
 * `root` is NULL for an empty filter. Returns a string to be freed with
 * free(), or NULL for lack of memory. */
char *ef_filter_normalise(const struct ef_node *root);

#endif
