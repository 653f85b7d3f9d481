/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an alert that is there already explains what a diagnosis found: a link
 * that is down or corrupts packets, a switch that is down, copies of a switch that get lost. Then the
 * packets that are dropped there are that alert's matter, not one of their own.
 *
 *     if (watch_causes_explain(c->alerts, "drop", "leaf1", link, unseen)) keep still;
 *
 * Alerts of the kinds "link", "corrupt", "switch" and "copies" say in their evidence which
 * "device" and "link" {"from", "to"} they are about. Pure; one thread. */
#ifndef CONTROLLER_WATCH_CAUSES_H
#define CONTROLLER_WATCH_CAUSES_H

#include <jansson.h>
#include <stdbool.h>

struct alerts;

/* `kind` is the verdict's: a loop was seen, and nothing that was not seen explains it.
 * `device` and `link` ({"from", "to"}, or NULL) are what is suspected, `unseen` (an array of names, or
 * NULL) are the switches of which one should have seen the packets next. */
bool watch_causes_explain(const struct alerts *alerts, const char *kind, const char *device, const json_t *link,
                          const json_t *unseen);

#endif
