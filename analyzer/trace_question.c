/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about traces as questions about columns; see trace_question.h. The
 * filter's normal form is parsed again, and what columns can answer is written
 * in the same language over their names. */
#include <config.h>

#include "analyzer/trace_question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace_columns.h"
#include "filter/ast.h"
#include "filter/filter.h"
#include "filter/ranges.h"
#include "filter/value.h"
#include "packet/packet.h"

/* Which columns have a field. */
struct holder {
    const char *columns[2];  /* The second NULL, or a pair's other half. */
    const char *protocol;    /* What must be true of the column `protocol`, too; or NULL. */
    enum ef_field_type type; /* Of the columns' values. */
    ef_u128 base;            /* Is added to the field's values. */
    unsigned shift;          /* They are then moved up by so many bits, */
    uint64_t mask;           /* and compared with these bits of the column; 0: with all. */
    ef_u128 greatest;        /* Of the columns. */
    uint8_t flag;            /* The field is this flag of the column `flags`; 0: it is not. */
    bool is_exact;           /* Every trace has the field, once. */
};

/* --- Packet fields ------------------------------------------------------------------ */

#define IPV4_BASE ((ef_u128) 0xffff << 32)

static const struct {
    uint8_t proto, offset, width;
    struct holder holder;
} packet_fields[] = {
    {EF_PROTO_IPV4, 12, 4, {{"src", "dst"}, .type = EF_FIELD_ADDRESS, .base = IPV4_BASE}},
    {EF_PROTO_IPV4, 16, 4, {{"dst"}, .type = EF_FIELD_ADDRESS, .base = IPV4_BASE}},
    {EF_PROTO_IPV6, 8, 16, {{"src", "dst"}, .type = EF_FIELD_ADDRESS}},
    {EF_PROTO_IPV6, 24, 16, {{"dst"}, .type = EF_FIELD_ADDRESS}},
    {EF_PROTO_TCP, 0, 2, {{"srcport", "dstport"}, .protocol = "6"}},
    {EF_PROTO_TCP, 2, 2, {{"dstport"}, .protocol = "6"}},
    {EF_PROTO_TCP, 12, 2, {{"tcp_flags"}, .protocol = "6"}},
    {EF_PROTO_UDP, 0, 2, {{"srcport", "dstport"}, .protocol = "17"}},
    {EF_PROTO_UDP, 2, 2, {{"dstport"}, .protocol = "17"}},
};

/* The bits of a TCP header's 13th and 14th byte that are flags. */
enum { TCP_FLAGS = 0xfff };

static bool
find_packet_field(const struct ef_field *field, struct holder *holder)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(packet_fields); i++) {
        if (packet_fields[i].proto != field->proto || packet_fields[i].offset != field->offset ||
            packet_fields[i].width != field->width) {
            continue;
        }
        *holder = packet_fields[i].holder;
        if (field->access == EF_ACCESS_LOAD) {
            holder->columns[1] = NULL;
        }
        holder->greatest = holder->type == EF_FIELD_ADDRESS ? ~(ef_u128) 0 : UINT16_MAX;
        if (strcmp(holder->columns[0], "tcp_flags")) {
            return true;
        }
        holder->mask = field->mask;
        holder->shift = field->shift;
        return !(field->mask & ~(uint64_t) TCP_FLAGS);
    }
    return false;
}

/* --- Fields of the trace ------------------------------------------------------------ */

static bool
find_trace_field(const struct ef_field *field, struct holder *holder)
{
    static const struct {
        uint8_t computed, flag;
        const char *column;
        uint64_t greatest;
    } fields[] = {
        {EF_COMPUTED_TRACE_HOPS, 0, "hops", UINT8_MAX},
        {EF_COMPUTED_TRACE_LATENCY, 0, "latency_ns", UINT64_MAX},
        {EF_COMPUTED_TRACE_LOOP, EF_TRACE_FLAG_LOOP, "flags", 1},
        {EF_COMPUTED_TRACE_DEBUG, EF_TRACE_FLAG_DEBUG, "flags", 1},
        {EF_COMPUTED_TRACE_DROP, EF_TRACE_FLAG_DROP, "flags", 1},
        {EF_COMPUTED_TRACE_MUX, EF_TRACE_FLAG_MUX, "flags", 1},
        {EF_COMPUTED_TRACE_CORRUPT, EF_TRACE_FLAG_CORRUPT, "flags", 1},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(fields); i++) {
        if (fields[i].computed == field->computed) {
            *holder = (struct holder){.columns = {fields[i].column},
                                      .type = EF_FIELD_NUMBER,
                                      .flag = fields[i].flag,
                                      .greatest = fields[i].greatest,
                                      .is_exact = true};
            return true;
        }
    }
    return false;
}

static bool
find_holder(const struct ef_field *field, struct holder *holder)
{
    switch (field->access) {
    case EF_ACCESS_COMPUTED:
        return find_trace_field(field, holder);
    case EF_ACCESS_LOAD:
    case EF_ACCESS_PAIR:
        return find_packet_field(field, holder);
    default:
        return false;
    }
}

/* --- What is known ------------------------------------------------------------------ */

/* The number of the protocol, where a test for its being there is a test of the
 * column `protocol`. */
static const char *
protocol_of(const struct ef_field *field)
{
    static const char *const numbers[EF_N_PROTOS] = {
        [EF_PROTO_TCP] = "6", [EF_PROTO_UDP] = "17", [EF_PROTO_ICMP] = "1", [EF_PROTO_ICMPV6] = "58"};
    return field->access == EF_ACCESS_PROTOCOL ? numbers[field->proto] : NULL;
}

/* True if the columns can say something of the test, which is to be false if
 * `negate`. */
static bool
is_test_known(const struct ef_node *node, bool negate)
{
    struct holder holder;
    if (node->type == EF_NODE_EXISTS && protocol_of(node->field)) {
        return !negate;
    }
    if (node->has_mask || node->right_field || node->all || !find_holder(node->field, &holder)) {
        return false;
    }
    switch (node->type) {
    case EF_NODE_EXISTS:
        return holder.is_exact && node->field->type == EF_FIELD_BOOLEAN;
    case EF_NODE_IN:
        return holder.is_exact || !negate;
    case EF_NODE_COMPARE:
        return holder.is_exact || (!negate && (node->relation == EF_RELATION_EQ || node->relation >= EF_RELATION_LT));
    default:
        return false;
    }
}

static bool is_known(const struct ef_node *node, bool negate);

static bool
is_joined_known(const struct ef_node *node, bool negate)
{
    bool is_and = (node->type == EF_NODE_AND) != negate;
    for (const struct ef_node *child = node->first; child; child = child->next) {
        if (is_known(child, negate) == is_and) {
            return is_and;
        }
    }
    return !is_and;
}

static bool
is_known(const struct ef_node *node, bool negate)
{
    switch (node->type) {
    case EF_NODE_AND:
    case EF_NODE_OR:
        return is_joined_known(node, negate);
    case EF_NODE_NOT:
        return is_known(node->first, !negate);
    default:
        return is_test_known(node, negate);
    }
}

/* True if the columns say all of it. */
static bool
is_exact(const struct ef_node *node)
{
    struct holder holder;
    for (const struct ef_node *child = node->first; child; child = child->next) {
        if (!is_exact(child)) {
            return false;
        }
    }
    return node->type <= EF_NODE_NOT ||
           (is_test_known(node, false) && find_holder(node->field, &holder) && holder.is_exact);
}

/* --- Writing it --------------------------------------------------------------------- */

static void
print_value(FILE *out, const struct holder *holder, ef_u128 value)
{
    const struct ef_field field = {.type = (uint8_t) holder->type, .bits = 128};
    char text[EF_VALUE_TEXT_SIZE];
    if (holder->type == EF_FIELD_ADDRESS) {
        fputs(ef_value_format(&field, value, text), out);
    } else {
        fprintf(out, "%" PRIu64, (uint64_t) value);
    }
}

/* The ranges of a test's values; `ranges` has room for one per operand. */
static size_t
ranges_of(const struct ef_node *node, struct ef_value_range *ranges)
{
    size_t n = 0;
    if (node->type == EF_NODE_EXISTS) { /* A boolean. */
        ranges[0] = (struct ef_value_range){1, 1};
        return 1;
    }
    if (node->type == EF_NODE_COMPARE) {
        return ef_range_of_relation(node->field, node->relation, &node->operands->range, ranges);
    }
    for (const struct ef_operand *operand = node->operands; operand; operand = operand->next) {
        ranges[n++] = operand->range;
    }
    return ef_ranges_merge(ranges, n);
}

/* The values of `flags` with or without `flag`, as ranges: an index knows them. */
static void
print_flag(FILE *out, uint8_t flag, bool is_set)
{
    const char *separator = "flags in {";
    for (unsigned low = is_set ? flag : 0; low < EF_TRACE_FLAGS_END; low += 2 * flag) {
        fprintf(out, "%s%u..%u", separator, low, low + flag - 1);
        separator = ", ";
    }
    fputc('}', out);
}

/* No column's value is that great. */
static void
print_never(FILE *out)
{
    fputs("hops > 255", out);
}

static void
print_ranges(FILE *out, const char *column, const struct holder *holder, const struct ef_value_range *ranges, size_t n)
{
    bool is_first = true;
    for (size_t i = 0; i < n; i++) {
        ef_u128 low = (ranges[i].low + holder->base) << holder->shift;
        ef_u128 high = (ranges[i].high + holder->base) << holder->shift;
        if (low > holder->greatest) {
            continue;
        }
        if (is_first && holder->mask) {
            fprintf(out, "%s & %" PRIu64 " in {", column, holder->mask);
        } else if (is_first) {
            fprintf(out, "%s in {", column);
        } else {
            fputs(", ", out);
        }
        high = EF_MIN(high, holder->greatest);
        print_value(out, holder, low);
        if (high != low) {
            fputs("..", out);
            print_value(out, holder, high);
        }
        is_first = false;
    }
    if (is_first) {
        print_never(out);
    } else {
        fputc('}', out);
    }
}

/* Of a flag the ranges have 0, 1, both or neither. */
static void
print_flag_ranges(FILE *out, const struct holder *holder, const struct ef_value_range *ranges, size_t n)
{
    bool has[2] = {false, false};
    for (size_t i = 0; i < n; i++) {
        has[0] |= ranges[i].low == 0;
        has[1] |= ranges[i].low <= 1 && ranges[i].high >= 1;
    }
    if (!has[0] && !has[1]) {
        print_never(out);
    }
    for (int value = 0; value < 2; value++) {
        if (has[value]) {
            fputs(value && has[0] ? " || " : "", out);
            print_flag(out, holder->flag, value);
        }
    }
}

static int
print_test(FILE *out, const struct ef_node *node, bool negate)
{
    struct holder holder;
    if (!find_holder(node->field, &holder)) {
        fprintf(out, "protocol == %s", protocol_of(node->field));
        return 0;
    }
    size_t n = 1;
    for (const struct ef_operand *operand = node->operands; operand; operand = operand->next) {
        n++;
    }
    struct ef_value_range *ranges = calloc(n, sizeof *ranges);
    if (!ranges) {
        return -ENOMEM;
    }
    n = ranges_of(node, ranges);
    if (node->type == EF_NODE_COMPARE) {
        negate ^= node->relation == EF_RELATION_NE || node->relation == EF_RELATION_ANY_NE;
    }
    fputs(negate ? "!(" : "(", out);
    if (holder.flag) {
        print_flag_ranges(out, &holder, ranges, n);
    } else {
        print_ranges(out, holder.columns[0], &holder, ranges, n);
    }
    if (holder.columns[1]) {
        fputs(" || ", out);
        print_ranges(out, holder.columns[1], &holder, ranges, n);
    }
    fputc(')', out);
    if (holder.protocol) {
        fprintf(out, " && protocol == %s", holder.protocol);
    }
    free(ranges);
    return 0;
}

/* Writes what is known of the node, which is something. */
static int
print_node(FILE *out, const struct ef_node *node, bool negate)
{
    if (node->type > EF_NODE_NOT) {
        return print_test(out, node, negate);
    }
    if (node->type == EF_NODE_NOT) {
        return print_node(out, node->first, !negate);
    }
    bool is_and = (node->type == EF_NODE_AND) != negate;
    const char *separator = "";
    for (const struct ef_node *child = node->first; child; child = child->next) {
        if (is_known(child, negate)) {
            fprintf(out, "%s(", separator);
            int rc = print_node(out, child, negate);
            if (rc) {
                return rc;
            }
            fputc(')', out);
            separator = is_and ? " && " : " || ";
        }
    }
    return 0;
}

/* --- Switches ----------------------------------------------------------------------- */

static void
store_key(uint8_t key[16], ef_u128 value)
{
    ef_store_be64(key, (uint64_t) (value >> 64));
    ef_store_be64(key + 8, (uint64_t) value);
}

static bool
is_switch_test(const struct ef_node *node)
{
    return node->type == EF_NODE_COMPARE && node->relation == EF_RELATION_EQ && !node->has_mask && !node->right_field &&
           node->field->access == EF_ACCESS_COMPUTED && node->field->computed == EF_COMPUTED_SWITCH;
}

static void
add_key(struct ef_trace_question *q, const struct ef_node *node)
{
    struct ef_value_range range;
    if (!is_switch_test(node) || q->n_keys == EF_TRACE_QUESTION_MAX_KEYS ||
        !ef_range_of_relation(node->field, node->relation, &node->operands->range, &range)) {
        return;
    }
    struct ef_multilog_key_test *key = &q->keys[q->n_keys++];
    key->extract = ef_trace_columns_switches;
    key->key_type = EF_COLUMN_IPV6;
    store_key(key->low, range.low);
    store_key(key->high, range.high);
}

/* Those that the whole question needs. */
static void
add_keys(struct ef_trace_question *q, const struct ef_node *root)
{
    if (root->type != EF_NODE_AND) {
        add_key(q, root);
        return;
    }
    for (const struct ef_node *child = root->first; child; child = child->next) {
        add_key(q, child);
    }
}

/* --- The whole question --------------------------------------------------------------- */

/* Writes what the columns can say of `root`, of the filter or the condition. */
static int
add_tree(struct ef_trace_question *q, FILE *out, const char **separator, const struct ef_node *root, bool is_packet)
{
    add_keys(q, root);
    q->is_exact &= is_exact(root);
    if (!is_known(root, false)) {
        return 0;
    }
    fprintf(out, "%s(", *separator);
    if (is_packet) {
        print_flag(out, EF_TRACE_FLAG_NESTED, true);
        fputs(" || ", out);
    }
    fputc('(', out);
    int rc = print_node(out, root, false);
    fputs("))", out);
    *separator = " && ";
    return rc;
}

/* The text is that of a filter, so only memory can be lacking. */
static int
add_filter(struct ef_trace_question *q, FILE *out, const char **separator, const struct ef_filter *filter,
           enum ef_filter_kind kind)
{
    struct ef_node *root = NULL;
    struct ef_error err = EF_ERROR_INIT;
    int rc = ef_filter_parse(ef_filter_text(filter), &root, &err);
    if (!rc && root) {
        rc = ef_filter_typecheck(root, &(struct ef_field_scope){&ef_packet_fields, EF_FILTER_ANY}, &err);
        rc = rc ? rc : add_tree(q, out, separator, root, kind == EF_FILTER_PACKET);
    }
    ef_node_destroy(root);
    return rc ? -ENOMEM : 0;
}

/* A text that is too long for a predicate leaves all to the traces. */
static int
compile(struct ef_trace_question *q, const struct ef_schema *schema, const char *text)
{
    struct ef_error err = EF_ERROR_INIT;
    int rc = *text ? ef_predicate_compile(text, schema, &q->predicate, &err) : 0;
    if (rc) {
        q->predicate = NULL;
        q->is_exact = false;
    }
    return rc == -ENOMEM ? rc : 0;
}

int
ef_trace_question_init(struct ef_trace_question *q, const struct ef_schema *schema, const struct ef_trace_query *query)
{
    char *text = NULL;
    size_t size;
    const char *separator = "";
    *q = (struct ef_trace_question){.is_exact = true};
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return -ENOMEM;
    }
    if (query->has_id) {
        fprintf(out, "id in {%" PRIu64 "..%" PRIu64 "}", query->id_low, query->id_high);
        separator = " && ";
    }
    int rc = query->filter ? add_filter(q, out, &separator, query->filter, EF_FILTER_PACKET) : 0;
    if (!rc && query->condition) {
        rc = add_filter(q, out, &separator, query->condition, EF_FILTER_CONDITION);
    }
    rc = fclose(out) ? -ENOMEM : rc;
    rc = rc ? rc : compile(q, schema, text);
    free(text);
    return rc;
}

void
ef_trace_question_deinit(struct ef_trace_question *q)
{
    ef_predicate_destroy(q->predicate);
    q->predicate = NULL;
}
