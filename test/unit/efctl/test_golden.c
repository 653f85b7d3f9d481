/* SPDX-License-Identifier: Apache-2.0 */
/* What efctl draws: documents of test/golden/efctl through the views, compared
 * with the texts beside them. `make golden-update` (EF_GOLDEN_UPDATE=1) writes
 * the texts anew; look at the difference before committing it. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "utilities/efctl/store_view.h"
#include "utilities/efctl/trace_errors.h"
#include "utilities/efctl/trace_view.h"
#include "utilities/efctl/views.h"

#define GOLDEN EF_TEST_SRCDIR "/golden/efctl/"

static json_t *
load(const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, GOLDEN "%s.json", name);
    json_t *document = json_load_file(path, 0, &error);
    if (!document) {
        fail_msg("%s:%d: %s", path, error.line, error.text);
    }
    return document;
}

/* The expected text; the caller frees it. */
static char *
read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        fail_msg("%s: %s; make golden-update writes it", path, strerror(errno));
    }
    char *text = NULL;
    size_t size = 0;
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}

static void
write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) {
        fail_msg("%s: %s", path, strerror(errno));
    }
}

static void
compare(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s.txt", name);
    if (getenv("EF_GOLDEN_UPDATE")) {
        write_text(path, text);
        return;
    }
    char *expected = read_text(path);
    assert_string_equal(text, expected);
    free(expected);
}

/* Draws `document` into a text, which the caller frees. */
static char *
draw(const json_t *document, efctl_view *view, const void *ctx, bool json, bool colour)
{
    char *text;
    size_t size;
    struct efctl_output out = {.file = open_memstream(&text, &size), .json = json, .colour = colour};
    assert_non_null(out.file);
    efctl_output_document(&out, document, view, ctx);
    assert_int_equal(fclose(out.file), 0);
    return text;
}

static void
check(const char *name, const char *golden, efctl_view *view, const void *ctx, bool json, bool colour)
{
    json_t *document = load(name);
    char *text = draw(document, view, ctx, json, colour);
    compare(golden, text);
    free(text);
    json_decref(document);
}

/* 2026-11-21T02:40:00Z, when everything here was drawn. */
static const struct ef_time now = {1795228800 * EF_NS_PER_S};

static void
switches(void **state)
{
    check("switches", "switches", efctl_switches_view, &now, false, false);
    check("switches-errors", "switches-errors", efctl_switches_view, &now, false, false);
    check("switches-none", "switches-none", efctl_switches_view, &now, false, false);
    check("switch", "switch", efctl_switch_view, &now, false, false);
    check("switch-none", "switch-none", efctl_switch_view, &now, false, false);
}

static void
stores(void **state)
{
    struct efctl_trace_query query = {.limit = 2};
    check("store", "store", efctl_store_view, &now, false, false);
    check("store-bad", "store-bad", efctl_store_view, &now, false, false);
    check("store-bad", "store-bad-coloured", efctl_store_view, &now, false, true);
    check("status-bad", "store-of-status-bad", efctl_store_view, &now, false, false);
    check("status-empty", "store-empty", efctl_store_view, &now, false, false);
    static const char *const traces[] = {"trace", "trace-more", "trace-loop", "trace-none", "trace-hostile"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(traces); i++) {
        char golden[64];
        snprintf(golden, sizeof golden, "store-%s", traces[i]);
        check(traces[i], golden, efctl_store_traces_view, &query, false, false);
    }
}

static void
alerts(void **state)
{
    check("alerts", "alerts", efctl_alerts_view, &now, false, false);
    check("alerts", "alerts-coloured", efctl_alerts_view, &now, false, true);
    check("alerts-none", "alerts-none", efctl_alerts_view, &now, false, false);
    check("alert", "alert", efctl_alert_view, NULL, false, false);
}

static void
diagnoses(void **state)
{
    static const char *const names[] = {"diagnosis", "diagnosis-failed", "diagnosis-none"};
    static const bool found[] = {true, false, false};
    for (size_t i = 0; i < EF_ARRAY_SIZE(names); i++) {
        check(names[i], names[i], efctl_diagnosis_view, NULL, false, false);
        json_t *document = load(names[i]);
        assert_true(efctl_diagnosis_is_over(document));
        assert_int_equal(efctl_diagnosis_found(document), found[i]);
        json_decref(document);
    }
    check("diagnoses", "diagnoses", efctl_diagnoses_view, &now, false, false);
    check("diagnoses-none", "diagnoses-none", efctl_diagnoses_view, &now, false, false);
}

static void
probes(void **state)
{
    check("probe", "probe", efctl_probe_view, NULL, false, false);
    check("probe", "probe-coloured", efctl_probe_view, NULL, false, true);
    check("probe-refused", "probe-refused", efctl_probe_view, NULL, false, false);
    check("probes", "probes", efctl_probes_view, &now, false, false);
    check("probes-none", "probes-none", efctl_probes_view, &now, false, false);
    json_t *mixed = load("probe"), *refused = load("probe-refused"), *queued = json_pack("{s:s}", "state", "queued");
    assert_true(efctl_probe_is_bad(mixed) && efctl_probe_is_over(mixed));
    assert_true(efctl_probe_is_bad(refused) && efctl_probe_is_over(refused));
    assert_false(efctl_probe_is_bad(queued) || efctl_probe_is_over(queued));
    json_decref(mixed);
    json_decref(refused);
    json_decref(queued);
}

static void
loads(void **state)
{
    check("load", "load", efctl_load_view, NULL, false, false);
    check("load-none", "load-none", efctl_load_view, NULL, false, false);
    check("latency", "latency", efctl_latency_view, NULL, false, false);
    check("load-none", "latency-none", efctl_latency_view, NULL, false, false);
}

static void
counters(void **state)
{
    static const bool with_values = true;
    check("counters", "counters", efctl_counters_view, &now, false, false);
    check("counter", "counter", efctl_counter_view, NULL, false, false);
    check("counter-groups", "counter-groups", efctl_counter_view, NULL, false, false);
    check("counter-groups", "counter-groups-values", efctl_counter_view, &with_values, false, false);
}

static void
small_views(void **state)
{
    static const struct {
        const char *name;
        efctl_view *view;
    } cases[] = {
        {"topology", efctl_topology_view},
        {"topology-wide", efctl_topology_view},
        {"topology-empty", efctl_topology_view},
        {"status", efctl_status_view},
        {"status-bad", efctl_status_view},
        {"status-empty", efctl_status_view},
        {"tokens", efctl_tokens_view},
        {"tokens-none", efctl_tokens_view},
        {"webhooks", efctl_webhooks_view},
        {"webhooks-none", efctl_webhooks_view},
        {"audit", efctl_audit_view},
        {"config", efctl_config_view},
        {"debug", efctl_debug_sessions_view},
        {"debug-none", efctl_debug_sessions_view},
        {"debug-session", efctl_debug_session_view},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        check(cases[i].name, cases[i].name, cases[i].view, "http://127.0.0.1:8780", false, false);
    }
}

static void
traces(void **state)
{
    static const char *const names[] = {"trace",       "trace-more",  "trace-loop",
                                        "trace-marks", "trace-fates", "trace-hostile"};
    json_t *topology = load("topology");
    struct efctl_trace_query query = {.limit = 10, .topology = topology};
    for (size_t i = 0; i < EF_ARRAY_SIZE(names); i++) {
        check(names[i], names[i], efctl_trace_view, &query, false, false);
    }
    query.details = true;
    check("trace", "trace-details", efctl_trace_view, &query, false, false);
    check("trace-hostile", "trace-hostile-details", efctl_trace_view, &query, false, false);
    query = (struct efctl_trace_query){.limit = 10};
    check("trace", "trace-without-topology", efctl_trace_view, &query, false, false);
    json_decref(topology);
}

static void
nothing_found_comes_with_a_hint(void **state)
{
    json_t *good = load("status"), *bad = load("status-bad");
    struct efctl_trace_query query = {.limit = 10};
    check("trace-none", "trace-none", efctl_trace_view, &query, false, false);
    query.status = good;
    check("trace-none", "trace-none-yet", efctl_trace_view, &query, false, false);
    query.filter = "ip.dst == 10.4.0.0/16";
    query.condition = "trace.loop";
    query.start = "-5m";
    check("trace-none", "trace-none-filtered", efctl_trace_view, &query, false, false);
    query.status = bad;
    check("trace-none", "trace-none-unconfigured", efctl_trace_view, &query, false, false);
    json_decref(good);
    json_decref(bad);
}

static void
json_and_colour(void **state)
{
    json_t *topology = load("topology");
    const struct efctl_trace_query query = {.limit = 10, .topology = topology};
    check("trace-hostile", "trace-hostile-as-json", efctl_trace_view, &query, true, true);
    check("trace-loop", "trace-loop-coloured", efctl_trace_view, &query, false, true);
    check("status-bad", "status-bad-coloured", efctl_status_view, "http://127.0.0.1:8780", false, true);
    json_decref(topology);
}

static void
refused_filters_get_a_caret(void **state)
{
    const struct efctl_trace_query query = {.filter = "ip.dst == 10.0.0.1 && tcp.prot == 80", .condition = "trace.lop"};
    static const struct efctl_failure failures[] = {
        {{22, "unknown field 'tcp.prot'; did you mean tcp.port?"}, "bad_filter", 400},
        {{0, "unknown field 'trace.lop'; did you mean trace.loop?"}, "bad_condition", 400},
        {{1000, "an offset beyond the text"}, "bad_filter", 400},
        {{-1, "the controller is \033[31mbusy"}, "busy", 503},
    };
    char *text;
    size_t size;
    struct efctl_output out = {.file = open_memstream(&text, &size)};
    for (size_t i = 0; i < EF_ARRAY_SIZE(failures); i++) {
        efctl_trace_draw_failure(&out, &query, &failures[i]);
    }
    fclose(out.file);
    compare("trace-refused", text);
    free(text);
}

/* Nothing that a view writes may steer the terminal, whatever the document is. */
static void
no_control_character_gets_out(void **state)
{
    static const char *const names[] = {"trace-hostile", "switches-errors", "status-bad", "trace",   "topology",
                                        "probe-refused", "probes",          "load",       "latency", "counter-groups"};
    static efctl_view *const views[] = {efctl_trace_view,    efctl_switches_view, efctl_status_view,
                                        efctl_topology_view, efctl_probe_view,    efctl_probes_view,
                                        efctl_load_view,     efctl_latency_view,  efctl_counter_view};
    static const bool with_values = true;
    const struct efctl_trace_query query = {.details = true};
    for (size_t i = 0; i < EF_ARRAY_SIZE(names); i++) {
        json_t *document = load(names[i]);
        for (size_t v = 0; v < 2 * EF_ARRAY_SIZE(views); v++) {
            efctl_view *view = views[v / 2];
            const void *ctx = view == efctl_trace_view                                   ? (const void *) &query
                              : view == efctl_switches_view || view == efctl_probes_view ? (const void *) &now
                              : view == efctl_counter_view                               ? (const void *) &with_values
                                                                                         : "url";
            char *text = draw(document, view, ctx, v % 2, false);
            for (const char *p = text; *p; p++) {
                assert_true(*p == '\n' || (unsigned char) *p >= 0x20);
                assert_int_not_equal(*p, 0x7f);
                assert_false((unsigned char) p[0] == 0xc2 && (unsigned char) p[1] < 0xa0);
            }
            free(text);
        }
        json_decref(document);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switches),
        cmocka_unit_test(stores),
        cmocka_unit_test(probes),
        cmocka_unit_test(alerts),
        cmocka_unit_test(diagnoses),
        cmocka_unit_test(loads),
        cmocka_unit_test(counters),
        cmocka_unit_test(small_views),
        cmocka_unit_test(traces),
        cmocka_unit_test(nothing_found_comes_with_a_hint),
        cmocka_unit_test(json_and_colour),
        cmocka_unit_test(refused_filters_get_a_caret),
        cmocka_unit_test(no_control_character_gets_out),
    };
    return cmocka_run_group_tests_name("efctl golden", tests, NULL, NULL);
}
