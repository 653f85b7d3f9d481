/* SPDX-License-Identifier: Apache-2.0 */
/* What switches do now, per second, from the counters that each writes into its
 * database every 5 s (or as stats-update-interval says).
 *
 *     debug_rate_take(&rate, managed_switch_refreshed(s), packets, bytes, now);     // whenever one looks
 *     if (rate.n >= 2) ... rate.packets_per_s ...
 *
 * and for whole switches, looked at by this module itself: how many packets they
 * look at, and the copies that they make. One event base's thread. */
#ifndef CONTROLLER_DEBUG_RATES_H
#define CONTROLLER_DEBUG_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct controller;
struct debug_rates;

enum {
    DEBUG_REFRESH_MS = 5000, /* What a switch does by default, and at least. */
    DEBUG_SILENT_MS = 12000, /* Without a change for so long, nothing happens there. */
    DEBUG_SETTLE_MS = 1500,  /* What a switch was told longer ago, it does. */
};

/* Two counters of one switch that grow; a zeroed struct knows nothing. */
struct debug_rate {
    struct ef_time at; /* Of the counts, as managed_switch_refreshed() says. */
    int64_t packets, bytes;
    unsigned n;                                      /* Refreshes seen; from the second on there are rates. */
    double packets_per_s, bytes_per_s, per_s_before; /* The last is packets_per_s of the interval before. */
};

/* The counters are now so much, as the switch said at `refreshed`. */
void debug_rate_take(struct debug_rate *rate, struct ef_time refreshed, int64_t packets, int64_t bytes,
                     struct ef_time now);

/* Whether the rates are known, which they are, too, when nothing moves. */
bool debug_rate_is_known(const struct debug_rate *rate, struct ef_time now);

/* Starts to look at the switches of the topology. */
struct debug_rates *debug_rates_create(struct controller *c);
void debug_rates_destroy(struct debug_rates *rates); /* NULL is fine. */

/* Packets per second that the switch looked at, the more of the last two intervals;
 * -1: not known yet. */
double debug_rates_seen(const struct debug_rates *rates, size_t number);

/* All switches together: copies per second, those of them for other reasons than the
 * debug bit, and bytes of a copy with its headers (0: there were none). */
struct debug_copies {
    double per_s, others_per_s, bytes_each;
};
struct debug_copies debug_rates_copies(const struct debug_rates *rates);

#endif
