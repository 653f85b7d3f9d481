/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of answers out of the traces' store: whatever the columns and indexes
 * say, an answer is what asking every trace gives; for random traces, filters,
 * conditions, identities, windows and limits, while traces come and leave. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace_store.h"
#include "base/hash.h"
#include "filter/filter.h"
#include "packet/build.h"
#include "trace/trace_match.h"

enum { STORE_BYTES = 3 << 20, SMALL_STORE_BYTES = 1 << 20, QUERY_BYTES = 8 << 20 };

/* --- Random traces ------------------------------------------------------------------- */

static uint64_t
next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return ef_hash_mix(*state);
}

static unsigned
below(uint64_t *state, unsigned n)
{
    return (unsigned) (next_random(state) % n);
}

static void
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

static void
build_ipv4(struct ef_build *b, uint64_t *random)
{
    char src[24], dst[24];
    snprintf(src, sizeof src, "10.0.0.%u", below(random, 8));
    snprintf(dst, sizeof dst, "10.0.%u.%u", below(random, 2), below(random, 8));
    ef_build_ipv4(b, src, dst)[8] = (uint8_t) (58 + below(random, 8));
}

/* Plain IPv4 mostly; IPv6, tunnels, quoted packets, packets without IP. */
static void
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

static void
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
    hop->switch_time.ns = below(random, 2) ? t->start.ns + i : 0;
    hop->port = below(random, 100);
    hop->sequence = (uint32_t) next_random(random);
    hop->drop = below(random, 20) == 0;
    hop->src_mac[5] = (uint8_t) i;
}

/* The `i`th trace: its start is no other's, and nearly in the order of `i`. */
static void
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

static void
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
    "trace.missing == %u",
    "trace.missing",
    "trace.latency_us > %u",
    "trace.latency_us in {0..2.5, %u.25..1000}",
    "trace.latency_us <= %u",
    "trace.through == 10.255.0.%u",
    "switch == 10.255.0.%u",
};

static void
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

static struct ef_filter *
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

static struct ef_trace_query
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

static void
drop_query(struct ef_trace_query *q)
{
    ef_filter_destroy((struct ef_filter *) q->filter);
    ef_filter_destroy((struct ef_filter *) q->condition);
}

static bool
is_asked_for(const struct ef_trace_query *q, const struct ef_trace *t)
{
    return t->start.ns >= q->start.ns && t->start.ns <= q->end.ns &&
           (!q->has_id || (t->id >= q->id_low && t->id <= q->id_high)) && ef_trace_match(t, q->filter, q->condition);
}

/* --- Answers -------------------------------------------------------------------------- */

struct answer {
    struct ef_trace *traces;
    size_t n, n_lost;
    bool more;
};

static struct answer
ask(struct ef_trace_store *store, const struct ef_trace_query *q)
{
    struct ef_trace_cursor *cursor;
    struct ef_error err = EF_ERROR_INIT;
    struct answer a = {0};
    struct ef_trace t;
    int rc;
    memset(&t, 0, sizeof t);
    assert_int_equal(ef_trace_store_query(store, q, &cursor, &err), 0);
    while ((rc = ef_trace_cursor_next(cursor, &t))) {
        if (rc > 0) {
            if (!(a.n & (a.n - 1))) { /* Full at each power of two. */
                a.traces = realloc(a.traces, (a.n ? 2 * a.n : 1) * sizeof t);
                assert_non_null(a.traces);
            }
            a.traces[a.n++] = t;
        }
    }
    a.more = ef_trace_cursor_more(cursor);
    a.n_lost = ef_trace_cursor_lost(cursor);
    if (q->is_explained) {
        char *text = ef_trace_cursor_explain(cursor);
        assert_non_null(text);
        assert_non_null(strstr(text, "\"plan\":{"));
        free(text);
    }
    ef_trace_cursor_close(cursor);
    return a;
}

static int
compare_starts(const void *a, const void *b)
{
    const struct ef_time *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static int
compare_traces(const void *a, const void *b)
{
    const struct ef_trace *x = a, *y = b;
    return compare_starts(&x->start, &y->start);
}

/* The starts of the traces first to last - 1 that are asked for, in order. */
static size_t
scan(const struct ef_trace_query *q, uint64_t first, uint64_t last, struct ef_time *starts)
{
    size_t n = 0;
    for (uint64_t i = first; i < last; i++) {
        struct ef_trace t;
        make_trace(&t, i);
        if (is_asked_for(q, &t)) {
            starts[n++] = t.start;
        }
    }
    qsort(starts, n, sizeof *starts, compare_starts);
    return n;
}

/* From its start back to its number, whose rest of 4096 is in it. */
static uint64_t
number_of(const struct ef_trace *t)
{
    uint64_t at = (uint64_t) t->start.ns / 4096, rest = (uint64_t) t->start.ns % 4096;
    uint64_t later = (at - rest) % 4096;
    assert_true(later < 50);
    return at - later;
}

static void
answers_equal_a_scan(struct ef_trace_store *store, uint64_t first, uint64_t last, unsigned rounds, uint64_t *random)
{
    struct ef_time *starts = calloc(last - first + 1, sizeof *starts);
    for (unsigned i = 0; i < rounds; i++) {
        struct ef_trace_query q = make_query(last, random);
        struct answer a = ask(store, &q);
        size_t n = scan(&q, first, last, starts);
        size_t skipped = q.limit && n > q.limit ? n - q.limit : 0;
        if (a.n != n - skipped) {
            fail_msg("%zu of %zu traces for '%s' and '%s', limit %llu", a.n, n,
                     q.filter ? ef_filter_text(q.filter) : "", q.condition ? ef_filter_text(q.condition) : "",
                     (unsigned long long) q.limit);
        }
        for (size_t k = 0; k < a.n; k++) {
            assert_int_equal(a.traces[k].start.ns, starts[skipped + k].ns);
            if (k % 16 == 0) {
                check_same(&a.traces[k], number_of(&a.traces[k]));
            }
        }
        assert_int_equal(a.more, skipped > 0);
        assert_int_equal(a.n_lost, 0);
        free(a.traces);
        drop_query(&q);
    }
    free(starts);
}

static struct ef_trace_store *
create(unsigned n_writers, uint64_t bytes)
{
    struct ef_trace_store *store;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_trace_store_create(n_writers, bytes, QUERY_BYTES, &store, &err), 0);
    return store;
}

static void
append(struct ef_trace_store *store, unsigned writer, uint64_t i)
{
    struct ef_trace t;
    make_trace(&t, i);
    ef_trace_store_append(store, writer, &t);
}

static void
an_answer_is_what_a_scan_gives(void **state)
{
    uint64_t random = 1;
    for (unsigned round = 0; round < 3; round++) {
        unsigned n_writers = 1 + round % 3;
        uint64_t n = 0;
        struct ef_trace_store *store = create(n_writers, STORE_BYTES);
        for (unsigned step = 0; step < 4; step++) {
            for (unsigned k = below(&random, 1500); k > 0; k--) {
                append(store, (unsigned) (n % n_writers), n);
                n++;
            }
            for (unsigned w = 0; w < n_writers; w++) {
                ef_trace_store_flush(store, w);
            }
            if (below(&random, 2)) { /* Else as far as the indexes are. */
                ef_trace_store_settle(store);
            }
            answers_equal_a_scan(store, 0, n, 8, &random);
        }
        struct ef_trace_store_stats stats;
        ef_trace_store_stats(store, &stats);
        assert_int_equal(stats.n_evicted, 0);
        ef_trace_store_destroy(store);
    }
}

static void
what_has_left_is_not_there(void **state)
{
    uint64_t random = 2, n = 0;
    struct ef_trace_store *store = create(1, SMALL_STORE_BYTES);
    struct ef_trace_store_stats stats;
    do {
        for (unsigned k = 0; k < 1500; k++) {
            append(store, 0, n++);
        }
        ef_trace_store_flush(store, 0);
        ef_trace_store_settle(store);
        ef_trace_store_stats(store, &stats);
        answers_equal_a_scan(store, stats.n_evicted, n, 4, &random);
    } while (stats.n_evicted < 6000);
    assert_int_equal(stats.n_refused, 0);
    ef_trace_store_destroy(store);
}

/* --- Threads -------------------------------------------------------------------------- */

enum { WRITERS = 2, PER_WRITER = 4000 };

struct job {
    struct ef_trace_store *store;
    unsigned number;
    _Atomic uint64_t n_visible; /* Its traces are number, number + WRITERS ... */
};

static void *
write_many(void *arg)
{
    struct job *job = arg;
    for (uint64_t i = 0; i < PER_WRITER; i++) {
        append(job->store, job->number, i * WRITERS + job->number);
        if (i % 37 == 0) {
            ef_trace_store_flush(job->store, job->number);
            atomic_store(&job->n_visible, i + 1);
        }
    }
    ef_trace_store_flush(job->store, job->number);
    atomic_store(&job->n_visible, PER_WRITER);
    return NULL;
}

/* What was visible before the question and is not older than what had left after
 * it must be there; nothing must be there that is not asked for. */
static bool
check_while_writing(struct ef_trace_store *store, struct job *jobs, uint64_t *random)
{
    struct ef_trace_query q = make_query((uint64_t) WRITERS * PER_WRITER, random);
    struct ef_trace_store_stats stats;
    uint64_t visible[WRITERS];
    bool is_over = true;
    q.limit = 0;
    for (unsigned w = 0; w < WRITERS; w++) {
        visible[w] = atomic_load(&jobs[w].n_visible);
        is_over &= visible[w] == PER_WRITER;
    }
    struct answer a = ask(store, &q);
    ef_trace_store_stats(store, &stats);
    for (size_t k = 0; k < a.n; k++) {
        assert_true(!k || a.traces[k].start.ns > a.traces[k - 1].start.ns);
        assert_true(is_asked_for(&q, &a.traces[k]));
    }
    uint64_t from = (uint64_t) (stats.newest_evicted.ns < 0 ? 0 : stats.newest_evicted.ns / 4096 + 1);
    for (uint64_t i = from; i < (uint64_t) WRITERS * PER_WRITER; i++) {
        struct ef_trace t;
        make_trace(&t, i);
        if (i / WRITERS < visible[i % WRITERS] && is_asked_for(&q, &t)) {
            const struct ef_trace *found = bsearch(&t, a.traces, a.n, sizeof t, compare_traces);
            assert_non_null(found);
            check_same(found, i);
        }
    }
    free(a.traces);
    drop_query(&q);
    return is_over;
}

static void
writers_do_not_disturb_answers(void **state)
{
    uint64_t random = 3;
    struct ef_trace_store *store = create(WRITERS, SMALL_STORE_BYTES);
    pthread_t threads[WRITERS];
    struct job jobs[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) {
        jobs[i] = (struct job){.store = store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &jobs[i]), 0);
    }
    while (!check_while_writing(store, jobs, &random)) {
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct ef_trace_store_stats stats;
    ef_trace_store_stats(store, &stats);
    assert_true(stats.n_evicted > 0);
    assert_int_equal(stats.n_refused, 0);
    ef_trace_store_destroy(store);
}

/* Every trace once, or counted. */
static void
followers_miss_nothing_uncounted(void **state)
{
    struct ef_trace_store *store = create(WRITERS, SMALL_STORE_BYTES);
    struct ef_trace_follower *follower;
    pthread_t threads[WRITERS];
    struct job jobs[WRITERS];
    uint8_t *seen = calloc(WRITERS, PER_WRITER);
    struct ef_trace t;
    uint64_t n = 0;
    bool is_over;
    assert_int_equal(ef_trace_follower_open(store, &follower, NULL), 0);
    for (unsigned i = 0; i < WRITERS; i++) {
        jobs[i] = (struct job){.store = store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &jobs[i]), 0);
    }
    do {
        is_over = atomic_load(&jobs[0].n_visible) + atomic_load(&jobs[1].n_visible) == WRITERS * PER_WRITER;
        while (ef_trace_follower_next(follower, &t) > 0) {
            uint64_t i = number_of(&t);
            assert_false(seen[i]);
            seen[i] = 1;
            n++;
        }
    } while (!is_over);
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(n + ef_trace_follower_n_missed(follower), WRITERS * PER_WRITER);
    assert_true(n > 0);
    ef_trace_follower_close(follower);
    ef_trace_store_destroy(store);
    free(seen);
}

/* --- By index -------------------------------------------------------------------------- */

static char *
explain(struct ef_trace_store *store, const char *text)
{
    struct ef_trace_query q = {.start = {INT64_MIN}, .end = {INT64_MAX}, .is_explained = true};
    struct ef_filter *filter = NULL;
    struct ef_trace_cursor *cursor;
    struct ef_trace t;
    assert_int_equal(ef_filter_compile(text, EF_FILTER_ANY, &filter, NULL), 0);
    q.filter = filter;
    assert_int_equal(ef_trace_store_query(store, &q, &cursor, NULL), 0);
    while (ef_trace_cursor_next(cursor, &t)) {
    }
    char *explanation = ef_trace_cursor_explain(cursor);
    assert_non_null(explanation);
    ef_trace_cursor_close(cursor);
    ef_filter_destroy(filter);
    return explanation;
}

/* What the columns are asked can be read, and where indexes answer. */
static void
an_explanation_says_how(void **state)
{
    static const struct {
        const char *question, *parts[3];
    } cases[] = {
        {"ip.src == 10.0.0.3 && ip.ttl > 60",
         {"\"filter\":\"flags in {16..31} || src in {10.0.0.3}\"", "\"columns_decide\":false"}},
        {"!(ip.src == 10.0.0.3) || tcp", {"\"filter\":\"\""}},
        {"trace.loop && !(trace.hops > 5)", {"\"columns_decide\":true", "\"traces_looked_at\":0"}},
        {"switch == ::2", {"\"index\":\"trace\"", "\"scanned\":1}"}},
    };
    struct ef_trace_store *store = create(1, STORE_BYTES);
    for (uint64_t i = 0; i < 5000; i++) {
        append(store, 0, i);
    }
    ef_trace_store_flush(store, 0);
    ef_trace_store_settle(store);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        char *text = explain(store, cases[i].question);
        for (size_t k = 0; cases[i].parts[k]; k++) {
            if (!strstr(text, cases[i].parts[k])) {
                fail_msg("%s is not in %s", cases[i].parts[k], text);
            }
        }
        free(text);
    }
    ef_trace_store_destroy(store);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_what_a_scan_gives), cmocka_unit_test(what_has_left_is_not_there),
        cmocka_unit_test(writers_do_not_disturb_answers), cmocka_unit_test(followers_miss_nothing_uncounted),
        cmocka_unit_test(an_explanation_says_how),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
