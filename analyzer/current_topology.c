/* SPDX-License-Identifier: Apache-2.0 */
/* The topology of now; see current_topology.h. */
#include <config.h>

#include "analyzer/current_topology.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* What one worker uses, in a line of its own. */
struct user {
    EF_CACHE_ALIGNED _Atomic(const struct ef_last_hops *) last_hops;
};

struct ef_current_topology {
    _Atomic(const struct ef_last_hops *) current;
    /* Of the control thread: */
    struct ef_last_hops *owned, *former; /* `former` may still be used. */
    json_t *document;
    char digest[EF_JSON_DIGEST_SIZE];
    unsigned n_workers;
    struct user *users;
};

int
ef_current_topology_create(unsigned n_workers, struct ef_current_topology **out)
{
    struct ef_current_topology *t = calloc(1, sizeof *t);
    if (!t || !(t->users = aligned_alloc(EF_CACHE_LINE, n_workers * sizeof *t->users))) {
        free(t);
        return -ENOMEM;
    }
    memset(t->users, 0, n_workers * sizeof *t->users);
    t->n_workers = n_workers;
    *out = t;
    return 0;
}

void
ef_current_topology_destroy(struct ef_current_topology *t)
{
    if (t) {
        ef_last_hops_destroy(t->owned);
        ef_last_hops_destroy(t->former);
        json_decref(t->document);
        free(t->users);
        free(t);
    }
}

/* Frees the former one; false if a worker still uses it. A worker that has taken it
 * up but not yet said so is excluded by the order in ef_current_topology_use(). */
static bool
free_former(struct ef_current_topology *t)
{
    for (unsigned i = 0; t->former && i < t->n_workers; i++) {
        if (atomic_load(&t->users[i].last_hops) == t->former) {
            return false;
        }
    }
    ef_last_hops_destroy(t->former);
    t->former = NULL;
    return true;
}

int
ef_current_topology_set(struct ef_current_topology *t, const json_t *document, struct ef_error *err)
{
    struct ef_last_hops *fresh;
    if (!free_former(t)) {
        return ef_error_set(err, -EBUSY, "the topology before the last is still in use; try again");
    }
    int rc = ef_last_hops_create(document, &fresh, err);
    if (rc) {
        return rc;
    }
    json_t *copy = json_deep_copy(document);
    if (!copy) {
        ef_last_hops_destroy(fresh);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    json_decref(t->document);
    t->document = copy;
    ef_json_digest(copy, t->digest);
    t->former = t->owned;
    t->owned = fresh;
    atomic_store(&t->current, fresh);
    return 0;
}

int
ef_current_topology_load(struct ef_current_topology *t, const char *file, struct ef_error *err)
{
    json_error_t why;
    json_t *document = json_load_file(file, JSON_REJECT_DUPLICATES, &why);
    if (!document) {
        return ef_error_set(err, -EINVAL, "%s: %s (line %d)", file, why.text, why.line);
    }
    int rc = ef_current_topology_set(t, document, err);
    json_decref(document);
    return rc ? ef_error_prefix(err, rc, "%s", file) : 0;
}

const json_t *
ef_current_topology_document(const struct ef_current_topology *t)
{
    return t->document;
}

const char *
ef_current_topology_digest(const struct ef_current_topology *t)
{
    return t->digest;
}

const struct ef_last_hops *
ef_current_topology_use(struct ef_current_topology *t, unsigned worker)
{
    _Atomic(const struct ef_last_hops *) *used = &t->users[worker].last_hops;
    const struct ef_last_hops *now = atomic_load_explicit(&t->current, memory_order_acquire);
    if (EF_LIKELY(atomic_load_explicit(used, memory_order_relaxed) == now)) {
        return now;
    }
    /* A hazard pointer: said first, and then looked whether it is still the current one. */
    do {
        now = atomic_load(&t->current);
        atomic_store(used, now);
    } while (atomic_load(&t->current) != now);
    return now;
}
