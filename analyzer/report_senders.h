/* SPDX-License-Identifier: Apache-2.0 */
/* How many loss reports came from which reshuffler, which asks for it: so it
 * knows whether what it sends arrives.
 *
 *     ef_report_senders_note(&senders, reader.sender);      // the ingest's thread
 *     n = ef_report_senders_get(&senders, sender);          // any thread
 *
 * Bounded: who is new takes the place of one that came long ago, if there is no
 * other. A zeroed value is an empty one. */
#ifndef EF_ANALYZER_REPORT_SENDERS_H
#define EF_ANALYZER_REPORT_SENDERS_H

#include <stdint.h>

#include "base/counter.h"

enum { EF_REPORT_SENDERS = 64 };

struct ef_report_senders {
    struct {
        ef_counter sender, n;
    } known[EF_REPORT_SENDERS];
    unsigned next; /* The place that is taken next. */
};

void ef_report_senders_note(struct ef_report_senders *senders, uint64_t sender);

/* 0 if none came. */
uint64_t ef_report_senders_get(const struct ef_report_senders *senders, uint64_t sender);

#endif
