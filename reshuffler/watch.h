/* SPDX-License-Identifier: Apache-2.0 */
/* Asks each analyzer that has a URL how it is, five times a second, and takes
 * those that do not answer well out of the plan, and back in (health.h).
 *
 * The question is GET /v1/health. An answer is good if it comes in time and says
 * that the analyzer is ready (it has a source that runs) and that our reports have
 * come, by the way that copies go (reach.h). What it says of its load
 * and its losses is kept to be shown; it moves nothing, since the flows of one
 * that is overloaded would overload the next.
 *
 * On the main thread's event base. */
#ifndef RESHUFFLER_WATCH_H
#define RESHUFFLER_WATCH_H

#include <jansson.h>

#include "reshuffler/members.h"

struct event_base;
struct ef_tls;
struct ef_watch;

/* `members` is borrowed. Returns 0 or -ENOMEM with `err`. */
int ef_watch_create(struct event_base *base, struct ef_members *members, struct ef_watch **watch, struct ef_error *err);
/* How many reports each analyzer was sent so far, those of the reshuffler with the
 * number `sender`. Without this, the way of copies is not judged. */
typedef uint64_t ef_watch_reports(void *ctx);
void ef_watch_compare_reports(struct ef_watch *watch, uint64_t sender, ef_watch_reports *reports, void *ctx);

/* For analyzers at https URLs. `tls` is borrowed; NULL: none. */
void ef_watch_use_tls(struct ef_watch *watch, const struct ef_tls *tls);
void ef_watch_destroy(struct ef_watch *watch); /* NULL is fine. */

/* What is known of the health of index `i`. NULL if it is not watched. */
const struct ef_health *ef_watch_health(const struct ef_watch *watch, unsigned i);

/* Why the last answer was not good; "" if it was, or if there is none yet. */
const char *ef_watch_error(const struct ef_watch *watch, unsigned i);

/* Of the last answer: between 0 and 1, or below 0 if unknown; and the copies that
 * it discarded for want of room. */
double ef_watch_load(const struct ef_watch *watch, unsigned i);
uint64_t ef_watch_lost(const struct ef_watch *watch, unsigned i);

#endif
