/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the state (state.h) that follow what is in memory: alerts, diagnoses.
 * Their owner changes them in memory, at once, and says which; here they are
 * written, now or with others within some seconds, once more if that failed, and
 * again when this controller has become the active one.
 *
 *     static json_t *document_of(void *ctx, const char *key) { ... }       // new reference; NULL: it is gone
 *     struct write_behind *rows = write_behind_create(base, state, STATE_ALERT, document_of, alerts);
 *     write_behind_note(rows, id, false);                                  // its count is another: some seconds later
 *
 * What must be kept before it is true (somebody is told that it is) is put first,
 * and changed in memory by `done`:
 *
 *     write_behind_put(rows, id, document, on_kept, request);
 *
 * While such a row is on its way, nothing else is written of it, so that what is
 * acknowledged is never overwritten by what was before. One event base's thread. */
#ifndef CONTROLLER_WRITE_BEHIND_H
#define CONTROLLER_WRITE_BEHIND_H

#include <jansson.h>
#include <stdbool.h>

#include "controller/state.h"

struct event_base;
struct write_behind;

typedef json_t *write_behind_document(void *ctx, const char *key);

/* `state` is borrowed. */
struct write_behind *write_behind_create(struct event_base *base, struct state_store *state, enum state_table table,
                                         write_behind_document *document_of, void *ctx);

/* Before the state. What is not written yet never will be. NULL is fine. */
void write_behind_destroy(struct write_behind *rows);

/* What `key` stands for changed, or is gone; written now or within 5 s. */
void write_behind_note(struct write_behind *rows, const char *key, bool now);

/* The row is as somebody else, the active controller, has it: nothing of ours is to be written. */
void write_behind_forget(struct write_behind *rows, const char *key);

/* Puts the row (`document` is taken over); as state_put(). */
void write_behind_put(struct write_behind *rows, const char *key, json_t *document, state_done *done, void *ctx);

#endif
