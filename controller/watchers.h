/* SPDX-License-Identifier: Apache-2.0 */
/* The watchers: they run by themselves, and turn abnormal traces into alerts.
 *
 * Each half second the newest traces of drops and loops are asked for. Those with
 * the same place (last switch and expected one; the circle of a loop) are one case;
 * a case is given to the application (diagnoses.h) that finds out more:
 *
 *     trace -> case -> diagnosis -> verdict: persistent -> alert, re-checked by a few
 *                                                          probes each 5 s until it is gone
 *                                            transient  -> an alert only if it happens
 *                                                          again and again
 *
 * So a fault that breaks a thousand flows is one alert, with a count. All is
 * bounded: cases, diagnoses at a time and a minute, probes (probe_budget.h). What is
 * too much waits for the next round; nothing is queued.
 *
 * Traces that tell of lost copies are no drops; the analyzers see to that, and
 * collection.h to what they cannot know. Nor is any trace looked into, or a diagnosis
 * ended, while a link or a switch has just failed or come back (watch_switches.h).
 *
 * Of several controllers with one database only the active one watches. One event
 * base's thread. */
#ifndef CONTROLLER_WATCHERS_H
#define CONTROLLER_WATCHERS_H

#include <jansson.h>

struct controller;
struct watchers;

/* By the configuration; NULL if all are off. */
struct watchers *watchers_start(struct controller *c);
void watchers_stop(struct watchers *watchers); /* NULL is fine. */

/* {"drop": bool, "loop": bool, "polls", "traces", "cases", "faults", "diagnoses", "put_off", "unsettled", "probes":
 * {"orders", "sent", "put_off"}, "lost_copies": collection_show()}, a new reference; NULL without watchers: null. */
json_t *watchers_show(const struct watchers *watchers);

#endif
