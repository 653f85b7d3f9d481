/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's totals; see status.h. */
#include <config.h>

#include "analyzer/status.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const enum ef_drop_reason ef_status_reasons[] = {
    EF_DROP_NOT_A_COPY,  EF_DROP_OUTER_FRAGMENT, EF_DROP_OUTER_TRUNCATED, EF_DROP_OUTER_CHECKSUM,
    EF_DROP_BAD_GRE,     EF_DROP_BAD_ERSPAN,     EF_DROP_INNER_MALFORMED, EF_DROP_SOURCE_OVERFLOW,
    EF_DROP_WORKER_BUSY, EF_DROP_TABLE_FULL,     EF_DROP_HOPS_FULL,       EF_DROP_POLICY,
};
const unsigned ef_status_n_reasons = EF_ARRAY_SIZE(ef_status_reasons);

/* From /proc, or 0. */
static uint64_t
resident_bytes(void)
{
    unsigned long size, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f) {
        if (fscanf(f, "%lu %lu", &size, &resident) != 2) {
            resident = 0;
        }
        fclose(f);
    }
    return (uint64_t) resident * (uint64_t) sysconf(_SC_PAGESIZE);
}

static void
add_ingest(struct ef_status *s, const struct ef_ingest *in, unsigned n_workers)
{
    s->copies_received += ef_counter_get(&in->frames) + ef_counter_get(&in->overflows);
    s->loss_reports += ef_counter_get(&in->loss_reports);
    s->drops[EF_DROP_SOURCE_OVERFLOW] += ef_counter_get(&in->overflows);
    for (int i = 0; i < EF_N_DROP_REASONS; i++) {
        s->drops[i] += ef_counter_get(&in->drops[i]);
    }
    for (unsigned i = 0; i < n_workers; i++) {
        s->drops[EF_DROP_WORKER_BUSY] += ef_counter_get(&in->feeds[i].busy);
    }
}

static void
add_worker(struct ef_status *s, const struct ef_worker *w)
{
    const struct ef_assembler_counters *c = ef_assembler_counters(w->assembler);
    /* Unkept first: they were assembled before. */
    uint64_t unkept = ef_counter_get(&w->unkept_copies);
    s->drops[EF_DROP_POLICY] += unkept;
    s->traces_unkept += ef_counter_get(&w->unkept_traces);
    s->copies_assembled += ef_counter_get(&c->copies) - unkept;
    s->drops[EF_DROP_TABLE_FULL] += ef_counter_get(&c->table_full);
    s->drops[EF_DROP_HOPS_FULL] += ef_counter_get(&c->hops_full);
    /* Closed first: a trace must not seem to be closed before it was opened. */
    s->traces_closed += ef_counter_get(&c->closed);
    s->traces_opened += ef_counter_get(&c->opened);
    s->loops += ef_counter_get(&c->loops);
    s->corrupt += ef_counter_get(&w->judge.corrupt);
    for (int i = 0; i < EF_N_FATES; i++) {
        s->fates[i] += ef_counter_get(&w->judge.fates[i]);
    }
    s->traces_capacity += ef_assembler_capacity(w->assembler);
}

void
ef_status_collect(const struct ef_analyzer *analyzer, struct ef_status *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < analyzer->n_workers; i++) {
        add_worker(s, &analyzer->workers[i]);
    }
    for (unsigned i = 0; i < analyzer->n_ingests; i++) {
        add_ingest(s, &analyzer->ingests[i], analyzer->n_workers);
    }
    ef_trace_store_stats(analyzer->store, &s->store);
    s->has_archive = analyzer->archiver;
    if (s->has_archive) {
        ef_archiver_stats(analyzer->archiver, &s->archive);
    }
    s->resident_bytes = resident_bytes();
    s->uptime_s = (double) ef_time_diff_ns(ef_time_mono(), analyzer->started) / EF_NS_PER_S;
}

/* --- Switches ----------------------------------------------------------------- */

/* Adds `count` to the total of its switch in `totals`, keyed by address text. */
static void
add_switch(json_t *totals, const struct ef_switch_count *count)
{
    char address[INET6_ADDRSTRLEN];
    ef_address_format(count->address, address);
    json_t *total = json_object_get(totals, address);
    if (!total) {
        total = json_object();
        json_object_set_new(totals, address, total);
    }
    json_int_t copies = json_integer_value(json_object_get(total, "copies"));
    json_object_set_new(total, "copies", json_integer(copies + (json_int_t) ef_counter_get(&count->copies)));
    json_int_t first = (json_int_t) ef_counter_get(&count->first_sequence) - 1;
    json_int_t last = (json_int_t) ef_counter_get(&count->last_sequence) - 1;
    if (last >= 0 && first >= 0) {
        json_t *old_first = json_object_get(total, "first_sequence");
        json_t *old_last = json_object_get(total, "last_sequence");
        first = old_first ? EF_MIN(first, json_integer_value(old_first)) : first;
        last = old_last ? EF_MAX(last, json_integer_value(old_last)) : last;
        json_object_set_new(total, "first_sequence", json_integer(first));
        json_object_set_new(total, "last_sequence", json_integer(last));
    }
}

json_t *
ef_status_switches(const struct ef_analyzer *analyzer)
{
    json_t *totals = json_object();
    for (unsigned i = 0; i < analyzer->n_ingests; i++) {
        const struct ef_switch_table *t = &analyzer->ingests[i].switches;
        for (uint32_t k = 0; k < ef_switch_table_size(t); k++) {
            add_switch(totals, &t->counts[k]);
        }
    }
    return totals;
}

/* --- JSON ------------------------------------------------------------------------ */

static json_t *
drops_json(const struct ef_status *s)
{
    json_t *drops = json_object();
    for (unsigned i = 0; i < ef_status_n_reasons; i++) {
        enum ef_drop_reason reason = ef_status_reasons[i];
        json_object_set_new(drops, ef_drop_reason_name(reason), json_integer((json_int_t) s->drops[reason]));
    }
    return drops;
}

static json_t *
sources_json(const struct ef_analyzer *analyzer)
{
    static const char *const states[] = {
        [EF_INGEST_RUNS] = "running",
        [EF_INGEST_AWAY] = "away",
        [EF_INGEST_ENDED] = "ended",
        [EF_INGEST_FAILED] = "failed",
    };
    json_t *sources = json_array();
    for (unsigned i = 0; i < analyzer->n_ingests; i++) {
        const struct ef_ingest *in = &analyzer->ingests[i];
        int state = atomic_load(&((struct ef_ingest *) in)->state);
        json_t *source = json_pack("{s:s, s:s, s:I, s:I}", "source", in->config.spec, "state", states[state], "frames",
                                   (json_int_t) ef_counter_get(&in->frames), "overflows",
                                   (json_int_t) ef_counter_get(&in->overflows));
        if (state == EF_INGEST_FAILED) {
            json_object_set_new(source, "error", json_string(ef_source_error(in->source)));
        }
        json_array_append_new(sources, source);
    }
    return sources;
}

static json_t *
fates_json(const struct ef_status *s)
{
    json_t *fates = json_object();
    for (int i = 0; i < EF_N_FATES; i++) {
        json_object_set_new(fates, ef_fate_names[i], json_integer((json_int_t) s->fates[i]));
    }
    return fates;
}

/* What each part of --memory is for, as far as it was given out. */
static json_t *
memory_json(const struct ef_analyzer *a, const struct ef_status *s)
{
    const struct ef_memory_plan *plan = &a->plan;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "source_rings",
                     (json_int_t) (plan->source_ring_bytes * a->n_ingests), "worker_rings",
                     (json_int_t) (plan->feed_bytes * a->n_ingests * a->n_workers), "open_traces",
                     (json_int_t) (plan->open_bytes * a->n_workers), "switch_counts",
                     (json_int_t) (ef_switch_table_memory() * a->n_ingests), "closed_traces",
                     (json_int_t) plan->store_bytes, "closed_traces_used", (json_int_t) s->store.used_bytes, "answers",
                     (json_int_t) plan->query_bytes, "fates", (json_int_t) plan->fate_bytes, "counters",
                     (json_int_t) plan->load_bytes);
}

/* What each index of the closed traces costs. */
static json_t *
indexes_json(const struct ef_status *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < EF_ARRAY_SIZE(s->store.indexes) && s->store.indexes[i].name; i++) {
        const struct ef_trace_index_stats *index = &s->store.indexes[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:f}", "name", index->name, "traces",
                                              (json_int_t) index->n_traces, "bytes", (json_int_t) index->n_bytes,
                                              "buckets_without", (json_int_t) index->n_without, "processor_s",
                                              (double) index->processor_time.ns / EF_NS_PER_S));
    }
    return list;
}

/* NULL, which becomes null, without an archive. */
/* How many of the traces closed since the start each stage has, as of nearly one
 * instant. */
static json_t *
tails_json(const struct ef_status *s)
{
    const struct ef_archive_stats *a = &s->archive.archive;
    json_t *tails = json_pack("{s:I}", "read", (json_int_t) (s->store.n_stored + s->store.n_evicted));
    if (s->has_archive && tails) {
        json_object_set_new(tails, "taken", json_integer((json_int_t) s->archive.n_taken));
        json_object_set_new(tails, "written", json_integer((json_int_t) a->spool.n_written));
        json_object_set_new(tails, "synced", json_integer((json_int_t) a->spool.n_synced));
        json_object_set_new(tails, "sealed", json_integer((json_int_t) a->n_sealed_rows));
    }
    return tails;
}

static json_t *
archive_json(const struct ef_status *s)
{
    const struct ef_archive_stats *a = &s->archive.archive;
    char oldest[EF_TIME_TEXT_SIZE];
    if (!s->has_archive) {
        return NULL;
    }
    ef_time_format(a->oldest, oldest);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s?, s:s?}", "traces_taken",
                     (json_int_t) s->archive.n_taken, "traces_missed", (json_int_t) s->archive.n_missed,
                     "traces_dropped", (json_int_t) a->spool.n_dropped, "traces_sealed", (json_int_t) a->n_rows,
                     "traces_expired", (json_int_t) a->n_expired_rows, "segments", (json_int_t) a->n_segments,
                     "unsealed", (json_int_t) a->n_unsealed, "bytes", (json_int_t) a->n_bytes, "broken_files",
                     (json_int_t) a->n_broken, "torn_bytes", (json_int_t) a->torn_bytes, "oldest",
                     a->has_oldest ? oldest : NULL, "alarm", a->alarm ? strerror(-a->alarm) : NULL);
}

static json_int_t
n_counters(const struct ef_analyzer *analyzer)
{
    struct ef_counter_info info;
    unsigned n = 0;
    while (ef_filter_counters_get(analyzer->counters, n, &info)) {
        n++;
    }
    return n;
}

json_t *
ef_status_json(const struct ef_analyzer *analyzer)
{
    struct ef_status s;
    ef_status_collect(analyzer, &s);
    char oldest[EF_TIME_TEXT_SIZE];
    ef_time_format(s.store.oldest, oldest);
    return json_pack(
        "{s:s, s:s, s:s, s:f, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:s?, "
        "s:I, s:o, s:o, s:o, s:I, s:o, s:o?, s:o, s:s, s:I, s:I, s:s}",
        "role", "analyzer", "name", analyzer->config.name, "version", PACKAGE_VERSION, "uptime_s", s.uptime_s,
        "copies_received", (json_int_t) s.copies_received, "copies_assembled", (json_int_t) s.copies_assembled, "drops",
        drops_json(&s), "traces_open", (json_int_t) (s.traces_opened - s.traces_closed), "traces_open_limit",
        (json_int_t) s.traces_capacity, "traces_closed", (json_int_t) s.traces_closed, "traces_stored",
        (json_int_t) s.store.n_stored, "traces_evicted", (json_int_t) s.store.n_evicted, "traces_refused",
        (json_int_t) s.store.n_refused, "index_bytes", (json_int_t) s.store.index_bytes, "loops", (json_int_t) s.loops,
        "corrupt", (json_int_t) s.corrupt, "memory_bytes", (json_int_t) analyzer->plan.total, "memory_limit_bytes",
        (json_int_t) analyzer->plan.limit, "resident_bytes", (json_int_t) s.resident_bytes, "memory",
        memory_json(analyzer, &s), "oldest", s.store.has_oldest ? oldest : NULL, "queries_open",
        (json_int_t) s.store.n_queries, "sources", sources_json(analyzer), "switches", ef_status_switches(analyzer),
        "fates", fates_json(&s), "loss_reports", (json_int_t) s.loss_reports, "indexes", indexes_json(&s), "archive",
        archive_json(&s), "tails", tails_json(&s), "keep", analyzer->keep.text, "traces_unkept",
        (json_int_t) s.traces_unkept, "counters", n_counters(analyzer), "topology",
        ef_current_topology_digest(analyzer->topology));
}

/* --- Health ---------------------------------------------------------------------- */

static unsigned
n_running_sources(const struct ef_analyzer *analyzer)
{
    unsigned n = 0;
    for (unsigned i = 0; i < analyzer->n_ingests; i++) {
        n += atomic_load(&((struct ef_ingest *) &analyzer->ingests[i])->state) == EF_INGEST_RUNS;
    }
    return n;
}

/* The same as in the status, without what is slow to collect. */
static void
collect_copies(const struct ef_analyzer *analyzer, struct ef_status *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < analyzer->n_workers; i++) {
        add_worker(s, &analyzer->workers[i]);
    }
    for (unsigned i = 0; i < analyzer->n_ingests; i++) {
        add_ingest(s, &analyzer->ingests[i], analyzer->n_workers);
    }
}

/* NULL, which becomes null, if no reshuffler asks. */
static json_t *
reports_json(const struct ef_analyzer *analyzer, const char *reshuffler)
{
    uint64_t sender = reshuffler ? strtoull(reshuffler, NULL, 16) : 0, n = 0;
    for (unsigned i = 0; i < analyzer->n_ingests; i++) {
        n += ef_report_senders_get(&analyzer->ingests[i].report_senders, sender);
    }
    return reshuffler ? json_integer((json_int_t) n) : NULL;
}

json_t *
ef_status_health_json(const struct ef_analyzer *analyzer, const char *reshuffler)
{
    static const enum ef_drop_reason no_room[] = {EF_DROP_SOURCE_OVERFLOW, EF_DROP_WORKER_BUSY, EF_DROP_TABLE_FULL};
    struct ef_status s;
    uint64_t lost = 0;
    collect_copies(analyzer, &s);
    for (size_t i = 0; i < EF_ARRAY_SIZE(no_room); i++) {
        lost += s.drops[no_room[i]];
    }
    double open = (double) (s.traces_opened - s.traces_closed);
    bool is_ready = n_running_sources(analyzer) > 0;
    return json_pack("{s:s, s:s, s:b, s:s?, s:f, s:I, s:I, s:o?}", "role", "analyzer", "name", analyzer->config.name,
                     "ready", is_ready, "why", is_ready ? NULL : "it has no source that runs", "load",
                     s.traces_capacity ? open / (double) s.traces_capacity : 0.0, "copies_received",
                     (json_int_t) s.copies_received, "copies_lost", (json_int_t) lost, "reports",
                     reports_json(analyzer, reshuffler));
}
