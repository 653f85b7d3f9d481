/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a reshuffler gets more copies than it can pass on: in each second, what
 * part of the copies its receive rings lost. From EF_CONGESTION_PERCENT on it is
 * congested, and until EF_CONGESTION_CALM_S seconds in a row were below that. The
 * status says so, and the controller sends switches elsewhere.
 *
 *     ef_congestion_note(&congestion, received, lost); // once a second, totals
 *
 * Nothing is waited for; the main thread's. */
#ifndef RESHUFFLER_CONGESTION_H
#define RESHUFFLER_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

enum { EF_CONGESTION_PERCENT = 1, EF_CONGESTION_CALM_S = 5 };

struct ef_congestion {
    uint64_t received, lost; /* As of the last time. */
    bool is_congested;
    unsigned n_calm;   /* Seconds in a row. */
    double lost_share; /* Of the last second, 0 to 1. */
    uint64_t n_begun;
};

/* `received` counts the lost ones, too. Returns true if the state has changed. */
bool ef_congestion_note(struct ef_congestion *c, uint64_t received, uint64_t lost);

#endif
