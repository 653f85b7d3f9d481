/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a field in one packet: ef_field_collect() of fields.h. The
 * plain loads are repeated here for the tests that eval.c has no fast way for
 * (sets, IPv6, comparison of two fields). */
#include <config.h>

#include "base/byteorder.h"
#include "base/util.h"
#include "filter/fields.h"
#include "filter/filter.h"
#include "packet/headers.h"
#include "packet/ipv6_chain.h"
#include "packet/packet.h"

struct collector {
    const struct ef_packet *packet;
    unsigned n;
    ef_u128 *values;
};

static inline void
add(struct collector *c, ef_u128 value)
{
    if (c->n < EF_FIELD_MAX_VALUES) {
        c->values[c->n++] = value;
    }
}

static ef_u128
load_be128(const uint8_t *p)
{
    return (ef_u128) ef_load_be64(p) << 64 | ef_load_be64(p + 8);
}

static ef_u128
load(const struct ef_field *field, const uint8_t *p)
{
    switch (field->width) {
    case 1:
        return (*p & field->mask) >> field->shift;
    case 2:
        return (ef_load_be16(p) & field->mask) >> field->shift;
    case 4:
        return (ef_load_be32(p) & field->mask) >> field->shift;
    case 8:
        return (ef_load_be64(p) & field->mask) >> field->shift;
    default:
        return load_be128(p);
    }
}

static void
add_load(struct collector *c, const struct ef_field *field, const struct ef_layer *layer, unsigned offset)
{
    if (offset + field->width <= layer->header_len) {
        add(c, load(field, c->packet->data + layer->offset + offset));
    }
}

static void
collect_loads(struct collector *c, const struct ef_field *field)
{
    for (unsigned i = 0; i < c->packet->n_layers; i++) {
        const struct ef_layer *layer = &c->packet->layers[i];
        if (layer->proto != field->proto) {
            continue;
        }
        if (field->access == EF_ACCESS_PROTOCOL) {
            add(c, 1);
            continue;
        }
        add_load(c, field, layer, field->offset);
        if (field->access == EF_ACCESS_PAIR) {
            add_load(c, field, layer, field->offset + ef_pair_distance(field->width));
        }
    }
}

/* A length instead of a type (IEEE 802.3) is not the field. */
static void
add_ethertype(struct collector *c, uint16_t type)
{
    if (type >= EF_ETHERTYPE_MIN) {
        add(c, type);
    }
}

static void
add_eth(struct collector *c, unsigned index, enum ef_computed_field id)
{
    add_ethertype(c, ef_eth_type(ef_packet_layer_data(c->packet, index)));
}

/* Type I has no header of its own, only GRE's payload type. */
static void
add_erspan(struct collector *c, unsigned index, enum ef_computed_field id)
{
    uint16_t type = ef_gre_type(ef_packet_layer_data(c->packet, index));
    if (type == EF_ETHERTYPE_ERSPAN || type == EF_ETHERTYPE_ERSPAN3) {
        add(c, 1);
    }
}

static void
add_vlan(struct collector *c, unsigned index, enum ef_computed_field id)
{
    const uint8_t *tag = ef_packet_layer_data(c->packet, index);
    uint16_t tci = ef_load_be16(tag);
    bool is_service = ef_load_be16(tag - 2) == EF_ETHERTYPE_QINQ; /* The EtherType before the tag. */
    if (is_service != (id >= EF_COMPUTED_AD)) {
        return;
    }
    switch (id) {
    case EF_COMPUTED_VLAN_ID:
    case EF_COMPUTED_AD_ID:
        add(c, tci & 0xfff);
        break;
    case EF_COMPUTED_VLAN_PRIORITY:
    case EF_COMPUTED_AD_PRIORITY:
        add(c, tci >> 13);
        break;
    case EF_COMPUTED_VLAN_DEI:
    case EF_COMPUTED_AD_DEI:
        add(c, tci >> 12 & 1);
        break;
    case EF_COMPUTED_VLAN_ETYPE:
        add_ethertype(c, ef_vlan_type(tag));
        break;
    default:
        add(c, 1);
    }
}

static bool
is_fragment(const uint8_t *ip, const struct ef_layer *layer)
{
    if (layer->proto == EF_PROTO_IPV4) {
        return ef_ipv4_is_fragment(ip);
    }
    if (layer->header_len == EF_IPV6_LEN) {
        return false;
    }
    struct ef_ipv6_chain chain;
    ef_ipv6_chain_walk(&chain, ip, layer->header_len);
    return chain.is_fragment;
}

/* Payload of TCP by the IP header's length. That says nothing of a segment that
 * is in several fragments, or quoted and cut at will by who quotes it: those
 * have no such field. */
static void
add_tcp_len(struct collector *c, unsigned index, enum ef_computed_field id)
{
    const struct ef_layer *tcp = &c->packet->layers[index], *layer = tcp - 1;
    if (!index || tcp->flags & EF_LAYER_QUOTED) {
        return;
    }
    const uint8_t *ip = c->packet->data + layer->offset;
    uint32_t headers = (uint32_t) (tcp->offset - layer->offset) + ef_tcp_header_len(c->packet->data + tcp->offset);
    if (!is_fragment(ip, layer) && ef_ip_total_len(ip) >= headers) {
        add(c, ef_ip_total_len(ip) - headers);
    }
}

static void
add_icmp_query(struct collector *c, unsigned index, enum ef_computed_field id)
{
    const uint8_t *icmp = ef_packet_layer_data(c->packet, index);
    switch (icmp[0]) {
    case 0:  /* Echo reply. */
    case 8:  /* Echo. */
    case 13: /* Timestamp, information and mask, and their replies. */
    case 14:
    case 15:
    case 16:
    case 17:
    case 18:
        add(c, ef_load_be16(icmp + (id == EF_COMPUTED_ICMP_IDENT ? 4 : 6)));
    }
}

static void
collect_layers(struct collector *c, enum ef_proto proto, enum ef_computed_field id,
               void (*add_layer)(struct collector *, unsigned index, enum ef_computed_field))
{
    for (unsigned i = 0; i < c->packet->n_layers; i++) {
        if (c->packet->layers[i].proto == proto) {
            add_layer(c, i, id);
        }
    }
}

static void
collect_packet(struct collector *c, enum ef_computed_field id)
{
    switch (id) {
    case EF_COMPUTED_FRAME:
        add(c, 1);
        break;
    case EF_COMPUTED_FRAME_LEN:
        add(c, c->packet->wire_len);
        break;
    case EF_COMPUTED_FRAME_CAP_LEN:
        add(c, c->packet->len);
        break;
    case EF_COMPUTED_ETH_TYPE:
        collect_layers(c, EF_PROTO_ETH, id, add_eth);
        break;
    case EF_COMPUTED_ERSPAN:
        collect_layers(c, EF_PROTO_GRE, id, add_erspan);
        break;
    case EF_COMPUTED_TCP_LEN:
        collect_layers(c, EF_PROTO_TCP, id, add_tcp_len);
        break;
    case EF_COMPUTED_ICMP_IDENT:
    case EF_COMPUTED_ICMP_SEQ:
        collect_layers(c, EF_PROTO_ICMP, id, add_icmp_query);
        break;
    default:
        collect_layers(c, EF_PROTO_VLAN, id, add_vlan);
    }
}

static void
collect_addresses(struct collector *c, const uint8_t (*addresses)[16], uint32_t n, uint32_t first)
{
    for (uint32_t i = first; addresses && i < n && c->n < EF_FIELD_MAX_VALUES; i++) {
        add(c, load_be128(addresses[i]));
    }
}

static void
collect_trace(struct collector *c, const struct ef_filter_trace *trace, enum ef_computed_field id)
{
    switch (id) {
    case EF_COMPUTED_TRACE_HOPS:
        add(c, trace->n_hops);
        break;
    case EF_COMPUTED_TRACE_COPIES:
        add(c, trace->n_copies);
        break;
    case EF_COMPUTED_TRACE_LOOP:
        add(c, trace->loop);
        break;
    case EF_COMPUTED_TRACE_DEBUG:
        add(c, trace->debug);
        break;
    case EF_COMPUTED_TRACE_DROP:
        add(c, trace->drop);
        break;
    case EF_COMPUTED_TRACE_MUX:
        add(c, trace->mux);
        break;
    case EF_COMPUTED_TRACE_CORRUPT:
        add(c, trace->corrupt);
        break;
    case EF_COMPUTED_TRACE_PROBE:
        add(c, trace->probe);
        break;
    case EF_COMPUTED_TRACE_MISSING:
        add(c, trace->n_missing);
        break;
    default:
        add(c, trace->latency_ns);
    }
}

unsigned
ef_field_collect(const struct ef_field *field, const struct ef_filter_input *in, unsigned first,
                 ef_u128 values[EF_FIELD_MAX_VALUES])
{
    struct collector c = {.packet = in->packet, .values = values};
    if (field->access == EF_ACCESS_COMPUTED && field->computed == EF_COMPUTED_SWITCH) {
        collect_addresses(&c, in->switches, in->n_switches, first);
    } else if (field->access == EF_ACCESS_COMPUTED && field->computed == EF_COMPUTED_OUTER_DST) {
        collect_addresses(&c, in->outer_destinations, in->n_switches, first);
    } else if (first) {
        return 0; /* A packet has at most EF_MAX_LAYERS layers with two values each. */
    } else if (field->access != EF_ACCESS_COMPUTED) {
        if (in->packet) {
            collect_loads(&c, field);
        }
    } else if (field->computed >= EF_COMPUTED_TRACE_HOPS) {
        if (in->trace) {
            collect_trace(&c, in->trace, field->computed);
        }
    } else if (in->packet) {
        collect_packet(&c, field->computed);
    }
    return c.n;
}
