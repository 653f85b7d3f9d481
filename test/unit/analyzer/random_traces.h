/* SPDX-License-Identifier: Apache-2.0 */
/* Random traces and random questions about them, the same for the same numbers:
 * for the tests of whoever answers questions about traces, in memory or on disk. */
#ifndef EF_TEST_UNIT_ANALYZER_RANDOM_TRACES_H
#define EF_TEST_UNIT_ANALYZER_RANDOM_TRACES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyzer/trace_store.h"
#include "base/hash.h"
#include "filter/filter.h"
#include "packet/build.h"
#include "trace/trace_match.h"

/* --- Random traces ------------------------------------------------------------------- */

static inline uint64_t
next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return ef_hash_mix(*state);
}

static inline unsigned
below(uint64_t *state, unsigned n)
{
    return (unsigned) (next_random(state) % n);
}

static inline void
build_l4(struct ef_build *b, uint64_t *random)
{
    static const uint8_t flags[] = {EF_TCP_SYN, EF_TCP_SYN | EF_TCP_ACK, EF_TCP_ACK, EF_TCP_RST};
    uint16_t src = (uint16_t) (1000 + below(random, 6)), dst = (uint16_t) (80 + below(random, 4));
    switch (below(random, 4)) {
    case 0:
        ef_build_udp(b, src, dst);
        break;
    case 1:
        ef_build_icmp(b, 8, 0, 0);
        break;
    default:
        ef_build_tcp(b, src, dst, flags[below(random, 4)]);
    }
}

static inline void
build_ipv4(struct ef_build *b, uint64_t *random)
{
    char src[24], dst[24];
    snprintf(src, sizeof src, "10.0.0.%u", below(random, 8));
    snprintf(dst, sizeof dst, "10.0.%u.%u", below(random, 2), below(random, 8));
    ef_build_ipv4(b, src, dst)[8] = (uint8_t) (58 + below(random, 8));
}

/* Plain IPv4 mostly; IPv6, tunnels, quoted packets, packets without IP. */
static inline void
build_packet(struct ef_build *b, uint64_t *random)
{
    char src[24];
    ef_build_eth(b);
    switch (below(random, 12)) {
    case 0:
        ef_build_arp(b, 1, "10.0.0.1", "10.0.0.2");
        return;
    case 1:
    case 2:
        snprintf(src, sizeof src, "2001:db8::%u", below(random, 4));
        ef_build_ipv6(b, src, "2001:db8::1:1");
        ef_build_tcp(b, 1000, (uint16_t) (80 + below(random, 4)), EF_TCP_SYN);
        return;
    case 3:
        build_ipv4(b, random);
        ef_build_gre(b, 0, 0, 0);
        build_ipv4(b, random);
        build_l4(b, random);
        return;
    case 4:
        build_ipv4(b, random);
        ef_build_icmp(b, 3, 1, 0);
        build_ipv4(b, random);
        build_l4(b, random);
        return;
    default:
        build_ipv4(b, random);
        build_l4(b, random);
    }
}

static inline void
make_hop(struct ef_trace *t, unsigned i, uint64_t *random)
{
    bool is_ipv6 = below(random, 8) == 0;
    struct ef_hop *hop = &t->hops[i];
    *hop = (struct ef_hop){.ttl = (uint8_t) (64 - i), .outer_ttl = (uint8_t) (64 - i), .flags = EF_HOP_HAS_IP};
    hop->switch_address[15] = (uint8_t) below(random, 6);
    if (!is_ipv6) {
        memcpy(hop->switch_address, (uint8_t[]){[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 255}, 14);
    }
    hop->arrival.ns = t->start.ns + i * (int64_t) below(random, 9000);
    if (below(random, 2)) {
        hop->flags |= EF_HOP_HAS_SWITCH_TIME | EF_HOP_HAS_PORT | EF_HOP_HAS_SEQUENCE;
        hop->switch_time.ns = t->start.ns + i;
        hop->port = below(random, 100);
        hop->sequence = (uint32_t) next_random(random);
    }
    hop->drop = below(random, 20) == 0;
    hop->flags |= below(random, 20) == 0 ? EF_HOP_CORRUPT : 0;
    t->corrupt |= hop->flags & EF_HOP_CORRUPT;
    hop->src_mac[5] = (uint8_t) i;
}

/* The `i`th trace: its start is no other's, and nearly in the order of `i`. */
static inline void
make_trace(struct ef_trace *t, uint64_t i)
{
    uint64_t random = i * 77;
    struct ef_build b;
    memset(t, 0, sizeof *t);
    t->id = ef_hash_mix(i / 2); /* Two have the same. */
    t->start.ns = (int64_t) ((i + below(&random, 50)) * 4096 + i % 4096);
    t->end.ns = t->start.ns + below(&random, 100000);
    ef_build_start(&b, t->bytes, sizeof t->bytes);
    build_packet(&b, &random);
    t->n_bytes = (uint16_t) ef_build_finish(&b);
    t->wire_len = t->n_bytes + below(&random, 20);
    if (below(&random, 10) == 0) { /* Cut short somewhere. */
        t->n_bytes = (uint16_t) below(&random, t->n_bytes);
    }
    t->n_hops = (uint8_t) below(&random, 7);
    for (unsigned k = 0; k < t->n_hops; k++) {
        make_hop(t, k, &random);
    }
    t->n_duplicates = below(&random, 3);
    t->n_copies = t->n_hops + t->n_duplicates;
    t->loop = below(&random, 40) == 0;
    t->debug = below(&random, 5) == 0;
    t->switch_clock = below(&random, 4) == 0;
    t->hops_full = below(&random, 9) == 0;
    t->copies_lost = below(&random, 9) == 0;
    t->n_missing = (uint8_t) below(&random, 3);
    t->mux_hop = below(&random, 12) == 0 && t->n_hops > 1;
    t->fate = (uint8_t) below(&random, EF_N_FATES);
    t->has_expected = below(&random, 2);
    memset(t->target, (int) below(&random, 2), sizeof t->target);
    memset(t->expected, t->has_expected ? 7 : 0, sizeof t->expected);
}

static inline void
check_same(const struct ef_trace *t, uint64_t i)
{
    struct ef_trace expected;
    make_trace(&expected, i);
    assert_memory_equal(t, &expected, offsetof(struct ef_trace, bytes));
    assert_memory_equal(t->bytes, expected.bytes, t->n_bytes);
    for (unsigned k = 0; k < t->n_hops; k++) {
        assert_memory_equal(&t->hops[k], &expected.hops[k], offsetof(struct ef_hop, drop) + 1);
    }
}

/* --- Random questions ------------------------------------------------------------------ */

static const char *const packet_tests[] = {
    "ip.src == 10.0.0.%u",
    "ip.dst == 10.0.1.%u",
    "ip.addr == 10.0.0.%u",
    "ip.dst == 10.0.%u.0/24",
    "ip.src in {10.0.0.1, 10.0.0.3..10.0.0.%u}",
    "ip.src != 10.0.0.%u",
    "ip.src < 10.0.0.%u",
    "any ip.addr >= 10.0.1.%u",
    "all ip.addr == 10.0.0.%u",
    "ipv6.src == 2001:db8::%u",
    "ipv6.addr == 2001:db8::/126",
    "ipv6.dst > 2001:db8::%u",
    "tcp.srcport == 100%u",
    "tcp.dstport in {80, 82..8%u}",
    "tcp.port > 100%u",
    "udp.port == 8%u",
    "udp.srcport <= 100%u",
    "udp.dstport != 8%u",
    "tcp.dstport & 3 == %u",
    "tcp",
    "udp",
    "icmp",
    "ip",
    "gre",
    "arp",
    "tcp.flags.syn == 1",
    "tcp.flags.syn == 0",
    "tcp.flags.syn",
    "tcp.flags == 0x1%u",
    "tcp.flags in {0x02, 0x10..0x1%u}",
    "tcp.srcport == tcp.dstport",
    "ip.ttl > 6%u",
    "frame.len > 6%u",
    "switch == 10.255.0.%u",
    "switch == 10.255.0.0/2%u",
    "switch == ::%u",
    "switch != 10.255.0.%u",
    "switch in {10.255.0.1, 10.255.0.%u}",
    "outer.dst == 0101:101:101:101:101:101:101:101",
};

static const char *const trace_tests[] = {
    "trace.hops > %u",
    "trace.hops in {1, 3..%u}",
    "trace.hops == 300",
    "trace.hops != %u",
    "trace.hops < 1000%u",
    "trace.copies >= %u",
    "trace.loop",
    "trace.loop == 0",
    "trace.debug",
    "trace.debug != 1",
    "trace.drop",
    "trace.drop in {0, 1}",
    "trace.mux == 1",
    "trace.mux",
    "trace.corrupt",
    "trace.corrupt == 0 && trace.drop",
    "trace.missing == %u",
    "trace.missing",
    "trace.latency_us > %u",
    "trace.latency_us in {0..2.5, %u.25..1000}",
    "trace.latency_us <= %u",
    "trace.through == 10.255.0.%u",
    "switch == 10.255.0.%u",
};

static inline void
write_question(FILE *out, const char *const *tests, unsigned n_tests, unsigned depth, uint64_t *random)
{
    unsigned kind = depth ? below(random, 6) : 0;
    if (kind < 2) {
        bool is_negated = below(random, 4) == 0;
        fputs(is_negated ? "!(" : "(", out);
        fprintf(out, tests[below(random, n_tests)], below(random, 8));
        fputc(')', out);
        return;
    }
    unsigned n = 2 + below(random, 2);
    fputs(below(random, 5) ? "(" : "!(", out);
    for (unsigned i = 0; i < n; i++) {
        fputs(!i ? "" : kind < 5 ? " && " : " || ", out);
        write_question(out, tests, n_tests, depth - 1, random);
    }
    fputc(')', out);
}

static inline struct ef_filter *
make_filter(enum ef_filter_kind kind, uint64_t *random)
{
    bool is_packet = kind == EF_FILTER_PACKET;
    char *text = NULL;
    size_t size;
    struct ef_filter *filter = NULL;
    struct ef_error err = EF_ERROR_INIT;
    if (below(random, 3) == 0) {
        return NULL;
    }
    FILE *out = open_memstream(&text, &size);
    write_question(out, is_packet ? packet_tests : trace_tests,
                   is_packet ? EF_ARRAY_SIZE(packet_tests) : EF_ARRAY_SIZE(trace_tests), below(random, 4), random);
    fclose(out);
    if (ef_filter_compile(text, kind, &filter, &err)) {
        fail_msg("%s: %s", text, err.text);
    }
    free(text);
    return filter;
}

static inline struct ef_trace_query
make_query(uint64_t n_traces, uint64_t *random)
{
    struct ef_trace_query q = {.start = {INT64_MIN}, .end = {INT64_MAX}};
    q.filter = make_filter(EF_FILTER_PACKET, random);
    q.condition = make_filter(EF_FILTER_CONDITION, random);
    q.is_explained = below(random, 2);
    if (below(random, 3) == 0) {
        q.start.ns = (int64_t) (next_random(random) % (n_traces * 4096));
    }
    if (below(random, 3) == 0) {
        q.end.ns = q.start.ns / 2 + (int64_t) (next_random(random) % (n_traces * 4096));
    }
    if (below(random, 8) == 0) {
        q.has_id = true;
        q.id_low = ef_hash_mix(next_random(random) % (n_traces / 2 + 1));
        q.id_high = below(random, 2) ? q.id_low : q.id_low | UINT64_MAX >> 8; /* Some that begin alike. */
    }
    q.limit = below(random, 3) ? below(random, 200) : 0;
    return q;
}

static inline void
drop_query(struct ef_trace_query *q)
{
    ef_filter_destroy((struct ef_filter *) q->filter);
    ef_filter_destroy((struct ef_filter *) q->condition);
}

static inline bool
is_asked_for(const struct ef_trace_query *q, const struct ef_trace *t)
{
    return t->start.ns >= q->start.ns && t->start.ns <= q->end.ns &&
           (!q->has_id || (t->id >= q->id_low && t->id <= q->id_high)) && ef_trace_match(t, q->filter, q->condition);
}

#endif
