/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers: conditions over aggregates of periods of time that raise alerts.
 *
 *     ef_multilog_add_filter(log, "resets", "tcp_flags & 4", &err);
 *     ef_multilog_add_aggregate(log, "n_resets", "resets", "COUNT", &err);
 *     ef_multilog_install_trigger(log, "storm", "n_resets", "> 1000", 10, &err);
 *     ...
 *     ef_multilog_wait_alerts(log, last, 1000);
 *     n = ef_multilog_get_alerts(log, last, alerts, EF_ARRAY_SIZE(alerts));
 *     ef_multilog_uninstall_trigger(log, "storm");
 *
 * A trigger divides the time of the records (not of the clock) into buckets of
 * its period, and looks at the aggregate of each bucket by itself. It raises at
 * most one alert per bucket:
 * - as soon as the condition holds, where more records cannot undo it: COUNT, SUM
 *   and MAX with > and >=, MIN with < and <=; for the last 32 buckets, so that
 *   records may come late;
 * - otherwise when the bucket is complete: a record two periods later has come,
 *   or none of the bucket has for two periods. What comes for it later still is
 *   counted as late and changes nothing. A bucket without a match is not looked at.
 * Where all records have been too late for a tenth of a second and two periods,
 * the time that they have counts from then on: a replayed trace raises alerts.
 *
 * A monitor thread sleeps until records are published; the writer that publishes
 * the first ones wakes it. As long as that takes it little time, it looks at
 * once; otherwise once in a millisecond. It adds up all records by period and
 * column, and reads those of a filter only when they could be enough for one of
 * its triggers: a trigger that is far from its bound costs nothing. Triggers on
 * aggregates of equal filters, columns and periods share what is counted. A
 * trigger sees records that are appended after it was installed; those that left
 * memory before the monitor came to them are counted as missed.
 *
 * Alerts are numbered from 1; the newest EF_MAX_ALERTS are kept.
 *
 * Thread-safety: any thread may call anything. */
#ifndef EF_STORE_TRIGGER_H
#define EF_STORE_TRIGGER_H

#include <stdint.h>

#include "base/error.h"
#include "base/time.h"
#include "store/filter_set.h"

enum { EF_MAX_ALERTS = 4096, EF_TRIGGER_MAX_PERIOD_MS = 3600000 };

struct ef_alert {
    uint64_t number;
    char trigger[EF_FILTER_NAME_SIZE];
    struct ef_time bucket; /* Its first instant, time of records. */
    struct ef_time raised; /* Monotonic clock. */
    uint64_t count;        /* Records of the bucket that match the filter, */
    double value;          /* and their aggregate. */
};

struct ef_trigger_stats {
    uint64_t n_triggers, n_alerts;
    uint64_t n_late;    /* Of each column and period, records that came too late for a condition. */
    uint64_t n_missed;  /* Records that left memory before they were looked at. */
    uint64_t n_records; /* Looked at. */
    uint64_t n_looks;   /* Of the monitor thread; and */
    uint64_t busy_ns;   /* the processor time that it has taken, sleeping and waking up included. */
};

/* `condition` is one of < <= > >= == != and a number without sign, with
 * decimals only for AVG. Returns 0; -ENOENT if there is no such aggregate,
 * -EEXIST if the name is taken, -EINVAL for name, condition or period, all with
 * `err`; -ENOMEM; or a negative errno of starting the thread. */
int ef_multilog_install_trigger(struct ef_multilog *log, const char *name, const char *aggregate, const char *condition,
                                unsigned period_ms, struct ef_error *err);

/* Returns 0 or -ENOENT. Removing an aggregate, or its filter, does it too. */
int ef_multilog_uninstall_trigger(struct ef_multilog *log, const char *name);

/* Copies the oldest alerts whose number is greater than `after`; returns how
 * many, at most `max`. */
unsigned ef_multilog_get_alerts(struct ef_multilog *log, uint64_t after, struct ef_alert *alerts, unsigned max);

/* Waits until there is an alert with a number greater than `after`, or for
 * `timeout_ms`; returns the newest one's number. */
uint64_t ef_multilog_wait_alerts(struct ef_multilog *log, uint64_t after, unsigned timeout_ms);

void ef_multilog_trigger_stats(struct ef_multilog *log, struct ef_trigger_stats *stats);

#endif
