/* SPDX-License-Identifier: Apache-2.0 */
/* What diagnoses.c and diagnoses_kept.c share. */
#ifndef CONTROLLER_DIAGNOSES_PRIVATE_H
#define CONTROLLER_DIAGNOSES_PRIVATE_H

#include <sys/queue.h>

#include "base/time.h"
#include "controller/diagnoses.h"

enum diagnosis_state { DIAGNOSIS_RUNNING, DIAGNOSIS_DONE, DIAGNOSIS_STOPPED, DIAGNOSIS_FAILED };
extern const char *const diagnosis_state_names[]; /* NULL-terminated. */

struct diagnosis {
    TAILQ_ENTRY(diagnosis) next;
    struct diagnoses *diagnoses;
    char id[17], error[300];
    const char *origin; /* Static. */
    const struct diagnosis_app *app;
    void *app_state; /* NULL once it is over, or if it runs elsewhere. */
    enum diagnosis_state state;
    json_t *options, *progress, *evidence, *verdict; /* The verdict may be NULL. */
    struct ef_time created, ended;                   /* Real time. */
    struct event *deadline;                          /* Only while it runs here. */
    void (*told)(void *ctx, struct diagnosis *d);
    void *told_ctx;
};

struct diagnoses_kept;

struct diagnoses {
    struct controller *controller;
    TAILQ_HEAD(diagnosis_list, diagnosis) list; /* Oldest first. */
    size_t n;
    struct diagnoses_counts counts;
    struct diagnoses_kept *kept; /* NULL: in memory only. */
};

/* Into the list, at its place; the oldest that is over goes if there are too many. */
void diagnosis_insert(struct diagnoses *diagnoses, struct diagnosis *d);

/* Out of the list, and freed; one that is in no list. */
void diagnosis_remove(struct diagnosis *d);
void diagnosis_free(struct diagnosis *d);

/* It is another now, or gone; written at once, or within some seconds. */
void diagnoses_kept_changed(struct diagnoses_kept *kept, const char *id, bool now);

#endif
