/* SPDX-License-Identifier: Apache-2.0 */
/* A circular block of trace records; see trace_arena.h. */
#include <config.h>

#include "analyzer/trace_arena.h"

#include <errno.h>
#include <string.h>

#include "analyzer/region.h"

int
ef_trace_arena_init(struct ef_trace_arena *arena, uint64_t size)
{
    memset(arena, 0, sizeof *arena);
    arena->size = size / 8 * 8;
    arena->newest_evicted.ns = INT64_MIN;
    arena->bytes = ef_region_alloc(arena->size);
    if (!arena->bytes) {
        return -ENOMEM;
    }
    pthread_mutex_init(&arena->mutex, NULL);
    return 0;
}

void
ef_trace_arena_deinit(struct ef_trace_arena *arena)
{
    if (arena->bytes) {
        ef_region_free(arena->bytes, arena->size);
        pthread_mutex_destroy(&arena->mutex);
        arena->bytes = NULL;
    }
}

static uint8_t *
at_position(const struct ef_trace_arena *arena, uint64_t position)
{
    return arena->bytes + position % arena->size;
}

static struct ef_trace_record
header_at(const struct ef_trace_arena *arena, uint64_t position)
{
    struct ef_trace_record header;
    memcpy(&header, at_position(arena, position), sizeof header);
    return header;
}

static void
make_room(struct ef_trace_arena *arena, uint64_t bytes)
{
    while (arena->head + bytes - arena->tail > arena->size) {
        struct ef_trace_record oldest = header_at(arena, arena->tail);
        if (!oldest.is_padding) {
            struct ef_time start = ef_trace_record_start(at_position(arena, arena->tail));
            arena->newest_evicted.ns = EF_MAX(arena->newest_evicted.ns, start.ns);
            arena->n_records--;
            arena->n_evicted++;
        }
        arena->tail += oldest.size;
    }
}

/* Fills up to the end of the block, so that no record is split. */
static void
pad(struct ef_trace_arena *arena, uint64_t bytes)
{
    struct ef_trace_record header = {.size = (uint32_t) bytes, .is_padding = true};
    make_room(arena, bytes);
    memcpy(at_position(arena, arena->head), &header, sizeof header);
    arena->head += bytes;
}

static void
append_one(struct ef_trace_arena *arena, const uint8_t *record, uint32_t size)
{
    uint64_t to_end = arena->size - arena->head % arena->size;
    if (to_end < size) {
        pad(arena, to_end);
    }
    make_room(arena, size);
    memcpy(at_position(arena, arena->head), record, size);
    arena->head += size;
    arena->n_records++;
}

void
ef_trace_arena_append(struct ef_trace_arena *arena, const uint8_t *records, size_t len)
{
    pthread_mutex_lock(&arena->mutex);
    for (const uint8_t *end = records + len; records < end;) {
        struct ef_trace_record header;
        memcpy(&header, records, sizeof header);
        append_one(arena, records, header.size);
        records += header.size;
    }
    pthread_mutex_unlock(&arena->mutex);
}

/* Skips padding and what was evicted. */
static uint64_t
first_record_from(const struct ef_trace_arena *arena, uint64_t position)
{
    position = EF_MAX(position, arena->tail);
    while (position < arena->head && header_at(arena, position).is_padding) {
        position += header_at(arena, position).size;
    }
    return position;
}

size_t
ef_trace_arena_copy(struct ef_trace_arena *arena, uint64_t *position, uint64_t end, uint8_t *buf, uint64_t *next)
{
    pthread_mutex_lock(&arena->mutex);
    uint64_t from = first_record_from(arena, *position), to = from;
    while (to < EF_MIN(end, arena->head)) {
        struct ef_trace_record header = header_at(arena, to);
        if (header.is_padding || to + header.size - from > EF_TRACE_ARENA_CHUNK) {
            break;
        }
        to += header.size;
        if (to % arena->size == 0) {
            break; /* The block ends with a record: the next one is at its start. */
        }
    }
    memcpy(buf, at_position(arena, from), to - from);
    pthread_mutex_unlock(&arena->mutex);
    *position = from;
    *next = to;
    return to - from;
}

bool
ef_trace_arena_read(struct ef_trace_arena *arena, uint64_t position, uint8_t *buf)
{
    pthread_mutex_lock(&arena->mutex);
    bool there = position >= arena->tail;
    if (there) {
        memcpy(buf, at_position(arena, position), header_at(arena, position).size);
    }
    pthread_mutex_unlock(&arena->mutex);
    return there;
}

void
ef_trace_arena_stats(struct ef_trace_arena *arena, struct ef_trace_arena_stats *stats)
{
    pthread_mutex_lock(&arena->mutex);
    *stats = (struct ef_trace_arena_stats){
        .n_records = arena->n_records,
        .n_evicted = arena->n_evicted,
        .used_bytes = arena->head - arena->tail,
        .head = arena->head,
        .newest_evicted = arena->newest_evicted,
    };
    if (arena->n_records) {
        stats->oldest = ef_trace_record_start(at_position(arena, first_record_from(arena, arena->tail)));
    }
    pthread_mutex_unlock(&arena->mutex);
}
