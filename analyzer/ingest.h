/* SPDX-License-Identifier: Apache-2.0 */
/* One thread per source: receives bursts of frames, turns each into a copy
 * record, and hands it to the worker that its flow hash chooses. What is not a
 * copy, and what a worker has no room for, is dropped and counted here. From a
 * source that can wait (a file) nothing is lost that way: it is made to wait.
 *
 * Steady time: the records are stamped, and traces closed, by the frames' real
 * time, made to go only forward: when somebody sets the machine's clock, the
 * stamps go on as if nobody had. So a file is replayed by its own time, and
 * frames that lay in the kernel's ring while this thread had no processor do
 * not seem late. `clock` says up to when this source has handed over all it
 * had; INT64_MAX once it has ended. While a pipe is silent, which may bring
 * what was captured long ago, its time goes on from its last frame as real time does; before
 * the first one nobody knows it, and nobody waits for it.
 *
 * Thread-safety: the counters and `clock` may be read by any thread. */
#ifndef EF_ANALYZER_INGEST_H
#define EF_ANALYZER_INGEST_H

#include <pthread.h>

#include "analyzer/feed.h"
#include "analyzer/loss_table.h"
#include "analyzer/report_senders.h"
#include "analyzer/switch_table.h"
#include "base/drop_reason.h"
#include "io/source.h"

enum ef_ingest_state { EF_INGEST_RUNS, EF_INGEST_AWAY, EF_INGEST_ENDED, EF_INGEST_FAILED };

struct ef_ingest_config {
    const char *spec;         /* Borrowed, like all here but the next. */
    struct ef_source *source; /* Open already, and closed by us; NULL: the one that `spec` names. */
    uint64_t ring_bytes;
    uint32_t feed_slots;
    unsigned n_workers;
    struct ef_bell *bells; /* One per worker. */
    bool takes_loss_reports;
};

struct ef_ingest {
    struct ef_ingest_config config;
    struct ef_source *source;
    struct ef_feed *feeds; /* One per worker. */
    pthread_t thread;
    bool is_running;
    _Atomic bool stop;
    _Atomic int state;

    /* What workers look at each turn: what changes with each burst, and what seldom does. */
    EF_CACHE_ALIGNED _Atomic int64_t clock; /* Steady time. */
    EF_CACHE_ALIGNED ef_counter overflows;  /* Lost by the source. */
    ef_counter gaps;                        /* Grows while the interface is away: nobody knows how many are lost. */

    EF_CACHE_ALIGNED ef_counter frames;
    ef_counter drops[EF_N_DROP_REASONS];
    ef_counter loss_reports; /* Not among `frames`. */
    struct ef_report_senders report_senders;
    struct ef_switch_table switches;
    struct ef_loss_table losses; /* Empty unless loss reports are taken. */

    /* Of the thread alone. */
    struct ef_time stamp; /* The last one given. */
    struct ef_time quiet; /* Monotonic: since when nothing more came through the pipe. */
    bool has_begun;       /* A frame came. */
    int64_t start_offset; /* Real less monotonic time at the start. */
    uint64_t touched;     /* Bit per worker that got something of this burst. */
    unsigned n_turns;
};

enum { EF_INGEST_MAX_WORKERS = 64 };

/* Opens the source and takes the memory. Returns 0 or a negative errno with
 * `err`; then nothing is left behind. */
int ef_ingest_init(struct ef_ingest *in, const struct ef_ingest_config *config, struct ef_error *err);
int ef_ingest_start(struct ef_ingest *in, struct ef_error *err);

/* Stops the thread, if it runs. */
void ef_ingest_stop(struct ef_ingest *in);
void ef_ingest_deinit(struct ef_ingest *in);

/* Does once what the thread does in a loop, and waits up to `timeout_ms` for
 * frames. Returns what ef_source_receive() did. */
int ef_ingest_turn(struct ef_ingest *in, int timeout_ms);

/* Which worker takes copies with this flow hash. */
static inline unsigned
ef_ingest_worker_of(uint64_t flow_hash, unsigned n_workers)
{
    /* The high bits: the reshuffler has used the rest to choose us. */
    return (unsigned) ((flow_hash >> 32) * n_workers >> 32);
}

#endif
