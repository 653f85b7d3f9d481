/* SPDX-License-Identifier: Apache-2.0 */
/* A device's clock, which counts ticks of its own from a moment of its own, as a
 * line in real time. The device is asked now and then what its clock says; the
 * slope is that between the first time and the last, by monotonic time, so that
 * nobody who sets the clock bends it; and it goes through the last point, in real
 * time, so that it follows who sets the clock.
 *
 *     ef_tick_line_note(&line, ticks, ef_time_mono(), ef_time_real());  // now and then
 *     if (!ef_tick_line_real(&line, stamp, now, &time)) time = now;      // a packet's
 *
 * Plain values, one thread. Used by dpdk_clock.c. */
#ifndef EF_IO_TICK_LINE_H
#define EF_IO_TICK_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

/* The slope is trusted when its ends are so far apart. A packet that waited for
 * longer than the other bound has a wrong stamp rather than waited. */
enum { EF_TICK_LINE_MIN_MS = 100, EF_TICK_LINE_MAX_WAIT_MS = 1000 };

struct ef_tick_line {
    bool has_begun;
    uint64_t first_ticks, ticks;
    struct ef_time first_mono, real; /* At first_ticks; at ticks. */
    double ns_per_tick;              /* 0: not known yet. */
};

/* A zeroed line is a fresh one. A clock that goes backwards begins anew. */
void ef_tick_line_note(struct ef_tick_line *line, uint64_t ticks, struct ef_time mono, struct ef_time real);

/* When `ticks` was, not after `now`. False if that is not known, or cannot be. */
bool ef_tick_line_real(const struct ef_tick_line *line, uint64_t ticks, struct ef_time now, struct ef_time *real);

#endif
