/* SPDX-License-Identifier: Apache-2.0 */
/* Every trace once, for who takes them further; see trace_store.h. Each round
 * reads what one snapshot has and the one before had not. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "analyzer/trace_store_private.h"

struct ef_trace_follower {
    struct ef_trace_store *store;
    struct ef_multilog_query query;    /* Of this round. */
    struct ef_multilog_cursor *cursor; /* NULL between rounds. */
    uint64_t n_taken, n_missed;
};

int
ef_trace_follower_open(struct ef_trace_store *store, struct ef_trace_follower **out, struct ef_error *err)
{
    struct ef_trace_follower *f = calloc(1, sizeof *f);
    if (!f) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    f->store = store;
    f->query.from.ns = INT64_MIN;
    f->query.to.ns = INT64_MAX;
    *out = f;
    return 0;
}

void
ef_trace_follower_close(struct ef_trace_follower *f)
{
    if (f) {
        ef_multilog_cursor_close(f->cursor);
        free(f);
    }
}

static int
begin_round(struct ef_trace_follower *f)
{
    ef_multilog_snapshot(f->store->log, &f->query.snapshot);
    return ef_multilog_query(f->store->log, &f->query, &f->cursor);
}

/* What the snapshot has and was not taken had left. */
static void
end_round(struct ef_trace_follower *f)
{
    uint64_t n = 0;
    ef_multilog_cursor_close(f->cursor);
    f->cursor = NULL;
    f->query.after = f->query.snapshot;
    for (unsigned i = 0; i < f->store->n_writers; i++) {
        n += f->query.snapshot.tails[i];
    }
    f->n_missed = n - f->n_taken;
}

int
ef_trace_follower_next(struct ef_trace_follower *f, struct ef_trace *trace)
{
    int rc = f->cursor ? 0 : begin_round(f);
    if (rc) {
        return rc;
    }
    if (!ef_multilog_next(f->cursor)) {
        end_round(f);
        return 0;
    }
    ef_trace_of_cursor(f->cursor, trace);
    f->n_taken++;
    return 1;
}

uint64_t
ef_trace_follower_n_missed(const struct ef_trace_follower *f)
{
    return f->n_missed;
}
