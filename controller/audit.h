/* SPDX-License-Identifier: Apache-2.0 */
/* Who changed what, and who was refused: a line of JSON for each request that is
 * not a GET, and for each that was refused with 401, 403 or 429.
 *
 *     {"time":"2026-11-21T14:00:00.123456789Z","actor":"token:alice","role":"operator","address":"10.1.0.7",
 *      "method":"POST","path":"/v1/counters","status":201,"body":"{\"name\":...}"}
 *
 * Lines go to the file, which is opened for each (so that it may be moved away at
 * any time) and to the log without one; the newest are also here. What cannot be
 * written is counted. One event base's thread. */
#ifndef CONTROLLER_AUDIT_H
#define CONTROLLER_AUDIT_H

#include <jansson.h>
#include <stdint.h>

struct audit;

enum { AUDIT_MAX_ENTRIES = 1000, AUDIT_MAX_BODY_BYTES = 500 };

/* `file` is borrowed; NULL: only the log. NULL: out of memory. */
struct audit *audit_create(const char *file);
void audit_destroy(struct audit *audit); /* NULL is fine. */

/* Takes `entry` over; its "time" is added. */
void audit_add(struct audit *audit, json_t *entry);

/* The newest `limit` entries, oldest first; new reference. */
json_t *audit_list(const struct audit *audit, size_t limit);

/* Entries so far, and those that could not be written. */
uint64_t audit_n_entries(const struct audit *audit);
uint64_t audit_n_lost(const struct audit *audit);

#endif
