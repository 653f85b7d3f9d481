/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of the application "drop"; see drop_verdict.h. */
#include <config.h>

#include "controller/drop_verdict.h"

#include <stdio.h>
#include <string.h>

#include "controller/drop_run.h"
#include "controller/statistics.h"
#include "controller/watch_switches.h"

/* Whether those who should have seen the packets would not be heard of; and then the end, unless the work goes on. */
static bool
is_hidden(struct drop *a)
{
    const char *names[FABRIC_MAP_NEXT];
    char what[COPY_SHADOW_TEXT];
    size_t n = a->has_pattern ? drop_pattern_unseen(&a->pattern, names) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!switch_watch_may_hide(a->c->switch_watch, names[i], what)) {
            continue;
        }
        if (!a->goes_on) {
            diagnosis_fail(a->d, "copies of %s may be lost with %s: nothing can be told of packets to it", names[i],
                           what);
        }
        return true;
    }
    return false;
}

static json_t *
unseen(const struct drop *a)
{
    const char *names[FABRIC_MAP_NEXT];
    json_t *list = json_array();
    size_t n = a->has_pattern ? drop_pattern_unseen(&a->pattern, names) : 0;
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(names[i]));
    }
    return list;
}

/* What the watchers need to look again later. */
static json_t *
details(const struct drop *a)
{
    const char *via[2] = {a->detour, a->at};
    json_t *packet = probe_flow_packet(&a->flow, *a->detour ? via : via + 1, *a->detour ? 2 : 1);
    json_t *lengths =
        a->has_pattern && a->pattern.fails_length
            ? json_pack("{s:i, s:i}", "dropped", a->pattern.fails_length, "passes", a->pattern.passes_length)
            : NULL;
    return json_pack("{s:s, s:o, s:i, s:i, s:i, s:s?, s:o?, s:b, s:o}", "at", a->at, "packet", packet, "probed",
                     (int) a->n_probed, "dropped", (int) a->n_failed, "unknown_fields",
                     (int) drop_pattern_unknown(&a->pattern), "reason", *a->reason ? a->reason : NULL, "lengths",
                     lengths, "probed_in_vain", a->was_in_vain, "unseen", unseen(a));
}

static void
finish(struct drop *a, struct verdict *v, const char *device, const char *next)
{
    v->kind = v->kind ? v->kind : "drop";
    v->device = device;
    v->link = next && device && strcmp(device, next) ? diagnosis_link(a->c, a->at, next) : NULL;
    v->details = details(a);
    if (a->goes_on) {
        diagnosis_suspect(a->d, v);
    } else {
        diagnosis_finish(a->d, v);
    }
}

static const char *
behind(const struct drop *a, char text[96])
{
    const char *next = a->pattern.next;
    snprintf(text, 96, next ? " on the way to %s" : "%.0s", next ? next : "");
    return text;
}

void
drop_finish_persistent(struct drop *a)
{
    const struct drop_pattern *p = &a->pattern;
    struct verdict v = {.persistence = VERDICT_PERSISTENT};
    char what[256], way[96];
    double low, high;
    if (is_hidden(a)) {
        return;
    }
    statistics_wilson(a->n_failed, a->n_probed, &low, &high);
    v.confidence = low;
    drop_pattern_text(p, what, sizeof what);
    v.class_text = what;
    if (p->next_is_dead) {
        snprintf(v.summary, sizeof v.summary, "%s is down: nothing that is sent to it arrives, from no side.", p->next);
        v.class_text = "all packets";
        finish(a, &v, p->next, NULL);
    } else if (p->beyond_link) {
        snprintf(v.summary, sizeof v.summary, "%s drops %s, whichever way they should go on.", a->at, what);
        finish(a, &v, a->at, NULL);
    } else {
        snprintf(v.summary, sizeof v.summary, "%s drops %s%s%s%s.", a->at, what, behind(a, way),
                 *a->reason ? "; the switch says: " : "", a->reason);
        finish(a, &v, a->at, p->next);
    }
}

void
drop_tell_so_far(struct drop *a)
{
    a->goes_on = true;
    drop_finish_persistent(a);
    a->goes_on = false;
}

void
drop_finish_random(struct drop *a)
{
    struct verdict v = {.persistence = VERDICT_PERSISTENT};
    char way[96], what[96];
    double low, high;
    if (is_hidden(a)) {
        return;
    }
    statistics_wilson(a->n_failed, a->n_probed, &low, &high);
    snprintf(what, sizeof what, "%.1f %% of packets at random (95 %%: %.1f to %.1f %%)",
             100.0 * a->n_failed / a->n_probed, 100 * low, 100 * high);
    snprintf(v.summary, sizeof v.summary, "%s drops %s%s; %u of %u probes were lost there.", a->at, what,
             behind(a, way), a->n_failed, a->n_probed);
    v.class_text = what;
    v.confidence = 0.95;
    finish(a, &v, a->at, a->pattern.next);
}

void
drop_finish_transient(struct drop *a)
{
    struct verdict v = {.persistence = VERDICT_TRANSIENT};
    bool is_old = *a->trace_id || a->was_dropped;
    char way[96];
    double low, high;
    statistics_wilson(a->n_failed, a->n_probed, &low, &high);
    snprintf(v.summary, sizeof v.summary,
             is_old ? "%s dropped a packet%s, but does not now: %u of %u probes like it passed (rate below %.1f %%)."
                    : "Nothing is dropped at %s%s: %u of %u probes passed (rate below %.1f %%).",
             a->at, behind(a, way), a->n_probed - a->n_failed, a->n_probed, 100 * high);
    v.confidence = 1 - high;
    v.kind = is_old ? "drop" : "none";
    finish(a, &v, a->at, a->pattern.next);
}

void
drop_finish_unprobed(struct drop *a, const char *why)
{
    struct verdict v = {.persistence = VERDICT_UNKNOWN, .confidence = 0.5};
    char way[96];
    if (is_hidden(a)) {
        return;
    }
    a->was_in_vain = probe_round_n(a->round) && probe_round_order(a->round, 0)->sent;
    if (!*a->trace_id) {
        diagnosis_fail(a->d, "the probes tell nothing: %s", why);
        return;
    }
    diagnosis_progress(a->d, "the probes tell nothing: %s", why);
    snprintf(v.summary, sizeof v.summary, "%s dropped a packet%s; whether it still does is not known: %s.", a->at,
             behind(a, way), why);
    finish(a, &v, a->at, a->pattern.next);
}

bool
drop_has_ended(struct drop *a)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        const struct probe_round_order *o = probe_round_order(a->round, (unsigned) i);
        if (a->variations[i].field == DROP_BASE && o && o->passed > o->failed) {
            a->n_failed = o->failed;
            a->n_probed = o->failed + o->passed;
            diagnosis_progress(a->d, "meanwhile it is not dropped any more");
            a->was_dropped = true;
            drop_finish_transient(a);
            return true;
        }
    }
    return false;
}
