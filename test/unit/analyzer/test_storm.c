/* SPDX-License-Identifier: Apache-2.0 */
/* Random and mutated copies, with times that jump, on the analyzer's whole way:
 * nothing is read that is not there (each frame ends where its allocation does,
 * for AddressSanitizer), every trace can be printed and asked for, and at the end
 * every frame is accounted for. EF_STORM_SECONDS says for how long, EF_STORM_SEED
 * with which numbers. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/worker.h"
#include "base/hash.h"
#include "io/source_class.h"
#include "packet/build.h"
#include "packet/probe_signature.h"
#include "trace/trace_json.h"

enum { MAX_FRAME = 512, BURSTS_PER_LOOK = 500, DEFAULT_SECONDS = 2, MAX_TURNS = 1 << 20 };

struct storm {
    struct ef_source source;
    uint64_t state; /* Of the random numbers. */
    struct ef_time now;
    uint8_t *frames[EF_BURST];
    unsigned n_held;
    uint64_t n_sent;
    struct ef_bell bell;
    struct ef_ingest ingest;
    struct ef_worker worker;
    struct ef_trace_store *store;
    struct ef_filter_counters *counters;
    struct ef_keep keep;
    struct ef_last_hops *last_hops;
    const struct ef_loss_table *losses[1];
};

static uint32_t
random_below(struct storm *s, uint32_t n)
{
    return (uint32_t) ((ef_hash_mix(++s->state) >> 32) * n >> 32);
}

/* --- Frames ---------------------------------------------------------------------- */

static void
build_original(struct storm *s, struct ef_build *b)
{
    uint8_t signature[EF_PROBE_SIGNATURE_LEN];
    uint32_t flow = random_below(s, 200);
    ef_build_eth(b);
    if (!random_below(s, 4)) {
        ef_build_vlan(b, 0x8100, (uint16_t) flow);
    }
    if (!random_below(s, 6)) {
        ef_build_ipv4(b, "10.1.0.9", "10.255.0.3");
        ef_build_gre(b, 0, 0, 0);
    }
    uint8_t *ip = ef_build_ipv4(b, "10.1.0.2", "10.4.0.3");
    ip[5] = (uint8_t) random_below(s, 20); /* Of the id: some packets are seen by many switches, some often. */
    ip[8] = (uint8_t) (64 - random_below(s, 8));
    if (!random_below(s, 5)) {
        ef_build_udp(b, (uint16_t) flow, (uint16_t) (random_below(s, 2) ? 4791 : 53));
        ef_probe_signature_write(&(struct ef_probe_signature){.probe_id = flow}, signature);
        ef_build_payload(b, signature, sizeof signature);
    } else {
        ef_build_tcp(b, (uint16_t) flow, random_below(s, 2) ? 80 : 179, EF_TCP_SYN);
    }
}

static uint32_t
make_copy(struct storm *s, uint8_t frame[MAX_FRAME])
{
    uint8_t original[MAX_FRAME];
    struct ef_build b;
    ef_build_start(&b, original, 256);
    build_original(s, &b);
    int len = ef_build_finish(&b);
    assert_true(len > 0);
    struct ef_copy copy = {
        .switch_address = {[10] = 0xff, 0xff, 10, 255, 0, (uint8_t) random_below(s, 8)},
        .target_address = {[10] = 0xff, 0xff, 10, 255, 255, 1},
        .encapsulation = (enum ef_encapsulation) random_below(s, EF_ENCAP_ERSPAN3 + 1),
        .has_sequence = random_below(s, 2),
        .sequence = random_below(s, 1000),
        .has_port = true,
        .port = random_below(s, 64),
        .original = original,
        .original_len = (uint32_t) len,
        .original_wire_len = (uint32_t) len,
    };
    copy.has_switch_time = copy.encapsulation == EF_ENCAP_ERSPAN3;
    copy.switch_time = s->now;
    int headers_len = ef_copy_build_headers(&copy, frame, MAX_FRAME - (uint32_t) len);
    if (headers_len < 0) {
        return 0; /* Not every encapsulation can say all of it. */
    }
    memcpy(frame + headers_len, original, (size_t) len);
    return (uint32_t) (headers_len + len);
}

/* Of the copies, a third stay as they are; others have bytes changed, or an end cut off. */
static uint32_t
mutate(struct storm *s, uint8_t frame[MAX_FRAME], uint32_t len)
{
    uint32_t how = random_below(s, 12);
    if (how == 11 || !len) {
        for (len = random_below(s, MAX_FRAME); how < len; how++) {
            frame[how] = (uint8_t) random_below(s, 256);
        }
        return len;
    }
    for (uint32_t n = how < 4 ? 0 : random_below(s, 6); n; n--) {
        frame[random_below(s, len)] = (uint8_t) random_below(s, 256);
    }
    return how < 8 ? len : random_below(s, len + 1);
}

static int
storm_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct storm *s = EF_CONTAINER_OF(source, struct storm, source);
    while (s->n_held) {
        free(s->frames[--s->n_held]);
    }
    for (; (int) s->n_held < max; s->n_held++) {
        uint8_t bytes[MAX_FRAME] = {0};
        uint32_t len = mutate(s, bytes, make_copy(s, bytes));
        uint8_t *exact = malloc(len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, bytes, len);
        s->frames[s->n_held] = exact;
        frames[s->n_held] =
            (struct ef_frame){exact, len, len + (random_below(s, 4) ? 0 : random_below(s, 2000)), s->now};
        s->now.ns += random_below(s, 20000);
        if (!random_below(s, 100000)) { /* Nothing comes for up to an hour, or time runs back a little. */
            s->now.ns += random_below(s, 2) ? random_below(s, 3600) * EF_NS_PER_S : -30 * EF_NS_PER_MS;
        }
    }
    s->n_sent += s->n_held;
    return (int) s->n_held;
}

static void
storm_close(struct ef_source *source)
{
    struct storm *s = EF_CONTAINER_OF(source, struct storm, source);
    while (s->n_held) {
        free(s->frames[--s->n_held]);
    }
}

static uint64_t
storm_overflows(struct ef_source *source)
{
    return 0;
}

static const struct ef_source_class storm_class = {
    .scheme = "storm", .close = storm_close, .receive = storm_receive, .overflows = storm_overflows};

/* --- The analyzer ------------------------------------------------------------------- */

static void
set_up(struct storm *s)
{
    struct ef_error err = EF_ERROR_INIT;
    json_t *topology = json_pack("{s:[{s:s, s:s}], s:[{s:s, s:s}]}", "switches", "name", "s3", "loopback", "10.255.0.3",
                                 "hosts", "address", "10.4.0.0/16", "switch", "s3");
    assert_int_equal(ef_last_hops_create(topology, &s->last_hops, &err), 0);
    json_decref(topology);
    assert_int_equal(ef_bell_init(&s->bell), 0);
    assert_int_equal(ef_keep_init(&s->keep, "abnormal+debug+control+probe", &err), 0);
    assert_int_equal(ef_filter_counters_create(1, 8, &s->counters), 0);
    assert_int_equal(ef_trace_store_create(1, 8 << 20, 2 << 20, &s->store, &err), 0);
    struct ef_ingest_config ingest = {.spec = "storm",
                                      .source = &s->source,
                                      .feed_slots = 256,
                                      .n_workers = 1,
                                      .bells = &s->bell,
                                      .takes_loss_reports = true};
    assert_int_equal(ef_ingest_init(&s->ingest, &ingest, &err), 0);
    s->losses[0] = &s->ingest.losses;
    struct ef_worker_config worker = {
        .assembler = {.memory_bytes = 512 << 10, .idle_ns = 20 * EF_NS_PER_MS, .debug_dscp = 2},
        .ingests = &s->ingest,
        .n_ingests = 1,
        .bell = &s->bell,
        .store = s->store,
        .judge = {.last_hops = s->last_hops, .losses = s->losses, .n_losses = 1},
        .load_ports = EF_LOAD_MIN_PORTS,
        .keep = &s->keep,
        .counters = s->counters,
    };
    assert_int_equal(ef_worker_init(&s->worker, &worker, &err), 0);
}

static void
tear_down(struct storm *s)
{
    ef_worker_deinit(&s->worker);
    ef_ingest_deinit(&s->ingest);
    ef_trace_store_destroy(s->store);
    ef_filter_counters_destroy(s->counters);
    ef_keep_deinit(&s->keep);
    ef_bell_deinit(&s->bell);
    ef_last_hops_destroy(s->last_hops);
}

/* Every trace of the store is one that can be printed. */
static void
ask(struct storm *s)
{
    static struct ef_trace trace;
    static char text[EF_TRACE_JSON_MAX];
    struct ef_trace_query query = {.start = {INT64_MIN}, .end = {INT64_MAX}, .limit = 200};
    struct ef_trace_cursor *cursor;
    assert_int_equal(ef_trace_store_query(s->store, &query, &cursor, NULL), 0);
    for (int rc, i = 0; (rc = ef_trace_cursor_next(cursor, &trace)) && i < MAX_TURNS; i++) {
        size_t n = rc > 0 ? ef_trace_json(&trace, "storm", text, sizeof text) : 0;
        json_t *json = rc > 0 ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
        assert_true(rc < 0 || json);
        json_decref(json);
    }
    ef_trace_cursor_close(cursor);
}

/* A counter comes, another goes; there is room for eight. */
static void
change_counters(struct storm *s)
{
    static const char *const filters[] = {"tcp.dstport == 80", "trace.loop", "switch == 10.255.0.3", "trace.probe"};
    char name[8];
    snprintf(name, sizeof name, "c%u", random_below(s, 12));
    if (random_below(s, 2)) {
        ef_filter_counters_add(s->counters, name, filters[random_below(s, 4)], NULL);
    } else {
        ef_filter_counters_remove(s->counters, name);
    }
}

static void
work_off(struct storm *s)
{
    for (int i = 0; ef_worker_turn(&s->worker); i++) {
        assert_true(i < MAX_TURNS);
    }
}

static void
check_accounting(const struct storm *s)
{
    const struct ef_assembler_counters *c = ef_assembler_counters(s->worker.assembler);
    uint64_t drops =
        ef_counter_get(&c->table_full) + ef_counter_get(&c->hops_full) + ef_counter_get(&s->ingest.feeds[0].busy);
    for (int i = 0; i < EF_N_DROP_REASONS; i++) {
        drops += ef_counter_get(&s->ingest.drops[i]);
    }
    assert_int_equal(s->n_sent, ef_counter_get(&s->ingest.frames) + ef_counter_get(&s->ingest.loss_reports));
    assert_int_equal(ef_counter_get(&s->ingest.frames), ef_counter_get(&c->copies) + drops);
    assert_true(ef_counter_get(&s->worker.unkept_copies) <= ef_counter_get(&c->copies));
}

static uint64_t
number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void
storm(void **state)
{
    static struct storm s;
    int64_t seconds = (int64_t) number_from("EF_STORM_SECONDS", DEFAULT_SECONDS);
    s.source.class = &storm_class;
    s.state = number_from("EF_STORM_SEED", 1) << 40;
    s.now.ns = 1795228200 * EF_NS_PER_S;
    set_up(&s);
    struct ef_time end = ef_time_add_ns(ef_time_mono(), seconds * EF_NS_PER_S);
    for (uint64_t burst = 0; ef_time_before(ef_time_mono(), end); burst++) {
        assert_int_equal(ef_ingest_turn(&s.ingest, 0), EF_BURST);
        if (random_below(&s, 8)) { /* Else it lies about, until the ring is full. */
            ef_worker_turn(&s.worker);
        }
        if (burst % BURSTS_PER_LOOK == 0) {
            ask(&s);
            change_counters(&s);
            work_off(&s);
            check_accounting(&s);
        }
    }
    work_off(&s);
    ef_assembler_close_all(s.worker.assembler);
    check_accounting(&s);
    const struct ef_assembler_counters *c = ef_assembler_counters(s.worker.assembler);
    assert_int_equal(ef_counter_get(&c->opened), ef_counter_get(&c->closed));
    assert_true(ef_counter_get(&c->closed) > 0);
    print_message("# %llu frames, %llu of them copies that were assembled, %llu traces\n",
                  (unsigned long long) s.n_sent, (unsigned long long) ef_counter_get(&c->copies),
                  (unsigned long long) ef_counter_get(&c->closed));
    tear_down(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storm)};
    return cmocka_run_group_tests_name("analyzer/storm", tests, NULL, NULL);
}
