/* SPDX-License-Identifier: Apache-2.0 */
/* The running analyzer: its configuration, and the threads and memory that
 * follow from it.
 *
 *     struct ef_analyzer *analyzer;
 *     if (ef_analyzer_create(&config, &analyzer, &err)) fail;   // sources open, memory taken
 *     if (ef_analyzer_start(analyzer, &err)) fail;              // threads run
 *     ... ef_analyzer_destroy(analyzer);                        // stops them first
 *
 * Its totals (status.h) and its store may be read from any thread. */
#ifndef EF_ANALYZER_ANALYZER_H
#define EF_ANALYZER_ANALYZER_H

#include "analyzer/archiver.h"
#include "analyzer/ingest.h"
#include "analyzer/memory_plan.h"
#include "analyzer/worker.h"

enum { EF_ANALYZER_MAX_SOURCES = 16 };

struct ef_load_history;

struct ef_analyzer_config {
    const char *name; /* Borrowed, like the sources. */
    const char *sources[EF_ANALYZER_MAX_SOURCES];
    unsigned n_sources, n_workers;
    uint64_t memory_bytes;
    int64_t idle_ns;
    const char *keep;                  /* See keep.h; NULL: all. */
    const char *topology;              /* A file, see last_hops.h; or NULL: perhaps later. */
    struct ef_archiver_config archive; /* `dir` NULL: none. */
    uint8_t debug_dscp;                /* A mask of DSCP bits, see ef_trace_finish(). */
};

struct ef_analyzer {
    struct ef_analyzer_config config;
    struct ef_memory_plan plan;
    struct ef_time started; /* Monotonic time. */
    struct ef_trace_store *store;
    struct ef_archiver *archiver; /* NULL without an archive. */
    struct ef_current_topology *topology;
    bool takes_topology; /* There is memory for what its verdicts need. */
    struct ef_keep keep;
    struct ef_filter_counters *counters;
    struct ef_load_history *load_history; /* Of the thread that answers. */
    const struct ef_loss_table *losses[EF_ANALYZER_MAX_SOURCES];
    struct ef_bell *bells; /* One per worker. */
    struct ef_worker *workers;
    struct ef_ingest *ingests;
    unsigned n_bells, n_workers, n_ingests; /* How many of each are initialised. */
};

int ef_analyzer_create(const struct ef_analyzer_config *config, struct ef_analyzer **analyzer, struct ef_error *err);
int ef_analyzer_start(struct ef_analyzer *analyzer, struct ef_error *err);
void ef_analyzer_destroy(struct ef_analyzer *analyzer); /* NULL is fine. */

#endif
