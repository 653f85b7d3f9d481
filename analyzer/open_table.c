/* SPDX-License-Identifier: Apache-2.0 */
/* The table of open traces; see open_table.h. */
#include <config.h>

#include "analyzer/open_table.h"

#include <errno.h>
#include <string.h>

#include "analyzer/region.h"
#include "base/hash.h"

enum { ENTRIES_PER_CHUNK = 16 };

/* How the region is divided for `n` entries: index, entries, chunks, stack. */
struct layout {
    size_t n_slots, entries_at, chunks_at, stack_at, total;
    uint32_t n_chunks;
};

static size_t
round_to_line(size_t n)
{
    return (n + EF_CACHE_LINE - 1) / EF_CACHE_LINE * EF_CACHE_LINE;
}

static struct layout
layout_for(uint32_t n)
{
    struct layout l = {.n_slots = 16, .n_chunks = n / ENTRIES_PER_CHUNK + 1};
    while (l.n_slots * 7 / 10 < n) {
        l.n_slots *= 2;
    }
    l.entries_at = round_to_line(l.n_slots * sizeof(struct ef_open_slot));
    l.chunks_at = l.entries_at + n * sizeof(struct ef_open_trace);
    l.stack_at = round_to_line(l.chunks_at + l.n_chunks * sizeof(struct ef_open_chunk));
    l.total = l.stack_at + n * sizeof(uint32_t);
    return l;
}

/* The most entries that fit: the total only grows with n. */
static uint32_t
entries_that_fit(size_t bytes)
{
    size_t low = 0, high = EF_MIN(bytes / sizeof(struct ef_open_trace), (size_t) 1 << 30);
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (layout_for((uint32_t) middle).total <= bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return (uint32_t) low;
}

int
ef_open_table_init(struct ef_open_table *t, size_t bytes, struct ef_error *err)
{
    memset(t, 0, sizeof *t);
    t->n_entries = entries_that_fit(bytes);
    if (!t->n_entries) {
        return ef_error_set(err, -ENOMEM, "%zu bytes hold no open trace", bytes);
    }
    struct layout l = layout_for(t->n_entries);
    uint8_t *region = ef_region_alloc(l.total);
    if (!region) {
        return ef_error_set(err, -ENOMEM, "no memory for %zu bytes of open traces", l.total);
    }
    t->region = region;
    t->region_bytes = l.total;
    t->slots = (struct ef_open_slot *) (void *) region;
    t->slot_mask = (uint32_t) l.n_slots - 1;
    t->entries = (struct ef_open_trace *) (void *) (region + l.entries_at);
    t->chunks = (struct ef_open_chunk *) (void *) (region + l.chunks_at);
    t->free_stack = (uint32_t *) (void *) (region + l.stack_at);
    t->n_chunks = l.n_chunks;
    t->free_chunk = EF_OPEN_NONE;
    return 0;
}

void
ef_open_table_deinit(struct ef_open_table *t)
{
    ef_region_free(t->region, t->region_bytes);
    t->region = NULL;
}

uint32_t
ef_open_table_find(const struct ef_open_table *t, uint64_t hash, uint64_t check)
{
    for (uint64_t i = hash & t->slot_mask; t->slots[i].entry; i = (i + 1) & t->slot_mask) {
        if (t->slots[i].tag == (uint32_t) hash) {
            uint32_t number = t->slots[i].entry - 1;
            const struct ef_open_trace *trace = &t->entries[number];
            if (trace->hash == hash && trace->check == check) {
                return number;
            }
        }
    }
    return EF_OPEN_NONE;
}

static uint32_t
take_entry(struct ef_open_table *t)
{
    uint32_t number = ef_open_table_next_free(t, 0);
    if (number != EF_OPEN_NONE) {
        if (t->n_free) {
            t->n_free--;
        } else {
            t->n_touched++;
        }
        t->n_open++;
    }
    return number;
}

uint32_t
ef_open_table_insert(struct ef_open_table *t, uint64_t hash, uint64_t check)
{
    uint32_t number = take_entry(t);
    if (number == EF_OPEN_NONE) {
        return EF_OPEN_NONE;
    }
    uint64_t i = hash & t->slot_mask;
    while (t->slots[i].entry) {
        i = (i + 1) & t->slot_mask;
    }
    t->slots[i] = (struct ef_open_slot){(uint32_t) hash, number + 1};
    struct ef_open_trace *trace = &t->entries[number];
    trace->hash = hash;
    trace->check = check;
    trace->chunk = EF_OPEN_NONE;
    trace->n_hops = 0;
    trace->flags = 0;
    trace->n_duplicates = 0;
    trace->duplicates_end = (struct ef_time){INT64_MIN};
    return number;
}

/* Empties slot `hole` and moves back each follower that may stand there, which
 * is one whose home is not between the hole and itself (Knuth, The Art of
 * Computer Programming, volume 3, 6.4, algorithm R). */
static void
close_hole(struct ef_open_table *t, uint32_t hole)
{
    uint32_t mask = t->slot_mask;
    for (uint32_t i = (hole + 1) & mask; t->slots[i].entry; i = (i + 1) & mask) {
        uint32_t home = t->slots[i].tag & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            t->slots[hole] = t->slots[i];
            hole = i;
        }
    }
    t->slots[hole].entry = 0;
}

static void
free_chunks(struct ef_open_table *t, struct ef_open_trace *trace)
{
    while (trace->chunk != EF_OPEN_NONE) {
        uint32_t number = trace->chunk;
        trace->chunk = t->chunks[number].next;
        t->chunks[number].next = t->free_chunk;
        t->free_chunk = number;
    }
}

void
ef_open_table_remove(struct ef_open_table *t, uint32_t number)
{
    struct ef_open_trace *trace = &t->entries[number];
    uint32_t i = (uint32_t) trace->hash & t->slot_mask;
    while (t->slots[i].entry != number + 1) {
        i = (i + 1) & t->slot_mask;
    }
    close_hole(t, i);
    free_chunks(t, trace);
    t->free_stack[t->n_free++] = number;
    t->n_open--;
}

static uint32_t
take_chunk(struct ef_open_table *t)
{
    uint32_t number = t->free_chunk;
    if (number != EF_OPEN_NONE) {
        t->free_chunk = t->chunks[number].next;
    } else if (t->n_chunks_touched < t->n_chunks) {
        number = t->n_chunks_touched++;
    }
    return number;
}

/* Eight bits that equal hops have in common. */
static uint8_t
signature(const struct ef_hop *hop)
{
    uint64_t address[2];
    memcpy(address, hop->switch_address, sizeof address);
    uint64_t rest = (uint64_t) hop->port << 32 | (uint64_t) hop->ttl << 8 | hop->outer_ttl;
    return (uint8_t) (ef_hash_mix(address[0] ^ address[1] * 3 ^ rest) >> 32);
}

bool
ef_open_table_add_hop(struct ef_open_table *t, struct ef_open_trace *trace, const struct ef_hop *hop)
{
    if (trace->n_hops < EF_OPEN_INLINE_HOPS) {
        trace->signatures[trace->n_hops] = signature(hop);
        trace->hops[trace->n_hops++].hop = *hop;
        return true;
    }
    if (trace->n_hops == EF_TRACE_MAX_HOPS) {
        return false;
    }
    unsigned at = (trace->n_hops - EF_OPEN_INLINE_HOPS) % EF_OPEN_CHUNK_HOPS;
    if (at == 0) {
        uint32_t number = take_chunk(t);
        if (number == EF_OPEN_NONE) {
            return false;
        }
        t->chunks[number].next = trace->chunk;
        trace->chunk = number;
    }
    t->chunks[trace->chunk].hops[at] = *hop;
    trace->n_hops++;
    return true;
}

static unsigned
n_inline(const struct ef_open_trace *trace)
{
    return EF_MIN((unsigned) trace->n_hops, (unsigned) EF_OPEN_INLINE_HOPS);
}

/* How many hops the newest chunk holds; older ones are full. */
static unsigned
n_in_newest_chunk(const struct ef_open_trace *trace)
{
    return (trace->n_hops - EF_OPEN_INLINE_HOPS - 1u) % EF_OPEN_CHUNK_HOPS + 1;
}

static const struct ef_hop *
find_in_chunks(const struct ef_open_table *t, const struct ef_open_trace *trace, const struct ef_hop *hop)
{
    unsigned n = n_in_newest_chunk(trace);
    for (uint32_t c = trace->chunk; c != EF_OPEN_NONE; c = t->chunks[c].next) {
        for (unsigned i = 0; i < n; i++) {
            if (ef_hop_is_duplicate(&t->chunks[c].hops[i], hop)) {
                return &t->chunks[c].hops[i];
            }
        }
        n = EF_OPEN_CHUNK_HOPS;
    }
    return NULL;
}

const struct ef_hop *
ef_open_table_find_hop(const struct ef_open_table *t, const struct ef_open_trace *trace, const struct ef_hop *hop)
{
    uint8_t sought = signature(hop);
    for (unsigned i = 0; i < n_inline(trace); i++) {
        if (trace->signatures[i] == sought && ef_hop_is_duplicate(&trace->hops[i].hop, hop)) {
            return &trace->hops[i].hop;
        }
    }
    return trace->chunk != EF_OPEN_NONE ? find_in_chunks(t, trace, hop) : NULL;
}

void
ef_open_table_copy_hops(const struct ef_open_table *t, const struct ef_open_trace *trace, struct ef_hop *hops)
{
    for (unsigned i = 0; i < n_inline(trace); i++) {
        *hops++ = trace->hops[i].hop;
    }
    unsigned n = trace->chunk == EF_OPEN_NONE ? 0 : n_in_newest_chunk(trace);
    for (uint32_t c = trace->chunk; c != EF_OPEN_NONE; c = t->chunks[c].next) {
        memcpy(hops, t->chunks[c].hops, n * sizeof *hops);
        hops += n;
        n = EF_OPEN_CHUNK_HOPS;
    }
}
