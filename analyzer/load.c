/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the workers' loads; see load.h. */
#include <config.h>

#include "analyzer/load.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void
add_port(json_t *index, json_t *list, const struct ef_load_port *p)
{
    char address[INET6_ADDRSTRLEN], key[INET6_ADDRSTRLEN + 24];
    const char *direction = p->is_egress ? "egress" : "ingress";
    ef_address_format(p->switch_address, address);
    snprintf(key, sizeof key, "%s %d %u%s", address, p->has_port, p->port, direction);
    json_t *port = p->has_port ? json_integer(p->port) : json_null();
    json_t *entry = entry_of(index, list, key,
                             json_pack("{s:s, s:o, s:s}", "switch", address, "port", port, "direction", direction));
    add_to(entry, "packets", ef_counter_get(&p->packets));
    add_to(entry, "bytes", ef_counter_get(&p->bytes));
}

/* --- Links ---------------------------------------------------------------------- */

struct round_trips {
    uint64_t n, sum_ns, min_ns, max_ns;
    uint64_t buckets[EF_LOAD_RTT_BUCKETS];
};

static void
add_round_trips(struct round_trips *sum, const struct ef_load_link *link)
{
    uint64_t n = ef_counter_get(&link->rtts), min = ef_counter_get(&link->rtt_min_ns);
    if (!n || !min) {
        return;
    }
    sum->min_ns = sum->n ? EF_MIN(sum->min_ns, min - 1) : min - 1;
    sum->max_ns = EF_MAX(sum->max_ns, ef_counter_get(&link->rtt_max_ns));
    sum->n += n;
    sum->sum_ns += ef_counter_get(&link->rtt_sum_ns);
    for (unsigned i = 0; i < EF_LOAD_RTT_BUCKETS; i++) {
        sum->buckets[i] += ef_counter_get(&link->rtt_buckets[i]);
    }
}

/* The middle of the bucket that holds the round trip below which the share is,
 * within what was really seen. */
static double
quantile_us(const struct round_trips *r, double share)
{
    uint64_t n = 0, wanted = (uint64_t) (share * (double) (r->n - 1)) + 1;
    unsigned i = 0;
    while (i < EF_LOAD_RTT_BUCKETS - 1 && (n += r->buckets[i]) < wanted) {
        i++;
    }
    uint64_t next = i + 1 < EF_LOAD_RTT_BUCKETS ? ef_load_rtt_bucket_ns(i + 1) : r->max_ns;
    uint64_t middle = (ef_load_rtt_bucket_ns(i) + next) / 2;
    return (double) EF_MIN(EF_MAX(middle, r->min_ns), r->max_ns) / 1e3;
}

static json_t *
round_trips_json(const struct round_trips *r)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "probes", (json_int_t) r->n, "min_us", (double) r->min_ns / 1e3,
                     "mean_us", (double) r->sum_ns / (double) r->n / 1e3, "median_us", quantile_us(r, 0.5), "p99_us",
                     quantile_us(r, 0.99), "max_us", (double) r->max_ns / 1e3);
}

/* What all workers say of one link. */
struct link_sum {
    const struct ef_load_link *link; /* Of the first of them. */
    uint64_t packets, bytes;
    struct round_trips round_trips;
};

static json_t *
link_json(const struct link_sum *sum)
{
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
    ef_address_format(sum->link->from, from);
    ef_address_format(sum->link->to, to);
    json_t *json = json_pack("{s:s, s:s, s:I, s:I}", "from", from, "to", to, "packets", (json_int_t) sum->packets,
                             "bytes", (json_int_t) sum->bytes);
    if (sum->round_trips.n) {
        json_object_set_new(json, "round_trips", round_trips_json(&sum->round_trips));
    }
    return json;
}

/* The sum of the link, a fresh one behind the `*n` there are if `index` does not have it. */
static struct link_sum *
sum_of(json_t *index, struct link_sum *sums, const struct ef_load_link *link, size_t *n)
{
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], key[2 * INET6_ADDRSTRLEN + 1];
    ef_address_format(link->from, from);
    ef_address_format(link->to, to);
    snprintf(key, sizeof key, "%s %s", from, to);
    json_t *at = json_object_get(index, key);
    if (at) {
        return &sums[json_integer_value(at)];
    }
    json_object_set_new(index, key, json_integer((json_int_t) *n));
    sums[*n].link = link;
    return &sums[(*n)++];
}

static json_t *
links_json(const struct ef_analyzer *a)
{
    size_t n = 0, most = 0;
    uint32_t n_links[EF_INGEST_MAX_WORKERS];
    for (unsigned w = 0; w < a->n_workers; w++) {
        most += n_links[w] = ef_load_table_n_links(&a->workers[w].load);
    }
    struct link_sum *sums = calloc(most + 1, sizeof *sums);
    json_t *links = json_array(), *index = json_object();
    for (unsigned w = 0; sums && w < a->n_workers; w++) {
        for (uint32_t i = 0; i < n_links[w]; i++) {
            const struct ef_load_link *link = &a->workers[w].load.links[i];
            struct link_sum *sum = sum_of(index, sums, link, &n);
            sum->packets += ef_counter_get(&link->packets);
            sum->bytes += ef_counter_get(&link->bytes);
            add_round_trips(&sum->round_trips, link);
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(links, link_json(&sums[i]));
    }
    json_decref(index);
    free(sums);
    return links;
}

json_t *
ef_load_json(const struct ef_analyzer *a)
{
    json_t *ports = json_array(), *index = json_object();
    uint64_t uncounted = 0;
    for (unsigned w = 0; w < a->n_workers; w++) {
        const struct ef_load_table *t = &a->workers[w].load;
        uint32_t n = ef_load_table_n_ports(t);
        for (uint32_t i = 0; i < n; i++) {
            add_port(index, ports, &t->ports[i]);
        }
        uncounted += ef_counter_get(&t->uncounted);
    }
    json_decref(index);
    return json_pack("{s:o, s:o, s:I}", "ports", ports, "links", links_json(a), "uncounted", (json_int_t) uncounted);
}
