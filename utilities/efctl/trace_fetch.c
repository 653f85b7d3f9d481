/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the controller for traces; see trace_fetch.h. */
#include <config.h>

#include "utilities/efctl/trace_fetch.h"

#include <errno.h>
#include <event2/buffer.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/http_query.h"
#include "utilities/efctl/json_get.h"

struct reader {
    const struct efctl_trace_sink *sink;
    json_t *end;
    struct efctl_failure *failure;
};

char *
efctl_trace_path(const struct efctl_trace_query *query, const char *format)
{
    char limit[24];
    snprintf(limit, sizeof limit, "%" PRIu64, query->limit);
    struct evbuffer *path = evbuffer_new();
    if (!path) {
        abort();
    }
    evbuffer_add_printf(path, "/v1/traces");
    ef_http_query_append(path, "filter", query->filter);
    ef_http_query_append(path, "condition", query->condition);
    ef_http_query_append(path, "start", query->start);
    ef_http_query_append(path, "end", query->end);
    ef_http_query_append(path, "limit", limit);
    ef_http_query_append(path, "cursor", query->cursor);
    ef_http_query_append(path, "id", query->id);
    ef_http_query_append(path, "analyzer", query->analyzer);
    ef_http_query_append(path, "explain", query->explain ? "1" : NULL);
    ef_http_query_append(path, "format", format);
    size_t len = evbuffer_get_length(path);
    char *text = calloc(1, len + 1);
    if (!text) {
        abort();
    }
    evbuffer_remove(path, text, len);
    evbuffer_free(path);
    return text;
}

static int
bad_answer(struct reader *reader, const char *what)
{
    return ef_error_set(&reader->failure->error, -EPROTO,
                        "the controller's answer %s; does efctl's version fit the controller's? see efctl status",
                        what);
}

static int
on_line(void *ctx, char *line, size_t len)
{
    struct reader *reader = ctx;
    json_t *value = json_loadb(line, len, 0, NULL);
    int rc = 0;
    if (!json_is_object(value) || reader->end) {
        rc = bad_answer(reader, "is not one trace per line");
    } else if (efctl_get_bool(value, "end")) {
        reader->end = json_incref(value);
    } else {
        rc = reader->sink->take(reader->sink->ctx, value);
    }
    json_decref(value);
    return rc;
}

int
efctl_trace_fetch(const struct efctl_client *client, const struct efctl_trace_query *query,
                  const struct efctl_trace_sink *sink, json_t **end, struct efctl_failure *failure)
{
    struct reader reader = {.sink = sink, .failure = failure};
    const struct efctl_client_sink lines = {.line = on_line, .ctx = &reader};
    char *path = efctl_trace_path(query, "ndjson");
    int rc = efctl_client_get(client, path, &lines, failure);
    if (!rc && !reader.end) {
        rc = bad_answer(&reader, "ended early");
    }
    free(path);
    if (rc) {
        json_decref(reader.end);
    } else {
        *end = reader.end;
    }
    return rc;
}
