/* SPDX-License-Identifier: Apache-2.0 */
/* The traces that are still open, of one worker: a table from a packet's
 * identity to its hops so far, in memory that is taken once and never grows.
 *
 * Laid out for the cost that decides here, lines fetched from memory: the usual
 * copy touches one line of the index, the trace's head, and the line of its own
 * hop. The prefetch functions let a batch of copies fetch theirs together.
 *
 *     number = ef_open_table_find(t, hash, check);
 *     if (number == EF_OPEN_NONE) number = ef_open_table_insert(t, hash, check);   // EF_OPEN_NONE: full
 *     ef_open_table_add_hop(t, ef_open_table_get(t, number), &hop);                // false: full
 *     ef_open_table_remove(t, number);
 *
 * The index is open addressing with linear probing; removal shifts back what
 * followed, so that there are no tombstones. One thread. */
#ifndef EF_ANALYZER_OPEN_TABLE_H
#define EF_ANALYZER_OPEN_TABLE_H

#include "base/error.h"
#include "trace/packet_trace.h"

enum {
    EF_OPEN_INLINE_HOPS = 6, /* More hops than most paths have; the rest is in chunks. */
    EF_OPEN_CHUNK_HOPS = 8,
};
#define EF_OPEN_NONE UINT32_MAX

/* Flags of an open trace. */
enum { EF_OPEN_HOPS_FULL = 1, EF_OPEN_MIXED = 2 };

struct ef_open_hop {
    EF_CACHE_ALIGNED struct ef_hop hop; /* A line of its own. */
};

struct ef_open_trace {
    /* The head: one line. */
    EF_CACHE_ALIGNED uint64_t hash;
    uint64_t check;
    struct ef_time first_stamp, last_stamp; /* Steady time, see ingest.h. */
    uint32_t next;                          /* In the idle wheel's list, see assemble.c. */
    uint32_t chunk;                         /* The newest chunk of hops, or EF_OPEN_NONE. */
    uint32_t wire_len;
    uint16_t n_bytes;
    uint8_t n_hops;
    uint8_t flags;
    uint8_t original_ttl;                    /* Of the hop that `bytes` are from. */
    uint8_t signatures[EF_OPEN_INLINE_HOPS]; /* Tell most duplicates without a look at the hops. */
    uint32_t next_but_one;                   /* In the same list: what to fetch while the next is looked at. */

    struct ef_open_hop hops[EF_OPEN_INLINE_HOPS];

    /* Seldom touched after the first copy. */
    uint8_t target[16];
    struct ef_time duplicates_end; /* Arrival of the last duplicate. */
    uint32_t n_duplicates;
    uint8_t bytes[EF_TRACE_MAX_BYTES];
};

/* Further hops of a long path, newest chunk first. */
struct ef_open_chunk {
    uint32_t next; /* Older chunk, or in the free list; EF_OPEN_NONE ends. */
    struct ef_hop hops[EF_OPEN_CHUNK_HOPS];
};

struct ef_open_slot {
    uint32_t tag;   /* Low half of the hash; its low bits are the home position. */
    uint32_t entry; /* Number + 1, so that zero memory is an empty index. */
};

struct ef_open_table {
    struct ef_open_slot *slots;
    uint32_t slot_mask;
    uint32_t n_entries, n_chunks; /* How many there are, */
    uint32_t n_touched;           /* entries that were ever used, */
    uint32_t n_free;              /* numbers in free_stack, */
    uint32_t n_open;              /* and entries in use. */
    uint32_t free_chunk;          /* Head of a list. */
    uint32_t n_chunks_touched;
    struct ef_open_trace *entries;
    struct ef_open_chunk *chunks;
    uint32_t *free_stack;
    void *region;
    size_t region_bytes;
};

/* As many traces as fit in `bytes`. Returns 0 or -ENOMEM with `err`. */
int ef_open_table_init(struct ef_open_table *t, size_t bytes, struct ef_error *err);
void ef_open_table_deinit(struct ef_open_table *t);

uint32_t ef_open_table_find(const struct ef_open_table *t, uint64_t hash, uint64_t check);

/* Adds a trace without hops, whose identity is not in the table; everything
 * but the identity, `n_hops`, `flags`, `chunk` and the duplicates is the
 * caller's to fill. Returns EF_OPEN_NONE if the table is full. */
uint32_t ef_open_table_insert(struct ef_open_table *t, uint64_t hash, uint64_t check);
void ef_open_table_remove(struct ef_open_table *t, uint32_t number);

/* Appends a hop; false if the trace is at its limit or no chunk is left. */
bool ef_open_table_add_hop(struct ef_open_table *t, struct ef_open_trace *trace, const struct ef_hop *hop);

/* The hop of the trace that `hop` repeats, or NULL. */
const struct ef_hop *ef_open_table_find_hop(const struct ef_open_table *t, const struct ef_open_trace *trace,
                                            const struct ef_hop *hop);

/* Copies the trace's hops, in no particular order, to `hops`. */
void ef_open_table_copy_hops(const struct ef_open_table *t, const struct ef_open_trace *trace, struct ef_hop *hops);

static inline struct ef_open_trace *
ef_open_table_get(const struct ef_open_table *t, uint32_t number)
{
    return &t->entries[number];
}

static inline void
ef_open_table_prefetch_slot(const struct ef_open_table *t, uint64_t hash)
{
    __builtin_prefetch(&t->slots[hash & t->slot_mask]);
}

/* The number of the trace that a copy with `hash` most likely belongs to, by the
 * index alone, or EF_OPEN_NONE. */
static inline uint32_t
ef_open_table_guess(const struct ef_open_table *t, uint64_t hash)
{
    for (uint64_t i = hash & t->slot_mask;; i = (i + 1) & t->slot_mask) {
        const struct ef_open_slot *slot = &t->slots[i];
        if (!slot->entry || slot->tag == (uint32_t) hash) {
            return slot->entry - 1;
        }
    }
}

/* The number that the `k`th next insertion will use, or EF_OPEN_NONE. */
static inline uint32_t
ef_open_table_next_free(const struct ef_open_table *t, uint32_t k)
{
    if (k < t->n_free) {
        return t->free_stack[t->n_free - 1 - k];
    }
    uint32_t number = t->n_touched + (k - t->n_free);
    return number < t->n_entries ? number : EF_OPEN_NONE;
}

#endif
