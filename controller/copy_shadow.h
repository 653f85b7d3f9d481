/* SPDX-License-Identifier: Apache-2.0 */
/* Whose copies are lost with what has failed: a switch or a link that is down swallows not
 * only packets, but also the copies that other switches send through it to the
 * reshufflers. Those see packets as before, and nobody hears of it; that they did not
 * see them, then, says nothing.
 *
 *     if (copy_shadow_falls_on(ways, alerts, "leaf4", what))
 *         "copies of leaf4 may be lost with %s", what      // "spine1, which has failed"
 *
 * Which of equal ways a switch's copies take is not known: it may be. Whether its copies
 * still come, watch_switches.h says, and only of a switch that is silent it means
 * something. Pure; one thread. */
#ifndef CONTROLLER_COPY_SHADOW_H
#define CONTROLLER_COPY_SHADOW_H

#include <stdbool.h>

struct alerts;
struct copy_ways;

enum { COPY_SHADOW_TEXT = 160 };

/* Whether copies of the switch may cross what an active alert of kind "switch" or "link" is
 * about; what that is, in `what`. */
bool copy_shadow_falls_on(const struct copy_ways *ways, const struct alerts *alerts, const char *name,
                          char what[COPY_SHADOW_TEXT]);

#endif
