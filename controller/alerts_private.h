/* SPDX-License-Identifier: Apache-2.0 */
/* What alerts.c and alerts_kept.c share. */
#ifndef CONTROLLER_ALERTS_PRIVATE_H
#define CONTROLLER_ALERTS_PRIVATE_H

#include <stdint.h>
#include <sys/queue.h>

#include "controller/alerts.h"

enum { ALERT_KIND_SIZE = 32, ALERT_BY_SIZE = 64, ALERT_WHY_SIZE = 160 };

extern const char *const alert_severity_names[]; /* By enum alert_severity; NULL-terminated. */
extern const char *const alert_state_names[];    /* By enum alert_state; NULL-terminated. */

struct alert {
    TAILQ_ENTRY(alert) next;
    struct alerts *alerts;
    char id[17], kind[ALERT_KIND_SIZE], subject[ALERT_SUBJECT_SIZE], summary[ALERT_SUMMARY_SIZE];
    char acknowledged_by[ALERT_BY_SIZE], resolved_why[ALERT_WHY_SIZE];
    enum alert_severity severity;
    enum alert_state state;
    json_t *evidence; /* Or NULL. */
    uint64_t count;
    struct ef_time first, last, acknowledged, resolved; /* Real time; 0: not yet. */
};

struct alerts_kept;

struct alerts {
    TAILQ_HEAD(alert_list, alert) list; /* Oldest first. */
    size_t n;
    unsigned long long raised, forgotten;
    alerts_changed *changed;
    void *ctx;
    struct alerts_kept *kept; /* NULL: in memory only. */
};

/* Calls the listener. */
void alert_tell(const struct alert *a);

/* A new one in the list, with what it has of texts still empty; another is forgotten if there are too many. */
struct alert *alert_insert(struct alerts *alerts);

/* Takes it out of the list and frees it. */
void alert_remove(struct alert *a);

/* Copies a text that may have anything in it; NULL is "". */
void alert_copy_text(char *to, size_t size, const char *from);

/* Kept alerts hear of each change, and of what is forgotten. */
void alerts_kept_changed(struct alerts_kept *kept, const struct alert *a);
void alerts_kept_forgotten(struct alerts_kept *kept, const char *id);

#endif
