/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of an analyzer and what they share; see analyzer.h. */
#include <config.h>

#include "analyzer/analyzer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/load_history.h"

enum { LEAST_STORE_SHARE = 4 }; /* Of --memory, for closed traces. */

/* `n` zeroed structs of a type that is aligned to cache lines (its size is then
 * a multiple of one), or NULL. */
static void *
alloc_aligned(size_t n, size_t size)
{
    void *p = aligned_alloc(EF_CACHE_LINE, n * size);
    if (p) {
        memset(p, 0, n * size);
    }
    return p;
}

static int
init_bells(struct ef_analyzer *a, struct ef_error *err)
{
    for (; a->n_bells < a->config.n_workers; a->n_bells++) {
        int rc = ef_bell_init(&a->bells[a->n_bells]);
        if (rc) {
            return ef_error_set(err, rc, "cannot create an eventfd: %s", strerror(-rc));
        }
    }
    return 0;
}

static int
init_ingests(struct ef_analyzer *a, struct ef_error *err)
{
    for (; a->n_ingests < a->config.n_sources; a->n_ingests++) {
        struct ef_ingest_config config = {
            .spec = a->config.sources[a->n_ingests],
            .ring_bytes = a->plan.source_ring_bytes,
            .feed_slots = a->plan.feed_slots,
            .n_workers = a->config.n_workers,
            .bells = a->bells,
            .takes_loss_reports = a->takes_topology,
        };
        a->losses[a->n_ingests] = &a->ingests[a->n_ingests].losses;
        int rc = ef_ingest_init(&a->ingests[a->n_ingests], &config, err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int
init_workers(struct ef_analyzer *a, struct ef_error *err)
{
    for (; a->n_workers < a->config.n_workers; a->n_workers++) {
        struct ef_worker_config config = {
            .number = a->n_workers,
            .assembler.memory_bytes = a->plan.open_bytes,
            .assembler.idle_ns = a->config.idle_ns,
            .assembler.debug_dscp = a->config.debug_dscp,
            .ingests = a->ingests,
            .n_ingests = a->config.n_sources,
            .bell = &a->bells[a->n_workers],
            .store = a->store,
            .judge.may_learn = a->takes_topology,
            .topology = a->topology,
            .judge.losses = a->losses,
            .judge.n_losses = a->config.n_sources,
            .load_ports = a->plan.load_ports,
            .keep = &a->keep,
            .counters = a->counters,
        };
        int rc = ef_worker_init(&a->workers[a->n_workers], &config, err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

/* A topology may come later, from the controller; if --memory is so little that
 * what it needs would take more than a part of the closed traces' room, it is refused then. */
static int
make_plan(struct ef_analyzer *a, struct ef_error *err)
{
    const struct ef_analyzer_config *c = &a->config;
    a->takes_topology = true;
    int rc = ef_memory_plan_make(&a->plan, c->memory_bytes, c->n_sources, c->n_workers, true, err);
    if (!c->topology && (rc || a->plan.store_bytes < c->memory_bytes / LEAST_STORE_SHARE)) {
        a->takes_topology = false;
        rc = ef_memory_plan_make(&a->plan, c->memory_bytes, c->n_sources, c->n_workers, false, err);
    }
    return rc;
}

static int
init(struct ef_analyzer *a, struct ef_error *err)
{
    int rc = make_plan(a, err);
    if (rc) {
        return rc;
    }
    if ((rc = ef_keep_init(&a->keep, a->config.keep ? a->config.keep : "all", err))) {
        return ef_error_prefix(err, rc, "--keep");
    }
    if (ef_filter_counters_create(a->config.n_workers, a->plan.n_counters, &a->counters) ||
        ef_load_history_create(a->plan.history_bytes, a->started, &a->load_history)) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    ef_filter_counters_give_groups(a->counters, a->plan.group_bytes);
    a->bells = alloc_aligned(a->config.n_workers, sizeof *a->bells);
    a->ingests = alloc_aligned(a->config.n_sources, sizeof *a->ingests);
    a->workers = alloc_aligned(a->config.n_workers, sizeof *a->workers);
    if (!a->bells || !a->ingests || !a->workers) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    if (ef_current_topology_create(a->config.n_workers, &a->topology)) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    if (a->config.topology && (rc = ef_current_topology_load(a->topology, a->config.topology, err))) {
        return rc;
    }
    if ((rc = ef_trace_store_create(a->config.n_workers, a->plan.store_bytes, a->plan.query_bytes, &a->store, err)) ||
        (a->config.archive.dir && (rc = ef_archiver_create(&a->config.archive, a->store, &a->archiver, err))) ||
        (rc = init_bells(a, err)) || (rc = init_ingests(a, err))) {
        return rc;
    }
    return init_workers(a, err);
}

int
ef_analyzer_create(const struct ef_analyzer_config *config, struct ef_analyzer **out, struct ef_error *err)
{
    struct ef_analyzer *a = calloc(1, sizeof *a);
    if (!a) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    a->config = *config;
    a->started = ef_time_mono();
    int rc = init(a, err);
    if (rc) {
        ef_analyzer_destroy(a);
        return rc;
    }
    *out = a;
    return 0;
}

int
ef_analyzer_start(struct ef_analyzer *a, struct ef_error *err)
{
    int rc = a->archiver ? ef_archiver_start(a->archiver, err) : 0;
    for (unsigned i = 0; !rc && i < a->n_workers; i++) {
        rc = ef_worker_start(&a->workers[i], err);
    }
    for (unsigned i = 0; !rc && i < a->n_ingests; i++) {
        rc = ef_ingest_start(&a->ingests[i], err);
    }
    return rc;
}

void
ef_analyzer_destroy(struct ef_analyzer *a)
{
    if (!a) {
        return;
    }
    for (unsigned i = 0; i < a->n_ingests; i++) {
        ef_ingest_stop(&a->ingests[i]);
    }
    for (unsigned i = 0; i < a->n_workers; i++) {
        ef_worker_stop(&a->workers[i]);
        ef_worker_deinit(&a->workers[i]);
    }
    for (unsigned i = 0; i < a->n_ingests; i++) {
        ef_ingest_deinit(&a->ingests[i]);
    }
    for (unsigned i = 0; i < a->n_bells; i++) {
        ef_bell_deinit(&a->bells[i]);
    }
    ef_archiver_destroy(a->archiver);
    ef_trace_store_destroy(a->store);
    ef_current_topology_destroy(a->topology);
    ef_filter_counters_destroy(a->counters);
    ef_load_history_destroy(a->load_history);
    ef_keep_deinit(&a->keep);
    free(a->workers);
    free(a->ingests);
    free(a->bells);
    free(a);
}
