/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the workers' loads; see load.h. */
#include <config.h>

#include "analyzer/load.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/load_history.h"

/* What is said twice, by two workers, is found by its key in `index`. */
static json_t *
entry_of(json_t *index, json_t *list, const char *key, json_t *fresh)
{
    json_t *entry = json_object_get(index, key);
    if (entry) {
        json_decref(fresh);
        return entry;
    }
    json_object_set(index, key, fresh);
    json_array_append_new(list, fresh);
    return fresh;
}

static void
add_to(json_t *entry, const char *key, uint64_t n)
{
    json_int_t sum = json_integer_value(json_object_get(entry, key));
    json_object_set_new(entry, key, json_integer(sum + (json_int_t) n));
}

/* --- Ports and switches ------------------------------------------------------------ */

struct port_lists {
    json_t *ports, *port_index, *switches, *switch_index;
};

static json_t *
switch_entry(struct port_lists *lists, const char *address)
{
    json_t *fresh = json_pack("{s:s, s:i, s:i, s:i}", "switch", address, "copies", 0, "packets", 0, "bytes", 0);
    return entry_of(lists->switch_index, lists->switches, address, fresh);
}

static void
add_port(struct port_lists *lists, const struct ef_load_port *p, struct ef_load_counts counts)
{
    char address[INET6_ADDRSTRLEN], key[INET6_ADDRSTRLEN + 24];
    const char *direction = p->is_egress ? "egress" : "ingress";
    ef_address_format(p->switch_address, address);
    snprintf(key, sizeof key, "%s %d %u%s", address, p->has_port, p->port, direction);
    json_t *port = p->has_port ? json_integer(p->port) : json_null();
    json_t *entry = entry_of(lists->port_index, lists->ports, key,
                             json_pack("{s:s, s:o, s:s}", "switch", address, "port", port, "direction", direction));
    add_to(entry, "packets", counts.packets);
    add_to(entry, "bytes", counts.bytes);
    if (!p->is_egress) {
        json_t *node = switch_entry(lists, address);
        add_to(node, "packets", counts.packets);
        add_to(node, "bytes", counts.bytes);
    }
}

static void
add_ports(struct port_lists *lists, const struct ef_analyzer *a, const struct ef_load_span *span)
{
    for (unsigned w = 0; w < a->n_workers; w++) {
        const struct ef_load_table *t = &a->workers[w].load;
        uint32_t n = ef_load_table_n_ports(t);
        for (uint32_t i = 0; i < n; i++) {
            const struct ef_load_port *p = &t->ports[i];
            struct ef_load_counts now = ef_load_port_counts(p);
            add_port(lists, p, ef_load_span_of(span, EF_LOAD_PORTS, w, i, now));
        }
    }
}

static void
add_copies(struct port_lists *lists, const struct ef_analyzer *a, const struct ef_load_span *span)
{
    for (unsigned s = 0; s < a->n_ingests; s++) {
        const struct ef_switch_table *t = &a->ingests[s].switches;
        uint32_t n = ef_switch_table_size(t);
        for (uint32_t i = 0; i < n; i++) {
            char address[INET6_ADDRSTRLEN];
            struct ef_load_counts now = {.packets = ef_counter_get(&t->counts[i].copies)};
            ef_address_format(t->counts[i].address, address);
            add_to(switch_entry(lists, address), "copies", ef_load_span_of(span, EF_LOAD_SWITCHES, s, i, now).packets);
        }
    }
}

/* --- Links ---------------------------------------------------------------------- */

/* What all workers say of one link. */
struct link_sum {
    const struct ef_load_link *link; /* Of the first of them. */
    uint64_t packets, bytes, corrupted;
    struct ef_histogram round_trips;
};

struct link_sums {
    struct link_sum *sums; /* NULL if out of memory. */
    size_t n;
    json_t *index; /* "from to" -> its number. */
};

static void
add_round_trips(struct ef_histogram *sum, const struct ef_load_link *link)
{
    uint64_t min = ef_counter_get(&link->rtt_min_ns);
    struct ef_histogram part = {.n = ef_counter_get(&link->rtts)};
    if (!part.n || !min) {
        return;
    }
    part.min_ns = min - 1;
    part.max_ns = ef_counter_get(&link->rtt_max_ns);
    part.sum_ns = ef_counter_get(&link->rtt_sum_ns);
    for (unsigned i = 0; i < EF_HISTOGRAM_BUCKETS; i++) {
        part.buckets[i] = ef_counter_get(&link->rtt_buckets[i]);
    }
    ef_histogram_merge(sum, &part);
}

/* The sum of the link, a fresh one behind those there are if it has none. */
static struct link_sum *
sum_of(struct link_sums *s, const struct ef_load_link *link)
{
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], key[2 * INET6_ADDRSTRLEN + 1];
    ef_address_format(link->from, from);
    ef_address_format(link->to, to);
    snprintf(key, sizeof key, "%s %s", from, to);
    json_t *at = json_object_get(s->index, key);
    if (at) {
        return &s->sums[json_integer_value(at)];
    }
    json_object_set_new(s->index, key, json_integer((json_int_t) s->n));
    s->sums[s->n].link = link;
    return &s->sums[s->n++];
}

static void
sum_links(struct link_sums *s, const struct ef_analyzer *a, const struct ef_load_span *span)
{
    size_t most = 0;
    uint32_t n_links[EF_INGEST_MAX_WORKERS];
    for (unsigned w = 0; w < a->n_workers; w++) {
        most += n_links[w] = ef_load_table_n_links(&a->workers[w].load);
    }
    *s = (struct link_sums){.sums = calloc(most + 1, sizeof s->sums[0]), .index = json_object()};
    for (unsigned w = 0; s->sums && w < a->n_workers; w++) {
        for (uint32_t i = 0; i < n_links[w]; i++) {
            const struct ef_load_link *link = &a->workers[w].load.links[i];
            struct ef_load_counts now = ef_load_link_counts(link);
            struct ef_load_counts counts = ef_load_span_of(span, EF_LOAD_LINKS, w, i, now);
            struct link_sum *sum = sum_of(s, link);
            sum->packets += counts.packets;
            sum->bytes += counts.bytes;
            sum->corrupted += counts.corrupted;
            add_round_trips(&sum->round_trips, link);
        }
    }
}

static void
free_links(struct link_sums *s)
{
    json_decref(s->index);
    free(s->sums);
}

static json_t *
ends_json(const struct ef_load_link *link)
{
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
    ef_address_format(link->from, from);
    ef_address_format(link->to, to);
    return json_pack("{s:s, s:s}", "from", from, "to", to);
}

static json_t *
links_json(const struct ef_analyzer *a, const struct ef_load_span *span, bool with_round_trips)
{
    struct link_sums s;
    json_t *links = json_array();
    sum_links(&s, a, span);
    for (size_t i = 0; i < s.n; i++) {
        json_t *link = ends_json(s.sums[i].link);
        add_to(link, "packets", s.sums[i].packets);
        add_to(link, "bytes", s.sums[i].bytes);
        add_to(link, "corrupted", s.sums[i].corrupted);
        if (with_round_trips && s.sums[i].round_trips.n) {
            json_object_set_new(link, "round_trips", ef_histogram_json(&s.sums[i].round_trips));
        }
        json_array_append_new(links, link);
    }
    free_links(&s);
    return links;
}

/* --- Documents --------------------------------------------------------------------- */

/* Of a monotonic time, by the wall clock as it is set now. */
static json_t *
time_json(struct ef_time mono)
{
    char text[EF_TIME_TEXT_SIZE];
    int64_t age_ns = ef_time_diff_ns(ef_time_mono(), mono);
    return json_string(ef_time_format(ef_time_add_ns(ef_time_real(), -age_ns), text));
}

json_t *
ef_load_json(const struct ef_analyzer *a, const struct ef_load_span *span)
{
    const struct ef_load_span all = {.start = a->started, .end = ef_time_mono()}, *s = span ? span : &all;
    struct port_lists lists = {json_array(), json_object(), json_array(), json_object()};
    uint64_t uncounted = 0;
    add_ports(&lists, a, s);
    add_copies(&lists, a, s);
    for (unsigned w = 0; w < a->n_workers; w++) {
        uncounted += ef_counter_get(&a->workers[w].load.uncounted);
    }
    json_decref(lists.port_index);
    json_decref(lists.switch_index);
    double span_s = (double) ef_time_diff_ns(s->end, s->start) / EF_NS_PER_S;
    return json_pack("{s:o, s:o, s:f, s:o, s:o, s:o, s:I}", "start", time_json(s->start), "end", time_json(s->end),
                     "span_s", span_s, "switches", lists.switches, "ports", lists.ports, "links",
                     links_json(a, s, !span), "uncounted", (json_int_t) uncounted);
}

json_t *
ef_latency_json(const struct ef_analyzer *a)
{
    const struct ef_load_span all = {.start = a->started};
    struct link_sums s;
    json_t *links = json_array();
    sum_links(&s, a, &all);
    for (size_t i = 0; i < s.n; i++) {
        if (s.sums[i].round_trips.n) {
            json_t *link = ends_json(s.sums[i].link), *times = ef_histogram_json(&s.sums[i].round_trips);
            json_object_update(link, times);
            json_decref(times);
            json_array_append_new(links, link);
        }
    }
    free_links(&s);
    return json_pack("{s:o}", "links", links);
}
