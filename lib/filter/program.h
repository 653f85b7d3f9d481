/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled filter: a flat list of tests, each with the place to go on at if
 * it is true and if it is false. Both places are always further down, so that
 * a run ends after at most `n_tests` tests. Written by compile.c, run by
 * eval.c, shown by explain.c. */
#ifndef EF_FILTER_PROGRAM_H
#define EF_FILTER_PROGRAM_H

#include "filter/ast.h"

/* A load test reads a number from each layer of a protocol that is long enough
 * for it and asks whether (number & mask) - low <= span, all unsigned and
 * modulo 2^64: one comparison for a value, a range, a prefix, and for all but
 * those. PAIR reads at two places of each layer: source and destination. The
 * order matters: compile.c computes a load operation from the width, the pair
 * and the quantifier. */
enum ef_opcode {
    EF_OP_LOAD1_ANY,
    EF_OP_LOAD2_ANY,
    EF_OP_LOAD4_ANY,
    EF_OP_LOAD8_ANY,
    EF_OP_LOAD1_ALL,
    EF_OP_LOAD2_ALL,
    EF_OP_LOAD4_ALL,
    EF_OP_LOAD8_ALL,
    EF_OP_PAIR2_ANY,
    EF_OP_PAIR4_ANY,
    EF_OP_PAIR8_ANY,
    EF_OP_PAIR2_ALL,
    EF_OP_PAIR4_ALL,
    EF_OP_PAIR8_ALL,
    EF_OP_PROTOCOL, /* A layer of `proto` is there. */
    EF_OP_EXISTS,   /* wide.field has a value. */
    EF_OP_RANGES,   /* A value of wide.field, masked, is in one of the ranges. */
    EF_OP_FIELDS,   /* wide.field `relation` wide.right. */
    EF_OP_ACCEPT,   /* The two ends of a run. */
    EF_OP_REJECT,
};

struct ef_insn {
    uint8_t op; /* enum ef_opcode */
    uint8_t proto, offset;
    uint8_t relation : 3; /* enum ef_relation, of FIELDS. */
    bool all : 1;         /* Every value must fulfil it (RANGES, FIELDS). */
    bool negate : 1;      /* Values outside the ranges are asked for; a load's `low` and `span` say so themselves. */
    uint16_t then, otherwise;
    union {
        struct {
            uint64_t mask, low, span;
        } load;
        struct {
            const struct ef_field *field, *right;
            uint32_t first, n_ranges; /* Sorted, disjoint; ranges[first - 1].low is the mask. */
        } wide;
    };
};

struct ef_filter {
    char *text;            /* Normal form. */
    struct ef_insn *insns; /* The tests; behind them EF_OP_ACCEPT and EF_OP_REJECT. */
    struct ef_value_range *ranges;
    uint32_t n_tests, n_ranges;
    uint16_t entry; /* Where a run starts. */
};

/* Compiles a type-checked tree (NULL: everything matches) into `filter`, which
 * is zero. Returns 0 or -ENOMEM; what was allocated then stays in `filter`. */
int ef_program_compile(struct ef_filter *filter, const struct ef_node *root);

#endif
