/* SPDX-License-Identifier: Apache-2.0 */
/* The way from one ingest thread to one worker: a ring of copy records, what was
 * lost because it was full, and the bell that wakes a sleeping worker.
 *
 * A worker has one feed per ingest and one bell for all of them. Protocol: the
 * ingest thread fills and flushes the ring, then calls ef_bell_ring(); the worker
 * finds its rings empty, calls ef_bell_sleep(), which looks once more. Each of the
 * two first makes its own change known and then looks at the other's, so one of
 * them sees the other's. */
#ifndef EF_ANALYZER_FEED_H
#define EF_ANALYZER_FEED_H

#include "analyzer/copy_record.h"
#include "base/counter.h"
#include "base/ring.h"

struct ef_feed {
    struct ef_ring ring;
    EF_CACHE_ALIGNED ef_counter busy; /* Copies lost: EF_DROP_WORKER_BUSY. */
};

struct ef_bell {
    int fd; /* An eventfd. */
    EF_CACHE_ALIGNED _Atomic uint32_t sleeping;
};

/* Returns 0 or a negative errno. */
int ef_bell_init(struct ef_bell *bell);
void ef_bell_deinit(struct ef_bell *bell);

/* Wakes the worker if it sleeps. Costs a fence if not. */
void ef_bell_ring(struct ef_bell *bell);

/* Sleeps until the bell is rung, for at most `timeout_ms`; returns at once if
 * `is_work_there`. */
void ef_bell_sleep(struct ef_bell *bell, int timeout_ms, bool (*is_work_there)(void *ctx), void *ctx);

#endif
