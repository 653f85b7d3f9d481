/* SPDX-License-Identifier: Apache-2.0 */
/* From a filter's text to terms over columns: lib/filter parses and checks the
 * text against a table of fields made of the schema; negations then go down
 * into the terms, where they become other ranges. See predicate.h. */
#include <config.h>

#include "store/predicate_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/util.h"
#include "filter/filter.h"
#include "filter/ranges.h"

/* --- Columns as fields -------------------------------------------------------------- */

static const struct {
    enum ef_field_type type;
    uint8_t bits; /* 0: cannot be named. */
} field_types[] = {
    [EF_COLUMN_U8] = {EF_FIELD_NUMBER, 8},      [EF_COLUMN_U16] = {EF_FIELD_NUMBER, 16},
    [EF_COLUMN_U32] = {EF_FIELD_NUMBER, 32},    [EF_COLUMN_U64] = {EF_FIELD_NUMBER, 64},
    [EF_COLUMN_TIME] = {EF_FIELD_TIME, 64},     [EF_COLUMN_IPV4] = {EF_FIELD_IPV4, 32},
    [EF_COLUMN_IPV6] = {EF_FIELD_ADDRESS, 128}, [EF_COLUMN_MAC] = {EF_FIELD_ETHER, 48},
    [EF_COLUMN_BYTES] = {EF_FIELD_PROTOCOL, 0}, [EF_COLUMN_VARIABLE] = {EF_FIELD_PROTOCOL, 0},
};

bool
ef_column_is_comparable(const struct ef_column *column)
{
    return field_types[column->type].bits > 0;
}

ef_u128
ef_column_value(enum ef_column_type type, const void *p)
{
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    const uint8_t *bytes = p;
    switch (type) {
    case EF_COLUMN_U8:
        return *bytes;
    case EF_COLUMN_U16:
        memcpy(&u16, p, sizeof u16);
        return u16;
    case EF_COLUMN_U32:
    case EF_COLUMN_IPV4:
        memcpy(&u32, p, sizeof u32);
        return u32;
    case EF_COLUMN_U64:
        memcpy(&u64, p, sizeof u64);
        return u64;
    case EF_COLUMN_TIME:
        memcpy(&u64, p, sizeof u64);
        return ef_value_of_time((int64_t) u64);
    case EF_COLUMN_MAC:
        return (uint64_t) ef_load_be16(bytes) << 32 | ef_load_be32(bytes + 2);
    case EF_COLUMN_IPV6:
        return (ef_u128) ef_load_be64(bytes) << 64 | ef_load_be64(bytes + 8);
    default:
        return 0;
    }
}

struct columns {
    const struct ef_schema *schema;
    struct ef_field fields[EF_SCHEMA_MAX_COLUMNS];
    unsigned numbers[EF_SCHEMA_MAX_COLUMNS]; /* The column of each field. */
    struct ef_field_table table;
};

static void
columns_init(struct columns *c, const struct ef_schema *schema)
{
    size_t n = 0;
    *c = (struct columns){.schema = schema};
    for (unsigned i = 0; i < schema->n_columns; i++) {
        const struct ef_column *column = &schema->columns[i];
        if (ef_column_is_comparable(column)) {
            c->fields[n] = (struct ef_field){.name = column->name,
                                             .type = (uint8_t) field_types[column->type].type,
                                             .bits = field_types[column->type].bits,
                                             .kinds = EF_FILTER_ANY};
            c->numbers[n++] = i;
        }
    }
    c->table = (struct ef_field_table){c->fields, n};
}

static unsigned
column_of(const struct columns *c, const struct ef_field *field)
{
    return c->numbers[field - c->fields];
}

/* --- Tests -------------------------------------------------------------------------- */

struct builder {
    struct columns columns;
    struct ef_predicate *predicate;
};

bool
ef_predicate_same_test(const struct ef_predicate_test *a_, const struct ef_predicate_test *b_)
{
    const struct ef_term *a = &a_->term, *b = &b_->term;
    if (a->column != b->column || a->right_column != b->right_column) {
        return false;
    }
    if (a->right_column >= 0) {
        return a->relation == b->relation;
    }
    return a->mask == b->mask && a->n_ranges == b->n_ranges &&
           !memcmp(a->ranges, b->ranges, a->n_ranges * sizeof *a->ranges);
}

/* Appends a copy; returns its number, or NONE for lack of memory. */
static uint32_t
add_node(struct ef_predicate *p, const struct ef_predicate_node *node)
{
    if (!(p->n_nodes & (p->n_nodes - 1))) { /* Full at each power of two. */
        void *nodes = realloc(p->nodes, (p->n_nodes ? 2 * (size_t) p->n_nodes : 1) * sizeof *p->nodes);
        if (!nodes) {
            return EF_PREDICATE_NONE;
        }
        p->nodes = nodes;
    }
    p->nodes[p->n_nodes] = *node;
    return p->n_nodes++;
}

static uint32_t
add_constant(struct ef_predicate *p, bool value)
{
    return add_node(p, &(struct ef_predicate_node){.op = value ? EF_PREDICATE_TRUE : EF_PREDICATE_FALSE});
}

/* Takes over test->memory. An equal test is there only once. */
static uint32_t
add_test(struct ef_predicate *p, const struct ef_predicate_test *test)
{
    uint32_t number = 0;
    while (number < p->n_tests && !ef_predicate_same_test(&p->tests[number], test)) {
        number++;
    }
    if (number < p->n_tests) {
        free(test->memory);
    } else {
        if (!(number & (number - 1))) {
            void *tests = realloc(p->tests, (number ? 2 * (size_t) number : 1) * sizeof *p->tests);
            if (!tests) {
                free(test->memory);
                return EF_PREDICATE_NONE;
            }
            p->tests = tests;
        }
        p->tests[p->n_tests++] = *test;
    }
    return add_node(p, &(struct ef_predicate_node){.op = EF_PREDICATE_TERM, .term = number});
}

/* The values that the node asks for, merged; `ranges` has room for one per
 * operand. */
static size_t
values_of(const struct ef_node *node, struct ef_value_range *ranges, bool *negate)
{
    size_t n = 0;
    if (node->type == EF_NODE_BITS) {
        ranges[0] = (struct ef_value_range){0, 0};
        *negate = !*negate;
        return 1;
    }
    if (node->type == EF_NODE_COMPARE) {
        *negate ^= node->relation == EF_RELATION_NE || node->relation == EF_RELATION_ANY_NE;
        return ef_range_of_relation(node->field, node->relation, &node->operands->range, ranges);
    }
    for (const struct ef_operand *operand = node->operands; operand; operand = operand->next) {
        ranges[n++] = operand->range;
    }
    return ef_ranges_merge(ranges, n);
}

/* What is loaded from a column of times lacks the bias of ef_value_of_time();
 * all is modulo 2^64, so that moving the lower end does. */
static void
finish_test(struct ef_predicate_test *test, struct ef_value_range *fewer, const struct ef_value_range *others,
            size_t n_others)
{
    test->negate = n_others < test->term.n_ranges;
    test->n_ranges = test->negate ? (uint32_t) n_others : test->term.n_ranges;
    memcpy(fewer, test->negate ? others : test->term.ranges, test->n_ranges * sizeof *fewer);
    for (uint32_t i = 0; test->type == EF_COLUMN_TIME && i < test->n_ranges; i++) {
        ef_u128 span = fewer[i].high - fewer[i].low;
        fewer[i].low ^= (ef_u128) 1 << 63;
        fewer[i].high = fewer[i].low + span;
    }
    test->ranges = fewer;
}

static uint32_t
build_ranges(struct builder *b, const struct ef_node *node, bool negate)
{
    size_t n_operands = 1;
    for (const struct ef_operand *operand = node->operands; operand; operand = operand->next) {
        n_operands++;
    }
    /* Three lists of at most n + 1: asked for, in between, and to evaluate. */
    struct ef_value_range *memory = calloc(3 * (n_operands + 1), sizeof *memory);
    if (!memory) {
        return EF_PREDICATE_NONE;
    }
    struct ef_value_range *asked = memory, *between = memory + n_operands + 1, *evaluated = between + n_operands + 1;
    size_t n = values_of(node, asked, &negate);
    size_t n_between = ef_ranges_complement(asked, n, ef_value_greatest(node->field), between);
    const struct ef_column *column = &b->columns.schema->columns[column_of(&b->columns, node->field)];
    struct ef_predicate_test test = {
        .term = {.column = column_of(&b->columns, node->field),
                 .right_column = -1,
                 .mask = node->has_mask ? node->mask : ~(ef_u128) 0,
                 .n_ranges = (uint32_t) (negate ? n_between : n),
                 .ranges = negate ? between : asked},
        .type = column->type,
        .width = column->width,
        .memory = memory,
    };
    bool none = !test.term.n_ranges, all = !(negate ? n : n_between);
    if (none || all) {
        free(memory);
        return add_constant(b->predicate, all);
    }
    finish_test(&test, evaluated, negate ? asked : between, negate ? n : n_between);
    return add_test(b->predicate, &test);
}

static uint32_t
build_two_columns(struct builder *b, const struct ef_node *node, bool negate)
{
    static const enum ef_relation opposite[] = {
        [EF_RELATION_EQ] = EF_RELATION_NE,     [EF_RELATION_NE] = EF_RELATION_EQ, [EF_RELATION_ALL_EQ] = EF_RELATION_NE,
        [EF_RELATION_ANY_NE] = EF_RELATION_EQ, [EF_RELATION_LT] = EF_RELATION_GE, [EF_RELATION_LE] = EF_RELATION_GT,
        [EF_RELATION_GT] = EF_RELATION_LE,     [EF_RELATION_GE] = EF_RELATION_LT,
    };
    const struct ef_column *columns = b->columns.schema->columns;
    unsigned left = column_of(&b->columns, node->field), right = column_of(&b->columns, node->right_field);
    enum ef_relation relation = opposite[negate ? node->relation : opposite[node->relation]];
    struct ef_predicate_test test = {
        .term = {.column = left, .right_column = (int) right, .relation = relation},
        .type = columns[left].type,
        .right_type = columns[right].type,
        .width = columns[left].width,
        .right_width = columns[right].width,
    };
    return add_test(b->predicate, &test);
}

/* --- Trees -------------------------------------------------------------------------- */

static uint32_t build(struct builder *b, const struct ef_node *node, bool negate);

static uint32_t
build_joined(struct builder *b, const struct ef_node *node, bool negate)
{
    bool is_and = (node->type == EF_NODE_AND) != negate;
    struct ef_predicate_node joined = {
        .op = is_and ? EF_PREDICATE_AND : EF_PREDICATE_OR, .first = EF_PREDICATE_NONE, .next = EF_PREDICATE_NONE};
    uint32_t last = EF_PREDICATE_NONE;
    for (const struct ef_node *child = node->first; child; child = child->next) {
        uint32_t number = build(b, child, negate);
        if (number == EF_PREDICATE_NONE) {
            return EF_PREDICATE_NONE;
        }
        *(last == EF_PREDICATE_NONE ? &joined.first : &b->predicate->nodes[last].next) = number;
        b->predicate->nodes[number].next = EF_PREDICATE_NONE;
        last = number;
    }
    return add_node(b->predicate, &joined);
}

static uint32_t
build(struct builder *b, const struct ef_node *node, bool negate)
{
    switch (node->type) {
    case EF_NODE_AND:
    case EF_NODE_OR:
        return build_joined(b, node, negate);
    case EF_NODE_NOT:
        return build(b, node->first, !negate);
    case EF_NODE_EXISTS:
        return add_constant(b->predicate, !negate);
    default:
        return node->right_field ? build_two_columns(b, node, negate) : build_ranges(b, node, negate);
    }
}

static int
make(struct builder *b, const struct ef_node *root)
{
    b->predicate->text = ef_filter_normalise(root);
    if (!b->predicate->text) {
        return -ENOMEM;
    }
    uint32_t number = root ? build(b, root, false) : add_constant(b->predicate, true);
    return number == EF_PREDICATE_NONE ? -ENOMEM : ef_predicate_make_dnf(b->predicate);
}

int
ef_predicate_compile(const char *text, const struct ef_schema *schema, struct ef_predicate **out, struct ef_error *err)
{
    struct builder b;
    struct ef_node *root = NULL;
    columns_init(&b.columns, schema);
    *out = NULL;
    int rc = ef_filter_parse(text, &root, err);
    if (!rc && root) {
        rc = ef_filter_typecheck(root, &(struct ef_field_scope){&b.columns.table, EF_FILTER_ANY}, err);
    }
    if (!rc) {
        b.predicate = calloc(1, sizeof *b.predicate);
        rc = b.predicate ? make(&b, root) : -ENOMEM;
        if (rc) {
            ef_predicate_destroy(b.predicate);
        } else {
            *out = b.predicate;
        }
    }
    ef_node_destroy(root);
    return rc == -ENOMEM ? ef_error_set(err, rc, "no memory for the filter") : rc;
}

void
ef_predicate_destroy(struct ef_predicate *p)
{
    if (!p) {
        return;
    }
    for (uint32_t i = 0; i < p->n_tests; i++) {
        free(p->tests[i].memory);
    }
    free(p->text);
    free(p->tests);
    free(p->nodes);
    free(p->dnf);
    free(p);
}

/* --- Reading it --------------------------------------------------------------------- */

const char *
ef_predicate_text(const struct ef_predicate *p)
{
    return p->text;
}

unsigned
ef_predicate_n_terms(const struct ef_predicate *p)
{
    return p->n_tests;
}

const struct ef_term *
ef_predicate_term(const struct ef_predicate *p, unsigned term)
{
    return &p->tests[term].term;
}
