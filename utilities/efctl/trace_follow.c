/* SPDX-License-Identifier: Apache-2.0 */
/* efctl trace --follow; see trace_follow.h. */
#include <config.h>

#include "utilities/efctl/trace_follow.h"

#include <errno.h>
#include <stdlib.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/trace_errors.h"
#include "utilities/efctl/trace_fetch.h"

/* The window must be longer than a trace may stay open. */
#define WINDOW "-10s"
enum { PAUSE_MS = 1000, MAX_PER_REQUEST = 10000 };

struct follower {
    struct efctl_context *context;
    const struct efctl_trace_query *query;
    bool ndjson;
    json_t *seen;  /* Ids in the answer before. */
    json_t *now;   /* Ids in this answer. */
    json_t *fresh; /* Traces of this answer that are not in `seen`. */
};

static int
take(void *ctx, json_t *trace)
{
    struct follower *follower = ctx;
    const char *id = efctl_get_string(trace, "id", "");
    json_object_set_new(follower->now, id, json_true());
    if (!json_object_get(follower->seen, id) && json_array_append(follower->fresh, trace)) {
        abort(); /* Out of memory. */
    }
    return 0;
}

static void
print_fresh(struct follower *follower)
{
    struct efctl_output *out = &follower->context->out;
    size_t i;
    const json_t *trace;
    if (!follower->ndjson) {
        efctl_trace_blocks(out, follower->fresh, follower->query);
        return;
    }
    json_array_foreach(follower->fresh, i, trace)
    {
        efctl_output_json_line(out, trace);
    }
}

/* Asks for what started at `start` or later. Returns 0 or a negative errno
 * with `failure`; `seen` and what is printed change only on success. */
static int
ask(struct follower *follower, const char *start, bool print, struct efctl_failure *failure)
{
    struct efctl_trace_query query = *follower->query;
    struct efctl_trace_sink sink = {take, follower};
    json_t *end = NULL;
    query.start = start;
    query.limit = MAX_PER_REQUEST;
    follower->now = json_object();
    follower->fresh = json_array();
    int rc = efctl_trace_fetch(&follower->context->client, &query, &sink, &end, failure);
    if (!rc) {
        json_decref(follower->seen);
        follower->seen = json_incref(follower->now);
        if (print) {
            print_fresh(follower);
        }
    }
    json_decref(end);
    json_decref(follower->now);
    json_decref(follower->fresh);
    return rc;
}

/* What is there already counts as seen; it is printed from query->start on. */
static int
begin(struct follower *follower, struct efctl_failure *failure)
{
    int rc = ask(follower, WINDOW, false, failure);
    if (rc || !follower->query->start) {
        return rc;
    }
    json_t *window = follower->seen;
    follower->seen = json_object();
    rc = ask(follower, follower->query->start, true, failure);
    json_object_update(follower->seen, window);
    json_decref(window);
    return rc;
}

/* Asks again and again. Returns when the output cannot be written or its
 * reader has gone, with its negative errno. */
static int
go_on(struct follower *follower, struct ef_error *err)
{
    bool complained = false;
    for (;;) {
        struct efctl_failure failure;
        struct efctl_output *out = &follower->context->out;
        int rc = efctl_output_flush(out, err);
        rc = rc ? rc : efctl_output_pause(out, PAUSE_MS);
        if (rc) {
            return rc;
        }
        rc = ask(follower, WINDOW, true, &failure);
        if (rc && !complained) {
            efctl_fail(&failure.error);
        }
        complained = rc != 0;
    }
}

int
efctl_trace_follow(struct efctl_context *context, const struct efctl_trace_query *query, bool ndjson)
{
    struct follower follower = {.context = context, .query = query, .ndjson = ndjson, .seen = json_object()};
    struct efctl_failure failure;
    struct ef_error err;
    int status = begin(&follower, &failure)         ? efctl_trace_fail(query, &failure)
                 : go_on(&follower, &err) == -EPIPE ? EFCTL_OK
                                                    : efctl_fail(&err);
    json_decref(follower.seen);
    return status;
}
