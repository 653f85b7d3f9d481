/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop": why does this packet not arrive? (Everflow, section 5,
 * "packet drop debugger".)
 *
 * It begins with a trace whose last hop is not the expected one, or with the
 * packet's fields, for which it finds that last hop by probes. Then it sends
 * probes like that packet from that switch on, and the same with other source
 * ports:
 *
 *     all dropped   -> persistent: other fields are varied (drop_pattern.h), the
 *                      length at last bisected
 *     some dropped  -> random: more probes, the rate with its confidence interval
 *     none dropped  -> more probes; then transient
 *
 * The verdict names the switch, the link behind it, and the class of packets. */
#include <config.h>

#include "controller/drop_app.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/time.h"
#include "base/util.h"
#include "controller/collection.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/document.h"
#include "controller/drop_pattern.h"
#include "controller/fabric_map.h"
#include "controller/probe_flow.h"
#include "controller/probe_round.h"
#include "controller/statistics.h"
#include "controller/trace_search.h"

enum {
    N_BASE = 60,
    N_PORT = 4,
    N_VARIED = 4,
    N_MORE = 400,
    N_LOCATE = 20,
    LOOK_MS = 500,
    STATISTICS_MS = 7000, /* So old may be what a switch says of itself. */
    N_LENGTHS = 12,       /* Of one step of the bisection. */
    MAX_LENGTH_STEPS = 4,
    MAX_TRIES = 2,     /* Other source ports to begin with. */
    LEAST_DROPPED = 2, /* Of some hundred: fewer may have been chance. */
};

struct drop {
    struct diagnosis *d;
    struct controller *c;
    struct trace_search *search;
    struct probe_round *round;
    struct fabric_map *map;
    struct probe_flow flow;
    char trace_id[17], at[PROBE_ROUND_NAME], reason[64];
    char detour[PROBE_ROUND_NAME]; /* A switch over which `at` is reached; "": directly. */
    bool has_pattern;
    bool goes_on; /* The verdict is not the last word. */
    struct drop_pattern pattern;
    struct drop_variation variations[PROBE_ROUND_ORDERS];
    size_t n_variations;
    unsigned n_failed, n_probed; /* Of probes like the packet. */
    unsigned n_steps, n_tries;
    int64_t gathered, made; /* Copies of the next switch before the fields were varied. */
    struct event *timer;    /* While it is waited for what the next switch says of itself. */
    struct ef_time wait_until;
};

/* --- Rounds ---------------------------------------------------------------- */

static void
add_probe(struct drop *a, const struct drop_variation *v, unsigned count)
{
    const char *via[2] = {a->detour, v->at};
    bool has_detour = *a->detour && !strcmp(v->at, a->at);
    json_t *packet = probe_flow_packet(&v->flow, has_detour ? via : via + 1, has_detour ? 2 : 1);
    probe_round_add(a->round, packet, count, v->at);
}

static void
begin_round(struct drop *a)
{
    probe_round_destroy(a->round);
    a->round = probe_round_create(a->c);
    a->n_variations = 0;
}

static void
add_variations(struct drop *a, unsigned count)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        add_probe(a, &a->variations[i], count);
    }
}

/* What all orders of the round left behind. */
static void
keep_evidence(struct drop *a)
{
    for (unsigned i = 0; i < probe_round_n(a->round); i++) {
        const struct probe_round_order *o = probe_round_order(a->round, i);
        if (*o->id) {
            diagnosis_evidence_add(a->d, "probes", json_string(o->id));
        }
        if (o->failed && *o->a_trace) {
            diagnosis_evidence_add(a->d, "traces", json_string(o->a_trace));
        }
    }
}

/* Variation i is order i + `skip` of the round. */
static void
note_variations(struct drop *a, unsigned skip)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        const struct probe_round_order *o = probe_round_order(a->round, (unsigned) i + skip);
        if (o) {
            drop_pattern_note(&a->pattern, &a->variations[i], o);
        }
    }
    drop_pattern_solve(&a->pattern);
}

/* --- The verdict ----------------------------------------------------------- */

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
    return json_pack("{s:s, s:o, s:i, s:i, s:i, s:s?, s:o?}", "at", a->at, "packet", packet, "probed",
                     (int) a->n_probed, "dropped", (int) a->n_failed, "unknown_fields",
                     (int) drop_pattern_unknown(&a->pattern), "reason", *a->reason ? a->reason : NULL, "lengths",
                     lengths);
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

/* Every probe like the packet is dropped. */
static void
finish_persistent(struct drop *a)
{
    const struct drop_pattern *p = &a->pattern;
    struct verdict v = {.persistence = VERDICT_PERSISTENT};
    char what[256], way[96];
    double low, high;
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

static void
finish_random(struct drop *a)
{
    struct verdict v = {.persistence = VERDICT_PERSISTENT};
    char way[96], what[96];
    double low, high;
    statistics_wilson(a->n_failed, a->n_probed, &low, &high);
    snprintf(what, sizeof what, "%.1f %% of packets at random (95 %%: %.1f to %.1f %%)",
             100.0 * a->n_failed / a->n_probed, 100 * low, 100 * high);
    snprintf(v.summary, sizeof v.summary, "%s drops %s%s; %u of %u probes were lost there.", a->at, what,
             behind(a, way), a->n_failed, a->n_probed);
    v.class_text = what;
    v.confidence = 0.95;
    finish(a, &v, a->at, a->pattern.next);
}

static void
finish_transient(struct drop *a)
{
    struct verdict v = {.persistence = VERDICT_TRANSIENT};
    char way[96];
    double low, high;
    statistics_wilson(a->n_failed, a->n_probed, &low, &high);
    snprintf(v.summary, sizeof v.summary,
             *a->trace_id
                 ? "%s dropped a packet%s, but does not now: %u of %u probes like it passed (rate below %.1f %%)."
                 : "Nothing is dropped at %s%s: %u of %u probes passed (rate below %.1f %%).",
             a->at, behind(a, way), a->n_probed - a->n_failed, a->n_probed, 100 * high);
    v.confidence = 1 - high;
    v.kind = *a->trace_id ? "drop" : "none";
    finish(a, &v, a->at, a->pattern.next);
}

/* Probes told nothing; the trace alone is left. */
static void
finish_unprobed(struct drop *a, const char *why)
{
    struct verdict v = {.persistence = VERDICT_UNKNOWN, .confidence = 0.5};
    char way[96];
    if (!*a->trace_id) {
        diagnosis_fail(a->d, "no probe could be evaluated: %s", why);
        return;
    }
    diagnosis_progress(a->d, "no probe could be evaluated: %s", why);
    snprintf(v.summary, sizeof v.summary, "%s dropped a packet%s; whether it still does is not known: %s.", a->at,
             behind(a, way), why);
    finish(a, &v, a->at, a->pattern.next);
}

/* Whether it is still dropped, as the order in this round says that is the packet
 * itself. If not it has ended meanwhile, and what else was found means nothing. */
static bool
has_ended(struct drop *a)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        const struct probe_round_order *o = probe_round_order(a->round, (unsigned) i);
        if (a->variations[i].field == DROP_BASE && o && o->passed > o->failed) {
            a->n_failed = o->failed;
            a->n_probed = o->failed + o->passed;
            diagnosis_progress(a->d, "meanwhile it is not dropped any more");
            finish_transient(a);
            return true;
        }
    }
    return false;
}

/* --- Persistent: the pattern ------------------------------------------------ */

static void next_length_step(struct drop *a);

/* The known lengths that are next to each other and fare differently. */
static void
on_lengths(void *ctx)
{
    struct drop *a = ctx;
    struct drop_pattern *p = &a->pattern;
    keep_evidence(a);
    if (has_ended(a)) {
        return;
    }
    for (unsigned i = 0; i < probe_round_n(a->round); i++) {
        const struct probe_round_order *o = probe_round_order(a->round, i);
        int length = a->variations[i].flow.length;
        bool long_fails = p->fails_length > p->passes_length;
        if (o->failed > o->passed && (long_fails ? length < p->fails_length : length > p->fails_length)) {
            p->fails_length = length;
        } else if (o->passed > o->failed && (long_fails ? length > p->passes_length : length < p->passes_length)) {
            p->passes_length = length;
        }
    }
    next_length_step(a);
}

static void
next_length_step(struct drop *a)
{
    struct drop_pattern *p = &a->pattern;
    int span = p->fails_length - p->passes_length, last = 0;
    if (abs(span) <= 1 || a->n_steps++ == MAX_LENGTH_STEPS) {
        finish_persistent(a);
        return;
    }
    diagnosis_progress(a->d, "packets of %d bytes pass, of %d are dropped: trying lengths between", p->passes_length,
                       p->fails_length);
    begin_round(a);
    for (int i = 1; i <= N_LENGTHS; i++) {
        struct drop_variation *v = &a->variations[a->n_variations];
        *v = (struct drop_variation){DROP_SIZE, a->flow, a->at};
        v->flow.length = p->passes_length + span * i / (N_LENGTHS + 1);
        if (v->flow.length != last && v->flow.length != p->passes_length && v->flow.length != p->fails_length) {
            last = v->flow.length;
            a->n_variations++;
        }
    }
    a->variations[a->n_variations++] = (struct drop_variation){DROP_BASE, a->flow, a->at};
    add_variations(a, N_VARIED);
    probe_round_start(a->round, on_lengths, a);
}

/* The place is known, which packets not quite. */
static void
tell_so_far(struct drop *a)
{
    a->goes_on = true;
    finish_persistent(a);
    a->goes_on = false;
}

static void
end_pattern(struct drop *a)
{
    if (a->pattern.matters[DROP_SIZE] == DROP_MATTERS) {
        tell_so_far(a);
        next_length_step(a);
    } else {
        finish_persistent(a);
    }
}

static void on_varied(void *ctx);

static void
retry_pattern(struct drop *a)
{
    begin_round(a);
    a->pattern.is_retry = true;
    a->n_variations = drop_pattern_variations(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    if (!a->n_variations) {
        end_pattern(a);
        return;
    }
    tell_so_far(a);
    diagnosis_progress(a->d, "some took another way: %zu more variations", a->n_variations);
    add_variations(a, N_VARIED);
    probe_round_start(a->round, on_varied, a);
}

/* --- Is the next switch heard at all? ---------------------------------------- */

/* It is configured over its database, which does not go over the fabric. */
static bool
is_managed(const struct drop *a, const char *name)
{
    for (size_t i = 0; i < a->c->n_switches; i++) {
        if (!strcmp(managed_switch_name(a->c->switches[i]), name)) {
            return managed_switch_is_configured(a->c->switches[i]);
        }
    }
    return false;
}

static void
on_wait(evutil_socket_t fd, short what, void *ctx)
{
    struct drop *a = ctx;
    static const struct timeval look = {0, LOOK_MS * 1000};
    int64_t gathered = a->gathered, made = a->made;
    collection_counts(a->c->collection, a->pattern.next, &gathered, &made);
    bool is_late = ef_time_before(a->wait_until, ef_time_mono()) || !is_managed(a, a->pattern.next);
    if (gathered != a->gathered) {
        retry_pattern(a);
    } else if (made != a->made) {
        diagnosis_fail(a->d, "%s makes copies, but none arrives: nothing can be told of packets to it",
                       a->pattern.next);
    } else if (is_late) {
        a->pattern.next_is_silent = true;
        drop_pattern_solve(&a->pattern);
        finish_persistent(a);
    } else {
        evtimer_add(a->timer, &look);
    }
}

/* Nothing of the next switch has come while all the variations were tried: either it
 * gets nothing, or its copies get lost. It knows. */
static bool
waits_for_next(struct drop *a)
{
    int64_t gathered, made;
    if (!a->pattern.next || a->pattern.seen[DROP_ALIVE].passed || a->pattern.beyond_link ||
        !collection_counts(a->c->collection, a->pattern.next, &gathered, &made) || gathered != a->gathered) {
        return false;
    }
    diagnosis_progress(a->d, "no copy of %s has come meanwhile: waiting for what it says itself", a->pattern.next);
    a->wait_until = ef_time_add_ms(ef_time_mono(), STATISTICS_MS);
    a->timer = evtimer_new(a->c->base, on_wait, a);
    if (!a->timer) {
        abort(); /* Control path. */
    }
    on_wait(-1, 0, a);
    return true;
}

static void
on_varied(void *ctx)
{
    struct drop *a = ctx;
    char what[256];
    keep_evidence(a);
    if (has_ended(a)) {
        return;
    }
    note_variations(a, 0);
    drop_pattern_text(&a->pattern, what, sizeof what);
    diagnosis_progress(a->d, "dropped: %s", what);
    if (a->pattern.is_retry) {
        end_pattern(a);
    } else if (!waits_for_next(a)) {
        retry_pattern(a);
    }
}

static void
start_varying(struct drop *a)
{
    const char *next = a->pattern.next;
    begin_round(a);
    if (next) {
        collection_counts(a->c->collection, next, &a->gathered, &a->made);
    }
    a->n_variations = drop_pattern_variations(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    diagnosis_progress(a->d, "persistent: all %u probes like it were dropped at %s%s%s; varying fields, %zu ways",
                       a->n_probed, a->at, next ? " before " : "", next ? next : "", a->n_variations);
    add_variations(a, N_VARIED);
    probe_round_start(a->round, on_varied, a);
}

static void
on_more_ports(void *ctx)
{
    struct drop *a = ctx;
    keep_evidence(a);
    note_variations(a, 0);
    start_varying(a);
}

/* Which link it is, other source ports tell, if some take another way: enough of them. */
static void
start_persistent(struct drop *a)
{
    size_t n = drop_pattern_more_ports(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    if (!n) {
        start_varying(a);
        return;
    }
    begin_round(a);
    a->n_variations = n;
    diagnosis_progress(a->d,
                       "persistent: all %u probes like it were dropped at %s; %zu more source ports, for other ways",
                       a->n_probed, a->at, n);
    add_variations(a, N_PORT);
    probe_round_start(a->round, on_more_ports, a);
}

/* --- Random or transient ------------------------------------------------------ */

static void
on_more(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    keep_evidence(a);
    if (!o->is_doubtful) { /* Else some that passed are known, and none that was dropped. */
        a->n_failed += o->failed;
        a->n_probed += o->failed + o->passed;
    }
    drop_pattern_note(&a->pattern, &base, o);
    drop_pattern_solve(&a->pattern);
    if (a->n_failed >= LEAST_DROPPED) {
        finish_random(a);
    } else {
        finish_transient(a);
    }
}

static void
start_more(struct drop *a)
{
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    diagnosis_progress(a->d, "%u of %u probes like it were dropped at %s: %d more, for the rate", a->n_failed,
                       a->n_probed, a->at, N_MORE);
    begin_round(a);
    add_probe(a, &base, N_MORE);
    probe_round_start(a->round, on_more, a);
}

/* --- Persistent or not -------------------------------------------------------- */

static void start_base(struct drop *a);
static void start_at(struct drop *a, const char *at);

/* The prober's way to the switch may itself be broken: over one of its neighbours,
 * which all get a try. */
static void
on_detours(void *ctx)
{
    struct drop *a = ctx;
    keep_evidence(a);
    for (unsigned i = 0; i < probe_round_n(a->round); i++) {
        const struct probe_round_order *o = probe_round_order(a->round, i);
        if (o->failed || o->passed) {
            const char *first = json_string_value(json_array_get(json_object_get(o->packet, "via"), 0));
            snprintf(a->detour, sizeof a->detour, "%s", first ? first : "");
            start_base(a);
            return;
        }
    }
    diagnosis_fail(a->d, "no probe reaches %s, or its copies do not arrive", a->at);
}

static void
try_detours(struct drop *a)
{
    const char *neighbours[FABRIC_MAP_NEXT];
    size_t n = fabric_map_neighbours(a->map, a->at, neighbours, EF_ARRAY_SIZE(neighbours));
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    if (!o->sent || *a->detour || !n) {
        char why[256];
        snprintf(why, sizeof why, "%s",
                 o->sent     ? "no probe reaches the switch"
                 : *o->error ? o->error
                             : "none was sent");
        finish_unprobed(a, why);
        return;
    }
    diagnosis_progress(a->d, "no probe reached %s on the direct way: trying %zu others", a->at, n);
    begin_round(a);
    for (size_t i = 0; i < n; i++) {
        const char *via[2] = {neighbours[i], a->at};
        probe_round_add(a->round, probe_flow_packet(&a->flow, via, 2), N_VARIED, a->at);
    }
    probe_round_start(a->round, on_detours, a);
}

/* The packet itself passes, or cannot be told of, but with another source port, that
 * is, perhaps another way or analyzer, it is dropped: then that is looked into. */
static bool
takes_another_port(struct drop *a)
{
    for (size_t i = 0; i < a->n_variations; i++) {
        const struct probe_round_order *o = probe_round_order(a->round, (unsigned) i + 1);
        const char *end = o ? json_object_iter_key(json_object_iter(o->ends)) : NULL;
        if (end && fabric_map_has_switch(a->map, end)) {
            char at[PROBE_ROUND_NAME];
            snprintf(at, sizeof at, "%s", end);
            a->flow = a->variations[i].flow;
            diagnosis_progress(a->d, "with source port %d it is dropped at %s", a->flow.src_port, at);
            start_at(a, at);
            return true;
        }
    }
    return false;
}

static void
on_base(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    keep_evidence(a);
    if (o->is_doubtful) {
        diagnosis_progress(a->d, "copies are being lost on their way to the analyzer that would tell of these probes");
    }
    bool asks_others = o->is_doubtful || (!o->failed && o->passed && !*a->trace_id);
    if (asks_others && a->n_tries++ < MAX_TRIES && takes_another_port(a)) {
        return;
    }
    if (o->is_doubtful) {
        diagnosis_fail(a->d, "copies are being lost: nothing can be told of packets at %s", a->at);
        return;
    }
    if (!o->failed && !o->passed) {
        try_detours(a);
        return;
    }
    a->n_failed = o->failed;
    a->n_probed = o->failed + o->passed;
    drop_pattern_note(&a->pattern, &base, o);
    note_variations(a, 1);
    if (o->failed && !o->passed) {
        start_persistent(a);
    } else {
        start_more(a);
    }
}

static void
start_base(struct drop *a)
{
    const struct drop_variation base = {DROP_BASE, a->flow, a->at};
    begin_round(a);
    add_probe(a, &base, N_BASE);
    a->n_variations = drop_pattern_ports(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    diagnosis_progress(a->d, "probing from %s%s%s: %d like it, and %zu other source ports", a->at,
                       *a->detour ? " over " : "", a->detour, N_BASE, a->n_variations);
    add_variations(a, N_PORT);
    probe_round_start(a->round, on_base, a);
}

/* --- The place ------------------------------------------------------------- */

static void
set_subnet(struct drop *a, const char *address, const char **subnet)
{
    const char *name = fabric_map_switch_of(a->map, address);
    *subnet = name ? fabric_map_subnet(a->map, name, strchr(address, ':')) : NULL;
}

static void
start_at(struct drop *a, const char *at)
{
    snprintf(a->at, sizeof a->at, "%s", at);
    drop_pattern_init(&a->pattern, a->map, a->at, &a->flow);
    set_subnet(a, a->flow.src, &a->pattern.subnets[0]);
    set_subnet(a, a->flow.dst, &a->pattern.subnets[1]);
    a->has_pattern = true;
    start_base(a);
}

static const char *
text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The last hop, and what it tells beside its name: where it sent the packet, if it
 * copies at egress; why it dropped it, if it says so. */
static void
take_hops(struct drop *a, const json_t *hops, const char **at, const char **next)
{
    size_t i;
    const json_t *hop;
    *at = *next = NULL;
    json_array_foreach((json_t *) hops, i, hop)
    {
        const char *name = *text_of(hop, "name") ? text_of(hop, "name") : text_of(hop, "switch");
        bool is_egress = !strcmp(text_of(hop, "direction"), "egress");
        *next =
            is_egress ? fabric_map_behind(a->map, name, (int) json_integer_value(json_object_get(hop, "port"))) : NULL;
        snprintf(a->reason, sizeof a->reason, "%s", text_of(hop, "drop_reason"));
        *at = name;
    }
}

static void
on_trace(void *ctx, const json_t *trace)
{
    struct drop *a = ctx;
    const char *at, *next;
    char flow[PROBE_FLOW_TEXT];
    if (!trace) {
        diagnosis_fail(a->d, "there is no trace of a dropped packet that matches");
        return;
    }
    if (probe_flow_of_trace(&a->flow, trace)) {
        diagnosis_fail(a->d, "the packet is not IP: probes cannot be like it");
        return;
    }
    snprintf(a->trace_id, sizeof a->trace_id, "%s", text_of(trace, "id"));
    diagnosis_evidence_add(a->d, "traces", json_string(a->trace_id));
    take_hops(a, json_object_get(trace, "hops"), &at, &next);
    if (!at || !fabric_map_has_switch(a->map, at)) {
        diagnosis_fail(a->d, "the last switch of the trace is not in the topology");
        return;
    }
    diagnosis_progress(a->d, "%s: last seen at %s, expected at %s", probe_flow_text(&a->flow, flow), at,
                       text_of(trace, "expected_name"));
    if (!fabric_map_address_of(a->map, a->flow.src)) {
        a->flow.src[0] = '\0'; /* Probers do not send in the name of strangers. */
    }
    start_at(a, at);
    if (next) {
        drop_pattern_went(&a->pattern, next);
    }
}

/* Without a trace: where do probes like it end, begun where its source is? */
static void
on_located(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    const char *name, *at = NULL;
    const json_t *n;
    json_int_t most = 0;
    keep_evidence(a);
    json_object_foreach(o->ends, name, n)
    {
        if (json_integer_value(n) > most) {
            most = json_integer_value(n);
            at = name;
        }
    }
    if (!o->traced) {
        diagnosis_fail(a->d, "no probe could be evaluated: %s", *o->error ? o->error : "none has a trace");
        return;
    }
    char start[PROBE_ROUND_NAME];
    snprintf(start, sizeof start, "%s", at && fabric_map_has_switch(a->map, at) ? at : o->at);
    diagnosis_progress(a->d, "%u of %u probes from %s went on%s%s", o->passed, o->traced, o->at,
                       at ? "; most others ended at " : "", at ? at : "");
    start_at(a, start);
}

static int
start_without_trace(struct drop *a, const json_t *options, struct ef_error *err)
{
    char flow[PROBE_FLOW_TEXT];
    if (probe_flow_read(&a->flow, options, err)) {
        return -EINVAL;
    }
    const char *src = fabric_map_address_of(a->map, a->flow.src), *dst = fabric_map_address_of(a->map, a->flow.dst);
    if (!src || !dst) {
        return ef_error_set(err, -ENOENT, "%s: the topology has no such host or switch", src ? "dst" : "src");
    }
    snprintf(a->flow.src, sizeof a->flow.src, "%s", src);
    snprintf(a->flow.dst, sizeof a->flow.dst, "%s", dst);
    const struct drop_variation base = {DROP_BASE, a->flow, fabric_map_switch_of(a->map, src)};
    diagnosis_progress(a->d, "%s: %d probes from %s", probe_flow_text(&a->flow, flow), N_LOCATE, base.at);
    begin_round(a);
    add_probe(a, &base, N_LOCATE);
    probe_round_start(a->round, on_located, a);
    return 0;
}

/* --- The application --------------------------------------------------------- */

static void
end(void *state)
{
    struct drop *a = state;
    if (a->timer) {
        event_free(a->timer);
    }
    probe_round_destroy(a->round);
    trace_search_cancel(a->search);
    fabric_map_destroy(a->map);
    free(a);
}

static int
begin(struct drop *a, const json_t *options, struct ef_error *err)
{
    static const char *const known[] = {"trace", "filter",   "last_s",   "src",    "dst",
                                        "proto", "src_port", "dst_port", "length", NULL};
    struct doc_place root = {.value = (json_t *) options};
    if (doc_check_keys(&root, known, err)) {
        return -EINVAL;
    }
    if (json_object_get(options, "src") || json_object_get(options, "dst")) {
        return start_without_trace(a, options, err);
    }
    return trace_search_start(a->c, options, "trace.drop && !trace.probe", on_trace, a, &a->search, err);
}

static int
start(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err)
{
    struct drop *a = calloc(1, sizeof *a);
    if (!a) {
        abort(); /* Control path. */
    }
    a->d = d;
    a->c = diagnosis_controller(d);
    a->map = fabric_map_create(a->c->topology.document);
    int rc = begin(a, options, err);
    if (rc) {
        end(a);
        return rc;
    }
    *state = a;
    return 0;
}

const struct diagnosis_app drop_app = {"drop", "where a packet is dropped, and which packets are", start, end};
