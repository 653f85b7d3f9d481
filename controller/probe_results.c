/* SPDX-License-Identifier: Apache-2.0 */
/* Probes' traces added up; see probe_results.h. */
#include <config.h>

#include "controller/probe_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "base/util.h"
#include "controller/hop.h"
#include "controller/round_trips.h"

enum { MAX_WAYS = 64, MAX_LINKS = 64, MAX_IDS = 100 };

/* How often a link was crossed there and back, and how long that took. */
struct link {
    char *from, *to;
    struct round_trips trips;
};

struct probe_results {
    char id[17];
    uint64_t count, traced;
    uint8_t *seen; /* A bit for each sequence number. */
    json_t *fates, *ways, *ids;
    json_t *way; /* Names of switches, the first again as the last. */
    struct round_trips way_trips;
    size_t n_links;
    struct link links[MAX_LINKS];
};

struct probe_results *
probe_results_create(const char *id, uint64_t count)
{
    struct probe_results *r = calloc(1, sizeof *r);
    uint8_t *seen = calloc(count / 8 + 1, 1);
    if (!r || !seen) {
        abort(); /* Control path. */
    }
    snprintf(r->id, sizeof r->id, "%s", id);
    r->count = count;
    r->seen = seen;
    r->fates = json_object();
    r->ways = json_array();
    r->ids = json_array();
    return r;
}

void
probe_results_destroy(struct probe_results *r)
{
    if (!r) {
        return;
    }
    for (size_t i = 0; i < r->n_links; i++) {
        free(r->links[i].from);
        free(r->links[i].to);
        round_trips_free(&r->links[i].trips);
    }
    free(r->seen);
    round_trips_free(&r->way_trips);
    json_decref(r->way);
    json_decref(r->fates);
    json_decref(r->ways);
    json_decref(r->ids);
    free(r);
}

/* --- One trace ------------------------------------------------------------ */

/* Whether the trace is that of one of our probes, and the first of this one. */
static bool
is_new(struct probe_results *r, const json_t *trace)
{
    const json_t *probe = json_object_get(trace, "probe"), *sequence = json_object_get(probe, "sequence");
    uint64_t n = (uint64_t) json_integer_value(sequence);
    if (strcmp(ef_json_text_or(probe, "id", ""), r->id) || !json_is_integer(sequence) || n >= r->count) {
        return false;
    }
    bool is_first = !(r->seen[n / 8] >> n % 8 & 1);
    r->seen[n / 8] |= (uint8_t) (1u << n % 8);
    return is_first;
}

static void
increment(json_t *object, const char *key)
{
    json_int_t before = json_integer_value(json_object_get(object, key));
    json_object_set_new(object, key, json_integer(before + 1));
}

/* Ways beyond MAX_WAYS are counted as one, without switches. */
static void
add_way(struct probe_results *r, const json_t *hops)
{
    json_t *switches = json_array(), *way;
    const json_t *hop;
    size_t i;
    json_array_foreach(hops, i, hop)
    {
        json_array_append_new(switches, json_string(hop_switch(hop, "?")));
    }
    if (json_array_size(r->ways) >= MAX_WAYS) {
        json_array_clear(switches);
    }
    json_array_foreach(r->ways, i, way)
    {
        if (json_equal(json_object_get(way, "switches"), switches)) {
            increment(way, "probes");
            json_decref(switches);
            return;
        }
    }
    json_array_append_new(r->ways, json_pack("{s:o, s:i}", "switches", switches, "probes", 1));
}

static struct link *
link_between(struct probe_results *r, const char *from, const char *to)
{
    for (size_t i = 0; i < r->n_links; i++) {
        if (!strcmp(r->links[i].from, from) && !strcmp(r->links[i].to, to)) {
            return &r->links[i];
        }
    }
    if (r->n_links == MAX_LINKS) {
        return NULL;
    }
    struct link *l = &r->links[r->n_links++];
    *l = (struct link){.from = strdup(from), .to = strdup(to)};
    if (!l->from || !l->to) {
        abort(); /* Control path. */
    }
    return l;
}

static bool
clock_of(const json_t *hop, struct ef_time *time)
{
    const char *text = ef_json_text_or(hop, "switch_time", NULL);
    return text && !ef_time_parse(text, *time, time, NULL);
}

static void
add_round_trips(struct probe_results *r, const json_t *hops)
{
    for (size_t i = 0; i + 2 < json_array_size(hops); i++) {
        const json_t *out = json_array_get(hops, i), *far = json_array_get(hops, i + 1),
                     *back = json_array_get(hops, i + 2);
        struct ef_time left = {0}, came = {0};
        if (!strcmp(hop_switch(out, "?"), hop_switch(back, "?")) &&
            strcmp(hop_switch(out, "?"), hop_switch(far, "?")) && clock_of(out, &left) && clock_of(back, &came)) {
            struct link *link = link_between(r, hop_switch(out, "?"), hop_switch(far, "?"));
            if (link) {
                round_trips_add(&link->trips, left, (double) ef_time_diff_ns(came, left) / EF_NS_PER_US);
            }
        }
    }
}

/* The last hops, if they are the way that is expected. */
static void
add_way_trip(struct probe_results *r, const json_t *hops)
{
    size_t n = json_array_size(r->way), n_hops = json_array_size(hops);
    struct ef_time left = {0}, came = {0};
    for (size_t i = 0; i < n; i++) {
        if (n_hops < n || strcmp(json_string_value(json_array_get(r->way, i)),
                                 hop_switch(json_array_get(hops, n_hops - n + i), "?"))) {
            return;
        }
    }
    if (n && clock_of(json_array_get(hops, n_hops - n), &left) && clock_of(json_array_get(hops, n_hops - 1), &came)) {
        round_trips_add(&r->way_trips, left, (double) ef_time_diff_ns(came, left) / EF_NS_PER_US);
    }
}

/* The hops at which a switch got the packet; copies may also be made where it
 * leaves or is dropped. */
static json_t *
arrivals(const json_t *trace)
{
    json_t *list = json_array();
    const json_t *hops = json_object_get(trace, "hops");
    json_t *hop;
    size_t i;
    json_array_foreach(hops, i, hop)
    {
        if (strcmp(ef_json_text_or(hop, "direction", ""), "egress") &&
            !json_is_string(json_object_get(hop, "drop_reason"))) {
            json_array_append(list, hop);
        }
    }
    return list;
}

void
probe_results_add(struct probe_results *r, const char *json, size_t len)
{
    /* Most traces are not ours: those are not read. */
    json_t *trace = strstr(json, r->id) ? json_loadb(json, len, 0, NULL) : NULL;
    if (trace && is_new(r, trace)) {
        json_t *hops = arrivals(trace);
        r->traced++;
        increment(r->fates, ef_json_text_or(trace, "fate", "unknown"));
        add_way(r, hops);
        add_round_trips(r, hops);
        add_way_trip(r, hops);
        if (json_array_size(r->ids) < MAX_IDS) {
            json_array_append_new(r->ids, json_string(ef_json_text_or(trace, "id", "")));
        }
        json_decref(hops);
    }
    json_decref(trace);
}

/* --- All ------------------------------------------------------------------ */

static json_t *
show_links(const struct probe_results *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->n_links; i++) {
        struct round_trips_summary summary;
        round_trips_summarize(&r->links[i].trips, &summary);
        json_t *link = json_pack("{s:s, s:s}", "from", r->links[i].from, "to", r->links[i].to);
        json_object_update_new(link, round_trips_show(&summary));
        json_array_append_new(list, link);
    }
    return list;
}

/* Of the probes whose end is known, the part that did not arrive. */
static json_t *
loss(const json_t *fates)
{
    double delivered = json_number_value(json_object_get(fates, "delivered")),
           dropped = json_number_value(json_object_get(fates, "dropped"));
    return delivered + dropped > 0 ? json_real(dropped / (delivered + dropped)) : json_null();
}

void
probe_results_expect_way(struct probe_results *r, const char *const way[], size_t n)
{
    json_decref(r->way);
    r->way = json_array();
    for (size_t i = 0; i <= n; i++) {
        json_array_append_new(r->way, json_string(way[i % n]));
    }
}

const struct round_trips *
probe_results_way(const struct probe_results *r)
{
    return &r->way_trips;
}

const struct round_trips *
probe_results_link(const struct probe_results *r, const char *from, const char *to)
{
    for (size_t i = 0; i < r->n_links; i++) {
        if (!strcmp(r->links[i].from, from) && !strcmp(r->links[i].to, to)) {
            return &r->links[i].trips;
        }
    }
    return NULL;
}

json_t *
probe_results_show(struct probe_results *r, uint64_t sent)
{
    uint64_t untraced = sent > r->traced ? sent - r->traced : 0;
    return json_pack("{s:I, s:I, s:O, s:o, s:O, s:o, s:O}", "traced", (json_int_t) r->traced, "untraced",
                     (json_int_t) untraced, "fates", r->fates, "loss", loss(r->fates), "ways", r->ways, "round_trips",
                     show_links(r), "traces", r->ids);
}
