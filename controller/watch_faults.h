/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that last: each has an alert, and is looked at again until it is gone.
 *
 *     watch_faults_take(faults, "spine1>leaf4", diagnosis);        // a persistent verdict
 *     if (watch_faults_note(faults, "drop", "spine1>leaf4", id)) one more packet of it;
 *
 * The verdict's details say with which probe ("packet", "at"). When two rounds of
 * them pass, one after the other, the fault is gone, and with the last fault of a
 * subject its alert. An alert that somebody resolved by hand ends its faults.
 * Bounded: WATCH_FAULTS. One event base's thread. */
#ifndef CONTROLLER_WATCH_FAULTS_H
#define CONTROLLER_WATCH_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

struct controller;
struct diagnosis;
struct watch_faults;

enum { WATCH_FAULTS = 64, WATCH_SUBJECT_SIZE = 128 };

struct watch_faults *watch_faults_create(struct controller *c, unsigned recheck_s);
void watch_faults_destroy(struct watch_faults *faults); /* NULL is fine. The alerts stay. */

/* What a persistent verdict says, of the case `key`: raises the alert, and looks again. */
void watch_faults_take(struct watch_faults *faults, const char *key, const struct diagnosis *d);

/* A trace of the case: true if there is a fault of it, whose alert then counts one
 * more. */
bool watch_faults_note(struct watch_faults *faults, const char *kind, const char *key, const char *trace);

/* Ends those that another alert explains by now (watch_causes.h). */
void watch_faults_explain(struct watch_faults *faults);

size_t watch_faults_n(const struct watch_faults *faults);

/* What an alert of the verdict is about: "spine1>leaf4", "spine2", "leaf1>spine1". */
void watch_faults_subject(const struct diagnosis *d, char subject[WATCH_SUBJECT_SIZE]);

#endif
