/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of a made-up fabric, for benchmarks of whoever keeps traces: 64 pods of
 * 16 racks of 40 hosts, 100,000 flows, 3.5 hops a trace (1, 3 or 5), TCP and UDP
 * headers with random sequence numbers, checksums and IP ids.
 *
 *     make_flows();
 *     struct ef_time now = {0};
 *     for (...) fabric_next_trace(&trace, &now, true); */
#ifndef EF_TEST_BENCH_FABRIC_TRACES_H
#define EF_TEST_BENCH_FABRIC_TRACES_H

#include "base/byteorder.h"
#include "base/hash.h"
#include "packet/build.h"
#include "packet/identity.h"
#include "trace/packet_trace.h"

enum { N_FLOWS = 100000, N_SWITCHES = 1 << 16 };

static uint64_t state;

static inline uint64_t
any(uint64_t n)
{
    state++;
    return ef_hash64(&state, sizeof state) % n;
}

struct flow {
    uint32_t src, dst;
    uint16_t srcport, dstport;
    bool udp;
};
static struct flow flows[N_FLOWS];

static inline uint32_t
host(uint64_t pod, uint64_t rack, uint64_t h)
{
    return (uint32_t) (10u << 24 | pod << 16 | rack << 8 | h);
}

static inline void
make_flows(void)
{
    for (unsigned i = 0; i < N_FLOWS; i++) {
        uint64_t pod = any(64), rack = any(16), where = any(4);
        flows[i].src = host(pod, rack, any(40));
        flows[i].dst = where == 0   ? host(pod, rack, any(40))
                       : where == 1 ? host(pod, any(16), any(40))
                                    : host(any(64), any(16), any(40));
        flows[i].srcport = (uint16_t) (32768 + any(28000));
        flows[i].dstport = (uint16_t) (any(3) ? 443 : any(2) ? 80 : 9000 + any(50));
        flows[i].udp = any(5) == 0;
    }
}

static inline void
make_packet(struct ef_trace *t, const struct flow *f)
{
    struct ef_build b;
    ef_build_start(&b, t->bytes, sizeof t->bytes);
    ef_build_eth(&b);
    uint8_t *ip = ef_build_ipv4(&b, "10.0.0.1", "10.0.0.2");
    ef_store_be16(ip + 4, (uint16_t) any(65536));
    ef_store_be32(ip + 12, f->src);
    ef_store_be32(ip + 16, f->dst);
    uint8_t *l4 = f->udp ? ef_build_udp(&b, f->srcport, f->dstport)
                         : ef_build_tcp(&b, f->srcport, f->dstport, any(10) ? EF_TCP_ACK : EF_TCP_SYN);
    t->n_bytes = (uint16_t) ef_build_finish(&b);
    t->wire_len = any(2) ? 1514 : t->n_bytes + (uint32_t) any(1400);
    ef_store_be16(ip + 2, (uint16_t) (t->wire_len - 14));
    ip[10] = ip[11] = 0;
    ef_store_be16(ip + 10, ef_checksum_fold(ef_checksum_add(0, ip, 20)));
    if (f->udp) {
        ef_store_be16(l4 + 4, (uint16_t) (t->wire_len - 34));
        ef_store_be16(l4 + 6, (uint16_t) any(65536));
        return;
    }
    ef_store_be32(l4 + 4, (uint32_t) any(1ull << 32));
    ef_store_be32(l4 + 8, (uint32_t) any(1ull << 32));
    ef_store_be16(l4 + 14, (uint16_t) any(65536));
    ef_store_be16(l4 + 16, (uint16_t) any(65536));
}

/* A switch numbers its copies, from wherever it is by now. */
static inline uint32_t
next_sequence(uint32_t switch_number)
{
    static uint32_t sequences[N_SWITCHES];
    uint32_t slot = (uint32_t) ef_hash64(&switch_number, sizeof switch_number) % N_SWITCHES;
    if (!sequences[slot]) {
        sequences[slot] = (uint32_t) any(1ull << 31);
    }
    return sequences[slot]++;
}

/* The switches on the way, leaf by leaf and spine by spine: 1, 3 or 5. */
static inline void
make_hops(struct ef_trace *t, const struct flow *f, bool with_clock)
{
    uint32_t a = f->src >> 8, b = f->dst >> 8, leaf = 1u << 24, spine = 2u << 24, core = 3u << 24;
    uint32_t up = (uint32_t) (ef_hash64(f, 12) % 8);
    uint32_t path[5] = {leaf | (a & 0xffff), spine | (a & 0xff00) | up, core | up, spine | (b & 0xff00) | up,
                        leaf | (b & 0xffff)};
    t->n_hops = a == b ? 1 : a >> 8 == b >> 8 ? 3 : 5;
    if (t->n_hops == 3) {
        path[2] = path[4];
    }
    int64_t after = 0;
    for (unsigned i = 0; i < t->n_hops; i++) {
        struct ef_hop *h = &t->hops[i];
        *h = (struct ef_hop){.switch_address = {[10] = 0xff, [11] = 0xff, [12] = 10}, .flags = EF_HOP_HAS_IP};
        ef_store_be32(h->switch_address + 12, 10u << 24 | (path[i] & 0xffffff) | path[i] >> 24 << 22);
        h->src_mac[0] = 2;
        ef_store_be32(h->src_mac + 2, i ? path[i - 1] : f->src);
        h->ttl = h->outer_ttl = (uint8_t) (64 - i);
        h->arrival.ns = t->start.ns + after;
        if (with_clock) {
            h->flags |= EF_HOP_HAS_SWITCH_TIME | EF_HOP_HAS_PORT | EF_HOP_HAS_SEQUENCE;
            h->switch_time.ns = h->arrival.ns - 5000 - (int64_t) any(20000);
            h->port = (uint32_t) (1 + path[i] % 40);
            h->sequence = next_sequence(path[i]);
        }
        after += 1000 + (int64_t) any(any(20) ? 20000 : 500000);
        t->end = h->arrival;
    }
    memcpy(t->bytes + 6, t->hops[0].src_mac, 6);
}

static inline uint64_t
identity_of(const struct ef_trace *t)
{
    struct ef_packet p;
    struct ef_identity id;
    ef_packet_parse(&p, t->bytes, t->n_bytes, t->wire_len);
    ef_identity_of(&p, &id);
    return id.hash;
}

/* The next trace of a stream that starts anew with `*now` 0. */
static inline void
fabric_next_trace(struct ef_trace *t, struct ef_time *now, bool with_clock)
{
    static const uint8_t target[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 255, [14] = 255, [15] = 1};
    const struct flow *f = &flows[any(N_FLOWS)];
    now->ns = now->ns ? now->ns + (int64_t) any(720000) : 1790000000 * EF_NS_PER_S;
    memset(t, 0, offsetof(struct ef_trace, bytes));
    t->start = *now;
    memcpy(t->target, target, 16);
    make_packet(t, f);
    make_hops(t, f, with_clock);
    t->id = identity_of(t);
    t->n_copies = t->n_hops;
    t->switch_clock = with_clock;
    t->fate = any(200) ? EF_FATE_DELIVERED : EF_FATE_DROPPED;
    t->loop = any(1000) == 0;
    t->debug = any(50) == 0;
}

#endif
