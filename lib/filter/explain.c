/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a compiled filter for people: its normal form, and one line per test,
 *
 *     ip.dst == 192.16.0.0/16 && tcp
 *     0: any ipv4[16:4] & 0xffffffff in 0xc0100000..0xc010ffff  then 1, else reject
 *     1: has tcp  then accept, else reject
 *
 * where ipv4[16:4] are the 4 bytes at offset 16 of an IPv4 header. */
#include <config.h>

#include <stdio.h>

#include "filter/filter.h"
#include "filter/program.h"
#include "filter/value.h"
#include "packet/packet.h"

static const char *
proto_name(unsigned proto)
{
    static const char *const names[EF_N_PROTOS] = {
        [EF_PROTO_ETH] = "eth",       [EF_PROTO_VLAN] = "vlan",     [EF_PROTO_ARP] = "arp",
        [EF_PROTO_IPV4] = "ipv4",     [EF_PROTO_IPV6] = "ipv6",     [EF_PROTO_TCP] = "tcp",
        [EF_PROTO_UDP] = "udp",       [EF_PROTO_ICMP] = "icmp",     [EF_PROTO_ICMPV6] = "icmpv6",
        [EF_PROTO_GRE] = "gre",       [EF_PROTO_ERSPAN] = "erspan", [EF_PROTO_VXLAN] = "vxlan",
        [EF_PROTO_GENEVE] = "geneve", [EF_PROTO_BTH] = "bth",       [EF_PROTO_MAC_CONTROL] = "macc",
    };
    return names[proto];
}

static const char *
quantifier(bool all)
{
    return all ? "all" : "any";
}

static void
explain_load(FILE *out, const struct ef_insn *insn)
{
    bool pair = insn->op >= EF_OP_PAIR2_ANY;
    unsigned index = insn->op - (pair ? EF_OP_PAIR2_ANY : EF_OP_LOAD1_ANY), n_widths = pair ? 3 : 4;
    unsigned width = (pair ? 2u : 1u) << index % n_widths;
    uint64_t low = insn->load.low, high = low + insn->load.span;
    fprintf(out, "%s %s[%u:%u]", quantifier(index >= n_widths), proto_name(insn->proto), insn->offset, width);
    if (pair) {
        fprintf(out, "[%u:%u]", insn->offset + ef_pair_distance(width), width);
    }
    fprintf(out, " & 0x%llx", (unsigned long long) insn->load.mask);
    if (insn->negate) { /* Back to the range that was asked not to be. */
        low = high + 1;
        high = insn->load.low - 1;
    }
    fprintf(out, "%s in 0x%llx", insn->negate ? " not" : "", (unsigned long long) low);
    if (high != low) {
        fprintf(out, "..0x%llx", (unsigned long long) high);
    }
}

static void
explain_ranges(FILE *out, const struct ef_filter *filter, const struct ef_insn *insn)
{
    const struct ef_field *field = insn->wide.field;
    char text[EF_VALUE_TEXT_SIZE];
    fprintf(out, "%s %s & %s", quantifier(insn->all), field->name,
            ef_value_format(field, filter->ranges[insn->wide.first - 1].low, text));
    fprintf(out, "%s in {", insn->negate ? " not" : "");
    for (uint32_t i = 0; i < insn->wide.n_ranges; i++) {
        const struct ef_value_range *range = &filter->ranges[insn->wide.first + i];
        fprintf(out, "%s%s", i ? ", " : "", ef_value_format(field, range->low, text));
        if (range->high != range->low) {
            fprintf(out, "..%s", ef_value_format(field, range->high, text));
        }
    }
    fputc('}', out);
}

static void
explain_test(FILE *out, const struct ef_filter *filter, const struct ef_insn *insn)
{
    static const char *const relations[] = {"==", "!=", "==", "!=", "<", "<=", ">", ">="};
    switch (insn->op) {
    case EF_OP_PROTOCOL:
        fprintf(out, "has %s", proto_name(insn->proto));
        break;
    case EF_OP_EXISTS:
        fprintf(out, "has %s", insn->wide.field->name);
        break;
    case EF_OP_RANGES:
        explain_ranges(out, filter, insn);
        break;
    case EF_OP_FIELDS:
        fprintf(out, "%s %s %s %s", quantifier(insn->all), insn->wide.field->name, relations[insn->relation],
                insn->wide.right->name);
        break;
    default:
        explain_load(out, insn);
    }
}

static void
explain_place(FILE *out, const char *word, const struct ef_filter *filter, uint16_t place)
{
    if (place < filter->n_tests) {
        fprintf(out, "%s %u", word, place);
    } else {
        fprintf(out, "%s %s", word, filter->insns[place].op == EF_OP_ACCEPT ? "accept" : "reject");
    }
}

char *
ef_filter_explain(const struct ef_filter *filter)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return NULL;
    }
    fprintf(out, "%s\n", filter->text);
    if (filter->entry || !filter->n_tests) {
        explain_place(out, filter->entry < filter->n_tests ? "start at" : "always", filter, filter->entry);
        fputc('\n', out);
    }
    for (uint32_t i = 0; i < filter->n_tests; i++) {
        const struct ef_insn *insn = &filter->insns[i];
        fprintf(out, "%u: ", i);
        explain_test(out, filter, insn);
        explain_place(out, "  then", filter, insn->then);
        explain_place(out, ", else", filter, insn->otherwise);
        fputc('\n', out);
    }
    return fclose(out) ? NULL : text;
}
