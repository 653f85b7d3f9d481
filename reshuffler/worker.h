/* SPDX-License-Identifier: Apache-2.0 */
/* One source, one sink and the thread that carries frames between them.
 *
 *     if (ef_worker_create(plans, "afpacket:eth0", "ip", 0, notify_fd, &w, &err)) fail;
 *     if (ef_worker_start(w, &err)) fail;
 *     ...                           // notify_fd becomes readable when it ends by itself
 *     ef_worker_stop(w);            // its counters stay
 *     ef_worker_destroy(w);
 *
 * Create opens everything, so that each error comes before anything runs. All
 * functions are for the main thread. */
#ifndef RESHUFFLER_WORKER_H
#define RESHUFFLER_WORKER_H

#include <stdbool.h>

#include "reshuffler/forward.h"
#include "reshuffler/plan_cell.h"

struct ef_worker;

/* `plans` and `source_spec` are borrowed until destroy; the worker is one more
 * reader of the plans. `notify_fd` is an eventfd
 * that gets 1 added when the source ends. Returns 0 or a negative errno with
 * `err`. */
int ef_worker_create(struct ef_plan_cell *plans, const char *source_spec, const char *sink_spec, uint64_t ring_bytes,
                     int notify_fd, struct ef_worker **worker, struct ef_error *err);

/* Has it answer for the VIPs at its source's port (port_responder.h); before it
 * starts. Returns 0, or a negative errno with `err`. */
int ef_worker_answer(struct ef_worker *worker, struct ef_error *err);

/* What it answered; all zero if it does not. */
void ef_worker_answer_stats(const struct ef_worker *worker, struct ef_responder_stats *stats);

int ef_worker_start(struct ef_worker *worker, struct ef_error *err);

/* Stops the thread, within a tenth of a second and after its burst. */
void ef_worker_stop(struct ef_worker *worker);

/* Stops it if it runs, and closes everything. NULL is fine. */
void ef_worker_destroy(struct ef_worker *worker);

/* Adds the worker's counters to `sum`; frames that the kernel lost before we
 * could take them count as received and as dropped (source_overflow). */
void ef_worker_add_totals(struct ef_worker *worker, struct ef_totals *sum);

/* What came from which switch. Borrowed. */
const struct ef_ledger *ef_worker_ledger(const struct ef_worker *worker);

/* How often it told the analyzers of losses, so many reports each should have got. */
uint64_t ef_worker_reports(const struct ef_worker *worker);

/* 0 while it runs, -ENODATA after the end of a file, or the negative errno that
 * ended the source; `*text` (borrowed) says why. */
int ef_worker_result(const struct ef_worker *worker, const char **text);

/* True while its interface is not there. */
bool ef_worker_is_away(const struct ef_worker *worker);

const char *ef_worker_source_spec(const struct ef_worker *worker);

#endif
