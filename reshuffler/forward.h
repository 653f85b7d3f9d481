/* SPDX-License-Identifier: Apache-2.0 */
/* Passes a burst of frames on: decides on each (plan.h), gives those that go on
 * to the sink with their new destination, sends them, counts everything. Where
 * source and sink are DPDK ports, frames are not copied but changed where they
 * are, and are the sink's afterwards.
 *
 *     struct ef_forwarder f = {.plan = plan, .sink = sink};
 *     ef_ledger_init(&f.ledger);
 *     n = ef_source_receive(source, frames, EF_BURST, timeout_ms);
 *     ef_forward_burst(&f, frames, n);
 *
 * No allocation, no lock; one system call a burst, in the sink. One thread per
 * forwarder; f.tally and f.ledger may be read by any. */
#ifndef RESHUFFLER_FORWARD_H
#define RESHUFFLER_FORWARD_H

#include "io/sink.h"
#include "io/source.h"
#include "reshuffler/ledger.h"
#include "reshuffler/plan.h"
#include "reshuffler/port_responder.h"
#include "reshuffler/tally.h"

struct ef_forwarder {
    const struct ef_plan *plan;     /* Borrowed; may be another for each burst. */
    struct ef_sink *sink;           /* Borrowed; used by this forwarder alone. */
    struct ef_totals totals;        /* The thread's own. */
    struct ef_sink_stats last_sink; /* What of the sink's counters is in totals. */
    struct ef_tally tally;
    struct ef_port_responder *responder; /* For frames that are no copies, or NULL. Borrowed. */
    struct ef_ledger ledger;             /* What came from which switch. */
    struct ef_time next_report;          /* Monotonic. */
    uint64_t reported_generation;        /* Of the plan at the last report. */
    ef_counter n_reports;                /* Times that analyzers were told. */
};

/* Forwards `n` frames, flushes the sink, and publishes the counters. */
void ef_forward_burst(struct ef_forwarder *f, const struct ef_frame frames[], int n);

/* Tells the analyzers what was lost on the way to us, if it is time to. */
void ef_forward_report_losses(struct ef_forwarder *f, struct ef_time now_mono);

#endif
