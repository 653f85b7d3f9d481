/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator should look at: things that were found wrong, each once,
 * however often it is found.
 *
 *     struct alert_report report = {
 *         .kind = "drop", .subject = "spine1>leaf4", .severity = ALERT_CRITICAL,
 *         .summary = "spine1 drops all packets to leaf4", .evidence = json_pack(...)};
 *     alerts_raise(alerts, &report);                  // again: count and last change
 *     ...
 *     alerts_resolve(alerts, "drop", "spine1>leaf4", "probes pass again");
 *
 * An alert is one for its kind and subject for as long as it is active: open,
 * then perhaps acknowledged ("somebody works on it"), at last resolved. What is
 * raised after it was resolved is a new alert. Memory is bounded: of more than
 * ALERTS_MAX the oldest resolved one is forgotten, and the oldest of all if none is.
 *
 * alerts_kept.h keeps them in the state; whoever tells of them registers with
 * alerts_on_change(). Texts and evidence are copied, or referenced as said. All
 * happens on the event base's thread. Control path: aborts when out of memory. */
#ifndef CONTROLLER_ALERTS_H
#define CONTROLLER_ALERTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

enum { ALERTS_MAX = 1000, ALERT_SUBJECT_SIZE = 128, ALERT_SUMMARY_SIZE = 600 };

enum alert_severity { ALERT_INFO, ALERT_WARNING, ALERT_CRITICAL };
enum alert_state { ALERT_OPEN, ALERT_ACKNOWLEDGED, ALERT_RESOLVED };

struct alerts;
struct alert;

struct alert_report {
    const char *kind;    /* "drop", "loop", ...: a short word. */
    const char *subject; /* What it is about, the same each time; cut at ALERT_SUBJECT_SIZE - 1. */
    enum alert_severity severity;
    const char *summary; /* One sentence for people. Cut at ALERT_SUMMARY_SIZE - 1. */
    json_t *evidence;    /* Any object; the reference is taken over. NULL: keep what there is. */
};

struct alerts *alerts_create(void);
void alerts_destroy(struct alerts *alerts); /* NULL is fine. */

/* Opens an alert, or adds to the active one of this kind and subject: its count,
 * last time, severity, summary and evidence. Borrowed until it is forgotten. */
struct alert *alerts_raise(struct alerts *alerts, const struct alert_report *report);

/* Resolves the active one of this kind and subject; false if there is none. `why`
 * is a sentence's part, "probes pass again". */
bool alerts_resolve(struct alerts *alerts, const char *kind, const char *subject, const char *why);

/* The active one of this kind and subject, or NULL; one by its id, or NULL. */
struct alert *alerts_active(const struct alerts *alerts, const char *kind, const char *subject);
struct alert *alerts_find(const struct alerts *alerts, const char *id);

/* One that is resolved is not acknowledged: false. What a person asks for goes by alerts_kept.h. */
bool alert_acknowledge(struct alert *alert, const char *by);
void alert_resolve(struct alert *alert, const char *why);

enum alert_state alert_state(const struct alert *alert);
const char *alert_id(const struct alert *alert);

/* {"id", "kind", "subject", "severity": "info" | "warning" | "critical", "state": "open" | "acknowledged" | "resolved",
 * "summary", "evidence", "count", "first", "last", "acknowledged", "acknowledged_by", "resolved", "resolved_why"}, a
 * new reference; times that did not come yet are null. */
json_t *alert_show(const struct alert *alert);

/* An array, the newest last: of this state ("active": open and acknowledged) and
 * kind; NULL: any. */
json_t *alerts_list(const struct alerts *alerts, const char *state, const char *kind);

/* True if alerts_list() knows the state. */
bool alerts_is_state(const char *state);

struct alerts_counts {
    size_t open, acknowledged, resolved; /* Now. */
    unsigned long long raised, forgotten;
};
void alerts_count(const struct alerts *alerts, struct alerts_counts *counts);

/* Calls `changed` after each change of an alert. One listener; NULL: none. */
typedef void alerts_changed(void *ctx, const struct alert *alert);
void alerts_on_change(struct alerts *alerts, alerts_changed *changed, void *ctx);

#endif
