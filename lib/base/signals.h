/* SPDX-License-Identifier: Apache-2.0 */
/* The signals of a daemon with a libevent loop:
 *
 *     SIGTERM, SIGINT   end the loop, so that the program ends in order; a second
 *                       one ends it at once
 *     SIGHUP            opens the log file anew, as logrotate asks for
 *     SIGPIPE           is ignored
 *
 * Handled on the loop's thread; other threads are started with all signals
 * blocked. */
#ifndef EF_BASE_SIGNALS_H
#define EF_BASE_SIGNALS_H

#include "base/error.h"

struct event_base;
struct ef_signals;

/* Returns 0, or -ENOMEM with `err`; the caller frees `*signals` with
 * ef_signals_destroy(), before the loop. */
int ef_signals_create(struct event_base *base, struct ef_signals **signals, struct ef_error *err);

/* Signals do what they did by default. NULL is fine. */
void ef_signals_destroy(struct ef_signals *signals);

#endif
