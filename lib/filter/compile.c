/* SPDX-License-Identifier: Apache-2.0 */
/* Tree to program; see program.h.
 *
 * Tests are emitted last one first, so that the places to go to are known when
 * a test is emitted; at the end the list is turned round. The order of the
 * tests in the text is kept: who wrote the filter knows what is rare. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "filter/program.h"
#include "filter/ranges.h"
#include "packet/packet.h"

/* The ends of a run, as places to go to while the number of tests is open. */
enum { ACCEPT = 0xfffe, REJECT = 0xffff };

/* A set of up to so many values and ranges becomes as many load tests; a
 * greater one is searched. */
enum { MAX_LOADS_OF_SET = 8 };

struct compiler {
    struct ef_filter *filter;
};

static uint16_t emit_node(struct compiler *c, const struct ef_node *node, uint16_t then, uint16_t otherwise);

/* Upper bounds of the tests and ranges of the tree. */
static void
count(const struct ef_node *node, size_t *n_tests, size_t *n_ranges)
{
    for (const struct ef_node *child = node->first; child; child = child->next) {
        count(child, n_tests, n_ranges);
    }
    if (node->type > EF_NODE_NOT) {
        *n_tests += 1;
        *n_ranges += 2; /* A mask, and the range that a relation makes. */
        for (const struct ef_operand *operand = node->operands; operand; operand = operand->next) {
            *n_tests += node->type == EF_NODE_IN;
            *n_ranges += 1;
        }
    }
}

static struct ef_insn *
emit(struct compiler *c, enum ef_opcode op, uint16_t then, uint16_t otherwise)
{
    struct ef_insn *insn = &c->filter->insns[c->filter->n_tests++];
    *insn = (struct ef_insn){.op = op, .then = then, .otherwise = otherwise};
    return insn;
}

static uint16_t
last_emitted(const struct compiler *c)
{
    return (uint16_t) (c->filter->n_tests - 1);
}

/* Load operations in the order of enum ef_opcode. */
static enum ef_opcode
load_opcode(const struct ef_field *field, bool all)
{
    unsigned log2_width = (unsigned) __builtin_ctz(field->width);
    if (field->access == EF_ACCESS_PAIR) {
        return (all ? EF_OP_PAIR2_ALL : EF_OP_PAIR2_ANY) + log2_width - 1;
    }
    return (all ? EF_OP_LOAD1_ALL : EF_OP_LOAD1_ANY) + log2_width;
}

static bool
is_load(const struct ef_field *field)
{
    return (field->access == EF_ACCESS_LOAD || field->access == EF_ACCESS_PAIR) && field->width < 16;
}

struct test {
    const struct ef_field *field;
    ef_u128 mask;
    bool negate, all;
};

/* No field's mask has a bit below its shift, so that the range can be shifted
 * up once here instead of each number down in eval.c. The numbers outside of
 * low..high are those from high + 1 on, over the end, to low - 1. */
static void
emit_load(struct compiler *c, const struct test *test, const struct ef_value_range *range, uint16_t then,
          uint16_t otherwise)
{
    const struct ef_field *field = test->field;
    struct ef_insn *insn = emit(c, load_opcode(field, test->all), then, otherwise);
    uint64_t low = (uint64_t) range->low << field->shift, span = (uint64_t) (range->high - range->low) << field->shift;
    insn->proto = field->proto;
    insn->offset = field->offset;
    insn->negate = test->negate;
    insn->load.mask = field->mask & (uint64_t) test->mask << field->shift;
    insn->load.low = test->negate ? low + span + 1 : low;
    insn->load.span = test->negate ? UINT64_MAX - span - 1 : span;
}

/* The place for a test's ranges, behind the one for its mask. */
static struct ef_value_range *
free_ranges(const struct compiler *c)
{
    return &c->filter->ranges[c->filter->n_ranges + 1];
}

/* Takes over the `n` ranges that were written to free_ranges(). */
static void
emit_wide(struct compiler *c, const struct test *test, size_t n, uint16_t then, uint16_t otherwise)
{
    struct ef_filter *filter = c->filter;
    struct ef_insn *insn = emit(c, EF_OP_RANGES, then, otherwise);
    insn->negate = test->negate;
    insn->all = test->all;
    insn->wide.field = test->field;
    insn->wide.first = filter->n_ranges + 1;
    insn->wide.n_ranges = (uint32_t) n;
    filter->ranges[filter->n_ranges].low = test->mask;
    filter->n_ranges += (uint32_t) n + 1;
}

static uint16_t
emit_range(struct compiler *c, const struct test *test, const struct ef_value_range *range, uint16_t then,
           uint16_t otherwise)
{
    if (is_load(test->field)) {
        emit_load(c, test, range, then, otherwise);
    } else {
        *free_ranges(c) = *range;
        emit_wide(c, test, 1, then, otherwise);
    }
    return last_emitted(c);
}

static uint16_t
emit_compare(struct compiler *c, const struct ef_node *node, struct test *test, uint16_t then, uint16_t otherwise)
{
    struct ef_value_range range;
    if (!ef_range_of_relation(node->field, node->relation, &node->operands->range, &range)) {
        return otherwise;
    }
    test->negate = node->relation == EF_RELATION_NE || node->relation == EF_RELATION_ANY_NE;
    test->all = node->all || node->relation == EF_RELATION_NE || node->relation == EF_RELATION_ALL_EQ;
    return emit_range(c, test, &range, then, otherwise);
}

static uint16_t
emit_set(struct compiler *c, const struct ef_node *node, const struct test *test, uint16_t then, uint16_t otherwise)
{
    struct ef_value_range *ranges = free_ranges(c);
    size_t n = 0;
    for (const struct ef_operand *operand = node->operands; operand; operand = operand->next) {
        ranges[n++] = operand->range;
    }
    n = ef_ranges_merge(ranges, n);
    if (n == 0) {
        return otherwise;
    }
    if (!is_load(node->field) || n > MAX_LOADS_OF_SET) {
        emit_wide(c, test, n, then, otherwise);
        return last_emitted(c);
    }
    uint16_t start = otherwise;
    while (n-- > 0) { /* Any is in the one range, or any is in the next. */
        emit_load(c, test, &ranges[n], then, start);
        start = last_emitted(c);
    }
    return start;
}

/* Whether each layer of the field's protocol has it. Only TCP that an ICMP
 * error quotes may end early, after 8 bytes. */
static bool
comes_with_protocol(const struct ef_field *field)
{
    return is_load(field) && (field->proto != EF_PROTO_TCP || field->offset + field->width <= 8);
}

static uint16_t
emit_exists(struct compiler *c, const struct ef_node *node, uint16_t then, uint16_t otherwise)
{
    const struct ef_field *field = node->field;
    if (field->type == EF_FIELD_BOOLEAN && field->kinds == EF_FILTER_CONDITION) {
        struct test is_true = {.field = field, .mask = 1};
        return emit_range(c, &is_true, &(struct ef_value_range){1, 1}, then, otherwise);
    }
    if (field->access == EF_ACCESS_PROTOCOL || comes_with_protocol(field)) {
        emit(c, EF_OP_PROTOCOL, then, otherwise)->proto = field->proto;
    } else {
        emit(c, EF_OP_EXISTS, then, otherwise)->wide.field = field;
    }
    return last_emitted(c);
}

static uint16_t
emit_two_fields(struct compiler *c, const struct ef_node *node, uint16_t then, uint16_t otherwise)
{
    struct ef_insn *insn = emit(c, EF_OP_FIELDS, then, otherwise);
    insn->wide.field = node->field;
    insn->wide.right = node->right_field;
    insn->relation = (uint8_t) node->relation;
    insn->all = node->all || node->relation == EF_RELATION_NE || node->relation == EF_RELATION_ALL_EQ;
    return last_emitted(c);
}

static uint16_t
emit_test(struct compiler *c, const struct ef_node *node, uint16_t then, uint16_t otherwise)
{
    struct test test = {.field = node->field, .mask = node->has_mask ? node->mask : ef_value_greatest(node->field)};
    switch (node->type) {
    case EF_NODE_EXISTS:
        return emit_exists(c, node, then, otherwise);
    case EF_NODE_BITS:
        return emit_range(c, &test, &(struct ef_value_range){1, ef_value_greatest(node->field)}, then, otherwise);
    case EF_NODE_IN:
        return emit_set(c, node, &test, then, otherwise);
    default:
        return node->right_field ? emit_two_fields(c, node, then, otherwise)
                                 : emit_compare(c, node, &test, then, otherwise);
    }
}

/* Emits `node` and returns where it starts; a run goes on at `then` or
 * `otherwise`. */
static uint16_t
emit_node(struct compiler *c, const struct ef_node *node, uint16_t then, uint16_t otherwise)
{
    uint16_t start;
    switch (node->type) {
    case EF_NODE_NOT:
        return emit_node(c, node->first, otherwise, then);
    case EF_NODE_AND:
        start = then;
        for (const struct ef_node *child = node->last; child; child = child->previous) {
            start = emit_node(c, child, start, otherwise);
        }
        return start;
    case EF_NODE_OR:
        start = otherwise;
        for (const struct ef_node *child = node->last; child; child = child->previous) {
            start = emit_node(c, child, then, start);
        }
        return start;
    default:
        return emit_test(c, node, then, otherwise);
    }
}

static uint16_t
turned(uint16_t place, uint32_t n)
{
    return (uint16_t) (place == ACCEPT ? n : place == REJECT ? n + 1 : n - 1 - place);
}

/* Puts the tests, emitted last one first, into the order of the run, and the
 * two ends behind them. */
static void
turn_round(struct ef_filter *filter)
{
    uint32_t n = filter->n_tests;
    for (uint32_t i = 0; i < n / 2; i++) {
        struct ef_insn swap = filter->insns[i];
        filter->insns[i] = filter->insns[n - 1 - i];
        filter->insns[n - 1 - i] = swap;
    }
    for (uint32_t i = 0; i < n; i++) {
        filter->insns[i].then = turned(filter->insns[i].then, n);
        filter->insns[i].otherwise = turned(filter->insns[i].otherwise, n);
    }
    filter->entry = turned(filter->entry, n);
    filter->insns[n].op = EF_OP_ACCEPT;
    filter->insns[n + 1].op = EF_OP_REJECT;
}

int
ef_program_compile(struct ef_filter *filter, const struct ef_node *root)
{
    struct compiler c = {.filter = filter};
    size_t n_tests = 0, n_ranges = 0;
    if (root) {
        count(root, &n_tests, &n_ranges);
    }
    filter->insns = calloc(n_tests + 2, sizeof *filter->insns);
    filter->ranges = calloc(n_ranges + 1, sizeof *filter->ranges);
    if (!filter->insns || !filter->ranges) {
        return -ENOMEM;
    }
    filter->entry = root ? emit_node(&c, root, ACCEPT, REJECT) : ACCEPT;
    turn_round(filter);
    return 0;
}
