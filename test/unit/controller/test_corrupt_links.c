/* SPDX-License-Identifier: Apache-2.0 */
/* Where packets are corrupted: by the hops that say so, by the port of a first hop,
 * and what is said of few and of many. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "controller/corrupt_links.h"

/* leaf1 - spine1 - leaf2. */
static const char topology[] =
    "{\"switches\":[{\"name\":\"leaf1\",\"loopback\":\"10.255.0.1\",\"ports\":[{\"number\":1,\"peer\":{\"node\":"
    "\"spine1\"}}]},{\"name\":\"spine1\",\"loopback\":\"10.255.1.1\",\"ports\":[{\"number\":1,\"peer\":{\"node\":"
    "\"leaf1\"}},{\"number\":2,\"peer\":{\"node\":\"leaf2\"}}]},{\"name\":\"leaf2\",\"loopback\":\"10.255.0.2\","
    "\"ports\":[{\"number\":1,\"peer\":{\"node\":\"spine1\"}}]}],\"hosts\":[]}";

struct fixture {
    json_t *document;
    struct corrupt_links *links;
    unsigned n_taken;
};

static int
set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){.document = json_loads(topology, 0, NULL)};
    f.links = corrupt_links_create(f.document);
    *state = &f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    corrupt_links_destroy(f->links);
    json_decref(f->document);
    return 0;
}

static struct ef_time
at(int second)
{
    struct ef_time base;
    ef_time_parse("2026-11-21T02:30:00Z", (struct ef_time){0}, &base, NULL);
    return ef_time_add_ms(base, second * 1000);
}

/* A trace over the switches of `path`, which came in by port 1; '!' behind one says that it is corrupt there. */
static void
take(struct fixture *f, const char *path, int second)
{
    char start[EF_TIME_TEXT_SIZE], id[17], copy[200], *rest = copy;
    json_t *hops = json_array();
    snprintf(copy, sizeof copy, "%s", path);
    for (char *name; (name = strsep(&rest, " "));) {
        size_t len = strcspn(name, "!");
        json_t *hop = json_pack("{s:s%, s:i, s:s}", "name", name, len, "port", 1, "direction", "ingress");
        if (name[len]) {
            json_object_set_new(hop, "corrupt", json_true());
        }
        json_array_append_new(hops, hop);
    }
    snprintf(id, sizeof id, "%016x", ++f->n_taken);
    json_t *trace = json_pack("{s:s, s:s, s:o}", "id", id, "start", ef_time_format(at(second), start), "hops", hops);
    assert_non_null(trace);
    corrupt_links_take(f->links, trace);
    json_decref(trace);
}

/* All findings since then, "from>to n, ...". */
static const char *
found(struct fixture *f, int since)
{
    static char text[400];
    struct corrupt_finding findings[8];
    size_t n = corrupt_links_find(f->links, at(since), findings, EF_ARRAY_SIZE(findings)), len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        len += (size_t) snprintf(text + len, sizeof text - len, "%s%s>%s %u%s", i ? ", " : "", findings[i].from,
                                 findings[i].to, findings[i].n, findings[i].is_link ? "" : " no link");
    }
    return text;
}

static void
hops_say_where(void **state)
{
    struct fixture *f = *state;
    take(f, "leaf1 spine1 leaf2", 1);
    assert_string_equal(found(f, 0), "");
    take(f, "leaf1 spine1 leaf2!", 1);
    take(f, "leaf1 spine1! leaf2", 2);
    take(f, "leaf2 spine1 leaf1!", 2);
    take(f, "leaf1 spine1 leaf2!", 3);
    assert_string_equal(found(f, 0), "spine1>leaf2 2, spine1>leaf1 1, leaf1>spine1 1");
    assert_string_equal(found(f, 3), "spine1>leaf2 1");
}

static void
a_first_hop_was_reached_by_its_port(void **state)
{
    struct fixture *f = *state;
    take(f, "leaf2! leaf1", 1);
    assert_string_equal(found(f, 0), "spine1>leaf2 1");
}

static void
what_is_no_link_is_called_none(void **state)
{
    struct fixture *f = *state;
    struct corrupt_finding findings[2];
    char text[300];
    take(f, "leaf1 leaf2!", 1);
    take(f, "spine1 spine1!", 1);
    take(f, "spine1 spine1!", 1);
    take(f, "spine1 spine1!", 1);
    assert_string_equal(found(f, 0), "spine1>spine1 3 no link, leaf1>leaf2 1 no link");
    assert_int_equal(corrupt_links_find(f->links, at(0), findings, 2), 2);
    assert_string_equal(corrupt_finding_device(&findings[0]), "spine1");
    assert_null(corrupt_finding_device(&findings[1]));
    findings[0].span_s = findings[1].span_s = 10;
    assert_true(corrupt_finding_text(&findings[0], text, sizeof text));
    assert_string_equal(text, "spine1 itself corrupts packets: 3 in the last 10 s.");
    assert_false(corrupt_finding_text(&findings[1], text, sizeof text));
    assert_string_equal(text, "One packet was corrupted by something between leaf1 and leaf2 in the last 10 s; so few "
                              "may be chance.");
}

static void
one_odd_packet_is_told_as_such(void **state)
{
    struct fixture *f = *state;
    struct corrupt_finding finding;
    char text[300];
    take(f, "leaf1 spine1 leaf2!", 1);
    assert_int_equal(corrupt_links_find(f->links, at(0), &finding, 1), 1);
    finding.span_s = 12.4;
    finding.n_packets = 411;
    finding.n_corrupted = 1;
    assert_false(corrupt_finding_text(&finding, text, sizeof text));
    assert_string_equal(text,
                        "One packet of 411 was corrupted by the link spine1 - leaf2 in the last 12 s; so few may be "
                        "chance.");
    finding.n_corrupted = 37;
    assert_true(corrupt_finding_text(&finding, text, sizeof text));
    assert_string_equal(text, "The link spine1 - leaf2 corrupts packets: 37 of 411 in the last 12 s.");
    json_t *shown = corrupt_finding_show(&finding);
    assert_string_equal(json_string_value(json_object_get(shown, "device")), "spine1");
    assert_int_equal(json_integer_value(json_object_get(shown, "corrupted")), 37);
    assert_int_equal(json_array_size(json_object_get(shown, "traces")), 1);
    json_decref(shown);
}

/* What comes from outside may be anything; and only so much is remembered. */
static void
nonsense_is_left_out(void **state)
{
    static const char *const texts[] = {
        "null",
        "[]",
        "{\"hops\": 7}",
        "{\"hops\": [7, null]}",
        "{\"hops\": [{\"corrupt\": true}]}",
        "{\"hops\": [{\"corrupt\": true, \"name\": 3, \"port\": \"x\"}], \"start\": 7}",
        "{\"hops\": [{\"name\": \"leaf1\"}, {\"corrupt\": true, \"name\": \"spine1\"}], \"start\": \"yesterdayish\"}",
        "{\"hops\": [{\"name\": \"leaf1\"}, {\"corrupt\": 1, \"name\": \"spine1\"}], \"start\": \"now\"}",
        "{\"hops\": [{\"name\": \"leaf2\", \"corrupt\": true, \"port\": 99}], \"start\": \"now\"}",
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < EF_ARRAY_SIZE(texts); i++) {
        json_t *trace = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        assert_non_null(trace);
        corrupt_links_take(f->links, trace);
        json_decref(trace);
    }
    assert_string_equal(found(f, -1000000), "");
    for (int i = 0; i < CORRUPT_LINKS_EVENTS + 100; i++) {
        take(f, "leaf1 spine1!", 1);
    }
    assert_string_equal(found(f, 0), "leaf1>spine1 8192");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hops_say_where, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_first_hop_was_reached_by_its_port, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_link_is_called_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_odd_packet_is_told_as_such, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense_is_left_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
