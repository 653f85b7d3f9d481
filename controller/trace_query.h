/* SPDX-License-Identifier: Apache-2.0 */
/* One question about traces to all analyzers, their answers merged by start
 * time as they stream in.
 *
 *     struct trace_question question = {.filter = "tcp", .limit = 100};
 *     query = trace_query_start(base, &question, config, topology, ready, ctx);
 *
 *     static void ready(void *ctx)                // something can be taken
 *     {
 *         while ((rc = trace_query_next(query, &item)) > 0) { use(item); free(item); }
 *         if (rc == TRACE_QUERY_END) finish(trace_query_incomplete(query));
 *     }
 *
 * With a limit the newest `limit` are wanted, so that nothing can be handed out
 * before all analyzers have ended; what is older is let go as it is overtaken.
 * Without one, traces are handed out as soon as their order is known, and an
 * analyzer that is ahead of the others, or of the reader, is made to wait: a few
 * hundred traces of each are held at most.
 *
 * An analyzer that is down, silent for 5 s, or talks nonsense is left out from
 * there on and named in `incomplete`; it never holds up the others for longer.
 * One event base's thread; `ready` only comes from the event loop. */
#ifndef CONTROLLER_TRACE_QUERY_H
#define CONTROLLER_TRACE_QUERY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "controller/configuration.h"
#include "controller/topology.h"
#include "trace/trace_page.h"

struct evbuffer;
struct event_base;
struct trace_query;

/* What is asked. The texts are valid (checked before). */
struct trace_question {
    const char *filter, *condition; /* NULL: everything. */
    const struct ef_time *start, *end;
    uint64_t limit;                   /* 0: all. */
    const char *id;                   /* Or the beginning of one; NULL: any. */
    const struct ef_trace_page *page; /* A later page, whose `from` is the start; NULL: the first. */
    bool is_explained;
};

/* A trace, its hops named. */
struct trace_item {
    struct trace_item *next;
    struct ef_trace_key key; /* By which traces are ordered. */
    size_t len;
    char json[]; /* NUL-terminated. */
};

enum { TRACE_QUERY_WAIT = 0, TRACE_QUERY_END = -1 };

/* The path and query that ask an analyzer, in `url`. */
const char *trace_query_target(struct evbuffer *url, const struct trace_question *question, const char *format);

struct trace_query *trace_query_start(struct event_base *base, const struct trace_question *question,
                                      const struct configuration *configuration, const struct topology *topology,
                                      void (*ready)(void *ctx), void *ctx);

/* Stops asking and frees everything. NULL is fine. */
void trace_query_destroy(struct trace_query *query);

/* Takes the next trace, oldest first. Returns 1 with `*item` (freed by the
 * caller with free()), TRACE_QUERY_WAIT (`ready` will be called), or
 * TRACE_QUERY_END. */
int trace_query_next(struct trace_query *query, struct trace_item **item);

/* Has `ready` called again soon: for a reader that takes some at a time, so that
 * others get their turn. */
void trace_query_wake(struct trace_query *query);

/* After the end: [{"analyzer":..., "error":...}] (new reference), and whether
 * there are older traces that match. */
json_t *trace_query_incomplete(const struct trace_query *query);
bool trace_query_more(const struct trace_query *query);

/* After the end of a question that is to be explained: [{"analyzer":...,
 * "explain":{...}}] (new reference), of those that said how they found it. */
json_t *trace_query_explanations(const struct trace_query *query);

#endif
