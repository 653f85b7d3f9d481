/* SPDX-License-Identifier: Apache-2.0 */
/* What predicate.c builds, predicate_dnf.c normalises and predicate_eval.c
 * runs. */
#ifndef EF_STORE_PREDICATE_PRIVATE_H
#define EF_STORE_PREDICATE_PRIVATE_H

#include "store/predicate.h"

#define EF_PREDICATE_NONE UINT32_MAX

enum ef_predicate_op {
    EF_PREDICATE_TRUE,
    EF_PREDICATE_FALSE,
    EF_PREDICATE_TERM,
    EF_PREDICATE_AND,
    EF_PREDICATE_OR,
};

/* The tree without negations: they went down into the terms. Children stand
 * before their parents, the root is the last one. */
struct ef_predicate_node {
    enum ef_predicate_op op;
    uint32_t term;  /* TERM */
    uint32_t first; /* AND, OR: the first child. */
    uint32_t next;  /* The next sibling, or NONE. */
};

/* A term as it is evaluated. */
struct ef_predicate_test {
    struct ef_term term;
    enum ef_column_type type, right_type;
    uint32_t width, right_width;
    bool negate;                         /* True for values in none of `ranges`: */
    uint32_t n_ranges;                   /* the fewer of the term's ranges and what is between them. */
    const struct ef_value_range *ranges; /* Each with low moved by the bias of the loaded numbers. */
    struct ef_value_range *memory;       /* Of both lists. */
};

struct ef_predicate {
    char *text;
    uint32_t n_tests, n_nodes;
    struct ef_predicate_test *tests;
    struct ef_predicate_node *nodes;
    int n_conjunctions; /* Or -E2BIG. */
    uint16_t *dnf;      /* Per conjunction: how many terms, and which. */
};

/* Fills in the disjunctive normal form. Returns 0 or -ENOMEM. */
int ef_predicate_make_dnf(struct ef_predicate *predicate);

bool ef_predicate_same_test(const struct ef_predicate_test *a, const struct ef_predicate_test *b);

#endif
