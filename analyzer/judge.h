/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a packet: delivered, dropped, or not to be told.
 *
 * A packet was dropped if the last switch on the way to its destination
 * (last_hops.h) did not see it. That the switch sent no copy is not enough: the
 * copy may be lost. So a trace without it is only called a drop if lost copies
 * cannot explain it: each of the copies that are missing, of the last switch and
 * of those between, must have been made at some time (transit_table.h says when)
 * by a switch that had a copy lost just then (loss_table.h). Which switches are
 * between is not known where there are several equal paths; then it is enough
 * that one of them had.
 *
 *     struct ef_judge judge = {.last_hops = last_hops, .losses = tables, .n_losses = n};
 *     ef_judge_init(&judge);
 *     ef_judge_trace(&judge, &trace);        // sets fate, has_expected, expected; perhaps corrupt
 *
 * A packet may be corrupted in what identifies it: then its trace ends before the
 * link, and behind it begins another, with a wrong checksum, at a switch that is not
 * its source's. That one is marked as corrupt at its first hop; but a wrong checksum of
 * TCP, UDP or ICMP only where first hops at the source's switch show that hosts send right ones
 * (a virtual host's may be left to a network card that is not there).
 *
 * One thread; the counters may be read by any. */
#ifndef EF_ANALYZER_JUDGE_H
#define EF_ANALYZER_JUDGE_H

#include "analyzer/last_hops.h"
#include "analyzer/loss_table.h"
#include "analyzer/transit_table.h"
#include "base/counter.h"

struct ef_judge {
    const struct ef_last_hops *last_hops;      /* NULL: nothing is known. Borrowed, as the next. */
    const struct ef_loss_table *const *losses; /* One per ingest. */
    unsigned n_losses;
    int64_t report_ns; /* So soon behind a packet's last copy a reshuffler has reported, unless it is dead. */
    bool may_learn;    /* `last_hops` may come later: the memory for it is taken. */
    struct ef_transit_table transits;
    uint32_t sent_right, sent_wrong; /* Packets without a tunnel at their source's switch, by their checksum. */
    ef_counter fates[EF_N_FATES];
    ef_counter corrupt; /* Traces. */
};

int ef_judge_init(struct ef_judge *judge); /* The rest; returns 0 or -ENOMEM. */
void ef_judge_deinit(struct ef_judge *judge);

/* `trace` is finished. */
void ef_judge_trace(struct ef_judge *judge, struct ef_trace *trace);

#endif
