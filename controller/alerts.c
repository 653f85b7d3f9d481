/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts in memory; see alerts.h. */
#include <config.h>

#include "controller/alerts_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/text.h"

const char *const alert_severity_names[] = {"info", "warning", "critical", NULL};
const char *const alert_state_names[] = {"open", "acknowledged", "resolved", NULL};

void
alert_copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
    text_make_printable(to);
}

void
alert_tell(const struct alert *a)
{
    if (a->alerts->changed) {
        a->alerts->changed(a->alerts->ctx, a);
    }
}

static void
tell(const struct alert *a)
{
    alert_tell(a);
    alerts_kept_changed(a->alerts->kept, a);
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

void
alert_remove(struct alert *a)
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
    char id[sizeof a->id];
    a = a ? a : TAILQ_FIRST(&alerts->list);
    memcpy(id, a->id, sizeof id);
    alert_remove(a);
    alerts->forgotten++;
    alerts_kept_forgotten(alerts->kept, id);
}

/* --- Changes -------------------------------------------------------------- */

struct alert *
alert_insert(struct alerts *alerts)
{
    if (alerts->n >= ALERTS_MAX) {
        make_room(alerts);
    }
    struct alert *a = calloc(1, sizeof *a);
    if (!a) {
        abort(); /* Control path. */
    }
    a->alerts = alerts;
    TAILQ_INSERT_TAIL(&alerts->list, a, next);
    alerts->n++;
    return a;
}

static struct alert *
open_alert(struct alerts *alerts, const struct alert_report *report)
{
    uint64_t id;
    struct alert *a = alert_insert(alerts);
    if (getrandom(&id, sizeof id, 0) != sizeof id) {
        abort(); /* Control path. */
    }
    snprintf(a->id, sizeof a->id, "%016" PRIx64, id);
    alert_copy_text(a->kind, sizeof a->kind, report->kind);
    alert_copy_text(a->subject, sizeof a->subject, report->subject);
    a->first = ef_time_real();
    return a;
}

struct alert *
alerts_raise(struct alerts *alerts, const struct alert_report *report)
{
    struct alert *a = alerts_active(alerts, report->kind, report->subject);
    bool is_new = !a;
    a = a ? a : open_alert(alerts, report);
    a->severity = report->severity;
    alert_copy_text(a->summary, sizeof a->summary, report->summary);
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
        alert_copy_text(a->acknowledged_by, sizeof a->acknowledged_by, by);
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
        alert_copy_text(a->resolved_why, sizeof a->resolved_why, why);
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
                     a->kind, "subject", a->subject, "severity", alert_severity_names[a->severity], "state",
                     alert_state_names[a->state], "summary", a->summary, "evidence", a->evidence, "count",
                     (json_int_t) a->count, "first", show_time(a->first), "last", show_time(a->last), "acknowledged",
                     show_time(a->acknowledged), "acknowledged_by", *a->acknowledged_by ? a->acknowledged_by : NULL,
                     "resolved", show_time(a->resolved), "resolved_why", *a->resolved_why ? a->resolved_why : NULL);
}

bool
alerts_is_state(const char *state)
{
    bool is_one = !strcmp(state, "active");
    for (size_t i = 0; alert_state_names[i]; i++) {
        is_one = is_one || !strcmp(state, alert_state_names[i]);
    }
    return is_one;
}

static bool
has_state(const struct alert *a, const char *state)
{
    return !state ||
           (strcmp(state, "active") ? !strcmp(state, alert_state_names[a->state]) : a->state != ALERT_RESOLVED);
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
        alert_remove(TAILQ_FIRST(&alerts->list));
    }
    free(alerts);
}
