/* SPDX-License-Identifier: Apache-2.0 */
/* Time as a type: nanoseconds of one clock. A value is either real time (since
 * 1970, what copies are stamped with and traces are asked for by) or monotonic
 * time (what timeouts are measured with); the name of a variable says which.
 *
 *     struct ef_time deadline = ef_time_add_ms(ef_time_mono(), 1000);
 */
#ifndef EF_BASE_TIME_H
#define EF_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"

struct ef_time {
    int64_t ns;
};

#define EF_NS_PER_US 1000LL
#define EF_NS_PER_MS 1000000LL
#define EF_NS_PER_S 1000000000LL

static inline struct ef_time
ef_time_of_clock(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (struct ef_time){ts.tv_sec * EF_NS_PER_S + ts.tv_nsec};
}

static inline struct ef_time
ef_time_real(void)
{
    return ef_time_of_clock(CLOCK_REALTIME);
}
static inline struct ef_time
ef_time_mono(void)
{
    return ef_time_of_clock(CLOCK_MONOTONIC);
}
static inline struct ef_time
ef_time_add_ns(struct ef_time t, int64_t ns)
{
    return (struct ef_time){t.ns + ns};
}
static inline struct ef_time
ef_time_add_ms(struct ef_time t, int64_t ms)
{
    return (struct ef_time){t.ns + ms * EF_NS_PER_MS};
}
static inline int64_t
ef_time_diff_ns(struct ef_time a, struct ef_time b)
{
    return a.ns - b.ns;
}
static inline bool
ef_time_before(struct ef_time a, struct ef_time b)
{
    return a.ns < b.ns;
}

#define EF_TIME_TEXT_SIZE 40

/* Writes real time `t` as RFC 3339 in UTC with nanoseconds,
 * "2026-11-21T02:30:00.123456789Z", into `buf` (EF_TIME_TEXT_SIZE bytes) and
 * returns `buf`. */
char *ef_time_format(struct ef_time t, char *buf);

/* Reads a real time: RFC 3339 ("2026-11-21T02:30:00[.frac](Z|+hh:mm)"),
 * "now", relative to `now` ("-5m", "-1.5h", "-30s", "-200ms"), or nanoseconds
 * since 1970 as a bare number. Returns 0 or -EINVAL with `err`. */
int ef_time_parse(const char *text, struct ef_time now, struct ef_time *out, struct ef_error *err);

/* Reads a duration such as "1s", "200ms", "1.5m", "2h" into nanoseconds.
 * Returns 0 or -EINVAL with `err`. */
int ef_duration_parse(const char *text, int64_t *ns, struct ef_error *err);

#endif
