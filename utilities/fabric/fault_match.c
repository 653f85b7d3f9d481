/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets a fault hits; see fault_match.h. */
#include <config.h>

#include "utilities/fabric/fault_match.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "filter/ast.h"
#include "filter/fields.h"
#include "filter/filter.h"
#include "utilities/fabric/addressing.h"

#define ANY           \
    {                 \
        0, UINT32_MAX \
    }

const struct ef_fault_match ef_fault_match_all = {
    .families = EF_FAULT_ANY_FAMILY,
    .protocol = ANY,
    .source_port = ANY,
    .destination_port = ANY,
    .dscp = ANY,
    .length = ANY,
};

/* --- From a filter ---------------------------------------------------------- */

/* What a field means: the families and the protocol that it implies, and the
 * range that its values are of. */
struct field_meaning {
    const char *name;
    uint32_t families;
    uint32_t protocol; /* 0: any. */
    size_t range;      /* Of struct ef_fault_match; 0: none, it is a protocol. */
};

#define RANGE(MEMBER) offsetof(struct ef_fault_match, MEMBER)
#define IP (EF_FAULT_IPV4 | EF_FAULT_IPV6)

static const struct field_meaning meanings[] = {
    {"ip", EF_FAULT_IPV4, 0, 0},
    {"ipv6", EF_FAULT_IPV6, 0, 0},
    {"tcp", IP, 6, 0},
    {"udp", IP, 17, 0},
    {"icmp", EF_FAULT_IPV4, 1, 0},
    {"ip.proto", EF_FAULT_IPV4, 0, RANGE(protocol)},
    {"ip.dsfield.dscp", EF_FAULT_IPV4, 0, RANGE(dscp)},
    {"tcp.srcport", IP, 6, RANGE(source_port)},
    {"tcp.dstport", IP, 6, RANGE(destination_port)},
    {"udp.srcport", IP, 17, RANGE(source_port)},
    {"udp.dstport", IP, 17, RANGE(destination_port)},
    {"frame.len", EF_FAULT_ANY_FAMILY, 0, RANGE(length)},
};

static const struct field_meaning *
meaning_of(const char *name)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(meanings); i++) {
        if (!strcmp(meanings[i].name, name)) {
            return &meanings[i];
        }
    }
    return NULL;
}

static void
intersect(struct ef_fault_range *range, uint64_t low, uint64_t high)
{
    range->low = (uint32_t) EF_MAX(range->low, low);
    range->high = (uint32_t) EF_MIN(range->high, high);
}

/* The values that a comparison allows. False if they are not one range. */
static bool
values_of(const struct ef_node *node, uint64_t *low, uint64_t *high)
{
    const struct ef_operand *value = node->operands;
    if (node->has_mask || node->quantified || !value || value->next || node->right_field) {
        return false;
    }
    uint64_t first = (uint64_t) value->range.low, last = (uint64_t) value->range.high;
    *low = 0;
    *high = UINT32_MAX;
    if (node->type == EF_NODE_IN || node->relation == EF_RELATION_EQ || node->relation == EF_RELATION_ALL_EQ) {
        *low = first;
        *high = last;
        return true;
    }
    switch (node->relation) {
    case EF_RELATION_GE:
        *low = first;
        return true;
    case EF_RELATION_GT:
        *low = last + 1;
        return true;
    case EF_RELATION_LE:
        *high = last;
        return true;
    case EF_RELATION_LT:
        *high = first - 1;
        return first > 0;
    default:
        return false;
    }
}

static int
cannot_follow(const struct ef_node *node, struct ef_error *err)
{
    return ef_error_set_at(err, -EINVAL, node->name.offset,
                           "a fault cannot follow this test; it knows ip, ipv6, tcp, udp, icmp, ip.src, ip.dst, "
                           "ip.proto, ip.dsfield.dscp, frame.len and the ports of tcp and udp, each with one value, "
                           "prefix or range, joined by \"and\"");
}

/* An address, or addresses that are a prefix. */
static int
apply_address(const struct ef_node *node, uint32_t *address, uint32_t *mask, struct ef_error *err)
{
    uint64_t low, high;
    if (!values_of(node, &low, &high) || *mask) {
        return cannot_follow(node, err);
    }
    uint64_t hosts = high - low; /* All ones for a prefix. */
    if (high > UINT32_MAX || low > high || (hosts & (hosts + 1)) || (low & hosts)) {
        return cannot_follow(node, err);
    }
    *mask = ~(uint32_t) hosts;
    *address = (uint32_t) low;
    return 0;
}

static int
apply_test(const struct ef_node *node, struct ef_fault_match *match, struct ef_error *err)
{
    const char *name = node->field ? node->field->name : "";
    uint64_t low, high;
    if (node->type != EF_NODE_EXISTS && node->type != EF_NODE_COMPARE && node->type != EF_NODE_IN) {
        return cannot_follow(node, err);
    }
    if (!strcmp(name, "ip.src") || !strcmp(name, "ip.dst")) {
        match->families &= EF_FAULT_IPV4;
        return node->type == EF_NODE_EXISTS ? 0
               : name[3] == 's'             ? apply_address(node, &match->source, &match->source_mask, err)
                                            : apply_address(node, &match->destination, &match->destination_mask, err);
    }
    const struct field_meaning *meaning = meaning_of(name);
    if (!meaning) {
        return cannot_follow(node, err);
    }
    match->families &= meaning->families;
    if (meaning->protocol) {
        intersect(&match->protocol, meaning->protocol, meaning->protocol);
    }
    if (node->type != EF_NODE_EXISTS) {
        if (!meaning->range || !values_of(node, &low, &high)) {
            return cannot_follow(node, err);
        }
        intersect((struct ef_fault_range *) (void *) ((char *) match + meaning->range), low, high);
    }
    return 0;
}

/* The depth of the tree is bounded by the parser. */
static int
apply_node(const struct ef_node *node, struct ef_fault_match *match, struct ef_error *err)
{
    int rc = 0;
    if (node->type != EF_NODE_AND) {
        return node->type == EF_NODE_OR || node->type == EF_NODE_NOT
                   ? ef_error_set(err, -EINVAL, "a fault cannot follow \"or\" and \"not\"; add a fault for each part")
                   : apply_test(node, match, err);
    }
    for (const struct ef_node *child = node->first; !rc && child; child = child->next) {
        rc = apply_node(child, match, err);
    }
    return rc;
}

int
ef_fault_match_parse(const char *text, struct ef_fault_match *match, struct ef_error *err)
{
    const struct ef_field_scope scope = {&ef_packet_fields, EF_FILTER_PACKET};
    struct ef_node *root = NULL;
    *match = ef_fault_match_all;
    int rc = ef_filter_parse(text, &root, err);
    if (!rc && root) {
        rc = ef_filter_typecheck(root, &scope, err);
    }
    if (!rc && root) {
        rc = apply_node(root, match, err);
    }
    ef_node_destroy(root);
    return rc;
}

/* --- To OpenFlow ------------------------------------------------------------ */

/* Appends to a text of `size` bytes of which `*used` are used. */
static void EF_PRINTF(4, 5) append(char *text, size_t size, size_t *used, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text + *used, size - *used, fmt, args);
    va_end(args);
    *used = EF_MIN(*used + (size_t) EF_MAX(n, 0), size - 1);
}

static bool
is_any(struct ef_fault_range range)
{
    return !range.low && range.high == UINT32_MAX;
}

static void
append_number(char *text, size_t size, size_t *used, const char *name, struct ef_fault_range range)
{
    if (!is_any(range)) {
        append(text, size, used, ",%s=%u", name, range.low);
    }
}

static void
append_prefix(char *text, size_t size, size_t *used, const char *name, uint32_t address, uint32_t mask)
{
    char a[EF_ADDRESS_TEXT_SIZE], m[EF_ADDRESS_TEXT_SIZE];
    if (mask) {
        append(text, size, used, ",%s=%s/%s", name, ef_address_format(address, a), ef_address_format(mask, m));
    }
}

static bool
has_range(const struct ef_fault_match *m)
{
    const struct ef_fault_range *const ranges[] = {&m->protocol, &m->source_port, &m->destination_port, &m->dscp};
    for (size_t i = 0; i < EF_ARRAY_SIZE(ranges); i++) {
        if (!is_any(*ranges[i]) && ranges[i]->low != ranges[i]->high) {
            return true;
        }
    }
    return false;
}

int
ef_fault_match_to_openflow(const struct ef_fault_match *m, char *text, size_t size, struct ef_error *err)
{
    size_t used = 0;
    if (has_range(m) || !is_any(m->length) || !(m->families & EF_FAULT_IPV4)) {
        return ef_error_set(err, -EINVAL,
                            "this kind of fault is a rule of the switch, which knows IPv4 packets by exact protocol, "
                            "ports and DSCP, not by ranges or frame.len");
    }
    append(text, size, &used, "ip");
    append_prefix(text, size, &used, "nw_src", m->source, m->source_mask);
    append_prefix(text, size, &used, "nw_dst", m->destination, m->destination_mask);
    append_number(text, size, &used, "nw_proto", m->protocol);
    append_number(text, size, &used, "tp_src", m->source_port);
    append_number(text, size, &used, "tp_dst", m->destination_port);
    append_number(text, size, &used, "ip_dscp", m->dscp);
    return 0;
}
