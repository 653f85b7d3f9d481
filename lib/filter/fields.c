/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fields; see fields.h. How a field that is no plain load gets
 * its values is in computed.c. */
#include <config.h>

#include "filter/fields.h"

#include <ctype.h>
#include <string.h>

#include "base/options.h"
#include "base/util.h"
#include "filter/filter.h"
#include "packet/packet.h"

#define PACKET .kinds = EF_FILTER_PACKET
#define ANYWHERE .kinds = EF_FILTER_ANY
#define TRACE .kinds = EF_FILTER_CONDITION

#define PROTOCOL(NAME, PROTO, HELP)                                                                                 \
    {                                                                                                               \
        .name = NAME, .help = HELP, PACKET, .type = EF_FIELD_PROTOCOL, .access = EF_ACCESS_PROTOCOL, .proto = PROTO \
    }
#define COMPUTED(NAME, ID, HELP) .name = NAME, .help = HELP, .access = EF_ACCESS_COMPUTED, .computed = EF_COMPUTED_##ID
#define LOAD(NAME, HELP) .name = NAME, .help = HELP, PACKET, .access = EF_ACCESS_LOAD
#define PAIR(NAME, HELP) .name = NAME, .help = HELP, PACKET, .access = EF_ACCESS_PAIR
#define NUMBER(BITS) .type = EF_FIELD_NUMBER, .bits = BITS
#define HEX(BITS) NUMBER(BITS), .hex = true
#define BOOLEAN .type = EF_FIELD_BOOLEAN, .bits = 1

/* Which layer, which byte of it, the bits of the number that starts there. */
#define AT1(PROTO, OFFSET, MASK, SHIFT) \
    .proto = EF_PROTO_##PROTO, .offset = OFFSET, .width = 1, .mask = MASK, .shift = SHIFT
#define AT2(PROTO, OFFSET, MASK, SHIFT) \
    .proto = EF_PROTO_##PROTO, .offset = OFFSET, .width = 2, .mask = MASK, .shift = SHIFT
#define AT4(PROTO, OFFSET, MASK, SHIFT) \
    .proto = EF_PROTO_##PROTO, .offset = OFFSET, .width = 4, .mask = MASK, .shift = SHIFT
#define BYTE(PROTO, OFFSET) AT1(PROTO, OFFSET, 0xff, 0)
#define SHORT(PROTO, OFFSET) AT2(PROTO, OFFSET, 0xffff, 0)
#define LONG(PROTO, OFFSET) AT4(PROTO, OFFSET, 0xffffffff, 0)
#define MAC(OFFSET)                                                                                              \
    .type = EF_FIELD_ETHER, .bits = 48, .proto = EF_PROTO_ETH, .offset = OFFSET, .width = 8, .mask = UINT64_MAX, \
    .shift = 16
#define IN4(OFFSET) .type = EF_FIELD_IPV4, .bits = 32, LONG(IPV4, OFFSET)
#define IN6(OFFSET) \
    .type = EF_FIELD_IPV6, .bits = 128, .proto = EF_PROTO_IPV6, .offset = OFFSET, .width = 16, .mask = UINT64_MAX
#define TCP_FLAG(MASK, SHIFT) BOOLEAN, AT2(TCP, 12, MASK, SHIFT)

static const struct ef_field fields[] = {
    {COMPUTED("frame", FRAME, "any packet"), PACKET, .type = EF_FIELD_PROTOCOL},
    {COMPUTED("frame.len", FRAME_LEN, "bytes on the wire"), PACKET, NUMBER(32)},
    {COMPUTED("frame.cap_len", FRAME_CAP_LEN, "bytes captured"), PACKET, NUMBER(32)},

    PROTOCOL("eth", EF_PROTO_ETH, "Ethernet"),
    {LOAD("eth.dst", "destination"), MAC(0)},
    {LOAD("eth.src", "source"), MAC(6)},
    {PAIR("eth.addr", "source or destination"), MAC(0)},
    {COMPUTED("eth.type", ETH_TYPE, "EtherType"), PACKET, HEX(16)},

    {COMPUTED("vlan", VLAN, "802.1Q tag"), PACKET, .type = EF_FIELD_PROTOCOL},
    {COMPUTED("vlan.id", VLAN_ID, "VLAN"), PACKET, NUMBER(16)},
    {COMPUTED("vlan.priority", VLAN_PRIORITY, "priority code point"), PACKET, NUMBER(16)},
    {COMPUTED("vlan.dei", VLAN_DEI, "drop eligible"), PACKET, BOOLEAN},
    {COMPUTED("vlan.etype", VLAN_ETYPE, "EtherType after the tag"), PACKET, HEX(16)},
    {COMPUTED("ieee8021ad", AD, "802.1ad service tag"), PACKET, .type = EF_FIELD_PROTOCOL},
    {COMPUTED("ieee8021ad.id", AD_ID, "VLAN of the service tag"), PACKET, NUMBER(16)},
    {COMPUTED("ieee8021ad.priority", AD_PRIORITY, "its priority"), PACKET, NUMBER(16)},
    {COMPUTED("ieee8021ad.dei", AD_DEI, "its drop eligible bit"), PACKET, NUMBER(16)},

    PROTOCOL("arp", EF_PROTO_ARP, "ARP"),
    {LOAD("arp.opcode", "1 request, 2 reply"), NUMBER(16), SHORT(ARP, 6)},
    PROTOCOL("macc", EF_PROTO_MAC_CONTROL, "MAC control: pause, PFC"),
    {LOAD("macc.opcode", "0x0001 pause, 0x0101 PFC"), HEX(16), SHORT(MAC_CONTROL, 0)},

    PROTOCOL("ip", EF_PROTO_IPV4, "IPv4"),
    {LOAD("ip.version", "4"), NUMBER(8), AT1(IPV4, 0, 0xf0, 4)},
    {LOAD("ip.hdr_len", "header length in bytes"), NUMBER(8), AT2(IPV4, 0, 0x0f00, 6)}, /* Words times 4. */
    {LOAD("ip.dsfield", "DSCP and ECN"), HEX(8), BYTE(IPV4, 1)},
    {LOAD("ip.dsfield.dscp", "DSCP"), NUMBER(8), AT1(IPV4, 1, 0xfc, 2)},
    {LOAD("ip.dsfield.ecn", "ECN"), NUMBER(8), AT1(IPV4, 1, 0x03, 0)},
    {LOAD("ip.len", "total length"), NUMBER(16), SHORT(IPV4, 2)},
    {LOAD("ip.id", "identification"), HEX(16), SHORT(IPV4, 4)},
    {LOAD("ip.flags", "3 bits: reserved, DF, MF"), HEX(8), AT1(IPV4, 6, 0xe0, 5)},
    {LOAD("ip.flags.rb", "reserved bit"), BOOLEAN, AT1(IPV4, 6, 0x80, 7)},
    {LOAD("ip.flags.df", "don't fragment"), BOOLEAN, AT1(IPV4, 6, 0x40, 6)},
    {LOAD("ip.flags.mf", "more fragments"), BOOLEAN, AT1(IPV4, 6, 0x20, 5)},
    {LOAD("ip.frag_offset", "fragment offset in units of 8 bytes"), NUMBER(16), AT2(IPV4, 6, 0x1fff, 0)},
    {LOAD("ip.ttl", "time to live"), NUMBER(8), BYTE(IPV4, 8)},
    {LOAD("ip.proto", "protocol number"), NUMBER(8), BYTE(IPV4, 9)},
    {LOAD("ip.checksum", "header checksum"), HEX(16), SHORT(IPV4, 10)},
    {LOAD("ip.src", "source"), IN4(12)},
    {LOAD("ip.dst", "destination"), IN4(16)},
    {PAIR("ip.addr", "source or destination"), IN4(12)},

    PROTOCOL("ipv6", EF_PROTO_IPV6, "IPv6"),
    {LOAD("ipv6.version", "6"), NUMBER(8), AT1(IPV6, 0, 0xf0, 4)},
    {LOAD("ipv6.tclass", "traffic class"), HEX(32), AT2(IPV6, 0, 0x0ff0, 4)},
    {LOAD("ipv6.tclass.dscp", "DSCP"), NUMBER(32), AT2(IPV6, 0, 0x0fc0, 6)},
    {LOAD("ipv6.tclass.ecn", "ECN"), NUMBER(32), AT2(IPV6, 0, 0x0030, 4)},
    {LOAD("ipv6.flow", "flow label"), HEX(24), AT4(IPV6, 0, 0xfffff, 0)},
    {LOAD("ipv6.plen", "payload length"), NUMBER(16), SHORT(IPV6, 4)},
    {LOAD("ipv6.nxt", "next header of the fixed header"), NUMBER(8), BYTE(IPV6, 6)},
    {LOAD("ipv6.hlim", "hop limit"), NUMBER(8), BYTE(IPV6, 7)},
    {LOAD("ipv6.src", "source"), IN6(8)},
    {LOAD("ipv6.dst", "destination"), IN6(24)},
    {PAIR("ipv6.addr", "source or destination"), IN6(8)},

    PROTOCOL("tcp", EF_PROTO_TCP, "TCP"),
    {LOAD("tcp.srcport", "source port"), NUMBER(16), SHORT(TCP, 0)},
    {LOAD("tcp.dstport", "destination port"), NUMBER(16), SHORT(TCP, 2)},
    {PAIR("tcp.port", "source or destination port"), NUMBER(16), SHORT(TCP, 0)},
    {LOAD("tcp.seq", "sequence number as in the packet"), NUMBER(32), LONG(TCP, 4)},
    {LOAD("tcp.seq_raw", "the same"), NUMBER(32), LONG(TCP, 4)},
    {LOAD("tcp.ack", "acknowledgment number as in the packet"), NUMBER(32), LONG(TCP, 8)},
    {LOAD("tcp.ack_raw", "the same"), NUMBER(32), LONG(TCP, 8)},
    {LOAD("tcp.hdr_len", "header length in bytes"), NUMBER(8), AT1(TCP, 12, 0xf0, 2)}, /* Words times 4. */
    {COMPUTED("tcp.len", TCP_LEN, "payload bytes"), PACKET, NUMBER(32)},
    {LOAD("tcp.flags", "12 bits"), HEX(16), AT2(TCP, 12, 0x0fff, 0)},
    {LOAD("tcp.flags.ae", "accurate ECN"), TCP_FLAG(0x100, 8)},
    {LOAD("tcp.flags.cwr", "CWR"), TCP_FLAG(0x080, 7)},
    {LOAD("tcp.flags.ece", "ECE"), TCP_FLAG(0x040, 6)},
    {LOAD("tcp.flags.urg", "URG"), TCP_FLAG(0x020, 5)},
    {LOAD("tcp.flags.ack", "ACK"), TCP_FLAG(0x010, 4)},
    {LOAD("tcp.flags.push", "PSH"), TCP_FLAG(0x008, 3)},
    {LOAD("tcp.flags.reset", "RST"), TCP_FLAG(0x004, 2)},
    {LOAD("tcp.flags.syn", "SYN"), TCP_FLAG(0x002, 1)},
    {LOAD("tcp.flags.fin", "FIN"), TCP_FLAG(0x001, 0)},
    {LOAD("tcp.window_size_value", "window as in the packet"), NUMBER(16), SHORT(TCP, 14)},
    {LOAD("tcp.checksum", "checksum"), HEX(16), SHORT(TCP, 16)},
    {LOAD("tcp.urgent_pointer", "urgent pointer"), NUMBER(16), SHORT(TCP, 18)},

    PROTOCOL("udp", EF_PROTO_UDP, "UDP"),
    {LOAD("udp.srcport", "source port"), NUMBER(16), SHORT(UDP, 0)},
    {LOAD("udp.dstport", "destination port"), NUMBER(16), SHORT(UDP, 2)},
    {PAIR("udp.port", "source or destination port"), NUMBER(16), SHORT(UDP, 0)},
    {LOAD("udp.length", "length with its header"), NUMBER(16), SHORT(UDP, 4)},
    {LOAD("udp.checksum", "checksum"), HEX(16), SHORT(UDP, 6)},

    PROTOCOL("icmp", EF_PROTO_ICMP, "ICMP"),
    {LOAD("icmp.type", "type"), NUMBER(8), BYTE(ICMP, 0)},
    {LOAD("icmp.code", "code"), NUMBER(8), BYTE(ICMP, 1)},
    {LOAD("icmp.checksum", "checksum"), HEX(16), SHORT(ICMP, 2)},
    {COMPUTED("icmp.ident", ICMP_IDENT, "identifier of echo and other queries"), PACKET, NUMBER(16)},
    {COMPUTED("icmp.seq", ICMP_SEQ, "sequence number of echo and other queries"), PACKET, NUMBER(16)},

    PROTOCOL("icmpv6", EF_PROTO_ICMPV6, "ICMPv6"),
    {LOAD("icmpv6.type", "type"), NUMBER(8), BYTE(ICMPV6, 0)},
    {LOAD("icmpv6.code", "code"), NUMBER(8), BYTE(ICMPV6, 1)},
    {LOAD("icmpv6.checksum", "checksum"), HEX(16), SHORT(ICMPV6, 2)},

    PROTOCOL("gre", EF_PROTO_GRE, "GRE"),
    {LOAD("gre.proto", "EtherType of the payload"), HEX(16), SHORT(GRE, 2)},
    {COMPUTED("erspan", ERSPAN, "ERSPAN type I, II or III"), PACKET, .type = EF_FIELD_PROTOCOL},
    PROTOCOL("vxlan", EF_PROTO_VXLAN, "VXLAN"),
    {LOAD("vxlan.vni", "network identifier"), NUMBER(24), AT4(VXLAN, 4, 0xffffff00, 8)},
    PROTOCOL("geneve", EF_PROTO_GENEVE, "Geneve"),
    {LOAD("geneve.vni", "network identifier"), HEX(24), AT4(GENEVE, 4, 0xffffff00, 8)},
    PROTOCOL("infiniband", EF_PROTO_BTH, "RoCEv2"),
    {LOAD("infiniband.bth.opcode", "operation"), NUMBER(8), BYTE(BTH, 0)},
    {LOAD("infiniband.bth.destqp", "destination queue pair"), HEX(24), AT4(BTH, 4, 0xffffff, 0)},
    {LOAD("infiniband.bth.psn", "packet sequence number"), NUMBER(24), AT4(BTH, 8, 0xffffff, 0)},

    {COMPUTED("switch", SWITCH, "a switch that the packet crossed"), ANYWHERE, .type = EF_FIELD_ADDRESS, .bits = 128},
    {COMPUTED("outer.src", SWITCH, "source of a copy: the switch"), PACKET, .type = EF_FIELD_ADDRESS, .bits = 128},
    {COMPUTED("outer.dst", OUTER_DST, "destination of a copy"), PACKET, .type = EF_FIELD_ADDRESS, .bits = 128},

    {COMPUTED("trace.hops", TRACE_HOPS, "hops"), TRACE, NUMBER(32)},
    {COMPUTED("trace.copies", TRACE_COPIES, "copies"), TRACE, NUMBER(32)},
    {COMPUTED("trace.loop", TRACE_LOOP, "a switch was crossed twice"), TRACE, BOOLEAN},
    {COMPUTED("trace.debug", TRACE_DEBUG, "a hop carried the debug bit"), TRACE, BOOLEAN},
    {COMPUTED("trace.drop", TRACE_DROP, "it was dropped on its way"), TRACE, BOOLEAN},
    {COMPUTED("trace.mux", TRACE_MUX, "it was put into a tunnel on its way"), TRACE, BOOLEAN},
    {COMPUTED("trace.corrupt", TRACE_CORRUPT, "its bytes changed on its way"), TRACE, BOOLEAN},
    {COMPUTED("trace.probe", TRACE_PROBE, "it has a guided probe's signature"), TRACE, BOOLEAN},
    {COMPUTED("trace.missing", TRACE_MISSING, "hops that are missing, by the TTL"), TRACE, NUMBER(32)},
    {COMPUTED("trace.latency_us", TRACE_LATENCY, "first to last hop, in microseconds"), TRACE,
     .type = EF_FIELD_DURATION, .bits = 64},
    {COMPUTED("trace.through", SWITCH, "a switch that the packet crossed"), TRACE, .type = EF_FIELD_ADDRESS,
     .bits = 128},
};

enum { MAX_FIELDS = EF_ARRAY_SIZE(fields) }; /* No other table has more. */

const struct ef_field_table ef_packet_fields = {fields, EF_ARRAY_SIZE(fields)};

const struct ef_field *
ef_field_find(const struct ef_field_table *table, const char *name, size_t len)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct ef_field *field = &table->fields[i];
        if (strlen(field->name) == len && !memcmp(name, field->name, len)) {
            return field;
        }
    }
    return NULL;
}

const struct ef_field *
ef_field_nearest(const struct ef_field_table *table, const char *name, size_t len)
{
    const char *names[MAX_FIELDS + 1] = {NULL};
    char word[40];
    if (len >= sizeof word) {
        return NULL;
    }
    for (size_t i = 0; i < EF_MIN(table->n_fields, (size_t) MAX_FIELDS); i++) {
        names[i] = table->fields[i].name;
    }
    for (size_t i = 0; i < len; i++) {
        word[i] = (char) tolower((unsigned char) name[i]); /* Names have no capitals. */
    }
    word[len] = '\0';
    const char *nearest = ef_nearest_word(word, names);
    return nearest ? ef_field_find(table, nearest, strlen(nearest)) : NULL;
}

const char *
ef_filter_field_name(enum ef_filter_kind kind, size_t index, const char **help)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(fields); i++) {
        if (fields[i].kinds & kind && index-- == 0) {
            *help = fields[i].help;
            return fields[i].name;
        }
    }
    return NULL;
}
