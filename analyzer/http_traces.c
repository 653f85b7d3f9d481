/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/traces: reads the question, streams the answer; see http.h. */
#include <config.h>

#include "analyzer/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace_row.h"
#include "analyzer/trace_search.h"
#include "base/parse_number.h"
#include "filter/filter.h"
#include "store/archive/parquet_writer.h"
#include "trace/trace_id.h"
#include "trace/trace_json.h"

enum {
    DEFAULT_LIMIT = 100,
    SLICE_BYTES = 64 << 10, /* Written before the client has to take some. */
    GROUP_ROWS = 4096,      /* Of Parquet: some 25 ms to write. */
    SLICE_STEPS = 8,        /* Steps of looking, about 1 ms, before others have their turn. */
};

const char *const ef_http_traces_params[] = {"filter", "condition", "start",   "end",    "limit",
                                             "format", "id",        "explain", "cursor", NULL};

/* One answer under way. */
struct answer {
    const char *analyzer;
    struct ef_filter *filter, *condition;
    struct ef_trace_query query;
    struct ef_trace_page_question page_question; /* Borrowed from the request. */
    struct ef_trace_page next;                   /* The page after this one. */
    char next_text[EF_TRACE_PAGE_TEXT_SIZE];
    struct ef_trace_search *search;
    struct ef_time last_write; /* Monotonic time. */
    bool is_ndjson;
    struct ef_parquet_writer *parquet; /* Or NULL. */
    uint64_t count;
    struct evbuffer *out;
    struct ef_trace trace;
    struct ef_trace_row row;
    char line[EF_TRACE_JSON_MAX];
};

static void
answer_destroy(void *ctx)
{
    struct answer *a = ctx;
    ef_trace_search_destroy(a->search);
    ef_filter_destroy(a->filter);
    ef_filter_destroy(a->condition);
    ef_parquet_writer_destroy(a->parquet);
    if (a->out) {
        evbuffer_free(a->out);
    }
    free(a);
}

/* --- The question --------------------------------------------------------------- */

/* Reads parameter `name` as a filter; NULL if it is not given or empty. */
static bool
read_filter(struct ef_http_request *req, const char *name, enum ef_filter_kind kind, struct ef_filter **filter)
{
    const char *text = ef_http_param(req, name);
    struct ef_error err = EF_ERROR_INIT;
    if (!text || !*text || !ef_filter_compile(text, kind, filter, &err)) {
        return true;
    }
    ef_http_reply_error(req, 400, kind == EF_FILTER_PACKET ? "bad_filter" : "bad_condition", err.offset, "%s",
                        err.text);
    return false;
}

static bool
read_time(struct ef_http_request *req, const char *name, struct ef_time now, struct ef_time *time)
{
    const char *text = ef_http_param(req, name);
    struct ef_error err = EF_ERROR_INIT;
    if (!text || !*text || !ef_time_parse(text, now, time, &err)) {
        return true;
    }
    ef_http_reply_error(req, 400, "bad_time", err.offset, "%s: %s", name, err.text);
    return false;
}

static bool
read_limit(struct ef_http_request *req, uint64_t *limit)
{
    const char *text = ef_http_param(req, "limit");
    struct ef_error err = EF_ERROR_INIT;
    if (!text || !ef_parse_u64(text, "limit", 0, UINT64_MAX, limit, &err)) {
        return true;
    }
    ef_http_reply_error(req, 400, "bad_limit", err.offset, "%s", err.text);
    return false;
}

static bool
read_id(struct ef_http_request *req, struct ef_trace_query *query)
{
    const char *text = ef_http_param(req, "id");
    struct ef_error err = EF_ERROR_INIT;
    query->has_id = text && *text;
    if (!query->has_id || !ef_trace_id_parse(text, &query->id_low, &query->id_high, &err)) {
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
read_cursor(struct ef_http_request *req, const struct ef_trace_page_question *question, struct ef_trace_query *query)
{
    const char *text = ef_http_param(req, "cursor");
    struct ef_trace_page page;
    struct ef_error err = EF_ERROR_INIT;
    query->has_before = text && *text;
    if (!query->has_before) {
        return true;
    }
    if (ef_trace_page_parse(text, question, &page, &err)) {
        ef_http_reply_error(req, 400, "bad_cursor", -1, "cursor: %s", err.text);
        return false;
    }
    query->before = page.before;
    query->start = page.from;
    return true;
}

static int
write_parquet(void *ctx, const void *data, size_t len)
{
    return evbuffer_add(((struct answer *) ctx)->out, data, len) ? -ENOMEM : 0;
}

static void
start_parquet(struct answer *a)
{
    struct ef_parquet_writer_config config = {
        .schema = &ef_trace_schema, .group_rows = GROUP_ROWS, .sink = write_parquet, .ctx = a};
    struct ef_error err = EF_ERROR_INIT;
    if (ef_parquet_writer_create(&config, &a->parquet, &err)) {
        abort(); /* The schema is right. */
    }
}

static bool
read_format(struct ef_http_request *req, struct answer *a)
{
    const char *text = ef_http_param(req, "format");
    a->is_ndjson = text && !strcmp(text, "ndjson");
    if (text && !strcmp(text, "parquet")) {
        start_parquet(a);
        return true;
    }
    if (!text || a->is_ndjson || !strcmp(text, "json")) {
        return true;
    }
    ef_http_reply_error(req, 400, "bad_format", -1, "format: '%.40s' is not json, ndjson or parquet", text);
    return false;
}

/* Fills the answer's query from the request; false if it was refused. */
static bool
read_question(struct ef_http_request *req, struct answer *a)
{
    struct ef_time now = ef_time_real();
    a->query.start.ns = INT64_MIN;
    a->query.end.ns = INT64_MAX;
    a->query.limit = DEFAULT_LIMIT;
    a->page_question = (struct ef_trace_page_question){ef_http_param(req, "filter"), ef_http_param(req, "condition"),
                                                       ef_http_param(req, "id")};
    if (!read_filter(req, "filter", EF_FILTER_PACKET, &a->filter) ||
        !read_filter(req, "condition", EF_FILTER_CONDITION, &a->condition) ||
        !read_time(req, "start", now, &a->query.start) || !read_time(req, "end", now, &a->query.end) ||
        !read_limit(req, &a->query.limit) || !read_format(req, a) || !read_id(req, &a->query) ||
        !read_cursor(req, &a->page_question, &a->query) || !read_explain(req, &a->query.is_explained)) {
        return false;
    }
    a->query.filter = a->filter;
    a->query.condition = a->condition;
    a->next.from = a->query.start;
    return true;
}

/* --- The answer ----------------------------------------------------------------- */

static void
write_trace(struct answer *a)
{
    if (!a->count) {
        a->next.before = (struct ef_trace_key){a->trace.start, a->trace.id};
    }
    if (a->parquet) {
        ef_trace_to_row(&a->trace, &a->row);
        ef_parquet_writer_add(a->parquet, &a->row);
        a->count++;
        return;
    }
    size_t n = ef_trace_json(&a->trace, a->analyzer, a->line, sizeof a->line);
    if (!a->is_ndjson && a->count > 0) {
        evbuffer_add(a->out, ",\n", 2);
    }
    evbuffer_add(a->out, a->line, n);
    if (a->is_ndjson) {
        evbuffer_add(a->out, "\n", 1);
    }
    a->count++;
}

static void
write_incomplete(struct answer *a, const char *error)
{
    json_t *list = json_pack("[{s:s, s:s}]", "analyzer", a->analyzer, "error", error);
    char *text = json_dumps(list, JSON_COMPACT);
    evbuffer_add_printf(a->out, ",\"incomplete\":%s", text ? text : "[{}]");
    free(text);
    json_decref(list);
}

static void
write_explanation(struct answer *a)
{
    char *text = ef_trace_search_explain(a->search);
    evbuffer_add_printf(a->out, ",\"explain\":%s", text ? text : "null");
    free(text);
}

static struct ef_parquet_pair
make_pair(const char *key, const char *value)
{
    return (struct ef_parquet_pair){{key, (uint32_t) strlen(key)}, {value, (uint32_t) strlen(value)}};
}

/* The cursor of the next page; "" if there is none. */
static const char *
next_page(struct answer *a)
{
    bool is_more = ef_trace_search_more(a->search) && a->count;
    if (is_more) {
        ef_trace_page_format(&a->next, &a->page_question, a->next_text);
    }
    return is_more ? a->next_text : "";
}

/* What the other formats say at the end is in the footer's metadata. */
static void
write_footer(struct answer *a)
{
    const char *incomplete = ef_trace_search_incomplete(a->search);
    struct ef_parquet_pair pairs[] = {
        make_pair("everflow.analyzer", a->analyzer),
        make_pair("everflow.more", ef_trace_search_more(a->search) ? "true" : "false"),
        make_pair("everflow.next", next_page(a)),
        make_pair("everflow.incomplete", incomplete ? incomplete : ""),
    };
    ef_parquet_writer_finish(a->parquet, pairs, incomplete ? 4 : 3);
}

static void
write_end(struct answer *a)
{
    if (a->parquet) {
        write_footer(a);
        return;
    }
    const char *incomplete = ef_trace_search_incomplete(a->search);
    evbuffer_add_printf(a->out, "%s\"count\":%llu,\"more\":%s", a->is_ndjson ? "{\"end\":true," : "],",
                        (unsigned long long) a->count, ef_trace_search_more(a->search) ? "true" : "false");
    if (*next_page(a)) {
        evbuffer_add_printf(a->out, ",\"next\":\"%s\"", a->next_text);
    }
    if (incomplete) {
        write_incomplete(a, incomplete);
    }
    if (a->query.is_explained) {
        write_explanation(a);
    }
    evbuffer_add(a->out, "}\n", 2);
}

/* Writes up to a slice of the answer; false at its end. */
static bool
fill(struct answer *a)
{
    for (int steps = 0; steps < SLICE_STEPS && evbuffer_get_length(a->out) < SLICE_BYTES;) {
        int rc = ef_trace_search_next(a->search, &a->trace);
        if (!rc) {
            write_end(a);
            return false;
        }
        if (rc > 0) {
            write_trace(a);
        } else {
            steps++;
        }
    }
    return true;
}

/* Who asks the archive may wait long for the first trace: a line without anything,
 * once a second, says that we are at it. */
static void
keep_alive(struct answer *a)
{
    struct ef_time now = ef_time_mono();
    if (evbuffer_get_length(a->out) > 0) {
        a->last_write = now;
    } else if (ef_time_diff_ns(now, a->last_write) >= EF_NS_PER_S) {
        if (a->parquet) {
            ef_parquet_writer_pad(a->parquet);
        } else {
            evbuffer_add(a->out, "\n", 1);
        }
        a->last_write = now;
    }
}

static void
produce(struct ef_http_request *req, void *ctx)
{
    struct answer *a = ctx;
    bool is_more = fill(a);
    keep_alive(a);
    bool is_silent = evbuffer_get_length(a->out) == 0;
    ef_http_stream_write(req, a->out);
    if (!is_more) {
        answer_destroy(a);
        ef_http_stream_end(req);
    } else if (is_silent) {
        ef_http_stream_wake(req);
    }
}

void
ef_http_get_traces(struct ef_http_request *req, void *ctx)
{
    struct ef_analyzer *analyzer = ctx;
    struct ef_error err = EF_ERROR_INIT;
    struct answer *a = calloc(1, sizeof *a);
    if (!a || !(a->out = evbuffer_new())) {
        free(a);
        ef_http_reply_error(req, 503, "out_of_memory", -1, "out of memory");
        return;
    }
    a->analyzer = analyzer->config.name;
    if (!read_question(req, a)) {
        answer_destroy(a);
        return;
    }
    int rc = ef_trace_search_create(analyzer->store, analyzer->archiver, &a->query, &a->search, &err);
    if (rc) {
        bool is_limit = rc == -EINVAL;
        ef_http_reply_error(req, is_limit ? 400 : 503, is_limit ? "bad_limit" : "busy", -1, "%s", err.text);
        answer_destroy(a);
        return;
    }
    a->last_write = ef_time_mono();
    if (!a->is_ndjson && !a->parquet) {
        evbuffer_add_printf(a->out, "{\"traces\":[");
    }
    const char *type = a->parquet     ? "application/vnd.apache.parquet"
                       : a->is_ndjson ? "application/x-ndjson"
                                      : "application/json";
    ef_http_stream_start(req, type, produce, answer_destroy, a);
}
