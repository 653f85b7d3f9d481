/* SPDX-License-Identifier: Apache-2.0 */
/* A filter as matches of rules; see debug_match.h. The filter's tree becomes a list
 * of alternatives, each a value and a mask for each term of a match. */
#include <config.h>

#include "controller/debug_match.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/ast.h"
#include "filter/filter.h"
#include "filter/ranges.h"

enum { TEXT_SIZE = 600, IPV4 = 0x0800, IPV6 = 0x86dd, TCP = 6, UDP = 17, ICMP = 1, ICMPV6 = 58, MAX_ALTERNATIVES = 64 };

/* --- Terms ---------------------------------------------------------------- */

/* In the order in which OpenFlow wants them: what others depend on first. */
enum term {
    DL_SRC,
    DL_DST,
    DL_TYPE,
    NW_PROTO,
    NW_TOS,
    NW_TTL,
    NW_SRC,
    NW_DST,
    IPV6_SRC,
    IPV6_DST,
    TP_SRC,
    TP_DST,
    TCP_FLAGS,
    ICMP_TYPE,
    ICMP_CODE,
    N_TERMS,
};

static const struct {
    const char *name;
    unsigned bits;
    bool exact; /* Takes no mask. */
} terms[N_TERMS] = {
    [DL_SRC] = {"dl_src", 48, false},       [DL_DST] = {"dl_dst", 48, false},     [DL_TYPE] = {"dl_type", 16, true},
    [NW_PROTO] = {"nw_proto", 8, true},     [NW_TOS] = {"nw_tos", 8, true},       [NW_TTL] = {"nw_ttl", 8, true},
    [NW_SRC] = {"nw_src", 32, false},       [NW_DST] = {"nw_dst", 32, false},     [IPV6_SRC] = {"ipv6_src", 128, false},
    [IPV6_DST] = {"ipv6_dst", 128, false},  [TP_SRC] = {"tp_src", 16, false},     [TP_DST] = {"tp_dst", 16, false},
    [TCP_FLAGS] = {"tcp_flags", 12, false}, [ICMP_TYPE] = {"icmp_type", 8, true}, [ICMP_CODE] = {"icmp_code", 8, true},
};

/* What a field of the language is in a match: its value, moved up by `shift`, in
 * one term or the other, in packets of this type and protocol (0: any). */
struct translation {
    const char *field;
    int term, other; /* -1: none. */
    unsigned shift;
    unsigned type, protocol;
};

static const struct translation translations[] = {
    {"frame", -1, -1, 0, 0, 0},
    {"eth", -1, -1, 0, 0, 0},
    {"eth.src", DL_SRC, -1, 0, 0, 0},
    {"eth.dst", DL_DST, -1, 0, 0, 0},
    {"eth.addr", DL_SRC, DL_DST, 0, 0, 0},
    {"eth.type", DL_TYPE, -1, 0, 0, 0},
    {"ip", -1, -1, 0, IPV4, 0},
    {"ip.src", NW_SRC, -1, 0, IPV4, 0},
    {"ip.dst", NW_DST, -1, 0, IPV4, 0},
    {"ip.addr", NW_SRC, NW_DST, 0, IPV4, 0},
    {"ip.proto", NW_PROTO, -1, 0, IPV4, 0},
    {"ip.ttl", NW_TTL, -1, 0, IPV4, 0},
    {"ip.dsfield.dscp", NW_TOS, -1, 2, IPV4, 0},
    {"ipv6", -1, -1, 0, IPV6, 0},
    {"ipv6.src", IPV6_SRC, -1, 0, IPV6, 0},
    {"ipv6.dst", IPV6_DST, -1, 0, IPV6, 0},
    {"ipv6.addr", IPV6_SRC, IPV6_DST, 0, IPV6, 0},
    {"ipv6.hlim", NW_TTL, -1, 0, IPV6, 0},
    {"ipv6.tclass.dscp", NW_TOS, -1, 2, IPV6, 0},
    {"tcp", -1, -1, 0, 0, TCP},
    {"tcp.srcport", TP_SRC, -1, 0, 0, TCP},
    {"tcp.dstport", TP_DST, -1, 0, 0, TCP},
    {"tcp.port", TP_SRC, TP_DST, 0, 0, TCP},
    {"tcp.flags", TCP_FLAGS, -1, 0, 0, TCP},
    {"tcp.flags.fin", TCP_FLAGS, -1, 0, 0, TCP},
    {"tcp.flags.syn", TCP_FLAGS, -1, 1, 0, TCP},
    {"tcp.flags.reset", TCP_FLAGS, -1, 2, 0, TCP},
    {"tcp.flags.push", TCP_FLAGS, -1, 3, 0, TCP},
    {"tcp.flags.ack", TCP_FLAGS, -1, 4, 0, TCP},
    {"tcp.flags.urg", TCP_FLAGS, -1, 5, 0, TCP},
    {"tcp.flags.ece", TCP_FLAGS, -1, 6, 0, TCP},
    {"tcp.flags.cwr", TCP_FLAGS, -1, 7, 0, TCP},
    {"udp", -1, -1, 0, 0, UDP},
    {"udp.srcport", TP_SRC, -1, 0, 0, UDP},
    {"udp.dstport", TP_DST, -1, 0, 0, UDP},
    {"udp.port", TP_SRC, TP_DST, 0, 0, UDP},
    {"icmp", -1, -1, 0, IPV4, ICMP},
    {"icmp.type", ICMP_TYPE, -1, 0, IPV4, ICMP},
    {"icmp.code", ICMP_CODE, -1, 0, IPV4, ICMP},
    {"icmpv6", -1, -1, 0, IPV6, ICMPV6},
    {"icmpv6.type", ICMP_TYPE, -1, 0, IPV6, ICMPV6},
    {"icmpv6.code", ICMP_CODE, -1, 0, IPV6, ICMPV6},
};

/* One alternative: all of its terms must fit. */
struct alternative {
    ef_u128 value[N_TERMS], mask[N_TERMS];
};

struct alternatives {
    struct alternative all[MAX_ALTERNATIVES];
    size_t n;
};

static ef_u128
ones(unsigned bits)
{
    return bits >= 128 ? ~(ef_u128) 0 : ((ef_u128) 1 << bits) - 1;
}

/* Adds a term's demand; false if no packet can meet both. */
static bool
demand(struct alternative *a, int term, ef_u128 value, ef_u128 mask)
{
    if ((a->value[term] ^ value) & a->mask[term] & mask) {
        return false;
    }
    a->value[term] |= value & mask;
    a->mask[term] |= mask;
    return true;
}

static bool
both(const struct alternative *x, const struct alternative *y, struct alternative *out)
{
    *out = *x;
    for (int i = 0; i < N_TERMS; i++) {
        if (!demand(out, i, y->value[i], y->mask[i])) {
            return false;
        }
    }
    return true;
}

static int
add(struct alternatives *list, const struct alternative *a, int offset, struct ef_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!memcmp(&list->all[i], a, sizeof *a)) {
            return 0;
        }
    }
    if (list->n >= MAX_ALTERNATIVES) {
        return ef_error_set_at(err, -EINVAL, offset, "a switch would need more than %d rules for this filter",
                               MAX_ALTERNATIVES);
    }
    list->all[list->n++] = *a;
    return 0;
}

/* --- One test ------------------------------------------------------------- */

static const struct translation *
find_translation(const char *field)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(translations); i++) {
        if (!strcmp(translations[i].field, field)) {
            return &translations[i];
        }
    }
    return NULL;
}

/* The alternatives of "`term` & mask == value", in one of the translation's terms. */
static int
add_value(struct alternatives *list, const struct translation *t, const struct ef_node *node, ef_u128 value,
          ef_u128 mask, struct ef_error *err)
{
    const int places[] = {t->term, t->other};
    for (size_t i = 0; i < EF_ARRAY_SIZE(places); i++) {
        struct alternative a = {0};
        if (i && places[i] < 0) {
            continue;
        }
        bool possible = (!t->type || demand(&a, DL_TYPE, t->type, ones(16))) &&
                        (!t->protocol || demand(&a, NW_PROTO, t->protocol, ones(8)));
        if (places[i] >= 0) {
            ef_u128 all = ones(terms[places[i]].bits);
            possible = possible && demand(&a, places[i], value << t->shift, mask << t->shift & all);
        }
        if (possible && add(list, &a, node->name.offset, err)) {
            return -EINVAL;
        }
    }
    return 0;
}

/* The range as prefixes, the fewest that make it up. */
static int
add_range(struct alternatives *list, const struct translation *t, const struct ef_node *node, ef_u128 low, ef_u128 high,
          struct ef_error *err)
{
    ef_u128 all = ones(EF_MIN(node->field->bits, terms[t->term].bits - t->shift));
    if (low > all) {
        return 0; /* No packet has such a value. */
    }
    high = EF_MIN(high, all);
    for (;;) {
        ef_u128 block = 0; /* Its size less 1. */
        while (!terms[t->term].exact && block != all && !(low & (block << 1 | 1)) && (block << 1 | 1) <= high - low) {
            block = block << 1 | 1;
        }
        if (add_value(list, t, node, low, all & ~block, err)) {
            return -EINVAL;
        }
        if (high - low <= block) {
            return 0;
        }
        low += block + 1;
    }
}

static int
refuse(const struct ef_token *at, struct ef_error *err, const char *what)
{
    return ef_error_set_at(err, -EINVAL, at->offset, "a switch cannot match %s", what);
}

static int
add_operand(struct alternatives *list, const struct translation *t, const struct ef_node *node,
            const struct ef_operand *operand, struct ef_error *err)
{
    enum ef_relation relation = node->type == EF_NODE_IN ? EF_RELATION_EQ : node->relation;
    struct ef_value_range range;
    if (relation == EF_RELATION_NE || relation == EF_RELATION_ANY_NE) {
        return refuse(&node->sign, err, "what differs; say what it is, as values or as a range");
    }
    if (node->has_mask) {
        bool is_value =
            operand->range.low == operand->range.high && (relation == EF_RELATION_EQ || relation == EF_RELATION_ALL_EQ);
        if (!is_value || terms[t->term].exact) {
            return refuse(&node->name, err, "this field under a mask");
        }
        return operand->range.low & ~node->mask ? 0 : add_value(list, t, node, operand->range.low, node->mask, err);
    }
    if (node->type == EF_NODE_IN) {
        range = operand->range;
    } else if (!ef_range_of_relation(node->field, relation, &operand->range, &range)) {
        return 0;
    }
    return add_range(list, t, node, range.low, range.high, err);
}

static int
add_bits(struct alternatives *list, const struct translation *t, const struct ef_node *node, struct ef_error *err)
{
    if (terms[t->term].exact) {
        return refuse(&node->name, err, "this field under a mask");
    }
    for (unsigned i = 0; i < terms[t->term].bits; i++) {
        ef_u128 bit = (ef_u128) 1 << i;
        if (node->mask & bit && add_value(list, t, node, bit, bit, err)) {
            return -EINVAL;
        }
    }
    return 0;
}

static int
add_test(const struct ef_node *node, struct alternatives *list, struct ef_error *err)
{
    char text[100];
    const struct translation *t = find_translation(node->field->name);
    if (!t) {
        snprintf(text, sizeof text, "'%s' of a packet that arrives", node->field->name);
        return refuse(&node->name, err, text);
    }
    if (node->right_field) {
        return refuse(&node->name, err, "one field against another");
    }
    if ((node->quantified && node->all) || (node->relation == EF_RELATION_ALL_EQ && t->other >= 0)) {
        return refuse(&node->name, err, "all values of a field");
    }
    if (node->type == EF_NODE_EXISTS || t->term < 0) {
        struct translation exists = *t;
        exists.term = exists.other = -1;
        return add_value(list, &exists, node, 0, 0, err);
    }
    if (node->type == EF_NODE_BITS) {
        return add_bits(list, t, node, err);
    }
    for (const struct ef_operand *o = node->operands; o; o = o->next) {
        if (add_operand(list, t, node, o, err)) {
            return -EINVAL;
        }
    }
    return 0;
}

/* --- The tree ------------------------------------------------------------- */

static int add_node(const struct ef_node *node, struct alternatives *list, struct ef_error *err);

static struct alternatives *
none(void)
{
    struct alternatives *list = calloc(1, sizeof *list);
    if (!list) {
        abort(); /* Control path. */
    }
    return list;
}

/* Replaces `list` by what fits both it and `node`. */
static int
narrow(struct alternatives *list, const struct ef_node *node, struct ef_error *err)
{
    struct alternatives *right = none(), *product = none();
    int rc = add_node(node, right, err);
    for (size_t i = 0; !rc && i < list->n; i++) {
        for (size_t j = 0; !rc && j < right->n; j++) {
            struct alternative a;
            rc = both(&list->all[i], &right->all[j], &a) ? add(product, &a, node->name.offset, err) : 0;
        }
    }
    *list = *product;
    free(right);
    free(product);
    return rc;
}

static int
add_and(const struct ef_node *node, struct alternatives *list, struct ef_error *err)
{
    struct alternatives *all = none();
    int rc = 0;
    all->n = 1; /* Everything. */
    for (const struct ef_node *child = node->first; !rc && child; child = child->next) {
        rc = narrow(all, child, err);
    }
    for (size_t i = 0; !rc && i < all->n; i++) {
        rc = add(list, &all->all[i], node->name.offset, err);
    }
    free(all);
    return rc;
}

static const struct ef_node *
first_test(const struct ef_node *node)
{
    while (node->first) {
        node = node->first;
    }
    return node;
}

/* Recursion is bounded by EF_FILTER_MAX_DEPTH. */
static int
add_node(const struct ef_node *node, struct alternatives *list, struct ef_error *err)
{
    switch (node->type) {
    case EF_NODE_AND:
        return add_and(node, list, err);
    case EF_NODE_OR:
        for (const struct ef_node *child = node->first; child; child = child->next) {
            if (add_node(child, list, err)) {
                return -EINVAL;
            }
        }
        return 0;
    case EF_NODE_NOT:
        return refuse(&first_test(node)->name, err, "'not'; say what packets are, not what they are not");
    default:
        return add_test(node, list, err);
    }
}

/* --- Text ----------------------------------------------------------------- */

static void
format_address(int term, ef_u128 value, char *buf, size_t size)
{
    uint8_t bytes[16];
    unsigned n = terms[term].bits / 8;
    for (unsigned i = 0; i < n; i++) {
        bytes[i] = (uint8_t) (value >> 8 * (n - 1 - i));
    }
    if (n == 6) {
        snprintf(buf, size, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4],
                 bytes[5]);
    } else if (!inet_ntop(n == 4 ? AF_INET : AF_INET6, bytes, buf, (socklen_t) size)) {
        abort(); /* `buf` is large enough. */
    }
}

static void
format_value(int term, ef_u128 value, char *buf, size_t size)
{
    bool is_address = term == DL_SRC || term == DL_DST || (term >= NW_SRC && term <= IPV6_DST);
    if (is_address) {
        format_address(term, value, buf, size);
    } else {
        bool hex = term == DL_TYPE || term == TCP_FLAGS;
        snprintf(buf, size, hex ? "0x%04x" : "%u", (unsigned) value);
    }
}

static char *
append(char *at, const char *end, int term, const struct alternative *a)
{
    char value[64], mask[64] = "";
    ef_u128 all = ones(terms[term].bits);
    format_value(term, a->value[term], value, sizeof value);
    if (a->mask[term] != all && !terms[term].exact) { /* nw_tos is without its two low bits anyway. */
        format_value(term, a->mask[term], mask, sizeof mask);
    }
    int n = snprintf(at, (size_t) (end - at), ",%s=%s%s%s", terms[term].name, value, *mask ? "/" : "", mask);
    return at + n;
}

static json_t *
text_of(const struct alternative *a)
{
    char text[TEXT_SIZE] = "", *at = text;
    for (int i = 0; i < N_TERMS; i++) {
        if (a->mask[i]) {
            at = append(at, text + sizeof text, i, a);
        }
    }
    return json_string(text + 1);
}

/* Each alternative for IPv4 and for IPv6, as far as it can be either. */
static int
write_all(const struct alternatives *list, json_t *matches, struct ef_error *err)
{
    static const unsigned types[] = {IPV4, IPV6};
    for (size_t i = 0; i < list->n; i++) {
        for (size_t j = 0; j < EF_ARRAY_SIZE(types); j++) {
            struct alternative a = list->all[i];
            if (demand(&a, DL_TYPE, types[j], ones(16))) {
                json_array_append_new(matches, text_of(&a));
            }
        }
    }
    if (!json_array_size(matches)) {
        return ef_error_set_at(err, -EINVAL, 0, "no IP packet matches this filter, and others cannot be marked");
    }
    if (json_array_size(matches) > DEBUG_MATCHES_MAX) {
        return ef_error_set_at(err, -EINVAL, 0, "a switch would need more than %d rules for this filter",
                               DEBUG_MATCHES_MAX);
    }
    return 0;
}

int
debug_matches(const char *filter, json_t **matches, struct ef_error *err)
{
    const struct ef_field_scope scope = {&ef_packet_fields, EF_FILTER_PACKET};
    struct alternatives *list = none();
    struct ef_node *root = NULL;
    int rc = ef_filter_parse(filter, &root, err);
    rc = rc || !root ? rc : ef_filter_typecheck(root, &scope, err);
    *matches = json_array();
    if (!rc && root) {
        rc = add_node(root, list, err);
    } else if (!rc) {
        list->n = 1; /* Everything. */
    }
    rc = rc ? rc : write_all(list, *matches, err);
    if (rc) {
        json_decref(*matches);
        *matches = NULL;
    }
    ef_node_destroy(root);
    free(list);
    return rc;
}
