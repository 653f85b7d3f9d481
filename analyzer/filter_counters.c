/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by filter; see filter_counters.h. */
#include <config.h>

#include "analyzer/filter_counters.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/region.h"
#include "filter/filter.h"
#include "trace/trace_match.h"

struct worker_counter {
    struct ef_counter_groups *groups; /* NULL: none. There before the filter is. */
    struct ef_counter_series series;
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
    struct ef_group_by by;
    struct ef_filter *filter; /* That of the workers, until none can have it. */
    uint64_t left_at;         /* The epoch since which no worker takes it. */
};

struct ef_filter_counters {
    unsigned n_workers, max_counters;
    _Atomic uint64_t epoch;
    _Atomic(struct ef_filter *) filters[EF_COUNTERS_MAX]; /* What the workers look at. */
    _Atomic unsigned n_used;                              /* Those behind are NULL. */
    struct slot slots[EF_COUNTERS_MAX];                   /* Of the control thread alone. */
    uint64_t group_bytes;                                 /* Of all workers together. */
    unsigned groups_each;                                 /* Groups of a counter in a worker; 0: there can be none. */
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

/* --- Groups ------------------------------------------------------------------------ */

void
ef_filter_counters_give_groups(struct ef_filter_counters *c, uint64_t bytes)
{
    unsigned n = EF_COUNTER_GROUPS_MAX;
    while (n > EF_COUNTER_GROUPS_MIN && ef_counter_groups_memory(n) * c->n_workers * EF_GROUPED_COUNTERS > bytes) {
        n--;
    }
    c->group_bytes = bytes;
    c->groups_each = n;
}

static void
destroy_groups(struct ef_filter_counters *c, int slot)
{
    for (unsigned k = 0; k < c->n_workers; k++) {
        ef_counter_groups_destroy(part_of(c, k)->counters[slot].groups);
        part_of(c, k)->counters[slot].groups = NULL;
    }
}

/* True if there is memory for the groups of one counter more. */
static bool
has_room_for_groups(const struct ef_filter_counters *c)
{
    uint64_t each = c->n_workers * ef_counter_groups_memory(c->groups_each), taken = each;
    for (unsigned i = 0; i < c->max_counters; i++) {
        taken += c->slots[i].state != FREE && c->slots[i].by.kind != EF_GROUP_BY_NONE ? each : 0;
    }
    return c->groups_each && taken <= c->group_bytes;
}

static int
create_groups(struct ef_filter_counters *c, int slot, struct ef_group_by by, struct ef_error *err)
{
    if (by.kind == EF_GROUP_BY_NONE) {
        return 0;
    }
    if (!has_room_for_groups(c)) {
        return ef_error_set(err, -ENOSPC,
                            "there is no memory for the groups of another counter; remove one that has groups, or "
                            "give more --memory");
    }
    for (unsigned k = 0; k < c->n_workers; k++) {
        part_of(c, k)->counters[slot].groups = ef_counter_groups_create(by, c->groups_each);
        if (!part_of(c, k)->counters[slot].groups) {
            destroy_groups(c, slot);
            return ef_error_set(err, -ENOMEM, "out of memory");
        }
    }
    return 0;
}

void
ef_filter_counters_destroy(struct ef_filter_counters *c)
{
    if (c) {
        for (unsigned i = 0; i < c->max_counters; i++) {
            ef_filter_destroy(c->slots[i].filter);
            destroy_groups(c, (int) i);
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
            destroy_groups(c, (int) i);
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

/* The counter of a name that is there may be added again as it is. */
static int
check_same(const struct slot *slot, const struct ef_filter *filter, struct ef_group_by by, struct ef_error *err)
{
    if (strcmp(ef_filter_text(slot->filter), ef_filter_text(filter))) {
        return ef_error_set(err, -EEXIST, "there is a counter '%s' with another filter", slot->name);
    }
    bool is_same = slot->by.kind == by.kind && slot->by.len == by.len;
    return is_same ? 0 : ef_error_set(err, -EEXIST, "there is a counter '%s' with other groups", slot->name);
}

int
ef_filter_counters_add(struct ef_filter_counters *c, const char *name, const char *text, struct ef_group_by by,
                       struct ef_error *err)
{
    struct ef_filter *filter;
    int rc = check_name(name, err);
    rc = rc ? rc : ef_filter_compile(text, EF_FILTER_ANY, &filter, err);
    if (rc) {
        return rc;
    }
    int there = slot_of(c, name);
    if (there >= 0) {
        rc = check_same(&c->slots[there], filter, by, err);
        ef_filter_destroy(filter);
        return rc;
    }
    reclaim(c);
    int i = free_slot(c);
    rc = i < 0 ? ef_error_set(err, i, "there are %u counters already; remove one", c->max_counters)
               : create_groups(c, i, by, err);
    if (rc) {
        ef_filter_destroy(filter);
        return rc;
    }
    struct slot *slot = &c->slots[i];
    *slot = (struct slot){.state = ACTIVE, .by = by, .added = ef_time_real(), .filter = filter};
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
        .by = c->slots[slot].by,
        .added = c->slots[slot].added,
    };
    for (unsigned k = 0; k < c->n_workers; k++) {
        ef_counter_series_total(&part_of(c, k)->counters[slot].series, &info->total);
    }
    return true;
}

unsigned
ef_filter_counters_intervals(struct ef_filter_counters *c, unsigned i,
                             struct ef_counter_interval intervals[EF_COUNTER_INTERVALS])
{
    int slot = active_slot(c, i);
    unsigned n = 0;
    for (unsigned k = 0; slot >= 0 && k < c->n_workers; k++) {
        n = ef_counter_series_intervals(&part_of(c, k)->counters[slot].series, intervals, n);
    }
    ef_counter_intervals_sort(intervals, n);
    return n;
}

/* The groups of counter number `i` in a worker; NULL if it has none. */
static const struct ef_counter_groups *
groups_of(const struct ef_filter_counters *c, unsigned i, unsigned worker)
{
    int slot = active_slot(c, i);
    return slot < 0 ? NULL : part_of(c, worker)->counters[slot].groups;
}

/* Adds a worker's part of a group to that of `n` groups which it is, or as one more. */
static unsigned
add_group(struct ef_counter_group_info groups[], unsigned n, const struct ef_counter_group *group)
{
    unsigned i = 0;
    while (i < n && memcmp(&groups[i].key, &group->key, sizeof group->key)) {
        i++;
    }
    if (i == n) {
        groups[n++] = (struct ef_counter_group_info){.key = group->key};
    }
    ef_counter_series_total(&group->series, &groups[i].total);
    return n;
}

static int
greatest_first(const void *a_, const void *b_)
{
    const struct ef_counter_group_info *a = a_, *b = b_;
    bool a_is_other = a->key.what == EF_GROUP_OTHER, b_is_other = b->key.what == EF_GROUP_OTHER;
    if (a_is_other != b_is_other) {
        return a_is_other - b_is_other;
    }
    if (a->total.packets != b->total.packets) {
        return a->total.packets < b->total.packets ? 1 : -1;
    }
    return memcmp(&a->key, &b->key, sizeof a->key);
}

unsigned
ef_filter_counters_groups(struct ef_filter_counters *c, unsigned i, struct ef_counter_group_info **groups)
{
    unsigned n = 0;
    *groups = calloc((size_t) c->n_workers * EF_COUNTER_GROUPS_MAX, sizeof **groups);
    for (unsigned k = 0; *groups && k < c->n_workers; k++) {
        const struct ef_counter_groups *part = groups_of(c, i, k);
        unsigned n_part = part ? ef_counter_groups_n(part) : 0;
        for (unsigned at = 0; at < n_part; at++) {
            n = add_group(*groups, n, ef_counter_groups_get(part, at));
        }
    }
    if (n) {
        qsort(*groups, n, sizeof **groups, greatest_first);
        n -= !(*groups)[n - 1].total.packets; /* "other", in which nothing is. */
    }
    return n;
}

unsigned
ef_filter_counters_group_intervals(struct ef_filter_counters *c, unsigned i, const struct ef_group_key *key,
                                   struct ef_counter_interval intervals[EF_COUNTER_INTERVALS])
{
    unsigned n = 0;
    for (unsigned k = 0; k < c->n_workers; k++) {
        const struct ef_counter_groups *part = groups_of(c, i, k);
        unsigned n_part = part ? ef_counter_groups_n(part) : 0;
        for (unsigned at = 0; at < n_part; at++) {
            const struct ef_counter_group *group = ef_counter_groups_get(part, at);
            if (!memcmp(&group->key, key, sizeof *key)) {
                n = ef_counter_series_intervals(&group->series, intervals, n);
            }
        }
    }
    ef_counter_intervals_sort(intervals, n);
    return n;
}

/* --- Workers --------------------------------------------------------------------------- */

void
ef_filter_counters_count(struct ef_filter_counters *c, unsigned worker, const struct ef_trace *trace)
{
    unsigned n = atomic_load_explicit(&c->n_used, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        const struct ef_filter *filter = atomic_load_explicit(&c->filters[i], memory_order_acquire);
        if (filter && ef_trace_match(trace, filter, NULL)) {
            struct worker_counter *counter = &part_of(c, worker)->counters[i];
            ef_counter_series_add(&counter->series, trace->start, trace->wire_len);
            if (counter->groups) {
                ef_counter_groups_count(counter->groups, trace);
            }
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
