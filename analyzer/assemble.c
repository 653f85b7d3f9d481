/* SPDX-License-Identifier: Apache-2.0 */
/* Copies into traces; see assemble.h. */
#include <config.h>

#include "analyzer/assemble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/open_table.h"
#include "analyzer/refused_set.h"

/* A turn of the wheel is twice the idle time, so that what is due after one
 * idle time is never more than half a turn ahead. */
enum { WHEEL_SLOTS = 64, SLOTS_PER_IDLE = 32, REFUSED_SHARE = 32 };

/* No packet is under way for longer than so many idle times: what comes then is
 * a repetition, which has a trace of its own. */
enum { MAX_IDLE_TIMES = 10 };

struct ef_assembler {
    struct ef_assembler_config config;
    struct ef_open_table table;
    struct ef_refused_set refused;
    struct ef_time last_loss; /* Steady time. */
    int64_t slot_ns;
    int64_t turn;    /* Slots up to this time / slot_ns were looked at. */
    bool is_turning; /* `turn` is set. */
    uint32_t due;    /* List of traces taken from the wheel, still to be looked at. */
    uint32_t wheel[WHEEL_SLOTS];
    struct ef_assembler_counters counters;
    struct ef_trace scratch; /* What `closed` is shown. */
};

int
ef_assembler_create(const struct ef_assembler_config *config, struct ef_assembler **out, struct ef_error *err)
{
    struct ef_assembler *a = calloc(1, sizeof *a);
    if (!a) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    a->config = *config;
    a->slot_ns = EF_MAX(config->idle_ns / SLOTS_PER_IDLE, (int64_t) 1);
    a->last_loss = (struct ef_time){INT64_MIN};
    a->due = EF_OPEN_NONE;
    memset(a->wheel, 0xff, sizeof a->wheel);
    uint64_t refused_bytes = config->memory_bytes / REFUSED_SHARE;
    int rc = ef_open_table_init(&a->table, config->memory_bytes - refused_bytes, err);
    if (!rc && ef_refused_set_init(&a->refused, refused_bytes, config->idle_ns)) {
        rc = ef_error_set(err, -ENOMEM, "no memory for %llu bytes", (unsigned long long) refused_bytes);
    }
    if (rc) {
        ef_assembler_destroy(a);
        return rc;
    }
    *out = a;
    return 0;
}

void
ef_assembler_destroy(struct ef_assembler *a)
{
    if (a) {
        ef_open_table_deinit(&a->table);
        ef_refused_set_deinit(&a->refused);
        free(a);
    }
}

/* --- The idle wheel -------------------------------------------------------- */

/* The stamp at which the trace is closed if no copy comes before. */
static int64_t
due_ns(const struct ef_assembler *a, const struct ef_open_trace *trace)
{
    int64_t idle = a->config.idle_ns;
    return EF_MIN(trace->last_stamp.ns + idle, trace->first_stamp.ns + MAX_IDLE_TIMES * idle);
}

/* Puts the trace where it is due; if that is beyond a turn of the wheel (its
 * stamp is ahead of our time), it is looked at once before. */
static void
put_on_wheel(struct ef_assembler *a, uint32_t number)
{
    struct ef_open_trace *trace = ef_open_table_get(&a->table, number);
    int64_t slot = due_ns(a, trace) / a->slot_ns + 1;
    if (a->is_turning) {
        slot = EF_MAX(slot, a->turn + 1);
        slot = EF_MIN(slot, a->turn + WHEEL_SLOTS - 1);
    }
    uint32_t *list = &a->wheel[(uint64_t) slot % WHEEL_SLOTS];
    trace->next = *list;
    trace->next_but_one = *list == EF_OPEN_NONE ? EF_OPEN_NONE : ef_open_table_get(&a->table, *list)->next;
    *list = number;
}

/* Moves the next slot that is due by `now`, if any, to the due list. */
static bool
turn_wheel(struct ef_assembler *a, struct ef_time now)
{
    int64_t target = now.ns / a->slot_ns;
    if (!a->is_turning) {
        a->turn = target - WHEEL_SLOTS;
        a->is_turning = true;
    }
    if (a->turn >= target) {
        return false;
    }
    a->turn = EF_MAX(a->turn, target - WHEEL_SLOTS) + 1;
    uint32_t *list = &a->wheel[(uint64_t) a->turn % WHEEL_SLOTS];
    a->due = *list;
    *list = EF_OPEN_NONE;
    return true;
}

/* --- Copies ----------------------------------------------------------------- */

void
ef_assembler_note_loss(struct ef_assembler *a, struct ef_time stamp)
{
    a->last_loss.ns = EF_MAX(a->last_loss.ns, stamp.ns);
}

static void
keep_original(struct ef_open_trace *trace, const struct ef_copy_record *record)
{
    trace->original_ttl = record->hop.ttl;
    trace->wire_len = record->wire_len;
    trace->n_bytes = record->n_bytes;
    memcpy(trace->bytes, record->bytes, record->n_bytes);
}

/* True if the record shows the original earlier on its path than what was kept,
 * or as early and longer. */
static bool
is_better_original(const struct ef_open_trace *trace, const struct ef_copy_record *record)
{
    return record->hop.ttl != trace->original_ttl ? record->hop.ttl > trace->original_ttl
                                                  : record->n_bytes > trace->n_bytes;
}

static struct ef_open_trace *
open_trace(struct ef_assembler *a, const struct ef_copy_record *record)
{
    bool was_refused = ef_refused_set_has(&a->refused, record->hash);
    uint32_t number = was_refused ? EF_OPEN_NONE : ef_open_table_insert(&a->table, record->hash, record->check);
    if (number == EF_OPEN_NONE) {
        /* Again, if it was: what refused it may be forgotten before its last hop. */
        ef_refused_set_add(&a->refused, record->hash);
        return NULL;
    }
    struct ef_open_trace *trace = ef_open_table_get(&a->table, number);
    trace->first_stamp = trace->last_stamp = record->stamp;
    memcpy(trace->target, record->target, sizeof trace->target);
    keep_original(trace, record);
    put_on_wheel(a, number);
    ef_counter_add(&a->counters.opened, 1);
    return trace;
}

/* What repeats a hop with other bytes is another packet that is equal in all that
 * identifies it, or the same one corrupted. */
static void
add_duplicate(struct ef_open_trace *trace, const struct ef_hop *hop, const struct ef_copy_record *record)
{
    const struct ef_integrity *a = &hop->integrity, *b = &record->hop.integrity;
    trace->flags |= ef_integrity_changed(a, b) || ef_integrity_changed(b, a) ? EF_OPEN_MIXED : 0;
    trace->n_duplicates++;
    trace->duplicates_end.ns = EF_MAX(trace->duplicates_end.ns, record->hop.arrival.ns);
}

static void
add_one(struct ef_assembler *a, const struct ef_copy_record *record)
{
    uint32_t number = ef_open_table_find(&a->table, record->hash, record->check);
    struct ef_open_trace *trace = number == EF_OPEN_NONE ? open_trace(a, record) : ef_open_table_get(&a->table, number);
    if (!trace) {
        ef_counter_add(&a->counters.table_full, 1);
        return;
    }
    trace->last_stamp.ns = EF_MAX(trace->last_stamp.ns, record->stamp.ns);
    const struct ef_hop *repeated = ef_open_table_find_hop(&a->table, trace, &record->hop);
    if (repeated) {
        add_duplicate(trace, repeated, record);
    } else if (!ef_open_table_add_hop(&a->table, trace, &record->hop)) {
        trace->flags |= EF_OPEN_HOPS_FULL;
        ef_counter_add(&a->counters.hops_full, 1);
        return;
    }
    if (is_better_original(trace, record)) {
        keep_original(trace, record);
    }
    ef_counter_add(&a->counters.copies, 1);
}

/* Has the lines that the copies of a batch will touch fetched all at once: the
 * index first, by which then the traces are found. */
static void
prefetch(const struct ef_assembler *a, const struct ef_copy_record *const records[], unsigned n)
{
    uint32_t numbers[EF_ASSEMBLER_BATCH], n_new = 0;
    for (unsigned i = 0; i < n; i++) {
        ef_open_table_prefetch_slot(&a->table, records[i]->hash);
    }
    for (unsigned i = 0; i < n; i++) {
        numbers[i] = ef_open_table_guess(&a->table, records[i]->hash);
        uint32_t number = numbers[i] != EF_OPEN_NONE ? numbers[i] : ef_open_table_next_free(&a->table, n_new++);
        if (number != EF_OPEN_NONE) {
            __builtin_prefetch(ef_open_table_get(&a->table, number), 1);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (numbers[i] != EF_OPEN_NONE) {
            const struct ef_open_trace *trace = ef_open_table_get(&a->table, numbers[i]);
            __builtin_prefetch(&trace->hops[trace->n_hops % EF_OPEN_INLINE_HOPS], 1);
        }
    }
}

static void
prefetch_record(const struct ef_copy_record *record)
{
    __builtin_prefetch(record);
    __builtin_prefetch(&record->hash);
    __builtin_prefetch(record->bytes);
}

void
ef_assembler_add(struct ef_assembler *a, const struct ef_copy_record *const records[], unsigned n,
                 const struct ef_copy_record *const soon[], unsigned n_soon)
{
    prefetch(a, records, n);
    for (unsigned i = 0; i < n; i++) {
        if (i < n_soon) {
            prefetch_record(soon[i]);
        }
        add_one(a, records[i]);
    }
    for (unsigned i = n; i < n_soon; i++) {
        prefetch_record(soon[i]);
    }
}

/* --- Closing ---------------------------------------------------------------- */

static void
fill_times(struct ef_trace *out, struct ef_time duplicates_end)
{
    out->start = out->end = out->hops[0].arrival;
    for (unsigned i = 1; i < out->n_hops; i++) {
        out->start.ns = EF_MIN(out->start.ns, out->hops[i].arrival.ns);
        out->end.ns = EF_MAX(out->end.ns, out->hops[i].arrival.ns);
    }
    out->end.ns = EF_MAX(out->end.ns, duplicates_end.ns);
}

static void
fill_trace(const struct ef_assembler *a, const struct ef_open_trace *trace, struct ef_trace *out)
{
    out->id = trace->hash;
    memcpy(out->target, trace->target, sizeof out->target);
    out->wire_len = trace->wire_len;
    out->n_duplicates = trace->n_duplicates;
    out->n_copies = trace->n_hops + trace->n_duplicates;
    out->n_bytes = trace->n_bytes;
    out->n_hops = trace->n_hops;
    out->hops_full = trace->flags & EF_OPEN_HOPS_FULL;
    out->is_mixed = trace->flags & EF_OPEN_MIXED;
    out->copies_lost = a->last_loss.ns != INT64_MIN && a->last_loss.ns >= trace->first_stamp.ns - a->config.idle_ns;
    memcpy(out->bytes, trace->bytes, trace->n_bytes);
    ef_open_table_copy_hops(&a->table, trace, out->hops);
    fill_times(out, trace->duplicates_end);
}

static void
close_trace(struct ef_assembler *a, uint32_t number)
{
    fill_trace(a, ef_open_table_get(&a->table, number), &a->scratch);
    ef_open_table_remove(&a->table, number);
    ef_trace_finish(&a->scratch, a->config.debug_dscp);
    ef_counter_add(&a->counters.closed, 1);
    if (a->scratch.loop) {
        ef_counter_add(&a->counters.loops, 1);
    }
    a->config.closed(a->config.ctx, &a->scratch);
}

/* What follows in the list is likely to be closed as well, and its lines are
 * far apart from this one's: memory takes longer than closing one trace, so they
 * are asked for two ahead. */
static void
prefetch_whole(const struct ef_assembler *a, uint32_t number)
{
    enum { USUAL_HOPS_LINES = 4, USUAL_BYTES_LINES = 3 };
    if (number != EF_OPEN_NONE) {
        const uint8_t *trace = (const uint8_t *) ef_open_table_get(&a->table, number);
        for (unsigned i = 0; i < 1 + USUAL_HOPS_LINES; i++) {
            __builtin_prefetch(trace + i * EF_CACHE_LINE);
        }
        for (unsigned i = 0; i < USUAL_BYTES_LINES; i++) {
            __builtin_prefetch(trace + offsetof(struct ef_open_trace, target) + i * EF_CACHE_LINE);
        }
    }
}

unsigned
ef_assembler_close_idle(struct ef_assembler *a, struct ef_time now, unsigned most)
{
    unsigned n = 0;
    ef_refused_set_advance(&a->refused, now);
    do {
        while (a->due != EF_OPEN_NONE && n < most) {
            uint32_t number = a->due;
            const struct ef_open_trace *trace = ef_open_table_get(&a->table, number);
            a->due = trace->next;
            prefetch_whole(a, trace->next_but_one);
            if (now.ns >= due_ns(a, trace)) {
                close_trace(a, number);
                n++;
            } else {
                put_on_wheel(a, number);
            }
        }
    } while (n < most && turn_wheel(a, now));
    return n;
}

static void
close_list(struct ef_assembler *a, uint32_t *list)
{
    while (*list != EF_OPEN_NONE) {
        uint32_t number = *list;
        *list = ef_open_table_get(&a->table, number)->next;
        prefetch_whole(a, ef_open_table_get(&a->table, number)->next_but_one);
        close_trace(a, number);
    }
}

void
ef_assembler_close_all(struct ef_assembler *a)
{
    close_list(a, &a->due);
    for (int64_t i = 1; i <= WHEEL_SLOTS; i++) { /* As they would be due. */
        close_list(a, &a->wheel[(uint64_t) (a->turn + i) % WHEEL_SLOTS]);
    }
}

const struct ef_assembler_counters *
ef_assembler_counters(const struct ef_assembler *a)
{
    return &a->counters;
}

uint64_t
ef_assembler_memory(const struct ef_assembler *a)
{
    return a->table.region_bytes + a->refused.n_bits / 4;
}

uint32_t
ef_assembler_capacity(const struct ef_assembler *a)
{
    return a->table.n_entries;
}
