/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by filter; see filter_counters.h. */
#include <config.h>

#include "analyzer/filter_counters.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/region.h"
#include "base/counter.h"
#include "filter/filter.h"
#include "trace/trace_match.h"

#define INTERVAL_NS (EF_COUNTER_INTERVAL_S * EF_NS_PER_S)

/* What one worker counted in one interval. */
struct cell {
    _Atomic int64_t number; /* Of the interval since 1970, + 1; 0: none. */
    ef_counter packets, bytes;
};

struct worker_counter {
    ef_counter packets, bytes;
    struct cell cells[EF_COUNTER_INTERVALS]; /* By the interval's number. */
};

struct worker_part {
    EF_CACHE_ALIGNED _Atomic uint64_t seen; /* The epoch at its last turn. */
    EF_CACHE_ALIGNED struct worker_counter counters[];
};

enum slot_state { FREE, ACTIVE, LEAVING };

struct slot {
    enum slot_state state;
    char name[EF_COUNTER_NAME_MAX + 1];
    struct ef_time added;
    struct ef_filter *filter; /* That of the workers, until none can have it. */
    uint64_t left_at;         /* The epoch since which no worker takes it. */
};

struct ef_filter_counters {
    unsigned n_workers, max_counters;
    _Atomic uint64_t epoch;
    _Atomic(struct ef_filter *) filters[EF_COUNTERS_MAX]; /* What the workers look at. */
    _Atomic unsigned n_used;                              /* Those behind are NULL. */
    struct slot slots[EF_COUNTERS_MAX];                   /* Of the control thread alone. */
    uint8_t *parts;
};

static uint64_t
part_bytes(unsigned max_counters)
{
    uint64_t bytes = sizeof(struct worker_part) + max_counters * sizeof(struct worker_counter);
    return (bytes + EF_CACHE_LINE - 1) / EF_CACHE_LINE * EF_CACHE_LINE;
}

static struct worker_part *
part_of(const struct ef_filter_counters *c, unsigned worker)
{
    return (void *) (c->parts + worker * part_bytes(c->max_counters));
}

uint64_t
ef_filter_counters_memory(unsigned n_workers, unsigned max_counters)
{
    return sizeof(struct ef_filter_counters) + n_workers * part_bytes(max_counters);
}

unsigned
ef_filter_counters_in(uint64_t bytes, unsigned n_workers)
{
    unsigned n = EF_COUNTERS_MAX;
    while (n > EF_COUNTERS_MIN && ef_filter_counters_memory(n_workers, n) > bytes) {
        n--;
    }
    return n;
}

int
ef_filter_counters_create(unsigned n_workers, unsigned max_counters, struct ef_filter_counters **out)
{
    struct ef_filter_counters *c = calloc(1, sizeof *c);
    if (!c || !(c->parts = ef_region_alloc(n_workers * part_bytes(max_counters)))) {
        free(c);
        return -ENOMEM;
    }
    c->n_workers = n_workers;
    c->max_counters = max_counters;
    *out = c;
    return 0;
}

void
ef_filter_counters_destroy(struct ef_filter_counters *c)
{
    if (c) {
        for (unsigned i = 0; i < c->max_counters; i++) {
            ef_filter_destroy(c->slots[i].filter);
        }
        ef_region_free(c->parts, c->n_workers * part_bytes(c->max_counters));
        free(c);
    }
}

/* --- Control: adding and removing -------------------------------------------------- */

static bool
has_passed(const struct ef_filter_counters *c, uint64_t epoch)
{
    for (unsigned i = 0; i < c->n_workers; i++) {
        if (atomic_load_explicit(&part_of(c, i)->seen, memory_order_acquire) < epoch) {
            return false;
        }
    }
    return true;
}

/* Frees what no worker can have any more. */
static void
reclaim(struct ef_filter_counters *c)
{
    for (unsigned i = 0; i < c->max_counters; i++) {
        struct slot *slot = &c->slots[i];
        if (slot->state == LEAVING && has_passed(c, slot->left_at)) {
            ef_filter_destroy(slot->filter);
            *slot = (struct slot){.state = FREE};
            for (unsigned k = 0; k < c->n_workers; k++) {
                memset(&part_of(c, k)->counters[i], 0, sizeof part_of(c, k)->counters[i]);
            }
        }
    }
}

static int
slot_of(const struct ef_filter_counters *c, const char *name)
{
    for (int i = 0; i < (int) c->max_counters; i++) {
        if (c->slots[i].state == ACTIVE && !strcmp(c->slots[i].name, name)) {
            return i;
        }
    }
    return -ENOENT;
}

static int
free_slot(const struct ef_filter_counters *c)
{
    for (int i = 0; i < (int) c->max_counters; i++) {
        if (c->slots[i].state == FREE) {
            return i;
        }
    }
    return -ENOSPC;
}

/* A name stands in paths and metrics as it is. */
static int
check_name(const char *name, struct ef_error *err)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char) name[i]) && !strchr("_.-", name[i])) {
            n = 0;
        }
    }
    return n && n <= EF_COUNTER_NAME_MAX
               ? 0
               : ef_error_set(err, -EINVAL, "a counter's name has 1 to %d letters, digits, '_', '-' and '.'",
                              EF_COUNTER_NAME_MAX);
}

static void
publish(struct ef_filter_counters *c, int i, struct ef_filter *filter)
{
    unsigned n = atomic_load_explicit(&c->n_used, memory_order_relaxed);
    atomic_store_explicit(&c->filters[i], filter, memory_order_release);
    if ((unsigned) i >= n) {
        atomic_store_explicit(&c->n_used, (unsigned) i + 1, memory_order_release);
    }
}

int
ef_filter_counters_add(struct ef_filter_counters *c, const char *name, const char *text, struct ef_error *err)
{
    struct ef_filter *filter;
    int rc = check_name(name, err);
    rc = rc ? rc : ef_filter_compile(text, EF_FILTER_ANY, &filter, err);
    if (rc) {
        return rc;
    }
    int there = slot_of(c, name);
    if (there >= 0) {
        bool is_same = !strcmp(ef_filter_text(c->slots[there].filter), ef_filter_text(filter));
        ef_filter_destroy(filter);
        return is_same ? 0 : ef_error_set(err, -EEXIST, "there is a counter '%s' with another filter", name);
    }
    reclaim(c);
    int i = free_slot(c);
    if (i < 0) {
        ef_filter_destroy(filter);
        return ef_error_set(err, i, "there are %u counters already; remove one", c->max_counters);
    }
    struct slot *slot = &c->slots[i];
    *slot = (struct slot){.state = ACTIVE, .added = ef_time_real(), .filter = filter};
    memcpy(slot->name, name, strlen(name) + 1);
    publish(c, i, filter);
    return 0;
}

int
ef_filter_counters_remove(struct ef_filter_counters *c, const char *name)
{
    int i = slot_of(c, name);
    if (i < 0) {
        return i;
    }
    atomic_store_explicit(&c->filters[i], NULL, memory_order_relaxed);
    c->slots[i].state = LEAVING;
    c->slots[i].left_at = atomic_load_explicit(&c->epoch, memory_order_relaxed) + 1;
    atomic_store_explicit(&c->epoch, c->slots[i].left_at, memory_order_release);
    reclaim(c);
    return 0;
}

/* --- Control: reading --------------------------------------------------------------- */

static int
active_slot(const struct ef_filter_counters *c, unsigned i)
{
    for (int slot = 0; slot < (int) c->max_counters; slot++) {
        if (c->slots[slot].state == ACTIVE && !i--) {
            return slot;
        }
    }
    return -ENOENT;
}

int
ef_filter_counters_find(struct ef_filter_counters *c, const char *name)
{
    struct ef_counter_info info;
    for (unsigned i = 0; ef_filter_counters_get(c, i, &info); i++) {
        if (!strcmp(info.name, name)) {
            return (int) i;
        }
    }
    return -ENOENT;
}

bool
ef_filter_counters_get(struct ef_filter_counters *c, unsigned i, struct ef_counter_info *info)
{
    int slot = active_slot(c, i);
    if (slot < 0) {
        return false;
    }
    *info = (struct ef_counter_info){
        .name = c->slots[slot].name,
        .filter = ef_filter_text(c->slots[slot].filter),
        .added = c->slots[slot].added,
    };
    for (unsigned k = 0; k < c->n_workers; k++) {
        info->total.packets += ef_counter_get(&part_of(c, k)->counters[slot].packets);
        info->total.bytes += ef_counter_get(&part_of(c, k)->counters[slot].bytes);
    }
    return true;
}

/* A cell as it stands; false while its worker begins another interval in it. */
static bool
read_cell(struct cell *cell, int64_t *number, struct ef_counter_values *values)
{
    *number = atomic_load_explicit(&cell->number, memory_order_acquire);
    values->packets = atomic_load_explicit(&cell->packets.value, memory_order_acquire);
    values->bytes = atomic_load_explicit(&cell->bytes.value, memory_order_acquire);
    return *number && atomic_load_explicit(&cell->number, memory_order_relaxed) == *number;
}

static void
add_to(struct ef_counter_interval intervals[], unsigned *n, int64_t number, const struct ef_counter_values *values)
{
    struct ef_time start = {(number - 1) * INTERVAL_NS};
    unsigned i = 0;
    while (i < *n && intervals[i].start.ns != start.ns) {
        i++;
    }
    if (i == *n && *n == EF_COUNTER_INTERVALS) {
        return; /* Workers far apart in time: the first ones have filled it. */
    }
    if (i == *n) {
        intervals[(*n)++] = (struct ef_counter_interval){.start = start};
    }
    intervals[i].values.packets += values->packets;
    intervals[i].values.bytes += values->bytes;
}

static int
by_start(const void *a_, const void *b_)
{
    const struct ef_counter_interval *a = a_, *b = b_;
    return (a->start.ns > b->start.ns) - (a->start.ns < b->start.ns);
}

unsigned
ef_filter_counters_intervals(struct ef_filter_counters *c, unsigned i,
                             struct ef_counter_interval intervals[EF_COUNTER_INTERVALS])
{
    int slot = active_slot(c, i);
    unsigned n = 0;
    for (unsigned k = 0; slot >= 0 && k < c->n_workers; k++) {
        for (unsigned at = 0; at < EF_COUNTER_INTERVALS; at++) {
            int64_t number;
            struct ef_counter_values values;
            if (read_cell(&part_of(c, k)->counters[slot].cells[at], &number, &values)) {
                add_to(intervals, &n, number, &values);
            }
        }
    }
    qsort(intervals, n, sizeof intervals[0], by_start);
    return n;
}

/* --- Workers --------------------------------------------------------------------------- */

/* The cell of the interval, begun anew if an older one is there; NULL if a newer one is. */
static struct cell *
cell_of(struct worker_counter *counter, struct ef_time start)
{
    int64_t number = start.ns / INTERVAL_NS + 1;
    struct cell *cell = &counter->cells[(uint64_t) number % EF_COUNTER_INTERVALS];
    int64_t there = atomic_load_explicit(&cell->number, memory_order_relaxed);
    if (number > there) {
        atomic_store_explicit(&cell->number, 0, memory_order_relaxed);
        atomic_store_explicit(&cell->packets.value, 0, memory_order_release);
        atomic_store_explicit(&cell->bytes.value, 0, memory_order_release);
        atomic_store_explicit(&cell->number, number, memory_order_release);
    }
    return number >= there ? cell : NULL;
}

static void
count(struct worker_counter *counter, const struct ef_trace *trace)
{
    struct cell *cell = cell_of(counter, trace->start);
    ef_counter_add(&counter->packets, 1);
    ef_counter_add(&counter->bytes, trace->wire_len);
    if (cell) {
        ef_counter_add(&cell->packets, 1);
        ef_counter_add(&cell->bytes, trace->wire_len);
    }
}

void
ef_filter_counters_count(struct ef_filter_counters *c, unsigned worker, const struct ef_trace *trace)
{
    unsigned n = atomic_load_explicit(&c->n_used, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        const struct ef_filter *filter = atomic_load_explicit(&c->filters[i], memory_order_acquire);
        if (filter && ef_trace_match(trace, filter, NULL)) {
            count(&part_of(c, worker)->counters[i], trace);
        }
    }
}

void
ef_filter_counters_turn(struct ef_filter_counters *c, unsigned worker)
{
    struct worker_part *part = part_of(c, worker);
    /* From here on it sees what was taken away before that epoch. */
    uint64_t epoch = atomic_load_explicit(&c->epoch, memory_order_acquire);
    if (atomic_load_explicit(&part->seen, memory_order_relaxed) != epoch) {
        atomic_store_explicit(&part->seen, epoch, memory_order_release);
    }
}
