/* SPDX-License-Identifier: Apache-2.0 */
/* What the reshufflers reported (packet/loss_report.h): when each switch made
 * copies that did not arrive. Asked when a trace lacks a copy: was it lost, or
 * never made?
 *
 *     ef_loss_table_enter(&table, sender, &entry, arrival);           // ingest, each report
 *     answer = ef_loss_table_ask(&table, switch_address, from, to, heard);   // any worker
 *
 * A reshuffler that died tells nobody what died with it. So copies may be missing
 * of all the time between what it said last and what the next one, which has
 * another number, says first; and of all that is not settled, while none reports.
 * A stream of which nobody reports for EF_LOSS_TABLE_GONE_NS has come to its end.
 *
 * Times are the switch's own where its copies carry them. Bounded: of each
 * stream (a switch's copies for one target) half of the last EF_LOSS_TABLE_HOLES holes,
 * of EF_LOSS_TABLE_MAX streams; what is forgotten is answered as lost.
 *
 * Thread-safety: one thread enters, any may ask. A stream's holes are a ring; a
 * reader that was overtaken by the writer reads again. */
#ifndef EF_ANALYZER_LOSS_TABLE_H
#define EF_ANALYZER_LOSS_TABLE_H

#include <stdatomic.h>

#include "packet/loss_report.h"

enum { EF_LOSS_TABLE_MAX = 512, EF_LOSS_TABLE_HOLES = 512 };

#define EF_LOSS_TABLE_GONE_NS (10 * EF_NS_PER_S)

struct ef_loss_stream {
    uint8_t switch_address[16], target_address[16];
    uint64_t sender;       /* The reshuffler that `settled` is from; of who enters. */
    _Atomic int64_t heard; /* When a report of it came last. */
    _Atomic int64_t settled;
    _Atomic int64_t forgotten; /* Holes of up to this time may not be there any more. */
    _Atomic uint64_t n_holes;  /* So many were written; the last of them are in the ring. */
    struct {
        _Atomic int64_t after, before;
    } holes[EF_LOSS_TABLE_HOLES];
};

struct ef_loss_table {
    struct ef_loss_stream *streams;
    _Atomic uint32_t n_streams;
};

enum ef_loss {
    EF_LOSS_NONE,     /* All copies of the time asked for have come. */
    EF_LOSS_POSSIBLE, /* Nothing was reported, neither that something is missing. */
    EF_LOSS_SEEN,     /* A copy of that time is missing. */
};

uint64_t ef_loss_table_memory(void);
int ef_loss_table_init(struct ef_loss_table *t); /* Returns 0 or -ENOMEM. */
void ef_loss_table_deinit(struct ef_loss_table *t);

/* `arrival` is that of the report of `sender`. */
void ef_loss_table_enter(struct ef_loss_table *t, uint64_t sender, const struct ef_loss_entry *entry,
                         struct ef_time arrival);

/* About copies that the switch made from `from` to `to`. By `heard`, a time of our
 * clock, a reshuffler that is alive has reported since. */
enum ef_loss ef_loss_table_ask(const struct ef_loss_table *t, const uint8_t switch_address[16], struct ef_time from,
                               struct ef_time to, struct ef_time heard);

#endif
