/* SPDX-License-Identifier: Apache-2.0 */
/* A circular block of trace records, newest in, oldest out; one per worker.
 *
 * A record's position is the number of bytes ever written before it. It names
 * the record for good: once the record was evicted, so does nothing else.
 *
 * Thread-safety: one writer and any number of readers, under a mutex that is
 * held for the copy of a batch or chunk (64 KiB) and no longer. */
#ifndef EF_ANALYZER_TRACE_ARENA_H
#define EF_ANALYZER_TRACE_ARENA_H

#include <pthread.h>

#include "analyzer/trace_record.h"

enum { EF_TRACE_ARENA_CHUNK = 64 << 10 };

struct ef_trace_arena {
    pthread_mutex_t mutex;
    uint8_t *bytes;
    uint64_t size;       /* At `bytes`. */
    uint64_t head, tail; /* Positions behind the newest and of the oldest record. */
    uint64_t n_records, n_evicted;
    struct ef_time newest_evicted; /* Greatest start of those; INT64_MIN: none. */
};

struct ef_trace_arena_stats {
    uint64_t n_records, n_evicted, used_bytes;
    uint64_t head;
    struct ef_time newest_evicted; /* As above. */
    struct ef_time oldest;         /* Start of the oldest record, if there is one. */
};

/* `size` is at least EF_TRACE_ARENA_CHUNK. Returns 0 or -ENOMEM. */
int ef_trace_arena_init(struct ef_trace_arena *arena, uint64_t size);
void ef_trace_arena_deinit(struct ef_trace_arena *arena);

/* Appends the records that stand in `len` bytes one after another; evicts what
 * they displace. */
void ef_trace_arena_append(struct ef_trace_arena *arena, const uint8_t *records, size_t len);

/* Copies whole records from `*position` (or from the oldest, if that was
 * evicted) up to `end`, at most EF_TRACE_ARENA_CHUNK bytes, to `buf`. Sets
 * `*position` to the first of them and `*next` to where to go on. Returns the
 * number of bytes; 0 only when there is nothing more before `end`. */
size_t ef_trace_arena_copy(struct ef_trace_arena *arena, uint64_t *position, uint64_t end, uint8_t *buf,
                           uint64_t *next);

/* Copies the record at `position` to `buf` (EF_TRACE_RECORD_MAX bytes). False if
 * it was evicted. */
bool ef_trace_arena_read(struct ef_trace_arena *arena, uint64_t position, uint8_t *buf);

void ef_trace_arena_stats(struct ef_trace_arena *arena, struct ef_trace_arena_stats *stats);

#endif
