/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/traces: checks the question, has trace_query.c ask the analyzers, and
 * writes what comes as JSON, NDJSON or pcapng, as a stream. */
#include <config.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_number.h"
#include "controller/controller.h"
#include "controller/switch_names.h"
#include "controller/trace_export.h"
#include "controller/trace_query.h"
#include "controller/traces_parquet.h"
#include "filter/filter.h"
#include "trace/trace_id.h"
#include "trace/trace_page.h"

enum { DEFAULT_LIMIT = 100, WRITE_BYTES = 65536, CAPTURE_BATCH = 256, ALIVE_S = 2 };

enum format { FORMAT_JSON, FORMAT_NDJSON, FORMAT_PCAPNG, FORMAT_PARQUET };
static const char *const formats[] = {"json", "ndjson", "pcapng", "parquet"};
static const char *const content_types[] = {"application/json", "application/x-ndjson", "application/x-pcapng"};

/* One question on its way. */
struct traces_request {
    struct controller *controller;
    struct ef_http_request *http;
    struct trace_query *query;
    struct trace_export *export; /* With FORMAT_PCAPNG. */
    char *description;           /* The question, for the capture's comment. */
    enum format format;
    bool is_explained;
    struct ef_trace_page_question page_question; /* Borrowed from `http`. */
    struct ef_trace_page next;                   /* The page after this one. */
    uint64_t n_traces;
    struct event *alive;    /* Of a stream: says now and then that we are at it. */
    bool is_started;        /* The capture. */
    bool is_silent, is_due; /* Nothing was written since it last rang; it has rung. */
};

static void
request_free(struct traces_request *r)
{
    if (r->alive) {
        event_free(r->alive);
    }
    trace_query_destroy(r->query);
    trace_export_destroy(r->export);
    free(r->description);
    free(r);
}

/* --- The question --------------------------------------------------------- */

struct parameters {
    struct trace_question question;
    char *filter, *condition; /* What was made for it, or NULL. */
    struct ef_time start, end;
    struct ef_trace_page_question page_question;
    struct ef_trace_page page;
    enum format format;
};

/* The filter or condition `name` as the analyzers are asked, with addresses of switches in
 * place of their names; `*plain` is what was made for that. */
static bool
read_filter(struct ef_http_request *req, const struct controller *c, enum ef_filter_kind kind, char **plain,
            const char **filter)
{
    struct ef_error err = EF_ERROR_INIT;
    bool is_filter = kind == EF_FILTER_PACKET;
    const char *text = ef_http_param(req, is_filter ? "filter" : "condition");
    if (switch_names_compile(c, text, kind, plain, &err)) {
        ef_http_reply_error(req, 400, is_filter ? "bad_filter" : "bad_condition", err.offset, "%s", err.text);
        return false;
    }
    *filter = *plain ? *plain : text;
    return true;
}

static bool
read_time(struct ef_http_request *req, const char *name, struct ef_time now, struct ef_time *t,
          const struct ef_time **out)
{
    struct ef_error err = EF_ERROR_INIT;
    const char *text = ef_http_param(req, name);
    if (!text || !*text) {
        return true;
    }
    if (ef_time_parse(text, now, t, &err)) {
        ef_http_reply_error(req, 400, "bad_time", -1, "%s: %s", name, err.text);
        return false;
    }
    *out = t;
    return true;
}

static bool
read_format(struct ef_http_request *req, enum format *format)
{
    const char *text = ef_http_param(req, "format");
    *format = FORMAT_JSON;
    for (size_t i = 0; text && i < EF_ARRAY_SIZE(formats); i++) {
        if (!strcmp(formats[i], text)) {
            *format = (enum format) i;
            return true;
        }
    }
    if (text) {
        ef_http_reply_error(req, 400, "bad_format", -1, "format: '%.40s' is not json, ndjson, pcapng or parquet", text);
    }
    return !text;
}

static bool
read_id(struct ef_http_request *req, const char **id)
{
    uint64_t low, high;
    struct ef_error err = EF_ERROR_INIT;
    *id = ef_http_param(req, "id");
    if (!*id || !**id || !ef_trace_id_parse(*id, &low, &high, &err)) {
        return true;
    }
    ef_http_reply_error(req, 400, "bad_id", -1, "id: %s", err.text);
    return false;
}

static bool
read_explain(struct ef_http_request *req, bool *is_explained)
{
    const char *text = ef_http_param(req, "explain");
    *is_explained = text && !strcmp(text, "1");
    if (!text || *is_explained || !strcmp(text, "0")) {
        return true;
    }
    ef_http_reply_error(req, 400, "bad_explain", -1, "explain: '%.40s' is not 0 or 1", text);
    return false;
}

/* A later page: from where the first one was asked for, to where the last ended. */
static bool
read_cursor(struct ef_http_request *req, struct parameters *p)
{
    struct ef_error err = EF_ERROR_INIT;
    const char *text = ef_http_param(req, "cursor");
    if (!text || !*text) {
        return true;
    }
    if (ef_trace_page_parse(text, &p->page_question, &p->page, &err)) {
        ef_http_reply_error(req, 400, "bad_cursor", -1, "cursor: %s", err.text);
        return false;
    }
    p->question.page = &p->page;
    return true;
}

/* Reads and checks all parameters; replies and returns false if one is wrong. */
static bool
read_parameters(struct ef_http_request *req, const struct controller *c, struct parameters *p)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real();
    const char *limit = ef_http_param(req, "limit");
    memset(p, 0, sizeof *p);
    p->start.ns = INT64_MIN;
    p->question.limit = DEFAULT_LIMIT;
    p->page_question = (struct ef_trace_page_question){ef_http_param(req, "filter"), ef_http_param(req, "condition"),
                                                       ef_http_param(req, "id")};
    if (!read_filter(req, c, EF_FILTER_PACKET, &p->filter, &p->question.filter) ||
        !read_filter(req, c, EF_FILTER_CONDITION, &p->condition, &p->question.condition) ||
        !read_time(req, "start", now, &p->start, &p->question.start) ||
        !read_time(req, "end", now, &p->end, &p->question.end) || !read_format(req, &p->format) ||
        !read_id(req, &p->question.id) || !read_cursor(req, p) || !read_explain(req, &p->question.is_explained)) {
        return false;
    }
    if (limit && ef_parse_u64(limit, "limit", 0, INT64_MAX, &p->question.limit, &err)) {
        ef_http_reply_error(req, 400, "bad_limit", -1, "%s", err.text);
        return false;
    }
    if (p->question.start && p->question.end && ef_time_before(p->end, p->start)) {
        ef_http_reply_error(req, 400, "bad_time", -1, "end is before start");
        return false;
    }
    return true;
}

/* --- The end of an answer ------------------------------------------------- */

static void
count_answer(struct traces_request *r, const json_t *incomplete)
{
    r->controller->counters.traces += r->n_traces;
    r->controller->counters.incomplete += json_array_size(incomplete) > 0;
}

static void
append_list(struct evbuffer *out, const char *name, const json_t *list)
{
    char *text = json_dumps(list, JSON_COMPACT);
    evbuffer_add_printf(out, ",\"%s\":%s", name, text ? text : "[]");
    free(text);
}

static void
append_next(struct traces_request *r, struct evbuffer *out)
{
    char text[EF_TRACE_PAGE_TEXT_SIZE];
    if (trace_query_more(r->query) && r->n_traces) {
        ef_trace_page_format(&r->next, &r->page_question, text);
        evbuffer_add_printf(out, ",\"next\":\"%s\"", text);
    }
}

/* ,"count":N,"more":false[,"next":"..."][,"incomplete":[...]][,"explanations":[...]] */
static void
append_summary(struct traces_request *r, struct evbuffer *out)
{
    json_t *incomplete = trace_query_incomplete(r->query);
    count_answer(r, incomplete);
    evbuffer_add_printf(out, "\"count\":%llu,\"more\":%s", (unsigned long long) r->n_traces,
                        trace_query_more(r->query) ? "true" : "false");
    append_next(r, out);
    if (json_array_size(incomplete)) {
        append_list(out, "incomplete", incomplete);
    }
    json_decref(incomplete);
    if (r->is_explained) {
        json_t *explanations = trace_query_explanations(r->query);
        append_list(out, "explanations", explanations);
        json_decref(explanations);
    }
}

/* --- pcapng ---------------------------------------------------------------- */

/* The question and whether the answer is complete, for the last section's comment. */
static char *
capture_comment(struct traces_request *r, const json_t *incomplete)
{
    char *text = NULL, *list = json_array_size(incomplete) ? json_dumps(incomplete, JSON_COMPACT) : NULL;
    if (asprintf(&text, "%s; %llu traces%s; %s%.50000s", r->description, (unsigned long long) r->n_traces,
                 trace_query_more(r->query) ? " (there are older ones)" : "", list ? "incomplete: " : "complete",
                 list ? list : "") < 0) {
        text = NULL;
    }
    free(list);
    return text;
}

static void
append_capture_end(struct traces_request *r, struct evbuffer *out)
{
    json_t *incomplete = trace_query_incomplete(r->query);
    char *comment = capture_comment(r, incomplete);
    count_answer(r, incomplete);
    trace_export_end(r->export, comment, out);
    free(comment);
    json_decref(incomplete);
}

/* --- The stream ------------------------------------------------------------ */

static void
append_trace(struct traces_request *r, const struct trace_item *item, struct evbuffer *out)
{
    if (r->format == FORMAT_PCAPNG) {
        r->n_traces += !trace_export_add(r->export, item->json, item->len, out);
        return;
    }
    if (!r->n_traces) {
        r->next.before = item->key;
    }
    if (r->format == FORMAT_JSON) {
        evbuffer_add_printf(out, r->n_traces ? ",\n" : "{\"traces\":[\n");
    }
    evbuffer_add(out, item->json, item->len);
    if (r->format == FORMAT_NDJSON) {
        evbuffer_add(out, "\n", 1);
    }
    r->n_traces++;
}

static void
append_end(struct traces_request *r, struct evbuffer *out)
{
    if (r->format == FORMAT_PCAPNG) {
        append_capture_end(r, out);
        return;
    }
    if (r->format == FORMAT_JSON) {
        evbuffer_add_printf(out, r->n_traces ? "\n]," : "{\"traces\":[],");
    } else {
        evbuffer_add_printf(out, "{\"end\":true,");
    }
    append_summary(r, out);
    evbuffer_add_printf(out, "}\n");
}

/* Takes traces while there is room in `out`. Of a capture, which may hold many before it
 * writes one, so many at a time, so that others get their turn. Returns as
 * trace_query_next() does; TRACE_QUERY_END only once all is written but the end. */
static int
append_traces(struct traces_request *r, struct evbuffer *out)
{
    struct trace_item *item;
    int rc = TRACE_QUERY_WAIT, n_left = r->export ? CAPTURE_BATCH : INT_MAX;
    while (n_left-- && evbuffer_get_length(out) < WRITE_BYTES && (rc = trace_query_next(r->query, &item)) > 0) {
        append_trace(r, item, out);
        free(item);
    }
    if (rc > 0 && !evbuffer_get_length(out)) {
        trace_query_wake(r->query);
    }
    if (rc == TRACE_QUERY_END && r->export && !trace_export_drain(r->export, WRITE_BYTES, out)) {
        return 1; /* Comes again once this is sent. */
    }
    return rc;
}

/* What means nothing in the format. */
static void
append_nothing(struct traces_request *r, struct evbuffer *out)
{
    if (r->export) {
        trace_export_idle(r->export, out);
    } else {
        evbuffer_add(out, "\n", 1);
    }
}

/* Writes what can be taken now, up to a buffer full. */
static void
produce(struct ef_http_request *http, void *ctx)
{
    struct traces_request *r = ctx;
    struct evbuffer *out = evbuffer_new();
    if (r->export && !r->is_started) {
        r->is_started = true;
        trace_export_start(r->export, r->description, out);
    }
    int rc = append_traces(r, out);
    if (rc == TRACE_QUERY_END) {
        append_end(r, out);
    }
    if (r->is_due && !evbuffer_get_length(out)) {
        append_nothing(r, out);
    }
    r->is_due = false;
    r->is_silent &= !evbuffer_get_length(out);
    ef_http_stream_write(http, out);
    evbuffer_free(out);
    if (rc == TRACE_QUERY_END) {
        ef_http_stream_end(http);
        request_free(r);
    }
}

static void
stream_ready(void *ctx)
{
    ef_http_stream_wake(((struct traces_request *) ctx)->http);
}

/* An answer from the archives may be long in coming: an empty line or block, which means
 * nothing, keeps the client from taking us for dead. */
static void
on_alive(evutil_socket_t fd, short what, void *arg)
{
    struct traces_request *r = arg;
    if (r->is_silent) {
        r->is_due = true;
        ef_http_stream_wake(r->http);
    }
    r->is_silent = true;
}

static void
start_alive(struct traces_request *r, struct event_base *base)
{
    struct timeval interval = {.tv_sec = ALIVE_S};
    r->alive = event_new(base, -1, EV_PERSIST, on_alive, r);
    if (!r->alive) {
        abort(); /* Control path. */
    }
    event_add(r->alive, &interval);
}

static void
stream_gone(void *ctx)
{
    request_free(ctx);
}

/* --- The request ---------------------------------------------------------- */

static char *
describe(struct ef_http_request *req)
{
    const char *filter = ef_http_param(req, "filter"), *condition = ef_http_param(req, "condition");
    char *text;
    int n = asprintf(&text, "filter: %.2000s; condition: %.2000s", filter && *filter ? filter : "none",
                     condition && *condition ? condition : "none");
    return n < 0 ? NULL : text;
}

static void
start_answer(struct controller *c, struct ef_http_request *req, const struct parameters *p)
{
    struct traces_request *r = calloc(1, sizeof *r);
    if (!r) {
        abort(); /* Control path. */
    }
    *r = (struct traces_request){.controller = c,
                                 .http = req,
                                 .format = p->format,
                                 .is_explained = p->question.is_explained,
                                 .page_question = p->page_question,
                                 .next.from = p->question.page ? p->page.from : p->start,
                                 .description = describe(req)};
    if (p->format == FORMAT_PCAPNG) {
        r->export = trace_export_create(&c->topology);
    }
    r->query = trace_query_start(c->base, &p->question, &c->configuration, &c->topology, stream_ready, r);
    start_alive(r, c->base);
    ef_http_stream_start(req, content_types[p->format], produce, stream_gone, r);
}

static void
get_traces(struct ef_http_request *req, void *ctx)
{
    struct controller *c = ctx;
    struct parameters p;
    if (read_parameters(req, c, &p)) {
        c->counters.queries++;
        if (p.format == FORMAT_PARQUET) {
            traces_parquet_reply(c, req, &p.question);
        } else {
            start_answer(c, req, &p);
        }
    }
    free(p.filter);
    free(p.condition);
}

void
api_traces_add(struct controller *c)
{
    static const char *const params[] = {"filter", "condition", "start",    "end",    "limit", "format",
                                         "id",     "explain",   "analyzer", "cursor", NULL};
    static const struct ef_http_route routes[] = {{"GET", "/v1/traces", params, get_traces}, {0}};
    ef_http_server_add_routes(c->http, routes, c);
}
