/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks as real time; see tick_line.h. */
#include <config.h>

#include "io/tick_line.h"

#include "base/util.h"

void
ef_tick_line_note(struct ef_tick_line *line, uint64_t ticks, struct ef_time mono, struct ef_time real)
{
    if (!line->has_begun || ticks < line->ticks) {
        *line = (struct ef_tick_line){.has_begun = true, .first_ticks = ticks, .first_mono = mono};
    }
    int64_t span_ns = ef_time_diff_ns(mono, line->first_mono);
    if (span_ns >= EF_TICK_LINE_MIN_MS * EF_NS_PER_MS && ticks > line->first_ticks) {
        line->ns_per_tick = (double) span_ns / (double) (ticks - line->first_ticks);
    }
    line->ticks = ticks;
    line->real = real;
}

bool
ef_tick_line_real(const struct ef_tick_line *line, uint64_t ticks, struct ef_time now, struct ef_time *real)
{
    double ns = (double) (int64_t) (ticks - line->ticks) * line->ns_per_tick;
    if (!(line->ns_per_tick > 0) || ns > (double) EF_NS_PER_S * 3600 || ns < -(double) EF_NS_PER_S * 3600) {
        return false;
    }
    struct ef_time time = ef_time_add_ns(line->real, (int64_t) ns);
    if (ef_time_diff_ns(now, time) > EF_TICK_LINE_MAX_WAIT_MS * EF_NS_PER_MS) {
        return false;
    }
    real->ns = EF_MIN(time.ns, now.ns);
    return true;
}
