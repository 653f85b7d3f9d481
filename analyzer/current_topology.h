/* SPDX-License-Identifier: Apache-2.0 */
/* The topology by which the workers judge, which may change while they run: from
 * --topology at the start, or by PUT /v1/topology from the controller.
 *
 *     ef_current_topology_create(n_workers, &topology);
 *     ef_current_topology_set(topology, document, &err);                // one thread: control
 *     judge.last_hops = ef_current_topology_use(topology, worker);      // each worker, at each turn
 *
 * What a worker was given stays valid until its next call. The one before the
 * current one is freed when no worker uses it any more; until then another cannot be
 * set. Thread-safety: one control thread; worker `n` calls as number n. */
#ifndef EF_ANALYZER_CURRENT_TOPOLOGY_H
#define EF_ANALYZER_CURRENT_TOPOLOGY_H

#include "analyzer/last_hops.h"
#include "net/json_digest.h"

struct ef_current_topology;

int ef_current_topology_create(unsigned n_workers, struct ef_current_topology **topology); /* Returns 0 or -ENOMEM. */
void ef_current_topology_destroy(struct ef_current_topology *topology); /* No worker runs. NULL is fine. */

/* From now on this one. Returns 0, or with `err` -EINVAL, -ENOMEM, or -EBUSY: a
 * worker still uses the one before the last; again in a moment. */
int ef_current_topology_set(struct ef_current_topology *t, const json_t *document, struct ef_error *err);
int ef_current_topology_load(struct ef_current_topology *t, const char *file, struct ef_error *err);

/* The document and its digest; NULL and "" if there is none yet. Borrowed until another is set. */
const json_t *ef_current_topology_document(const struct ef_current_topology *t);
const char *ef_current_topology_digest(const struct ef_current_topology *t);

/* For a worker; NULL if there is none. */
const struct ef_last_hops *ef_current_topology_use(struct ef_current_topology *t, unsigned worker);

#endif
