/* SPDX-License-Identifier: Apache-2.0 */
/* Questions for new traces; see trace_poll.h. */
#include <config.h>

#include "controller/trace_poll.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/util.h"
#include "controller/controller.h"
#include "controller/state.h"
#include "controller/trace_query.h"

enum { TRACES_AT_ONCE = 128 };

struct trace_poll {
    struct controller *c;
    struct trace_poll_spec spec;
    struct event *timer;
    struct trace_query *query;
    struct ef_time from, until; /* Of the question, real. */
    struct ef_time asked;       /* Monotonic. */
};

static void
again(struct trace_poll *p)
{
    int64_t gone_ms = ef_time_diff_ns(ef_time_mono(), p->asked) / EF_NS_PER_MS,
            ms = EF_MAX(p->spec.period_ms - gone_ms, 100);
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    evtimer_add(p->timer, &tv);
}

static void
finish(struct trace_poll *p)
{
    struct ef_time until = p->until;
    trace_query_destroy(p->query);
    p->query = NULL;
    p->from = ef_time_add_ns(until, 1);
    again(p);
    p->spec.done(p->spec.ctx, until); /* May stop us. */
}

static void
on_traces(void *ctx)
{
    struct trace_poll *p = ctx;
    struct trace_item *item;
    for (int i = 0; i < TRACES_AT_ONCE; i++) {
        int rc = trace_query_next(p->query, &item);
        if (rc == TRACE_QUERY_END) {
            finish(p);
            return;
        }
        if (rc == TRACE_QUERY_WAIT) {
            return;
        }
        json_t *trace = json_loadb(item->json, item->len, 0, NULL);
        if (trace) {
            p->spec.take(p->spec.ctx, trace);
        }
        json_decref(trace);
        free(item);
    }
    trace_query_wake(p->query);
}

static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct trace_poll *p = ctx;
    struct trace_question question = {.filter = p->spec.filter,
                                      .condition = p->spec.condition,
                                      .start = &p->from,
                                      .end = &p->until,
                                      .limit = p->spec.limit};
    p->asked = ef_time_mono();
    p->until = ef_time_add_ms(ef_time_real(), -TRACE_POLL_BEHIND_MS);
    if (!state_is_active(p->c->state)) {
        p->from = p->until; /* What came meanwhile is the active one's. */
    }
    if (!ef_time_before(p->from, p->until)) {
        again(p);
        return;
    }
    p->query = trace_query_start(p->c->base, &question, &p->c->configuration, &p->c->topology, on_traces, p);
}

struct trace_poll *
trace_poll_start(struct controller *c, const struct trace_poll_spec *spec)
{
    static const struct timeval at_once = {0};
    struct trace_poll *p = calloc(1, sizeof *p);
    if (!p || !(p->timer = evtimer_new(c->base, on_timer, p))) {
        abort(); /* Control path. */
    }
    p->c = c;
    p->spec = *spec;
    p->from = ef_time_add_ms(ef_time_real(), -TRACE_POLL_BEHIND_MS - spec->back_ms);
    evtimer_add(p->timer, &at_once);
    return p;
}

void
trace_poll_stop(struct trace_poll *p)
{
    if (p) {
        trace_query_destroy(p->query);
        event_free(p->timer);
        free(p);
    }
}
