/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts in memory; see alerts.h. */
#include <config.h>

#include "controller/alerts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/text.h"

enum { KIND_SIZE = 32, BY_SIZE = 64, WHY_SIZE = 160 };

static const char *const severities[] = {"info", "warning", "critical"};
static const char *const states[] = {"open", "acknowledged", "resolved"};

struct alert {
    TAILQ_ENTRY(alert) next;
    struct alerts *alerts;
    char id[17], kind[KIND_SIZE], subject[ALERT_SUBJECT_SIZE], summary[ALERT_SUMMARY_SIZE];
    char acknowledged_by[BY_SIZE], resolved_why[WHY_SIZE];
    enum alert_severity severity;
    enum alert_state state;
    json_t *evidence;
    uint64_t count;
    struct ef_time first, last, acknowledged, resolved; /* Real time; 0: not yet. */
};

struct alerts {
    TAILQ_HEAD(, alert) list; /* Oldest first. */
    size_t n;
    unsigned long long raised, forgotten;
    alerts_changed *changed;
    void *ctx;
};

static void
copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
    text_make_printable(to);
}

static void
tell(const struct alert *a)
{
    if (a->alerts->changed) {
        a->alerts->changed(a->alerts->ctx, a);
    }
}

/* --- Which there are ------------------------------------------------------ */

struct alert *
alerts_find(const struct alerts *alerts, const char *id)
{
    struct alert *a;
    TAILQ_FOREACH(a, &alerts->list, next)
    {
        if (!strcmp(a->id, id)) {
            return a;
        }
    }
    return NULL;
}

struct alert *
alerts_active(const struct alerts *alerts, const char *kind, const char *subject)
{
    struct alert *a;
    TAILQ_FOREACH(a, &alerts->list, next)
    {
        if (a->state != ALERT_RESOLVED && !strcmp(a->kind, kind) &&
            !strncmp(a->subject, subject, sizeof a->subject - 1)) {
            return a;
        }
    }
    return NULL;
}

static void
forget(struct alert *a)
{
    TAILQ_REMOVE(&a->alerts->list, a, next);
    a->alerts->n--;
    json_decref(a->evidence);
    free(a);
}

/* The oldest that is resolved, or else the oldest. */
static void
make_room(struct alerts *alerts)
{
    struct alert *a;
    TAILQ_FOREACH(a, &alerts->list, next)
    {
        if (a->state == ALERT_RESOLVED) {
            break;
        }
    }
    forget(a ? a : TAILQ_FIRST(&alerts->list));
    alerts->forgotten++;
}

/* --- Changes -------------------------------------------------------------- */

static struct alert *
open_alert(struct alerts *alerts, const struct alert_report *report)
{
    uint64_t id;
    if (alerts->n >= ALERTS_MAX) {
        make_room(alerts);
    }
    struct alert *a = calloc(1, sizeof *a);
    if (!a || getrandom(&id, sizeof id, 0) != sizeof id) {
        abort(); /* Control path. */
    }
    a->alerts = alerts;
    snprintf(a->id, sizeof a->id, "%016" PRIx64, id);
    copy_text(a->kind, sizeof a->kind, report->kind);
    copy_text(a->subject, sizeof a->subject, report->subject);
    a->first = ef_time_real();
    TAILQ_INSERT_TAIL(&alerts->list, a, next);
    alerts->n++;
    return a;
}

struct alert *
alerts_raise(struct alerts *alerts, const struct alert_report *report)
{
    struct alert *a = alerts_active(alerts, report->kind, report->subject);
    bool is_new = !a;
    a = a ? a : open_alert(alerts, report);
    a->severity = report->severity;
    copy_text(a->summary, sizeof a->summary, report->summary);
    if (report->evidence) {
        json_decref(a->evidence);
        a->evidence = report->evidence;
    }
    a->count++;
    a->last = ef_time_real();
    alerts->raised++;
    if (is_new) {
        ef_log_warn("alerts", "%s %s: %s", a->kind, a->subject, a->summary);
    }
    tell(a);
    return a;
}

bool
alert_acknowledge(struct alert *a, const char *by)
{
    if (a->state == ALERT_RESOLVED) {
        return false;
    }
    if (a->state == ALERT_OPEN) {
        a->state = ALERT_ACKNOWLEDGED;
        a->acknowledged = ef_time_real();
        copy_text(a->acknowledged_by, sizeof a->acknowledged_by, by);
        tell(a);
    }
    return true;
}

void
alert_resolve(struct alert *a, const char *why)
{
    if (a->state != ALERT_RESOLVED) {
        a->state = ALERT_RESOLVED;
        a->resolved = ef_time_real();
        copy_text(a->resolved_why, sizeof a->resolved_why, why);
        ef_log_info("alerts", "%s %s is resolved: %s", a->kind, a->subject, a->resolved_why);
        tell(a);
    }
}

bool
alerts_resolve(struct alerts *alerts, const char *kind, const char *subject, const char *why)
{
    struct alert *a = alerts_active(alerts, kind, subject);
    if (a) {
        alert_resolve(a, why);
    }
    return a;
}

/* --- Looking -------------------------------------------------------------- */

enum alert_state
alert_state(const struct alert *a)
{
    return a->state;
}

const char *
alert_id(const struct alert *a)
{
    return a->id;
}

static json_t *
show_time(struct ef_time t)
{
    char text[EF_TIME_TEXT_SIZE];
    return t.ns ? json_string(ef_time_format(t, text)) : json_null();
}

json_t *
alert_show(const struct alert *a)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:O?, s:I, s:o, s:o, s:o, s:s?, s:o, s:s?}", "id", a->id, "kind",
                     a->kind, "subject", a->subject, "severity", severities[a->severity], "state", states[a->state],
                     "summary", a->summary, "evidence", a->evidence, "count", (json_int_t) a->count, "first",
                     show_time(a->first), "last", show_time(a->last), "acknowledged", show_time(a->acknowledged),
                     "acknowledged_by", *a->acknowledged_by ? a->acknowledged_by : NULL, "resolved",
                     show_time(a->resolved), "resolved_why", *a->resolved_why ? a->resolved_why : NULL);
}

bool
alerts_is_state(const char *state)
{
    bool is_one = !strcmp(state, "active");
    for (size_t i = 0; i < EF_ARRAY_SIZE(states); i++) {
        is_one = is_one || !strcmp(state, states[i]);
    }
    return is_one;
}

static bool
has_state(const struct alert *a, const char *state)
{
    return !state || (strcmp(state, "active") ? !strcmp(state, states[a->state]) : a->state != ALERT_RESOLVED);
}

json_t *
alerts_list(const struct alerts *alerts, const char *state, const char *kind)
{
    json_t *list = json_array();
    const struct alert *a;
    TAILQ_FOREACH(a, &alerts->list, next)
    {
        if (has_state(a, state) && (!kind || !strcmp(kind, a->kind))) {
            json_array_append_new(list, alert_show(a));
        }
    }
    return list;
}

void
alerts_count(const struct alerts *alerts, struct alerts_counts *counts)
{
    const struct alert *a;
    *counts = (struct alerts_counts){.raised = alerts->raised, .forgotten = alerts->forgotten};
    TAILQ_FOREACH(a, &alerts->list, next)
    {
        counts->open += a->state == ALERT_OPEN;
        counts->acknowledged += a->state == ALERT_ACKNOWLEDGED;
        counts->resolved += a->state == ALERT_RESOLVED;
    }
}

/* --- Life ----------------------------------------------------------------- */

void
alerts_on_change(struct alerts *alerts, alerts_changed *changed, void *ctx)
{
    alerts->changed = changed;
    alerts->ctx = ctx;
}

struct alerts *
alerts_create(void)
{
    struct alerts *alerts = calloc(1, sizeof *alerts);
    if (!alerts) {
        abort(); /* Control path at start-up. */
    }
    TAILQ_INIT(&alerts->list);
    return alerts;
}

void
alerts_destroy(struct alerts *alerts)
{
    if (!alerts) {
        return;
    }
    while (!TAILQ_EMPTY(&alerts->list)) {
        forget(TAILQ_FIRST(&alerts->list));
    }
    free(alerts);
}
