/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that last, and whether they still do; see watch_faults.h. */
#include <config.h>

#include "controller/watch_faults.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/json.h"
#include "base/util.h"
#include "controller/alerts.h"
#include "controller/controller.h"
#include "controller/diagnoses.h"
#include "controller/loop_app.h"
#include "controller/probe_round.h"
#include "controller/watch_case.h"
#include "controller/watch_causes.h"
#include "controller/watch_switches.h"

enum {
    N_PROBES = 20,
    N_PROBES_RANDOM = 250, /* One of 100 that is dropped is not missed more often than once in 12, twice in 150. */
    GOOD_ROUNDS = 2,
    MAX_TRACES = 20, /* Ids in an alert's evidence. */
    NEW_S = 15,      /* So long after it was found, what fails then may have been its cause all the time. */
};

struct fault {
    TAILQ_ENTRY(fault) next;
    struct watch_faults *faults;
    char kind[16], key[WATCH_KEY_SIZE], subject[WATCH_SUBJECT_SIZE], at[PROBE_ROUND_NAME];
    char summary[ALERT_SUMMARY_SIZE];
    json_t *packet, *evidence;
    bool is_random;
    unsigned n_good, n_unknown; /* Rounds that passed; fields that may matter or not. */
    struct ef_time taken;       /* Monotonic. */
    struct event *timer;
    struct probe_round *round;
};

struct watch_faults {
    struct controller *controller;
    unsigned recheck_s;
    TAILQ_HEAD(, fault) list;
    size_t n;
};

void
watch_faults_subject(const struct diagnosis *d, char subject[WATCH_SUBJECT_SIZE])
{
    const json_t *verdict = diagnosis_verdict(d), *link = json_object_get(verdict, "link"),
                 *circle = json_object_get(json_object_get(verdict, "details"), "circle");
    char text[LOOP_SUBJECT_SIZE];
    if (json_array_size(circle)) {
        snprintf(subject, WATCH_SUBJECT_SIZE, "%s", loop_app_subject(circle, text));
    } else if (json_is_object(link)) {
        snprintf(subject, WATCH_SUBJECT_SIZE, "%.60s>%.60s", ef_json_text(link, "from"), ef_json_text(link, "to"));
    } else {
        snprintf(subject, WATCH_SUBJECT_SIZE, "%s", ef_json_text(verdict, "device"));
    }
}

/* --- Alerts ---------------------------------------------------------------- */

/* Several cases may be the same fault: the one that knows most speaks for it. */
static const struct fault *
speaker(const struct fault *f)
{
    const struct fault *other, *best = f;
    TAILQ_FOREACH(other, &f->faults->list, next)
    {
        bool is_same = !strcmp(other->kind, f->kind) && !strcmp(other->subject, f->subject);
        best = is_same && other->n_unknown < best->n_unknown ? other : best;
    }
    return best;
}

static void
raise_alert(const struct fault *f)
{
    f = speaker(f);
    struct alert_report report = {
        .kind = f->kind,
        .subject = f->subject,
        .severity = ALERT_CRITICAL,
        .summary = f->summary,
        .evidence = json_deep_copy(f->evidence),
    };
    alerts_raise(f->faults->controller->alerts, &report);
}

static void
free_fault(struct fault *f)
{
    TAILQ_REMOVE(&f->faults->list, f, next);
    f->faults->n--;
    probe_round_destroy(f->round);
    event_free(f->timer);
    json_decref(f->packet);
    json_decref(f->evidence);
    free(f);
}

static bool
is_last_of_subject(const struct fault *f)
{
    const struct fault *other;
    TAILQ_FOREACH(other, &f->faults->list, next)
    {
        if (other != f && !strcmp(other->kind, f->kind) && !strcmp(other->subject, f->subject)) {
            return false;
        }
    }
    return true;
}

static void
end_fault(struct fault *f, const char *why)
{
    if (is_last_of_subject(f)) {
        alerts_resolve(f->faults->controller->alerts, f->kind, f->subject, why);
    }
    free_fault(f);
}

/* Those who should have seen the packets would not be heard of, for something has failed
 * that was not known yet, or only now is. */
static bool
is_hidden(const struct fault *f)
{
    const json_t *unseen = json_object_get(f->evidence, "unseen"), *name;
    bool is_new = ef_time_before(ef_time_mono(), ef_time_add_ms(f->taken, NEW_S * 1000)), is = false;
    char what[COPY_SHADOW_TEXT];
    size_t i;
    json_array_foreach((json_t *) unseen, i, name)
    {
        const char *text = json_string_value(name);
        is = is || (is_new && text && switch_watch_hides(f->faults->controller->switch_watch, text, what));
    }
    return is;
}

void
watch_faults_explain(struct watch_faults *faults)
{
    struct fault *f, *next;
    for (f = TAILQ_FIRST(&faults->list); f; f = next) {
        next = TAILQ_NEXT(f, next);
        if (is_hidden(f) ||
            watch_causes_explain(faults->controller->alerts, f->kind, ef_json_text(f->evidence, "device"),
                                 json_object_get(f->evidence, "link"), json_object_get(f->evidence, "unseen"))) {
            end_fault(f, "another alert explains it");
        }
    }
}

/* --- Looking again ------------------------------------------------------------ */

static void
again(struct fault *f)
{
    struct timeval tv = {(time_t) f->faults->recheck_s, 0};
    evtimer_add(f->timer, &tv);
}

static bool
is_good(const struct fault *f, const struct probe_round_order *o)
{
    unsigned bad = strcmp(f->kind, "loop") ? o->failed : o->looped;
    return !bad && !o->is_doubtful && o->passed >= o->count / 2;
}

static void
on_probed(void *ctx)
{
    struct fault *f = ctx;
    const struct probe_round_order *o = probe_round_order(f->round, 0);
    f->n_good = is_good(f, o) ? f->n_good + 1 : 0;
    bool is_gone = f->n_good >= GOOD_ROUNDS;
    probe_round_destroy(f->round);
    f->round = NULL;
    if (is_gone) {
        end_fault(f, "probes pass again");
    } else {
        again(f);
    }
}

static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct fault *f = ctx;
    if (!alerts_active(f->faults->controller->alerts, f->kind, f->subject)) {
        free_fault(f); /* Somebody resolved it. */
        return;
    }
    f->round = probe_round_create(f->faults->controller);
    probe_round_add(f->round, json_incref(f->packet), f->is_random ? N_PROBES_RANDOM : N_PROBES, f->at);
    probe_round_start(f->round, on_probed, f);
}

/* --- Taking ------------------------------------------------------------------- */

static struct fault *
find(const struct watch_faults *faults, const char *kind, const char *key)
{
    struct fault *f;
    TAILQ_FOREACH(f, &faults->list, next)
    {
        if (!strcmp(f->kind, kind) && !strcmp(f->key, key)) {
            return f;
        }
    }
    return NULL;
}

/* The verdict without what only the re-check needs, and where it comes from. */
static json_t *
make_evidence(const struct diagnosis *d)
{
    const json_t *verdict = diagnosis_verdict(d), *found = diagnosis_evidence(d);
    json_t *traces = json_array();
    for (size_t i = 0; i < json_array_size(json_object_get(found, "traces")) && i < MAX_TRACES; i++) {
        json_array_append(traces, json_array_get(json_object_get(found, "traces"), i));
    }
    return json_pack("{s:s, s:O?, s:O?, s:O?, s:O?, s:O?, s:o, s:O*}", "diagnosis", diagnosis_id(d), "device",
                     json_object_get(verdict, "device"), "link", json_object_get(verdict, "link"), "class",
                     json_object_get(verdict, "class"), "persistent", json_object_get(verdict, "persistent"),
                     "confidence", json_object_get(verdict, "confidence"), "traces", traces, "unseen",
                     json_object_get(json_object_get(verdict, "details"), "unseen"));
}

static struct fault *
create(struct watch_faults *faults, const char *kind, const char *key)
{
    struct fault *f = calloc(1, sizeof *f);
    if (!f) {
        abort(); /* Control path. */
    }
    f->faults = faults;
    snprintf(f->kind, sizeof f->kind, "%s", kind);
    snprintf(f->key, sizeof f->key, "%s", key);
    f->timer = evtimer_new(faults->controller->base, on_timer, f);
    if (!f->timer) {
        abort(); /* Control path. */
    }
    TAILQ_INSERT_TAIL(&faults->list, f, next);
    faults->n++;
    return f;
}

void
watch_faults_take(struct watch_faults *faults, const char *key, const struct diagnosis *d)
{
    const json_t *verdict = diagnosis_verdict(d), *details = json_object_get(verdict, "details");
    const char *kind = ef_json_text(verdict, "kind");
    char subject[WATCH_SUBJECT_SIZE];
    struct fault *f = find(faults, kind, key);
    if (!f && faults->n == WATCH_FAULTS) {
        return; /* Its traces will bring it back. */
    }
    f = f ? f : create(faults, kind, key);
    probe_round_destroy(f->round);
    f->round = NULL;
    json_decref(f->packet);
    json_decref(f->evidence);
    f->packet = json_incref(json_object_get(details, "packet"));
    f->evidence = make_evidence(d);
    f->n_good = 0;
    f->taken = ef_time_mono();
    f->n_unknown = (unsigned) json_integer_value(json_object_get(details, "unknown_fields"));
    int dropped = (int) json_integer_value(json_object_get(details, "dropped")),
        probed = (int) json_integer_value(json_object_get(details, "probed"));
    f->is_random = dropped && dropped < probed;
    snprintf(f->at, sizeof f->at, "%s", ef_json_text(details, "at"));
    snprintf(f->summary, sizeof f->summary, "%s", ef_json_text(verdict, "summary"));
    watch_faults_subject(d, subject);
    if (*f->subject && strcmp(subject, f->subject) && is_last_of_subject(f)) {
        alerts_resolve(faults->controller->alerts, f->kind, f->subject, "it turned out to be something else");
    }
    snprintf(f->subject, sizeof f->subject, "%s", subject);
    raise_alert(f);
    again(f);
}

bool
watch_faults_note(struct watch_faults *faults, const char *kind, const char *key, const char *trace)
{
    struct fault *f = find(faults, kind, key);
    if (!f || !alerts_active(faults->controller->alerts, kind, f->subject)) {
        return false;
    }
    json_t *traces = json_object_get(f->evidence, "traces");
    json_array_append_new(traces, json_string(trace));
    if (json_array_size(traces) > MAX_TRACES) {
        json_array_remove(traces, 1); /* The first stays. */
    }
    raise_alert(f);
    return true;
}

size_t
watch_faults_n(const struct watch_faults *faults)
{
    return faults->n;
}

/* --- Life ----------------------------------------------------------------- */

struct watch_faults *
watch_faults_create(struct controller *c, unsigned recheck_s)
{
    struct watch_faults *faults = calloc(1, sizeof *faults);
    if (!faults) {
        abort(); /* Control path at start-up. */
    }
    faults->controller = c;
    faults->recheck_s = recheck_s;
    TAILQ_INIT(&faults->list);
    return faults;
}

void
watch_faults_destroy(struct watch_faults *faults)
{
    while (faults && !TAILQ_EMPTY(&faults->list)) {
        free_fault(TAILQ_FIRST(&faults->list));
    }
    free(faults);
}
