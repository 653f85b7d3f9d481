/* SPDX-License-Identifier: Apache-2.0 */
/* Debug sessions, EnableDbg of the paper: for a time, the switches at which servers
 * are attached set the debug bit of what those send and a filter matches, and all
 * switches copy what has the bit (class "debug").
 *
 * A session is a row of the state, and the rules that mark follow it:
 *
 *     POST -> debug_measure.h (what will it cost?) -> debug_sessions_add() -> state_put()
 *                                                                               |
 *     switches <- rule_sets_put(owner "debug") <- the row changed <-------------+
 *
 * so that a controller that starts or takes over does what the one before it did. Marks
 * end at the switch, by hard_timeout, whoever is there then. In the state of a session,
 *
 *     scheduled -> active -> ended        by the clock
 *                  active -> paused       when more is traced than the capacity (debug_watch.h)
 *
 * "ended" is forgotten an hour later. One event base's thread. */
#ifndef CONTROLLER_DEBUG_SESSIONS_H
#define CONTROLLER_DEBUG_SESSIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/time.h"
#include "controller/debug_capacity.h"
#include "controller/debug_rates.h"
#include "controller/state.h"

struct controller;
struct debug_sessions;

enum { DEBUG_SESSIONS_MAX = 64, DEBUG_ID_SIZE = 17, DEBUG_MAX_S = 7 * 24 * 60 * 60 };

/* What a session marks at one switch. */
struct debug_group {
    size_t number;          /* Of the switch. */
    size_t n_rules;         /* Called "r0", "r1", ... */
    struct ef_time put;     /* When the switch was told, monotonic. */
    struct debug_rate rate; /* Of packets that were marked. */
};

struct debug_session {
    TAILQ_ENTRY(debug_session) next;
    struct debug_sessions *sessions;
    char id[DEBUG_ID_SIZE];
    json_t *document;          /* The row; never changed. */
    struct ef_time start, end; /* Real time. */
    struct debug_traffic traffic;
    unsigned bits; /* It marks one packet in 2**bits. */
    bool is_active;
    struct debug_group *groups;
    size_t n_groups;
};

TAILQ_HEAD(debug_session_list, debug_session);

struct debug_sessions *debug_sessions_create(struct controller *c);
void debug_sessions_destroy(struct debug_sessions *s); /* NULL is fine. */

const struct debug_session_list *debug_sessions_all(const struct debug_sessions *s); /* Oldest first. */
const struct debug_session *debug_sessions_find(const struct debug_sessions *s, const char *id);
struct debug_rates *debug_sessions_rates(const struct debug_sessions *s);

/* Of a copy with all headers, for a packet of so many, truncated as the switches do. */
double debug_bytes_of_copy(const struct controller *c, double bytes_of_packet);

/* Another number after each change of a session. */
uint64_t debug_sessions_changes(const struct debug_sessions *s);

/* What it costs: as measured, once that is known, and as expected before. */
struct debug_load debug_session_load(const struct debug_session *session);

/* What is spoken for: copies for other reasons, all sessions that are active, and those to come. */
struct debug_load debug_sessions_used(const struct debug_sessions *s);
/* Of that, what is not of sessions. */
struct debug_load debug_sessions_base(const struct debug_sessions *s);

/* The rules for the places at the switch `at`: one for each place and match (new reference).
 * `hard_timeout` is in seconds; `action` is "mark" or "mirror". */
json_t *debug_rules_at(const json_t *places, const char *at, const json_t *matches, const char *action, unsigned bits,
                       int64_t hard_timeout);

/* A row for `document` (taken over), which has "id"; as state_put(). */
void debug_sessions_put(struct debug_sessions *s, const char *id, json_t *document, state_done *done, void *ctx);

/* What is shown of it (new reference). */
json_t *debug_session_show(const struct debug_session *session);

/* The alert about a session; NULL `why` resolves it. */
void debug_sessions_alert(struct debug_sessions *s, const char *id, const char *why);

#endif
