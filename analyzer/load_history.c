/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of the load counters; see load_history.h. */
#include <config.h>

#include "analyzer/load_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/region.h"

/* As many owners of a part as there are at most. */
enum { MAX_OWNERS = EF_INGEST_MAX_WORKERS };
_Static_assert((int) MAX_OWNERS >= (int) EF_ANALYZER_MAX_SOURCES, "an owner is a worker or a source");

struct ef_load_reading {
    struct ef_time at;
    uint32_t first[EF_N_LOAD_PARTS][MAX_OWNERS], n[EF_N_LOAD_PARTS][MAX_OWNERS]; /* Their places in `counts`. */
    struct ef_load_counts counts[];
};

struct ef_load_history {
    struct ef_time began;
    bool forgot; /* A reading made room. */
    uint64_t n_bytes, next;
    uint8_t *region;
    /* The readings, oldest first, from `oldest` on around the end. */
    unsigned oldest, n;
    struct {
        uint64_t at, size;
    } places[EF_LOAD_HISTORY_READINGS];
};

int
ef_load_history_create(uint64_t bytes, struct ef_time now, struct ef_load_history **out)
{
    struct ef_load_history *h = calloc(1, sizeof *h);
    if (!h || !(h->region = ef_region_alloc(bytes))) {
        free(h);
        return -ENOMEM;
    }
    h->began = now;
    h->n_bytes = bytes;
    *out = h;
    return 0;
}

void
ef_load_history_destroy(struct ef_load_history *h)
{
    if (h) {
        ef_region_free(h->region, h->n_bytes);
        free(h);
    }
}

/* --- Taking ------------------------------------------------------------------------- */

static uint32_t
part_size(const struct ef_analyzer *a, enum ef_load_part part, unsigned owner)
{
    switch (part) {
    case EF_LOAD_PORTS:
        return ef_load_table_n_ports(&a->workers[owner].load);
    case EF_LOAD_LINKS:
        return ef_load_table_n_links(&a->workers[owner].load);
    default:
        return ef_switch_table_size(&a->ingests[owner].switches);
    }
}

static struct ef_load_counts
part_counts(const struct ef_analyzer *a, enum ef_load_part part, unsigned owner, uint32_t i)
{
    const struct ef_load_table *t = part == EF_LOAD_SWITCHES ? NULL : &a->workers[owner].load;
    switch (part) {
    case EF_LOAD_PORTS:
        return ef_load_port_counts(&t->ports[i]);
    case EF_LOAD_LINKS:
        return ef_load_link_counts(&t->links[i]);
    default:
        return (struct ef_load_counts){.packets = ef_counter_get(&a->ingests[owner].switches.counts[i].copies)};
    }
}

static unsigned
n_owners(const struct ef_analyzer *a, enum ef_load_part part)
{
    return part == EF_LOAD_SWITCHES ? a->n_ingests : a->n_workers;
}

static const struct ef_load_reading *
reading(const struct ef_load_history *h, unsigned i)
{
    return (const void *) (h->region + h->places[(h->oldest + i) % EF_LOAD_HISTORY_READINGS].at);
}

static void
forget_oldest(struct ef_load_history *h)
{
    h->oldest = (h->oldest + 1) % EF_LOAD_HISTORY_READINGS;
    h->n--;
    h->forgot = true;
}

/* True if the oldest reading is where `size` bytes at `at` should go. */
static bool
oldest_is_in_the_way(const struct ef_load_history *h, uint64_t at, uint64_t size)
{
    uint64_t there = h->places[h->oldest].at;
    return h->n && there < at + size && at < there + h->places[h->oldest].size;
}

/* Room for a reading, the newest now; NULL if it is greater than all there is. */
static struct ef_load_reading *
make_room(struct ef_load_history *h, uint64_t size)
{
    if (size > h->n_bytes) {
        return NULL;
    }
    if (h->next + size > h->n_bytes) {
        /* What is behind is older than all at the front. */
        while (h->n && h->places[h->oldest].at >= h->next) {
            forget_oldest(h);
        }
        h->next = 0;
    }
    while (oldest_is_in_the_way(h, h->next, size) || h->n == EF_LOAD_HISTORY_READINGS) {
        forget_oldest(h);
    }
    unsigned slot = (h->oldest + h->n++) % EF_LOAD_HISTORY_READINGS;
    h->places[slot].at = h->next;
    h->places[slot].size = size;
    struct ef_load_reading *r = (void *) (h->region + h->next);
    h->next += size;
    return r;
}

void
ef_load_history_take(struct ef_load_history *h, const struct ef_analyzer *a, struct ef_time now)
{
    struct ef_load_reading head = {.at = now};
    uint32_t n = 0;
    for (enum ef_load_part part = 0; part < EF_N_LOAD_PARTS; part++) {
        for (unsigned owner = 0; owner < n_owners(a, part); owner++) {
            head.first[part][owner] = n;
            n += head.n[part][owner] = part_size(a, part, owner);
        }
    }
    struct ef_load_reading *r = make_room(h, sizeof head + n * sizeof r->counts[0]);
    if (!r) {
        return;
    }
    *r = head;
    for (enum ef_load_part part = 0; part < EF_N_LOAD_PARTS; part++) {
        for (unsigned owner = 0; owner < n_owners(a, part); owner++) {
            for (uint32_t i = 0; i < r->n[part][owner]; i++) {
                r->counts[r->first[part][owner] + i] = part_counts(a, part, owner, i);
            }
        }
    }
}

/* --- Asking ------------------------------------------------------------------------- */

void
ef_load_history_span(const struct ef_load_history *h, struct ef_time start, struct ef_time end, struct ef_time now,
                     struct ef_load_span *span)
{
    *span = (struct ef_load_span){.start = h->began, .end = now};
    if (h->forgot && h->n) {
        span->first = reading(h, 0);
        span->start = span->first->at;
    }
    for (unsigned i = 0; i < h->n; i++) {
        const struct ef_load_reading *r = reading(h, i);
        if (!ef_time_before(start, r->at)) {
            span->first = r;
            span->start = r->at;
        } else if (!ef_time_before(r->at, end)) {
            span->last = r;
            span->end = r->at;
            return;
        }
    }
}

static struct ef_load_counts
read_counts(const struct ef_load_reading *r, enum ef_load_part part, unsigned owner, uint32_t i)
{
    return i < r->n[part][owner] ? r->counts[r->first[part][owner] + i] : (struct ef_load_counts){0};
}

struct ef_load_counts
ef_load_span_of(const struct ef_load_span *span, enum ef_load_part part, unsigned owner, uint32_t i,
                struct ef_load_counts now)
{
    struct ef_load_counts last = span->last ? read_counts(span->last, part, owner, i) : now;
    struct ef_load_counts first = {0};
    if (span->first) {
        first = read_counts(span->first, part, owner, i);
    }
    return (struct ef_load_counts){last.packets - first.packets, last.bytes - first.bytes,
                                   last.corrupted - first.corrupted};
}
