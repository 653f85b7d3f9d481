/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses: an application is given a question ("why is this packet dropped?"),
 * works on it for some seconds, and ends with a verdict that a person can read and
 * a script can use. Here is what all applications have in common: an id, progress,
 * evidence, a deadline, a bound of how many there are.
 *
 * An application is a table of functions and a state of its own:
 *
 *     static int start(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err)
 *     {
 *         static const char *const known[] = {"from", "to", NULL};
 *         struct doc_place root = {.value = (json_t *) options};
 *         const char *from;
 *         if (doc_check_keys(&root, known, err) || doc_string(&root, "from", NULL, &from, err)) return -EINVAL;
 *         struct mine *m = *state = calloc(1, sizeof *m);
 *         m->timer = evtimer_new(diagnosis_controller(d)->base, on_timer, d);  ...
 *         diagnosis_progress(d, "asking %s", from);
 *         return 0;
 *     }
 *
 *     static void on_timer(evutil_socket_t fd, short what, void *ctx)
 *     {
 *         struct diagnosis *d = ctx;
 *         struct mine *m = diagnosis_state(d);
 *         diagnosis_evidence_add(d, "traces", json_string(id));
 *         struct verdict v = {.kind = "latency", .device = "spine1", .confidence = 0.99};
 *         snprintf(v.summary, sizeof v.summary, "...");
 *         diagnosis_finish(d, &v);      // calls end(m): do not touch m after it
 *     }
 *
 *     static void end(void *state) { struct mine *m = state; event_free(m->timer); ... free(m); }
 *
 *     const struct diagnosis_app latency_app = {"latency", "which link adds delay", start, end};
 *
 * and an entry in the list of applications, diagnosis_apps.c.
 *
 * Ownership: a diagnosis is the framework's; an application may use it from `start`
 * to `end`, and `end` comes exactly once: in diagnosis_finish() and diagnosis_fail(),
 * which an application calls as its last act, when somebody stops it, or at the
 * deadline. `end` releases all that could still call back: timers, queries, orders.
 *
 * One thread, that of the event base. Control path: aborts when out of memory. */
#ifndef CONTROLLER_DIAGNOSES_H
#define CONTROLLER_DIAGNOSES_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/util.h"

struct controller;
struct diagnoses;
struct diagnosis;

enum {
    DIAGNOSES_MAX_RUNNING = 16,
    DIAGNOSES_MAX_KEPT = 500,
    DIAGNOSIS_MAX_PROGRESS = 200,
    DIAGNOSIS_MAX_EVIDENCE = 200, /* Entries of one list. */
    DIAGNOSIS_DEADLINE_S = 60,
    DIAGNOSIS_MAX_DEADLINE_S = 3600,
};

/* What was found. Texts are borrowed for the call; `link` and `details` are taken
 * over. */
struct verdict {
    char summary[600];      /* In plain language, one or two sentences. */
    const char *kind;       /* "drop", "loop", "none" (nothing is wrong), ... */
    const char *device;     /* The switch at fault, by name; NULL: none, or not known. */
    json_t *link;           /* diagnosis_link(); NULL: none. */
    const char *class_text; /* Which packets: "all packets", "TCP to port 443"; NULL: does not apply. */
    enum { VERDICT_UNKNOWN, VERDICT_TRANSIENT, VERDICT_PERSISTENT } persistence;
    double confidence; /* 0 to 1. */
    json_t *details;   /* An object of the application's own, or NULL. */
};

struct diagnosis_app {
    const char *name;
    const char *summary; /* What it answers, a line. */

    /* Begins. `options` is what the order said but "app" and "deadline_s"; check all
     * of it. Returns 0, or -EINVAL or -ENOENT with `err`, `*state` then being NULL. May
     * not yet finish. */
    int (*start)(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err);

    /* Releases the state, wherever it is in its work. */
    void (*end)(void *state);
};

/* The list of applications, NULL-terminated (diagnosis_apps.c). */
extern const struct diagnosis_app *const diagnosis_apps[];

/* --- For applications ------------------------------------------------------ */

struct controller *diagnosis_controller(const struct diagnosis *d);
void *diagnosis_state(const struct diagnosis *d);
const char *diagnosis_id(const struct diagnosis *d);

/* Says what is being done, a line for people. */
void diagnosis_progress(struct diagnosis *d, const char *fmt, ...) EF_PRINTF(2, 3);

/* Appends `value` (taken over) to the list `key` of the evidence, unless it is
 * there: "traces" and "probes" have ids. Or sets `key` to `value`. */
void diagnosis_evidence_add(struct diagnosis *d, const char *key, json_t *value);
void diagnosis_evidence_set(struct diagnosis *d, const char *key, json_t *value);
json_t *diagnosis_evidence(const struct diagnosis *d); /* Borrowed. */

/* Says what is known so far: shown as the verdict while the work goes on, and told to
 * whoever waits for one. */
void diagnosis_suspect(struct diagnosis *d, const struct verdict *verdict);

/* Ends it, done or failed. */
void diagnosis_finish(struct diagnosis *d, const struct verdict *verdict);
void diagnosis_fail(struct diagnosis *d, const char *fmt, ...) EF_PRINTF(2, 3);

/* {"from", "from_port", "to", "to_port"}, the ports by the topology, null if the two are not
 * neighbours in it. */
json_t *diagnosis_link(const struct controller *c, const char *from, const char *to);

/* --- For those who start them ----------------------------------------------- */

struct diagnoses *diagnoses_create(struct controller *c);
void diagnoses_destroy(struct diagnoses *diagnoses); /* NULL is fine. */

/* Starts what `document` asks for: {"app", "deadline_s", and the app's options}, for
 * `origin`: "operator" or "watcher". Returns 0 with `*d`, borrowed until it is
 * forgotten, or with `err` -EINVAL (it is wrong), -ENOENT (what it names is not
 * there), -ENOSPC (too many run). */
int diagnoses_start(struct diagnoses *diagnoses, const json_t *document, const char *origin, struct diagnosis **d,
                    struct ef_error *err);

/* `told` is called when it is over and shows its verdict, and before that perhaps with
 * what is suspected, while it is still running. */
void diagnosis_on_verdict(struct diagnosis *d, void (*told)(void *ctx, struct diagnosis *d), void *ctx);

struct diagnosis *diagnoses_find(const struct diagnoses *diagnoses, const char *id); /* NULL: none. */
void diagnosis_stop(struct diagnosis *d, const char *why); /* One that is over stays as it is. */
bool diagnosis_is_running(const struct diagnosis *d);
const json_t *diagnosis_verdict(const struct diagnosis *d); /* As shown below, or NULL. Borrowed. */

/* {"id", "app", "origin", "state": "running" | "done" | "stopped" | "failed", "error", "options", "created", "ended",
 * "progress": [{"time", "text"}], "evidence": {...}, "verdict": {"summary", "kind", "device", "link", "class",
 * "persistent": true | false | null, "confidence", "details"} | null}, a new reference. */
json_t *diagnosis_show(const struct diagnosis *d);

/* An array, the newest last, without progress and evidence. */
json_t *diagnoses_list(const struct diagnoses *diagnoses);

struct diagnoses_counts {
    unsigned long long started, done, stopped, failed;
    size_t running;
};
void diagnoses_count(const struct diagnoses *diagnoses, struct diagnoses_counts *counts);

#endif
