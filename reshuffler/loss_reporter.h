/* SPDX-License-Identifier: Apache-2.0 */
/* Tells all analyzers which copies will not come (packet/loss_report.h): an
 * analyzer sees a part of each switch's sequence numbers, we see all of them.
 * Each hole is told twice, since nobody acknowledges a report. Reports go out even
 * with nothing to tell, to analyzers that are asked how many came (reach.h). */
#ifndef RESHUFFLER_LOSS_REPORTER_H
#define RESHUFFLER_LOSS_REPORTER_H

#include "io/sink.h"
#include "reshuffler/ledger.h"
#include "reshuffler/plan.h"

enum { EF_LOSS_REPORT_EVERY_MS = 100 };

/* Flows have just moved to other analyzers: of a packet that was on its way, one has
 * the first copies and another the last. As if a copy of each stream were lost now. */
void ef_report_break(struct ef_ledger *ledger, struct ef_time now_mono);

/* Settles what is old enough in `ledger` and queues the reports on `sink`. The
 * thread of the ledger. */
void ef_report_losses(struct ef_ledger *ledger, const struct ef_plan *plan, struct ef_sink *sink,
                      struct ef_time now_mono);

#endif
