/* SPDX-License-Identifier: Apache-2.0 */
/* Sees to it that debug sessions stay within the capacity, whatever traffic does
 * after they were admitted: twice a second the analyzers are asked how many copies they
 * got, and if that was more than the capacity over two seconds, the newest session
 * samples more coarsely, or pauses if that would not help. Each time is written
 * into the session ("note") and is an alert. Should the analyzers not answer, what the
 * switches say that they sent (every 5 s) counts. Each change of a session begins a new
 * count, a moment later. While this controller is not the
 * active one, it only looks. One event base's thread. */
#ifndef CONTROLLER_DEBUG_WATCH_H
#define CONTROLLER_DEBUG_WATCH_H

#include "controller/debug_sessions.h"

struct debug_watch;

/* `c` and `sessions` are borrowed. */
struct debug_watch *debug_watch_create(struct controller *c, struct debug_sessions *sessions);
void debug_watch_destroy(struct debug_watch *w); /* NULL is fine. */

/* What is traced now, for whatever reason; false while no session is active or it is
 * not known yet. */
bool debug_watch_measured(const struct debug_watch *w, struct debug_load *load);

#endif
