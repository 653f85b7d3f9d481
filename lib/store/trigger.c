/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers: their names, conditions and alerts; see trigger.h. */
#include <config.h>

#include "store/trigger_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/multilog_private.h"

int
ef_triggers_init(struct ef_triggers *t)
{
    pthread_condattr_t attr;
    *t = (struct ef_triggers){.is_stale = true};
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->raised, &attr);
    pthread_condattr_destroy(&attr);
    sem_init(&t->wake, 0, 0);
    return 0;
}

/* --- Conditions --------------------------------------------------------------------- */

static const char *
parse_relation(const char *text, enum ef_relation *relation)
{
    static const struct {
        const char *text;
        enum ef_relation relation;
    } relations[] = {
        {"<=", EF_RELATION_LE}, {">=", EF_RELATION_GE}, {"==", EF_RELATION_EQ},
        {"!=", EF_RELATION_NE}, {"<", EF_RELATION_LT},  {">", EF_RELATION_GT},
    };
    text += strspn(text, " ");
    for (size_t i = 0; i < EF_ARRAY_SIZE(relations); i++) {
        size_t len = strlen(relations[i].text);
        if (!strncmp(text, relations[i].text, len)) {
            *relation = relations[i].relation;
            return text + len + strspn(text + len, " ");
        }
    }
    return NULL;
}

static bool
parse_threshold(struct ef_condition *condition, const char *number)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char) *number)) {
        return false;
    }
    if (condition->function == EF_AGGREGATE_AVG) {
        condition->mean = strtod(number, &end);
    } else {
        condition->threshold = strtoull(number, &end, 10);
    }
    return !errno && !end[strspn(end, " ")];
}

/* Numbers are whole: > 9 is >= 10. A condition that nothing can fulfil stays as
 * it is and is looked at in the end. */
static void
set_group(struct ef_condition *c)
{
    static const enum ef_trigger_group rising[] = {
        [EF_AGGREGATE_COUNT] = EF_TRIGGER_COUNT_GE, [EF_AGGREGATE_SUM] = EF_TRIGGER_SUM_GE,
        [EF_AGGREGATE_MIN] = EF_TRIGGER_AT_END,     [EF_AGGREGATE_MAX] = EF_TRIGGER_MAX_GE,
        [EF_AGGREGATE_AVG] = EF_TRIGGER_AT_END,
    };
    bool up = c->relation == EF_RELATION_GE || (c->relation == EF_RELATION_GT && c->threshold < UINT64_MAX);
    bool down = c->relation == EF_RELATION_LE || (c->relation == EF_RELATION_LT && c->threshold > 0);
    c->group = EF_TRIGGER_AT_END;
    if (up && rising[c->function] != EF_TRIGGER_AT_END) {
        c->group = rising[c->function];
        c->threshold += c->relation == EF_RELATION_GT;
        c->relation = EF_RELATION_GE;
    } else if (down && c->function == EF_AGGREGATE_MIN) {
        c->group = EF_TRIGGER_MIN_LE;
        c->threshold -= c->relation == EF_RELATION_LT;
        c->relation = EF_RELATION_LE;
    }
}

static int
parse_condition(struct ef_condition *condition, const char *text, enum ef_aggregate_function function,
                struct ef_error *err)
{
    *condition = (struct ef_condition){.function = function};
    const char *number = parse_relation(text, &condition->relation);
    if (!number || !parse_threshold(condition, number)) {
        return ef_error_set(err, -EINVAL, "'%.80s' is no condition; write a comparison and a number, as in > 10", text);
    }
    set_group(condition);
    return 0;
}

static double
value_of(enum ef_aggregate_function function, const struct ef_aggregate_value *value)
{
    switch (function) {
    case EF_AGGREGATE_COUNT:
        return (double) value->count;
    case EF_AGGREGATE_SUM:
        return (double) value->sum;
    case EF_AGGREGATE_MIN:
        return (double) value->min;
    case EF_AGGREGATE_MAX:
        return (double) value->max;
    default:
        return (double) value->sum / (double) value->count;
    }
}

#define HOLDS(RELATION, A, B)                    \
    ((RELATION) == EF_RELATION_LT   ? (A) < (B)  \
     : (RELATION) == EF_RELATION_LE ? (A) <= (B) \
     : (RELATION) == EF_RELATION_GT ? (A) > (B)  \
     : (RELATION) == EF_RELATION_GE ? (A) >= (B) \
     : (RELATION) == EF_RELATION_EQ ? (A) == (B) \
                                    : (A) != (B))

bool
ef_condition_holds(const struct ef_condition *c, const struct ef_aggregate_value *value)
{
    ef_u128 threshold = c->threshold;
    if (!value->count) {
        return false;
    }
    switch (c->function) {
    case EF_AGGREGATE_COUNT:
        return HOLDS(c->relation, value->count, c->threshold);
    case EF_AGGREGATE_SUM:
        return HOLDS(c->relation, value->sum, threshold);
    case EF_AGGREGATE_MIN:
        return HOLDS(c->relation, value->min, c->threshold);
    case EF_AGGREGATE_MAX:
        return HOLDS(c->relation, value->max, c->threshold);
    default:
        return HOLDS(c->relation, value_of(c->function, value), c->mean);
    }
}

/* --- Installing --------------------------------------------------------------------- */

static struct ef_trigger **
find(struct ef_triggers *t, const char *name)
{
    struct ef_trigger **link = &t->triggers;
    while (*link && strcmp((*link)->name, name)) {
        link = &(*link)->next;
    }
    return link;
}

/* Takes the trigger off the list and frees it. */
static void
unlink_trigger(struct ef_triggers *t, struct ef_trigger **link)
{
    struct ef_trigger *trigger = *link;
    *link = trigger->next;
    t->stats.n_triggers--;
    if (ef_meter_update(t, trigger->meter)) { /* The meter keeps its list, which is then shortened in place. */
        struct ef_meter *meter = trigger->meter;
        unsigned n = 0;
        for (unsigned i = 0; i < meter->n_triggers; i++) {
            meter->triggers[n] = meter->triggers[i];
            n += meter->triggers[i] != trigger;
        }
        meter->n_triggers = n;
        ef_meter_regroup(meter);
    }
    free(trigger);
}

/* With both locks held; takes over `trigger` if it returns 0. */
static int
install(struct ef_multilog *log, struct ef_trigger *trigger, const struct ef_installed_aggregate *aggregate,
        struct ef_error *err)
{
    struct ef_triggers *t = &log->triggers;
    struct ef_trigger **link = find(t, trigger->name);
    if (*link) {
        return ef_error_set(err, -EEXIST, "there is a trigger %s already", trigger->name);
    }
    int rc = ef_monitor_start(log);
    if (rc) {
        return ef_error_set(err, rc, "the monitor cannot start: %s", strerror(-rc));
    }
    trigger->meter =
        ef_meter_get(t, aggregate->filter, aggregate->spec.column, (int64_t) trigger->period_ms * EF_NS_PER_MS);
    if (!trigger->meter) {
        return -ENOMEM;
    }
    *link = trigger;
    rc = ef_meter_update(t, trigger->meter);
    if (rc) {
        *link = NULL;
        return rc;
    }
    t->stats.n_triggers++;
    ef_monitor_wake(log);
    return 0;
}

static int
find_and_install(struct ef_multilog *log, struct ef_trigger *trigger, const char *aggregate_name, const char *condition,
                 struct ef_error *err)
{
    const struct ef_installed_aggregate *a = log->filters.aggregates;
    while (a && strcmp(a->name, aggregate_name)) {
        a = a->next;
    }
    if (!a) {
        return ef_error_set(err, -ENOENT, "there is no aggregate %.80s", aggregate_name);
    }
    if (a->spec.function != EF_AGGREGATE_COUNT && log->schema.columns[a->spec.column].type == EF_COLUMN_TIME) {
        return ef_error_set(err, -EINVAL, "aggregate %.80s is a time, which a condition cannot name", aggregate_name);
    }
    trigger->aggregate_id = a->id;
    int rc = parse_condition(&trigger->condition, condition, a->spec.function, err);
    if (!rc) {
        pthread_mutex_lock(&log->triggers.lock);
        rc = install(log, trigger, a, err);
        pthread_mutex_unlock(&log->triggers.lock);
    }
    return rc;
}

int
ef_multilog_install_trigger(struct ef_multilog *log, const char *name, const char *aggregate, const char *condition,
                            unsigned period_ms, struct ef_error *err)
{
    if (!*name || strlen(name) >= EF_FILTER_NAME_SIZE) {
        return ef_error_set(err, -EINVAL, "a trigger's name has 1 to %d bytes", EF_FILTER_NAME_SIZE - 1);
    }
    if (period_ms < 1 || period_ms > EF_TRIGGER_MAX_PERIOD_MS) {
        return ef_error_set(err, -EINVAL, "a period of %u ms; give 1 to %d", period_ms, EF_TRIGGER_MAX_PERIOD_MS);
    }
    struct ef_trigger *trigger = calloc(1, sizeof *trigger);
    if (!trigger) {
        return -ENOMEM;
    }
    strcpy(trigger->name, name);
    trigger->period_ms = period_ms;
    for (unsigned i = 0; i < EF_TALLY_CELLS; i++) {
        trigger->alerted[i] = INT64_MIN;
    }
    pthread_mutex_lock(&log->filters.lock); /* Always before the triggers' own. */
    int rc = find_and_install(log, trigger, aggregate, condition, err);
    pthread_mutex_unlock(&log->filters.lock);
    if (rc) {
        free(trigger);
    }
    return rc;
}

int
ef_multilog_uninstall_trigger(struct ef_multilog *log, const char *name)
{
    struct ef_triggers *t = &log->triggers;
    pthread_mutex_lock(&t->lock);
    struct ef_trigger **link = find(t, name);
    int rc = *link ? 0 : -ENOENT;
    if (!rc) {
        unlink_trigger(t, link);
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

void
ef_triggers_forget(struct ef_triggers *t, uint64_t aggregate_id)
{
    pthread_mutex_lock(&t->lock);
    for (struct ef_trigger **link = &t->triggers; *link;) {
        if ((*link)->aggregate_id == aggregate_id) {
            unlink_trigger(t, link);
        } else {
            link = &(*link)->next;
        }
    }
    pthread_mutex_unlock(&t->lock);
}

/* --- Alerts ------------------------------------------------------------------------- */

void
ef_triggers_raise(struct ef_triggers *t, struct ef_trigger *trigger, int64_t bucket,
                  const struct ef_aggregate_value *value)
{
    struct ef_alert *alert = &t->alerts[++t->stats.n_alerts % EF_MAX_ALERTS];
    *alert = (struct ef_alert){
        .number = t->stats.n_alerts,
        .bucket = {bucket * trigger->meter->tally->width_ns},
        .raised = ef_time_mono(),
        .count = value->count,
        .value = value_of(trigger->condition.function, value),
    };
    strcpy(alert->trigger, trigger->name);
    pthread_cond_broadcast(&t->raised);
}

unsigned
ef_multilog_get_alerts(struct ef_multilog *log, uint64_t after, struct ef_alert *alerts, unsigned max)
{
    struct ef_triggers *t = &log->triggers;
    unsigned n = 0;
    pthread_mutex_lock(&t->lock);
    uint64_t newest = t->stats.n_alerts, number = after + 1;
    if (newest >= EF_MAX_ALERTS) {
        number = EF_MAX(number, newest - EF_MAX_ALERTS + 1);
    }
    for (; number <= newest && n < max; number++) {
        alerts[n++] = t->alerts[number % EF_MAX_ALERTS];
    }
    pthread_mutex_unlock(&t->lock);
    return n;
}

uint64_t
ef_multilog_wait_alerts(struct ef_multilog *log, uint64_t after, unsigned timeout_ms)
{
    struct ef_triggers *t = &log->triggers;
    struct ef_time end = ef_time_add_ms(ef_time_mono(), timeout_ms);
    struct timespec until = {.tv_sec = end.ns / EF_NS_PER_S, .tv_nsec = end.ns % EF_NS_PER_S};
    pthread_mutex_lock(&t->lock);
    while (t->stats.n_alerts <= after && pthread_cond_timedwait(&t->raised, &t->lock, &until) != ETIMEDOUT) {
    }
    uint64_t newest = t->stats.n_alerts;
    pthread_mutex_unlock(&t->lock);
    return newest;
}

void
ef_multilog_trigger_stats(struct ef_multilog *log, struct ef_trigger_stats *stats)
{
    pthread_mutex_lock(&log->triggers.lock);
    *stats = log->triggers.stats;
    pthread_mutex_unlock(&log->triggers.lock);
}

void
ef_triggers_deinit(struct ef_triggers *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    sem_post(&t->wake);
    pthread_mutex_unlock(&t->lock);
    if (t->is_running) {
        pthread_join(t->thread, NULL);
    }
    while (t->triggers) {
        unlink_trigger(t, &t->triggers);
    }
    while (t->meters) {
        ef_meter_update(t, t->meters);
    }
    ef_predicate_set_destroy(t->set);
    ef_predicate_scratch_destroy(t->scratch);
    free(t->bits);
    free(t->wanted);
    free(t->due);
    free(t->backlog.segments);
    free(t->positions);
    free(t->alerts);
    pthread_mutex_destroy(&t->lock);
    sem_destroy(&t->wake);
    pthread_cond_destroy(&t->raised);
}
