/* SPDX-License-Identifier: Apache-2.0 */
/* What the counters of load said at times past, so that the load of a time span is
 * the difference of two readings.
 *
 *     ef_load_history_take(history, analyzer);                      // every EF_LOAD_HISTORY_INTERVAL_S
 *     struct ef_load_span span;
 *     ef_load_history_span(history, start, end, &span);             // monotonic times
 *     packets = ef_load_span_of(&span, EF_LOAD_PORTS, worker, i, now).packets;
 *
 * Counters are never removed and have fixed places (load_table.h, switch_table.h):
 * a reading is their values in order, and what it does not have was 0 then.
 *
 * Bounded by the bytes given at the start; the oldest readings make room. Times are
 * monotonic: a step of the wall clock changes nothing. One thread, the one that
 * answers; a span is valid until the next reading is taken. */
#ifndef EF_ANALYZER_LOAD_HISTORY_H
#define EF_ANALYZER_LOAD_HISTORY_H

#include "analyzer/analyzer.h"

enum {
    EF_LOAD_HISTORY_INTERVAL_S = 5,
    EF_LOAD_HISTORY_READINGS = 3600 / EF_LOAD_HISTORY_INTERVAL_S, /* At most: of an hour. */
};

/* What is counted: by worker, by worker, and by source. */
enum ef_load_part { EF_LOAD_PORTS, EF_LOAD_LINKS, EF_LOAD_SWITCHES };
#define EF_N_LOAD_PARTS 3

/* Of a switch `packets` are its copies, and there are no bytes. Only of a link some are corrupted. */
struct ef_load_counts {
    uint64_t packets, bytes, corrupted;
};

static inline struct ef_load_counts
ef_load_port_counts(const struct ef_load_port *p)
{
    return (struct ef_load_counts){.packets = ef_counter_get(&p->packets), .bytes = ef_counter_get(&p->bytes)};
}

static inline struct ef_load_counts
ef_load_link_counts(const struct ef_load_link *l)
{
    return (struct ef_load_counts){ef_counter_get(&l->packets), ef_counter_get(&l->bytes),
                                   ef_counter_get(&l->corrupted)};
}

struct ef_load_reading;

struct ef_load_span {
    const struct ef_load_reading *first, *last; /* NULL: all 0; NULL: as it is now. */
    struct ef_time start, end;                  /* What it really covers. */
};

/* Returns 0 or -ENOMEM. */
int ef_load_history_create(uint64_t bytes, struct ef_time now, struct ef_load_history **history);
void ef_load_history_destroy(struct ef_load_history *history); /* NULL is fine. */

void ef_load_history_take(struct ef_load_history *h, const struct ef_analyzer *analyzer, struct ef_time now);

/* The least span that readings allow and that holds all of `start` to `end`, as
 * far back as there are readings. */
void ef_load_history_span(const struct ef_load_history *h, struct ef_time start, struct ef_time end, struct ef_time now,
                          struct ef_load_span *span);

/* What entry `i` of the part of worker or source `owner`, which is at `now`, counted in the span. */
struct ef_load_counts ef_load_span_of(const struct ef_load_span *span, enum ef_load_part part, unsigned owner,
                                      uint32_t i, struct ef_load_counts now);

#endif
