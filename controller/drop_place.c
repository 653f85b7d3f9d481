/* SPDX-License-Identifier: Apache-2.0 */
/* Where a packet is dropped; see drop_place.h. */
#include <config.h>

#include "controller/drop_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "controller/drop_persistence.h"
#include "controller/drop_run.h"
#include "controller/hop.h"

enum { N_LOCATE = 20 };

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
        const char *name = hop_switch(hop, "");
        bool is_egress = !strcmp(ef_json_text(hop, "direction"), "egress");
        *next =
            is_egress ? fabric_map_behind(a->map, name, (int) json_integer_value(json_object_get(hop, "port"))) : NULL;
        snprintf(a->reason, sizeof a->reason, "%s", ef_json_text(hop, "drop_reason"));
        *at = name;
    }
}

void
drop_place_trace(void *ctx, const json_t *trace)
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
    snprintf(a->trace_id, sizeof a->trace_id, "%s", ef_json_text(trace, "id"));
    diagnosis_evidence_add(a->d, "traces", json_string(a->trace_id));
    take_hops(a, json_object_get(trace, "hops"), &at, &next);
    if (!at || !fabric_map_has_switch(a->map, at)) {
        diagnosis_fail(a->d, "the last switch of the trace is not in the topology");
        return;
    }
    diagnosis_progress(a->d, "%s: last seen at %s, expected at %s", probe_flow_text(&a->flow, flow), at,
                       ef_json_text(trace, "expected_name"));
    if (!fabric_map_address_of(a->map, a->flow.src)) {
        a->flow.src[0] = '\0'; /* Probers do not send in the name of strangers. */
    }
    drop_persistence_start(a, at);
    if (next) {
        drop_pattern_went(&a->pattern, next);
    }
}

/* --- Without a trace ----------------------------------------------------------- */

/* Where do probes like it end, begun where its source is? */
static void
on_located(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    const char *name, *at = NULL;
    const json_t *n;
    json_int_t most = 0;
    drop_round_keep(a);
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
    drop_persistence_start(a, start);
}

int
drop_place_packet(struct drop *a, const json_t *options, struct ef_error *err)
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
    drop_round_begin(a);
    drop_round_add(a, &base, N_LOCATE);
    probe_round_start(a->round, on_located, a);
    return 0;
}
