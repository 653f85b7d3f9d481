/* SPDX-License-Identifier: Apache-2.0 */
/* The application that says whether packets still go in circles, and over which
 * switches; see loop_app.c.
 *
 * Options: "trace": the id of a trace; or "filter" and "last_s": the newest packet
 * that went in circles and matches. */
#ifndef CONTROLLER_LOOP_APP_H
#define CONTROLLER_LOOP_APP_H

#include "controller/diagnoses.h"

extern const struct diagnosis_app loop_app;

/* The names of the switches of a trace's loop in the packet's order, the first that
 * was crossed twice first: ["leaf1", "spine1"]. A new reference; NULL if the hops
 * have no loop. */
json_t *loop_app_circle(const json_t *trace);

/* The same circle begun at the switch whose name sorts first, as "leaf1>spine1": equal
 * for all traces of one loop. */
enum { LOOP_SUBJECT_SIZE = 120 };
char *loop_app_subject(const json_t *circle, char text[LOOP_SUBJECT_SIZE]);

#endif
