/* SPDX-License-Identifier: Apache-2.0 */
/* The trace to begin with; see trace_search.h. */
#include <config.h>

#include "controller/trace_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "controller/controller.h"
#include "controller/document.h"
#include "controller/trace_query.h"
#include "filter/filter.h"

enum { DEFAULT_LAST_S = 300, MAX_LAST_S = 86400 * 7 };

struct trace_search {
    struct trace_query *query;
    json_t *newest;
    void (*found)(void *ctx, const json_t *trace);
    void *ctx;
};

static void
on_traces(void *ctx)
{
    struct trace_search *s = ctx;
    struct trace_item *item;
    int rc;
    while ((rc = trace_query_next(s->query, &item)) > 0) {
        json_decref(s->newest);
        s->newest = json_loadb(item->json, item->len, 0, NULL);
        free(item);
    }
    if (rc == TRACE_QUERY_END) {
        trace_query_destroy(s->query);
        s->query = NULL;
        s->found(s->ctx, s->newest); /* May have cancelled us. */
    }
}

static bool
is_trace_id(const char *text)
{
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

static int
check_filter(const char *text, struct ef_error *err)
{
    struct ef_filter *filter;
    struct ef_error why = EF_ERROR_INIT;
    if (text && ef_filter_compile(text, EF_FILTER_PACKET, &filter, &why)) {
        return ef_error_set(err, -EINVAL, "filter: %s", why.text);
    }
    if (text) {
        ef_filter_destroy(filter);
    }
    return 0;
}

/* "trace" or "filter", one of them. */
static int
read_options(const json_t *options, struct trace_question *question, int64_t *last_s, struct ef_error *err)
{
    struct doc_place root = {.value = (json_t *) options};
    if (doc_integer(&root, "last_s", 1, MAX_LAST_S, DEFAULT_LAST_S, last_s, err)) {
        return -EINVAL;
    }
    if (json_object_get(options, "trace")) {
        if (doc_string(&root, "trace", NULL, &question->id, err)) {
            return -EINVAL;
        }
        return is_trace_id(question->id)
                   ? 0
                   : ef_error_set(err, -EINVAL, "trace: '%.40s' is no id, 16 digits of 0-9 and a-f", question->id);
    }
    if (doc_string(&root, "filter", NULL, &question->filter, err)) {
        return ef_error_set(err, -EINVAL, "\"trace\" or \"filter\" should say what to begin with");
    }
    return check_filter(question->filter, err);
}

int
trace_search_start(struct controller *c, const json_t *options, const char *condition,
                   void (*found)(void *ctx, const json_t *trace), void *ctx, struct trace_search **search,
                   struct ef_error *err)
{
    struct trace_question question = {.limit = 1};
    int64_t last_s;
    if (read_options(options, &question, &last_s, err)) {
        return -EINVAL;
    }
    struct trace_search *s = calloc(1, sizeof *s);
    if (!s) {
        abort(); /* Control path. */
    }
    struct ef_time start = ef_time_add_ms(ef_time_real(), -1000 * last_s);
    question.condition = question.id ? NULL : condition;
    question.start = question.id ? NULL : &start;
    s->found = found;
    s->ctx = ctx;
    s->query = trace_query_start(c->base, &question, &c->configuration, &c->topology, on_traces, s);
    *search = s;
    return 0;
}

void
trace_search_cancel(struct trace_search *s)
{
    if (s) {
        trace_query_destroy(s->query);
        json_decref(s->newest);
        free(s);
    }
}
