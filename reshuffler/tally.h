/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of one forwarding thread, read by others as they stood at one
 * moment between two bursts, so that
 *
 *     received = sent + the sum of drops
 *
 * holds in every answer, not only when traffic pauses.
 *
 *     totals.received += n; ...                 // the thread's own, plain numbers
 *     ef_tally_publish(&tally, &totals);        // once a burst
 *
 *     struct ef_totals sum = {0};               // any thread
 *     ef_tally_add_to(&tally, &sum);
 *
 * Protocol: a sequence lock with one writer. The generation is odd while the
 * writer is in between; a reader that saw it odd or changed reads again. The
 * words are stored with release and loaded with acquire order, so that a reader
 * that sees a new word also sees the odd generation before it; no fences, which
 * ThreadSanitizer does not know. */
#ifndef RESHUFFLER_TALLY_H
#define RESHUFFLER_TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/drop_reason.h"
#include "base/util.h"
#include "reshuffler/plan.h"

/* Why a copy went to another analyzer than the one it belongs to. */
enum ef_redirect { EF_REDIRECT_DOWN, EF_REDIRECT_DRAINING, EF_N_REDIRECTS };

struct ef_totals {
    uint64_t received; /* Frames that the source gave us. */
    uint64_t sent;     /* Copies that the sink took. */
    uint64_t drops[EF_N_DROP_REASONS];
    uint64_t redirected[EF_N_REDIRECTS];     /* They are among those sent. */
    uint64_t steered[EF_PLAN_MAX_ANALYZERS]; /* Copies meant for each analyzer. */
};

enum { EF_TOTALS_WORDS = sizeof(struct ef_totals) / sizeof(uint64_t) };

struct ef_tally {
    _Atomic uint64_t generation;
    _Atomic uint64_t words[EF_TOTALS_WORDS];
};

/* Only its thread. Counters of analyzers from `n_analyzers` on stay zero. */
void ef_tally_publish(struct ef_tally *tally, const struct ef_totals *totals, unsigned n_analyzers);

/* Adds the published counters to `sum`. Any thread. */
void ef_tally_add_to(struct ef_tally *tally, struct ef_totals *sum);

#endif
