/* SPDX-License-Identifier: Apache-2.0 */
/* Status and metrics over HTTP; see http.h. */
#include <config.h>

#include "analyzer/http.h"

#include <stdio.h>

#include "analyzer/load.h"
#include "analyzer/status.h"
#include "net/metrics.h"

static void
get_status(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, ef_status_json(ctx));
}

/* What reshufflers ask five times a second: cheap, and true of the whole
 * process only if the main thread and a source are alive. */
static void
get_health(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, ef_status_health_json(ctx, ef_http_param(req, "reshuffler")));
}

static void
add_copies(struct ef_metrics *m, const struct ef_status *s)
{
    ef_metrics_single(m, "everflow_copies_received_total", "counter",
                      "frames received, with those lost in the receive ring", (double) s->copies_received);
    ef_metrics_single(m, "everflow_copies_assembled_total", "counter", "copies that became part of a trace",
                      (double) s->copies_assembled);
    ef_metrics_family(m, "everflow_drops_total", "counter", "frames discarded, by reason");
    for (unsigned i = 0; i < ef_status_n_reasons; i++) {
        enum ef_drop_reason reason = ef_status_reasons[i];
        ef_metrics_value(m, (double) s->drops[reason], "reason", ef_drop_reason_name(reason), NULL);
    }
}

static void
add_traces(struct ef_metrics *m, const struct ef_status *s)
{
    ef_metrics_single(m, "everflow_traces_open", "gauge", "traces that still wait for copies",
                      (double) (s->traces_opened - s->traces_closed));
    ef_metrics_single(m, "everflow_traces_open_limit", "gauge", "traces that can be open at once",
                      (double) s->traces_capacity);
    ef_metrics_single(m, "everflow_traces_closed_total", "counter", "traces closed", (double) s->traces_closed);
    ef_metrics_single(m, "everflow_traces_unkept_total", "counter", "traces closed that --keep does not name",
                      (double) s->traces_unkept);
    ef_metrics_single(m, "everflow_traces_stored", "gauge", "closed traces in memory", (double) s->store.n_stored);
    ef_metrics_single(m, "everflow_traces_evicted_total", "counter", "closed traces that made room for newer ones",
                      (double) s->store.n_evicted);
    ef_metrics_single(m, "everflow_traces_refused_total", "counter", "closed traces for which no room could be made",
                      (double) s->store.n_refused);
    ef_metrics_family(m, "everflow_packets_total", "counter", "packets traced, by what became of them");
    for (int i = 0; i < EF_N_FATES; i++) {
        ef_metrics_value(m, (double) s->fates[i], "fate", ef_fate_names[i], NULL);
    }
    ef_metrics_single(m, "everflow_loops_total", "counter", "closed traces with a loop", (double) s->loops);
    ef_metrics_single(m, "everflow_corrupt_total", "counter",
                      "closed traces of packets that were corrupted on their way", (double) s->corrupt);
}

static void
add_indexes(struct ef_metrics *m, const struct ef_status *s)
{
    const struct ef_trace_index_stats *indexes = s->store.indexes;
    size_t n = EF_ARRAY_SIZE(s->store.indexes);
    ef_metrics_family(m, "everflow_index_bytes", "gauge", "memory of each index of the closed traces");
    for (size_t i = 0; i < n && indexes[i].name; i++) {
        ef_metrics_value(m, (double) indexes[i].n_bytes, "index", indexes[i].name, NULL);
    }
    ef_metrics_family(m, "everflow_index_seconds_total", "counter", "processor time spent on each index");
    for (size_t i = 0; i < n && indexes[i].name; i++) {
        double seconds = (double) indexes[i].processor_time.ns / EF_NS_PER_S;
        ef_metrics_value(m, seconds, "index", indexes[i].name, NULL);
    }
}

static void
add_archive(struct ef_metrics *m, const struct ef_status *s)
{
    const struct ef_archive_stats *a = &s->archive.archive;
    ef_metrics_single(m, "everflow_archive_traces_total", "counter", "closed traces handed to the archive",
                      (double) s->archive.n_taken);
    ef_metrics_family(m, "everflow_archive_tail_total", "counter",
                      "closed traces since the start that have come so far on their way to the disk");
    ef_metrics_value(m, (double) a->spool.n_written, "stage", "written", NULL);
    ef_metrics_value(m, (double) a->spool.n_synced, "stage", "synced", NULL);
    ef_metrics_value(m, (double) a->n_sealed_rows, "stage", "sealed", NULL);
    ef_metrics_family(m, "everflow_archive_lost_total", "counter", "closed traces that the archive lacks, by reason");
    ef_metrics_value(m, (double) s->archive.n_missed, "reason", "left_memory", NULL);
    ef_metrics_value(m, (double) a->spool.n_dropped, "reason", "disk", NULL);
    ef_metrics_value(m, (double) a->n_expired_rows, "reason", "expired", NULL);
    ef_metrics_single(m, "everflow_archive_bytes", "gauge", "size of the archive", (double) a->n_bytes);
    ef_metrics_single(m, "everflow_archive_segments", "gauge", "sealed files of the archive", (double) a->n_segments);
    ef_metrics_single(m, "everflow_archive_alarm", "gauge", "1 while the archive's disk is full or fails",
                      a->alarm ? 1 : 0);
}

static void
add_switches(struct ef_metrics *m, const struct ef_analyzer *analyzer)
{
    json_t *switches = ef_status_switches(analyzer), *total;
    const char *address;
    ef_metrics_family(m, "everflow_switch_copies_total", "counter", "copies received from each switch");
    json_object_foreach(switches, address, total)
    {
        ef_metrics_value(m, (double) json_integer_value(json_object_get(total, "copies")), "switch", address, NULL);
    }
    json_decref(switches);
}

static void
add_counters(struct ef_metrics *m, const struct ef_analyzer *analyzer)
{
    struct ef_counter_info info;
    ef_metrics_family(m, "everflow_counter_packets_total", "counter", "traced packets that match a counter's filter");
    for (unsigned i = 0; ef_filter_counters_get(analyzer->counters, i, &info); i++) {
        ef_metrics_value(m, (double) info.total.packets, "name", info.name, NULL);
    }
    ef_metrics_family(m, "everflow_counter_bytes_total", "counter", "bytes of the packets that match");
    for (unsigned i = 0; ef_filter_counters_get(analyzer->counters, i, &info); i++) {
        ef_metrics_value(m, (double) info.total.bytes, "name", info.name, NULL);
    }
}

static const char *
text_of(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(entry, key));
}

static void
add_ports(struct ef_metrics *m, const json_t *ports, const char *name, const char *key, const char *help)
{
    size_t i;
    const json_t *entry;
    ef_metrics_family(m, name, "counter", help);
    json_array_foreach((json_t *) ports, i, entry)
    {
        char port[24] = "";
        if (json_is_integer(json_object_get(entry, "port"))) {
            snprintf(port, sizeof port, "%lld", (long long) json_integer_value(json_object_get(entry, "port")));
        }
        ef_metrics_value(m, json_number_value(json_object_get(entry, key)), "switch", text_of(entry, "switch"), "port",
                         port, "direction", text_of(entry, "direction"), NULL);
    }
}

static void
add_links(struct ef_metrics *m, const json_t *links, const char *name, const char *key, const char *help)
{
    size_t i;
    const json_t *entry;
    ef_metrics_family(m, name, "counter", help);
    json_array_foreach((json_t *) links, i, entry)
    {
        ef_metrics_value(m, json_number_value(json_object_get(entry, key)), "from", text_of(entry, "from"), "to",
                         text_of(entry, "to"), NULL);
    }
}

static void
add_round_trips(struct ef_metrics *m, const json_t *links)
{
    size_t i;
    const json_t *entry;
    ef_metrics_family(m, "everflow_link_round_trip_median_seconds", "gauge",
                      "median time of guided probes over the link and back");
    json_array_foreach((json_t *) links, i, entry)
    {
        const json_t *r = json_object_get(entry, "round_trips");
        if (r) {
            ef_metrics_value(m, json_number_value(json_object_get(r, "median_us")) / 1e6, "from",
                             text_of(entry, "from"), "to", text_of(entry, "to"), NULL);
        }
    }
}

static void
add_load(struct ef_metrics *m, const struct ef_analyzer *analyzer)
{
    json_t *load = ef_load_json(analyzer, NULL), *ports = json_object_get(load, "ports"),
           *links = json_object_get(load, "links");
    add_ports(m, ports, "everflow_port_packets_total", "packets", "traced packets that a port of a switch saw");
    add_ports(m, ports, "everflow_port_bytes_total", "bytes", "bytes of these packets");
    add_links(m, links, "everflow_link_packets_total", "packets", "traced packets from one switch to the next");
    add_links(m, links, "everflow_link_bytes_total", "bytes", "bytes of these packets");
    add_links(m, links, "everflow_link_corrupted_packets_total", "corrupted",
              "of these, packets that were corrupted between the two");
    add_round_trips(m, links);
    json_decref(load);
}

static void
get_metrics(struct ef_http_request *req, void *ctx)
{
    const struct ef_analyzer *analyzer = ctx;
    struct ef_status s;
    struct ef_metrics m;
    ef_status_collect(analyzer, &s);
    ef_metrics_init(&m);
    ef_metrics_single(&m, "everflow_uptime_seconds", "gauge", "time since the start", s.uptime_s);
    add_copies(&m, &s);
    add_traces(&m, &s);
    add_indexes(&m, &s);
    if (s.has_archive) {
        add_archive(&m, &s);
    }
    ef_metrics_single(&m, "everflow_memory_limit_bytes", "gauge", "what --memory allows",
                      (double) analyzer->plan.limit);
    ef_metrics_single(&m, "everflow_resident_bytes", "gauge", "memory that the process has resident",
                      (double) s.resident_bytes);
    add_switches(&m, analyzer);
    add_counters(&m, analyzer);
    add_load(&m, analyzer);
    ef_metrics_reply(&m, req);
}

void
ef_http_serve(struct ef_analyzer *analyzer, struct ef_http_server *server)
{
    static const char *const health_params[] = {"reshuffler", NULL};
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/traces", ef_http_traces_params, ef_http_get_traces},
        {"GET", "/v1/status", NULL, get_status},
        {"GET", "/v1/topology", NULL, ef_http_get_topology},
        {"PUT", "/v1/topology", NULL, ef_http_put_topology},
        {"GET", "/v1/load", ef_http_load_params, ef_http_get_load},
        {"GET", "/v1/latency", NULL, ef_http_get_latency},
        {"GET", "/v1/counters", NULL, ef_http_get_counters},
        {"POST", "/v1/counters", NULL, ef_http_add_counter},
        {"GET", "/v1/counters/*", ef_http_counter_params, ef_http_get_counter},
        {"DELETE", "/v1/counters/*", NULL, ef_http_remove_counter},
        {"GET", "/v1/health", health_params, get_health},
        {"GET", "/metrics", NULL, get_metrics},
        {0},
    };
    ef_http_server_add_routes(server, routes, analyzer);
}
