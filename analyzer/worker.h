/* SPDX-License-Identifier: Apache-2.0 */
/* One thread per worker: takes copy records from its feeds (one per ingest),
 * assembles them, counts the closed traces (load_table.h, filter_counters.h) and
 * appends those that are to be kept to the store. Shares nothing with the other workers, since the flow hash sends all
 * copies of a packet to one.
 *
 * Its time is the least of what its feeds have reached (the ingest's clock if
 * the feed is empty, else the next record's stamp), so that no trace is closed
 * while a copy of it waits in a ring. When all sources have ended, whatever is
 * open is closed at once. */
#ifndef EF_ANALYZER_WORKER_H
#define EF_ANALYZER_WORKER_H

#include <pthread.h>

#include "analyzer/assemble.h"
#include "analyzer/current_topology.h"
#include "analyzer/filter_counters.h"
#include "analyzer/ingest.h"
#include "analyzer/judge.h"
#include "analyzer/keep.h"
#include "analyzer/load_table.h"
#include "analyzer/trace_store.h"

struct ef_worker_config {
    unsigned number;
    struct ef_assembler_config assembler; /* `closed` and `ctx` are set by the worker. */
    struct ef_ingest *ingests;            /* Whose feeds[number] are ours. */
    unsigned n_ingests;
    struct ef_bell *bell;
    struct ef_trace_store *store;
    struct ef_judge judge;                /* Its beginning; the worker has one of its own. */
    struct ef_current_topology *topology; /* NULL: that of `judge`. */
    uint32_t load_ports;                  /* See load_table.h. */
    const struct ef_keep *keep;
    struct ef_filter_counters *counters;
};

struct ef_worker {
    EF_CACHE_ALIGNED struct ef_worker_config config;
    struct ef_assembler *assembler;
    struct ef_judge judge;
    struct ef_load_table load;
    ef_counter unkept_traces, unkept_copies; /* Only counted, by the policy. */
    struct ef_time now;                      /* Steady time. */
    uint64_t losses;                         /* Of its feeds and their sources, as far as noted. */
    pthread_t thread;
    bool is_running;
    _Atomic bool stop;
};

/* Returns 0 or a negative errno with `err`; then nothing is left behind. */
int ef_worker_init(struct ef_worker *w, const struct ef_worker_config *config, struct ef_error *err);
int ef_worker_start(struct ef_worker *w, struct ef_error *err);
void ef_worker_stop(struct ef_worker *w);
void ef_worker_deinit(struct ef_worker *w);

/* Does once what the thread does in a loop; true if there was something to do. */
bool ef_worker_turn(struct ef_worker *w);

#endif
