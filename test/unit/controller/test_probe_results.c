/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is said of probes: from their traces alone, each probe once, round
 * trips by one switch's clock only. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/probe_results.h"

#define ID "00c0ffee00c0ffee"

/* "leaf1@100 spine1@150": hops with the nanoseconds of their switch's clock; a
 * '>' in front is a copy at egress, '-' no clock. */
static void
add(struct probe_results *r, const char *id, int sequence, const char *fate, const char *hops)
{
    char text[4096], list[3000] = "";
    size_t n = 0;
    for (const char *p = hops; *p; p += strspn(p, " ")) {
        char name[16], clock[48] = "null";
        unsigned ns;
        bool egress = *p == '>';
        p += egress;
        sscanf(p, "%15[^@]@%u", name, &ns);
        if (!strchr(name, '-')) {
            snprintf(clock, sizeof clock, "\"2026-11-21T02:30:00.%09uZ\"", ns);
        }
        n += (size_t) snprintf(list + n, sizeof list - n, "%s{\"name\":\"%s\",\"direction\":\"%s\",\"switch_time\":%s}",
                               n ? "," : "", name, egress ? "egress" : "ingress", clock);
        p += strcspn(p, " ");
    }
    int len = snprintf(text, sizeof text,
                       "{\"id\":\"t%d\",\"probe\":{\"id\":\"%s\",\"sequence\":%d},\"fate\":\"%s\",\"hops\":[%s]}",
                       sequence, id, sequence, fate, list);
    probe_results_add(r, text, (size_t) len);
}

/* The results as text, compared as values. */
static void
expect(struct probe_results *r, uint64_t sent, const char *expected)
{
    json_t *is = probe_results_show(r, sent), *should = json_loads(expected, 0, NULL);
    assert_non_null(should);
    if (!json_equal(is, should)) {
        char *text = json_dumps(is, JSON_COMPACT);
        fail_msg("%s", text);
    }
    json_decref(is);
    json_decref(should);
    probe_results_destroy(r);
}

static void
nothing_seen_is_nothing_lost(void **state)
{
    expect(probe_results_create(ID, 10), 10,
           "{\"traced\":0,\"untraced\":10,\"fates\":{},\"loss\":null,\"ways\":[],\"round_trips\":[],\"traces\":[]}");
}

static void
each_probe_counts_once(void **state)
{
    struct probe_results *r = probe_results_create(ID, 3);
    add(r, ID, 0, "delivered", "leaf1@1 leaf2@2");
    add(r, ID, 0, "dropped", "leaf1@1");                   /* A part of it that came late. */
    add(r, ID, 3, "delivered", "leaf1@1");                 /* Nobody ordered it. */
    add(r, "00c0ffee00c0ffe0", 1, "delivered", "leaf1@1"); /* Another's. */
    probe_results_add(r, "{\"probe\":\"" ID "\"}", 29);    /* Nonsense. */
    probe_results_add(r, "{" ID, 17);
    add(r, ID, 2, "dropped", "leaf1@1 >leaf1@2");
    expect(r, 2,
           "{\"traced\":2,\"untraced\":0,\"fates\":{\"delivered\":1,\"dropped\":1},\"loss\":0.5,"
           "\"ways\":[{\"switches\":[\"leaf1\",\"leaf2\"],\"probes\":1},{\"switches\":[\"leaf1\"],\"probes\":1}],"
           "\"round_trips\":[],\"traces\":[\"t0\",\"t2\"]}");
}

static void
round_trips_are_by_one_clock(void **state)
{
    struct probe_results *r = probe_results_create(ID, 200);
    /* The spine's clock is far off: it has no part in it. */
    for (int i = 0; i < 100; i++) {
        char hops[200];
        snprintf(hops, sizeof hops, "leaf1@1000 >leaf1@1500 spine1@900000000 >spine1@900000100 leaf1@%d",
                 2000 + 1000 * i);
        add(r, ID, i, "unknown", hops);
    }
    add(r, ID, 100, "unknown", "leaf1@1 spine1@2 leaf2@3");   /* Not back. */
    add(r, ID, 101, "unknown", "leaf-1@1 spine1@2 leaf-1@3"); /* No clock. */
    json_t *all = probe_results_show(r, 102), *links = json_object_get(all, "round_trips");
    const json_t *link = json_array_get(links, 0);
    const struct round_trips *trips = probe_results_link(r, "leaf1", "spine1");
    assert_int_equal(json_array_size(links), 1);
    assert_string_equal(json_string_value(json_object_get(link, "from")), "leaf1");
    assert_string_equal(json_string_value(json_object_get(link, "to")), "spine1");
    assert_int_equal(json_integer_value(json_object_get(link, "n")), 100);
    assert_float_equal(json_real_value(json_object_get(link, "min_us")), 1, 1e-9);
    assert_float_equal(json_real_value(json_object_get(link, "p99_us")), 99, 1e-9);
    assert_non_null(trips);
    assert_int_equal(trips->n, 100);
    assert_float_equal(trips->samples[99].us, 100, 1e-9);
    assert_null(probe_results_link(r, "spine1", "leaf1"));
    json_decref(all);
    probe_results_destroy(r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_seen_is_nothing_lost),
        cmocka_unit_test(each_probe_counts_once),
        cmocka_unit_test(round_trips_are_by_one_clock),
    };
    return cmocka_run_group_tests_name("controller/probe_results", tests, NULL, NULL);
}
