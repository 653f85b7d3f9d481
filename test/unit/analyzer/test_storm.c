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

#include "base/hash.h"
#include "lane.h"
#include "packet/build.h"
#include "packet/probe_signature.h"
#include "trace/trace_json.h"

enum { MAX_FRAME = 512, BURSTS_PER_LOOK = 500, DEFAULT_SECONDS = 2 };

struct storm {
    struct ef_source source;
    uint64_t state; /* Of the random numbers. */
    struct ef_time now;
    uint8_t *frames[EF_BURST];
    unsigned n_held;
    uint64_t n_sent;
    struct lane lane;
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

static const struct ef_source_class storm_class = {
    .scheme = "storm", .close = storm_close, .receive = storm_receive, .overflows = lane_overflows};

/* --- The analyzer ------------------------------------------------------------------- */

static void
set_up(struct storm *s)
{
    s->lane = (struct lane){.n_ingests = 1,
                            .sources = {&s->source},
                            .ring_slots = 256,
                            .n_counters = 8,
                            .policy = "abnormal+debug+control+probe",
                            .open_bytes = 512 << 10,
                            .query_bytes = 2 << 20,
                            .idle_ns = 20 * EF_NS_PER_MS,
                            .debug_dscp = 2};
    lane_set_up(&s->lane, "10.4.0.0/16", "10.255.0.3");
}

/* Every trace of the store is one that can be printed. */
static void
print_trace(const struct ef_trace *trace)
{
    static char text[EF_TRACE_JSON_MAX];
    size_t n = ef_trace_json(trace, "storm", text, sizeof text);
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    json_decref(json);
}

/* A counter comes, another goes; there is room for eight. */
static void
change_counters(struct storm *s)
{
    static const char *const filters[] = {"tcp.dstport == 80", "trace.loop", "switch == 10.255.0.3", "trace.probe"};
    char name[8];
    snprintf(name, sizeof name, "c%u", random_below(s, 12));
    if (random_below(s, 2)) {
        ef_filter_counters_add(s->lane.counters, name, filters[random_below(s, 4)], (struct ef_group_by){0}, NULL);
    } else {
        ef_filter_counters_remove(s->lane.counters, name);
    }
}

static void
check_accounting(const struct storm *s)
{
    const struct ef_assembler_counters *c = ef_assembler_counters(s->lane.worker.assembler);
    uint64_t drops = ef_counter_get(&c->table_full) + ef_counter_get(&c->hops_full) +
                     ef_counter_get(&s->lane.ingests[0].feeds[0].busy);
    for (int i = 0; i < EF_N_DROP_REASONS; i++) {
        drops += ef_counter_get(&s->lane.ingests[0].drops[i]);
    }
    assert_int_equal(s->n_sent,
                     ef_counter_get(&s->lane.ingests[0].frames) + ef_counter_get(&s->lane.ingests[0].loss_reports));
    assert_int_equal(ef_counter_get(&s->lane.ingests[0].frames), ef_counter_get(&c->copies) + drops);
    assert_true(ef_counter_get(&s->lane.worker.unkept_copies) <= ef_counter_get(&c->copies));
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
        assert_int_equal(ef_ingest_turn(&s.lane.ingests[0], 0), EF_BURST);
        if (random_below(&s, 8)) { /* Else it lies about, until the ring is full. */
            ef_worker_turn(&s.lane.worker);
        }
        if (burst % BURSTS_PER_LOOK == 0) {
            lane_look_at_traces(&s.lane, 200, print_trace);
            change_counters(&s);
            lane_work_off(&s.lane);
            check_accounting(&s);
        }
    }
    lane_work_off(&s.lane);
    ef_assembler_close_all(s.lane.worker.assembler);
    check_accounting(&s);
    const struct ef_assembler_counters *c = ef_assembler_counters(s.lane.worker.assembler);
    assert_int_equal(ef_counter_get(&c->opened), ef_counter_get(&c->closed));
    assert_true(ef_counter_get(&c->closed) > 0);
    print_message("# %llu frames, %llu of them copies that were assembled, %llu traces\n",
                  (unsigned long long) s.n_sent, (unsigned long long) ef_counter_get(&c->copies),
                  (unsigned long long) ef_counter_get(&c->closed));
    lane_tear_down(&s.lane);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storm)};
    return cmocka_run_group_tests_name("analyzer/storm", tests, NULL, NULL);
}
