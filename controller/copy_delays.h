/* SPDX-License-Identifier: Apache-2.0 */
/* How late copies come: from when a switch made one, by its own clock, to when an analyzer got
 * it, by that one's. Clocks differ, so what is usual is learned for each pair of them: the least that
 * was seen. What takes a second more stands in a queue, and traces end without it: that a
 * switch has not seen a packet cannot be told while its copies come so late.
 *
 *     copy_delays_take(delays, trace, now);                                    // each trace that is looked at
 *     if (copy_delays_are_long(delays, "analyzer1", "leaf2", since)) ...
 *
 * Neither counters nor the numbers of copies tell that: nothing is lost, only late. What is usual
 * may grow slowly, as clocks drift, or are set. Copies that do not carry a switch's clock say
 * nothing. One thread; time is injected. */
#ifndef CONTROLLER_COPY_DELAYS_H
#define CONTROLLER_COPY_DELAYS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/time.h"

struct copy_delays;

struct copy_delays *copy_delays_create(void);
void copy_delays_destroy(struct copy_delays *delays); /* NULL is fine. */

/* A trace as JSON; `now` is monotonic. The same one may be taken again. */
void copy_delays_take(struct copy_delays *delays, const json_t *trace, struct ef_time now);

/* Whether several copies that were taken after `since` were late, of the switch (its name as traces have it) at the
 * analyzer. */
bool copy_delays_are_long(const struct copy_delays *delays, const char *analyzer, const char *switch_name,
                          struct ef_time since);

#endif
