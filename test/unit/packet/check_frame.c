/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of the parsers' results. */
#include <config.h>

#include "unit/packet/check_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/identity.h"
#include "packet/packet_internal.h"

#define CHECK(x)                                                                   \
    do {                                                                           \
        if (!(x)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                               \
        }                                                                          \
    } while (0)

static bool
is_ip(const struct ef_packet *p, uint8_t index)
{
    return index == EF_NO_LAYER || (index < p->n_layers && (p->layers[index].proto == EF_PROTO_IPV4 ||
                                                            p->layers[index].proto == EF_PROTO_IPV6));
}

static void
check_layers(const struct ef_packet *p)
{
    uint32_t protos = 0, at = 0;
    CHECK(p->n_layers <= EF_MAX_LAYERS);
    for (unsigned i = 0; i < p->n_layers; i++) {
        const struct ef_layer *layer = &p->layers[i];
        CHECK(layer->proto < EF_N_PROTOS);
        CHECK(layer->offset == at);
        CHECK(layer->header_len > 0);
        at += layer->header_len;
        CHECK(at <= p->len && at <= UINT16_MAX);
        CHECK(!(layer->flags & EF_LAYER_CUT) || i == p->n_layers - 1u);
        protos |= 1u << layer->proto;
    }
    CHECK(protos == p->protos);
    CHECK(is_ip(p, p->outer_ip) && is_ip(p, p->inner_ip));
    CHECK((p->outer_ip == EF_NO_LAYER) == (p->inner_ip == EF_NO_LAYER));
    CHECK(p->inner_l4 == EF_NO_LAYER || (p->inner_l4 == p->inner_ip + 1 && p->inner_l4 < p->n_layers));
    CHECK(p->inner_l4 == EF_NO_LAYER || !(p->layers[p->inner_l4].flags & EF_LAYER_QUOTED));
}

static void
check_same(const struct ef_packet *a, const struct ef_packet *b)
{
    CHECK(a->data == b->data && a->len == b->len && a->wire_len == b->wire_len);
    CHECK(a->protos == b->protos && a->n_layers == b->n_layers && a->status == b->status);
    CHECK(a->outer_ip == b->outer_ip && a->inner_ip == b->inner_ip && a->inner_l4 == b->inner_l4);
    CHECK(!memcmp(a->layers, b->layers, a->n_layers * sizeof a->layers[0]));
}

void
check_packet(const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    struct ef_packet p, general;
    struct ef_identity id;
    char text[256], small[20];
    CHECK(ef_packet_parse(&p, data, len, wire_len) == p.status);
    ef_packet_parse_general(&general, data, len, wire_len);
    check_same(&p, &general);
    check_layers(&p);
    ef_identity_of(&p, &id);
    CHECK(id.flow_hash == ef_flow_hash(&p));
    CHECK(id.flow_hash == ef_flow_hash_of_frame(data, len, wire_len));
    CHECK(strlen(ef_packet_summary(&p, text, sizeof text)) < sizeof text);
    CHECK(strlen(ef_packet_summary(&p, small, sizeof small)) < sizeof small);
}

static void
check_same_copy(const struct ef_copy *a, const struct ef_copy *b)
{
    CHECK(!memcmp(a->switch_address, b->switch_address, 16) && !memcmp(a->target_address, b->target_address, 16));
    CHECK(a->outer_ip_offset == b->outer_ip_offset && a->encapsulation == b->encapsulation);
    CHECK(a->has_sequence == b->has_sequence && a->sequence == b->sequence);
    CHECK(a->has_port == b->has_port && a->port == b->port && a->session == b->session);
    CHECK(a->has_switch_time == b->has_switch_time && a->switch_time.ns == b->switch_time.ns);
    CHECK(a->truncated == b->truncated && a->egress == b->egress && a->switch_drop == b->switch_drop);
    CHECK(a->original == b->original && a->original_len == b->original_len);
    CHECK(a->original_wire_len == b->original_wire_len);
}

bool
check_frame(const uint8_t *data, uint32_t len, uint32_t wire_len)
{
    struct ef_copy copy, general;
    enum ef_drop_reason why = ef_copy_parse(&copy, data, len, wire_len);
    CHECK(why == ef_copy_parse_general(&general, data, len, wire_len));
    CHECK(why < EF_N_DROP_REASONS);
    check_packet(data, len, wire_len);
    if (why != EF_DROP_NONE) {
        return false;
    }
    check_same_copy(&copy, &general);
    CHECK(copy.original >= data && copy.original + copy.original_len <= data + len);
    CHECK(copy.original_wire_len >= copy.original_len);
    check_packet(copy.original, copy.original_len, copy.original_wire_len);
    return true;
}
