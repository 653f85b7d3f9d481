/* SPDX-License-Identifier: Apache-2.0 */
/* The application "loop": a packet came back to a switch. Does that still happen,
 * and which switches are in it? (Everflow, section 5, "loop debugger".)
 *
 * It begins with the trace, reads the circle from its hops, and sends some probes
 * like that packet from the circle's first switch on, with a TTL of a few rounds. */
#include <config.h>

#include "controller/loop_app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/document.h"
#include "controller/hop.h"
#include "controller/probe_flow.h"
#include "controller/probe_round.h"
#include "controller/statistics.h"
#include "controller/trace_search.h"

enum { N_PROBES = 10, ROUNDS = 3, MAX_CIRCLE = 16, MAX_TTL = 64 };

struct loop {
    struct diagnosis *d;
    struct controller *c;
    struct trace_search *search;
    struct probe_round *round;
    struct probe_flow flow;
    json_t *circle;
};

/* --- The circle ------------------------------------------------------------ */

/* Arrivals only: where a switch copies at egress, too, it is there twice anyway. */
static json_t *
arrivals(const json_t *trace)
{
    json_t *names = json_array();
    size_t i;
    const json_t *hop;
    json_array_foreach(json_object_get(trace, "hops"), i, hop)
    {
        if (strcmp(ef_json_text(hop, "direction"), "egress") && !*ef_json_text(hop, "drop_reason")) {
            json_array_append_new(names, json_string(hop_switch(hop, "")));
        }
    }
    return names;
}

static size_t
index_of(const json_t *names, size_t from, const json_t *name)
{
    size_t i = from;
    while (i < json_array_size(names) && !json_equal(json_array_get(names, i), name)) {
        i++;
    }
    return i;
}

json_t *
loop_app_circle(const json_t *trace)
{
    json_t *names = arrivals(trace), *circle = NULL;
    size_t n = json_array_size(names);
    for (size_t i = 0; i < n && !circle; i++) {
        size_t again = index_of(names, i + 1, json_array_get(names, i));
        if (again == n) {
            continue;
        }
        circle = json_array();
        for (size_t k = i; k < again; k++) {
            json_array_append(circle, json_array_get(names, k));
        }
    }
    json_decref(names);
    return circle;
}

static const char *
name_at(const json_t *circle, size_t i)
{
    const char *name = json_string_value(json_array_get(circle, i % json_array_size(circle)));
    return name ? name : "?";
}

char *
loop_app_subject(const json_t *circle, char text[LOOP_SUBJECT_SIZE])
{
    size_t n = json_array_size(circle), first = 0, used = 0;
    for (size_t i = 1; i < n; i++) {
        first = strcmp(name_at(circle, i), name_at(circle, first)) < 0 ? i : first;
    }
    *text = '\0';
    for (size_t i = 0; i < n && used < LOOP_SUBJECT_SIZE; i++) {
        int len = snprintf(text + used, LOOP_SUBJECT_SIZE - used, "%s%s", i ? ">" : "", name_at(circle, first + i));
        used += len > 0 ? (size_t) len : 0;
    }
    return text;
}

/* "leaf1 > spine1 > leaf1" */
static void
describe(const json_t *circle, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i <= json_array_size(circle) && used < size; i++) {
        int len = snprintf(text + used, size - used, "%s%s", i ? " > " : "", name_at(circle, i));
        used += len > 0 ? (size_t) len : 0;
    }
}

/* --- The verdict ----------------------------------------------------------- */

static json_t *
details(const struct loop *a, const struct probe_round_order *o)
{
    const char *via[] = {name_at(a->circle, 0)};
    return json_pack("{s:s, s:o, s:O, s:i, s:i}", "at", via[0], "packet", probe_flow_packet(&a->flow, via, 1), "circle",
                     a->circle, "probed", (int) (o->looped + o->passed + o->failed), "looped", (int) o->looped);
}

static void
finish(struct loop *a, const struct probe_round_order *o)
{
    unsigned n = o->looped + o->passed + o->failed;
    char way[300], flow[PROBE_FLOW_TEXT];
    double low, high;
    statistics_wilson(o->looped, n, &low, &high);
    struct verdict v = {
        .kind = "loop",
        .persistence = !n          ? VERDICT_UNKNOWN
                       : o->looped ? VERDICT_PERSISTENT
                                   : VERDICT_TRANSIENT,
        .confidence = !n          ? 0.5
                      : o->looped ? low
                                  : 1 - high,
        .device = name_at(a->circle, 0),
        .link = diagnosis_link(a->c, name_at(a->circle, 0), name_at(a->circle, 1)),
        .details = details(a, o),
    };
    describe(a->circle, way, sizeof way);
    probe_flow_text(&a->flow, flow);
    if (v.persistence == VERDICT_PERSISTENT) {
        snprintf(v.summary, sizeof v.summary, "Packets go in circles: %s; %u of %u probes like %s did.", way, o->looped,
                 n, flow);
    } else if (v.persistence == VERDICT_TRANSIENT) {
        snprintf(v.summary, sizeof v.summary,
                 "A packet went in circles, %s, but none does now: 0 of %u probes like %s did.", way, n, flow);
    } else {
        snprintf(v.summary, sizeof v.summary,
                 "A packet went in circles: %s; whether others do is not known: no probe was traced%s%s.", way,
                 *o->error ? ": " : "", o->error);
    }
    diagnosis_finish(a->d, &v);
}

static void
on_probed(void *ctx)
{
    struct loop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    if (*o->id) {
        diagnosis_evidence_add(a->d, "probes", json_string(o->id));
    }
    if (*o->a_trace) {
        diagnosis_evidence_add(a->d, "traces", json_string(o->a_trace));
    }
    finish(a, o);
}

/* --- The trace -------------------------------------------------------------- */

static void
on_trace(void *ctx, const json_t *trace)
{
    struct loop *a = ctx;
    char way[300];
    a->circle = trace ? loop_app_circle(trace) : NULL;
    if (!a->circle) {
        diagnosis_fail(a->d, trace ? "the trace has no loop" : "there is no trace of a loop that matches");
        return;
    }
    diagnosis_evidence_add(a->d, "traces", json_string(ef_json_text(trace, "id")));
    if (probe_flow_of_trace(&a->flow, trace)) {
        diagnosis_fail(a->d, "the packet is not IP: probes cannot be like it");
        return;
    }
    describe(a->circle, way, sizeof way);
    a->flow.ttl = (int) EF_MIN(ROUNDS * json_array_size(a->circle) + 2, MAX_TTL);
    a->round = probe_round_create(a->c);
    const char *via[] = {name_at(a->circle, 0)};
    diagnosis_progress(a->d, "the circle is %s; %d probes like the packet from %s", way, N_PROBES, via[0]);
    probe_round_add(a->round, probe_flow_packet(&a->flow, via, 1), N_PROBES, via[0]);
    probe_round_start(a->round, on_probed, a);
}

/* --- The application --------------------------------------------------------- */

static void
end(void *state)
{
    struct loop *a = state;
    trace_search_cancel(a->search);
    probe_round_destroy(a->round);
    json_decref(a->circle);
    free(a);
}

static int
start(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err)
{
    static const char *const known[] = {"trace", "filter", "last_s", NULL};
    struct doc_place root = {.value = (json_t *) options};
    struct loop *a = calloc(1, sizeof *a);
    if (!a) {
        abort(); /* Control path. */
    }
    a->d = d;
    a->c = diagnosis_controller(d);
    int rc = doc_check_keys(&root, known, err);
    rc = rc ? rc : trace_search_start(a->c, options, "trace.loop && !trace.probe", on_trace, a, &a->search, err);
    if (rc) {
        end(a);
        return rc;
    }
    *state = a;
    return 0;
}

const struct diagnosis_app loop_app = {"loop", "whether packets go in circles, and over which switches", start, end};
