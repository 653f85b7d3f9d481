/* SPDX-License-Identifier: Apache-2.0 */
/* Asking all analyzers and merging what they answer; see trace_query.h. */
#include <config.h>

#include "controller/trace_query.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "controller/text.h"
#include "controller/trace_line.h"
#include "controller/trace_record.h"
#include "net/http_client.h"
#include "net/http_query.h"
#include "trace/trace_id.h"

enum {
    SILENCE_MS = 5000,
    MAX_LINE_BYTES = 4 << 20,
    QUEUE_ITEMS = 256, /* Beyond this an analyzer is made to wait. */
    KEPT_BYTES = 256 << 20,
};

/* A first-in-first-out list of traces. */
struct queue {
    struct trace_item *head, **tail;
    size_t n, bytes;
};

/* One analyzer's answer. */
struct stream {
    struct trace_query *query;
    const struct peer *peer;
    struct ef_http_call *call; /* NULL: over. */
    struct queue queue;
    struct trace_line_reader reader;
    struct ef_time last_start;
    char incomplete[200]; /* What its last line says that is missing; "" if nothing is. */
    json_t *explain;      /* What it says how it found that, or NULL. */
    bool paused, ended;   /* ended: the line that ends an answer has come. */
    char error[300];      /* Why it is incomplete; "" if it is not. */
};

struct trace_query {
    const struct topology *topology;
    uint64_t limit;
    void (*ready)(void *ctx);
    void *ctx;
    struct event *wake;
    struct queue kept; /* With a limit: the newest so far, in order. */
    bool more;
    size_t n_streams;
    struct stream streams[];
};

/* --- Queues --------------------------------------------------------------- */

static void
queue_push(struct queue *q, struct trace_item *item)
{
    item->next = NULL;
    *q->tail = item;
    q->tail = &item->next;
    q->n++;
    q->bytes += item->len;
}

static struct trace_item *
queue_pop(struct queue *q)
{
    struct trace_item *item = q->head;
    if (item) {
        q->head = item->next;
        q->tail = q->head ? q->tail : &q->head;
        q->n--;
        q->bytes -= item->len;
    }
    return item;
}

static void
queue_clear(struct queue *q)
{
    for (struct trace_item *item = queue_pop(q); item; item = queue_pop(q)) {
        free(item);
    }
}

/* --- Merging -------------------------------------------------------------- */

/* Takes the oldest trace of all streams. Returns NULL with `*wait` true if that
 * is not known yet, because a stream that goes on has nothing to show. */
static struct trace_item *
merge_next(struct trace_query *query, bool *wait)
{
    struct stream *oldest = NULL;
    *wait = false;
    for (size_t i = 0; i < query->n_streams; i++) {
        struct stream *s = &query->streams[i];
        if (!s->queue.n) {
            *wait |= s->call != NULL;
        } else if (!oldest || ef_trace_key_compare(s->queue.head->key, oldest->queue.head->key) < 0) {
            oldest = s;
        }
    }
    if (*wait || !oldest) {
        return NULL;
    }
    struct trace_item *item = queue_pop(&oldest->queue);
    if (oldest->paused && oldest->queue.n < QUEUE_ITEMS / 2) {
        oldest->paused = false;
        ef_http_call_resume(oldest->call);
    }
    return item;
}

/* With a limit: moves what is in order to `kept` and lets the oldest go. */
static void
keep_newest(struct trace_query *query)
{
    bool wait;
    for (struct trace_item *item = merge_next(query, &wait); item; item = merge_next(query, &wait)) {
        queue_push(&query->kept, item);
        while (query->kept.n > query->limit || (query->kept.bytes > KEPT_BYTES && query->kept.n > 1)) {
            free(queue_pop(&query->kept));
            query->more = true;
        }
    }
}

static bool
all_over(const struct trace_query *query)
{
    for (size_t i = 0; i < query->n_streams; i++) {
        if (query->streams[i].call) {
            return false;
        }
    }
    return true;
}

int
trace_query_next(struct trace_query *query, struct trace_item **item)
{
    if (query->limit) {
        if (!all_over(query)) {
            return TRACE_QUERY_WAIT;
        }
        keep_newest(query);
        *item = queue_pop(&query->kept);
        return *item ? 1 : TRACE_QUERY_END;
    }
    bool wait;
    *item = merge_next(query, &wait);
    return *item ? 1 : wait ? TRACE_QUERY_WAIT : TRACE_QUERY_END;
}

/* --- One analyzer --------------------------------------------------------- */

static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
    struct trace_query *query = arg;
    if (query->limit) {
        keep_newest(query);
        if (!all_over(query)) {
            return;
        }
    }
    query->ready(query->ctx);
}

static void
end_stream(struct stream *s, const char *error)
{
    s->call = NULL;
    s->paused = false;
    snprintf(s->error, sizeof s->error, "%s", error);
    if (*text_make_printable(s->error)) {
        EF_LOG_LIMITED(EF_LOG_WARN, "traces", "%s: %s", s->peer->name, s->error);
    }
    event_active(s->query->wake, EV_TIMEOUT, 1);
}

/* What it says is not to be relied on any more. */
static void
abandon(struct stream *s, const char *why)
{
    struct ef_http_call *call = s->call;
    end_stream(s, why);
    ef_http_call_cancel(call);
}

static void
add_item(struct stream *s, struct trace_item *item)
{
    if (ef_time_before(item->key.start, s->last_start)) {
        free(item);
        abandon(s, "sent traces out of order");
        return;
    }
    s->last_start = item->key.start;
    queue_push(&s->queue, item);
    if (s->queue.n >= QUEUE_ITEMS && !s->paused) {
        s->paused = true;
        ef_http_call_pause(s->call);
    }
    event_active(s->query->wake, EV_TIMEOUT, 1);
}

static void
add_trace(struct stream *s, json_t *trace, struct ef_time start)
{
    struct ef_error err = EF_ERROR_INIT;
    uint64_t id, last;
    if (ef_trace_id_parse(json_string_value(json_object_get(trace, "id")), &id, &last, &err)) {
        abandon(s, err.text);
        return;
    }
    trace_record_name_hops(trace, s->query->topology);
    char *text = json_dumps(trace, JSON_COMPACT | EF_JSON_REALS);
    size_t len = text ? strlen(text) : 0;
    struct trace_item *item = text ? malloc(sizeof *item + len + 1) : NULL;
    if (!item) {
        free(text);
        abandon(s, "out of memory");
        return;
    }
    memcpy(item->json, text, len + 1);
    free(text);
    item->len = len;
    item->key = (struct ef_trace_key){start, id};
    add_item(s, item);
}

/* An analyzer says itself when its answer lacks something, and how it found it. */
static void
note_end(struct stream *s, const json_t *end)
{
    const json_t *first = json_array_get(json_object_get(end, "incomplete"), 0);
    const char *error = json_string_value(json_object_get(first, "error"));
    snprintf(s->incomplete, sizeof s->incomplete, "%s", error ? error : "");
    s->explain = json_incref(json_object_get(end, "explain"));
}

/* A line that is not a trace as our analyzers write it. */
static void
take_other_line(struct stream *s, const char *line, size_t len)
{
    json_t *record;
    struct ef_time start = {0};
    struct ef_error err = EF_ERROR_INIT;
    int kind =
        s->ended ? ef_error_set(&err, -1, "more after its end") : trace_record_parse(line, len, &record, &start, &err);
    if (kind < 0) {
        char why[300];
        snprintf(why, sizeof why, "sent %.250s", err.text);
        abandon(s, why);
        return;
    }
    if (kind == TRACE_RECORD_END) {
        s->ended = true;
        s->query->more |= json_is_true(json_object_get(record, "more"));
        note_end(s, record);
    } else {
        add_trace(s, record, start);
    }
    json_decref(record);
}

static void
on_line(void *ctx, char *line, size_t len)
{
    struct stream *s = ctx;
    struct trace_item *item;
    if (!s->call || !len) {
        return; /* Abandoned within this very read; or an analyzer says that it is at it. */
    }
    if (!s->ended && trace_line_read(&s->reader, line, len, &item) == 1) {
        add_item(s, item);
    } else {
        take_other_line(s, line, len);
    }
}

static void
on_done(void *ctx, const struct ef_http_result *result)
{
    struct stream *s = ctx;
    char why[300] = "";
    if (result->error || result->status != 200) {
        ef_http_result_explain(result, why, sizeof why);
    } else if (!s->ended) {
        snprintf(why, sizeof why, "its answer was cut off");
    } else {
        snprintf(why, sizeof why, "%s", s->incomplete);
    }
    end_stream(s, why);
}

static void
append_time(struct evbuffer *url, const char *name, const struct ef_time *t)
{
    if (t) {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, t->ns);
        ef_http_query_append(url, name, text);
    }
}

static void
append_page(struct evbuffer *url, const struct trace_question *q)
{
    struct ef_trace_page_question question = {q->filter, q->condition, q->id};
    char text[EF_TRACE_PAGE_TEXT_SIZE];
    if (q->page) {
        ef_trace_page_format(q->page, &question, text);
        ef_http_query_append(url, "cursor", text);
    }
}

const char *
trace_query_target(struct evbuffer *url, const struct trace_question *q, const char *format)
{
    char limit[24];
    snprintf(limit, sizeof limit, "%" PRIu64, q->limit);
    evbuffer_add_printf(url, "/v1/traces");
    ef_http_query_append(url, "filter", q->filter);
    ef_http_query_append(url, "condition", q->condition);
    append_time(url, "start", q->page ? NULL : q->start);
    append_time(url, "end", q->end);
    ef_http_query_append(url, "limit", limit);
    ef_http_query_append(url, "id", q->id);
    append_page(url, q);
    ef_http_query_append(url, "explain", q->is_explained ? "1" : NULL);
    ef_http_query_append(url, "format", format);
    evbuffer_add(url, "", 1);
    return (const char *) evbuffer_pullup(url, -1);
}

static void
start_stream(struct event_base *base, struct stream *s, const char *target)
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_http_call_spec spec = {
        .server = s->peer->url,
        .tls = s->peer->tls,
        .pool = s->peer->pool,
        .target = target,
        .program = "ef-analyzer",
        .timeout_ms = SILENCE_MS,
        .max_bytes = MAX_LINE_BYTES,
        .on_line = on_line,
        .on_done = on_done,
        .ctx = s,
    };
    if (ef_http_call_start(base, &spec, &s->call, &err)) {
        end_stream(s, err.text);
    }
}

/* --- Life ----------------------------------------------------------------- */

struct trace_query *
trace_query_start(struct event_base *base, const struct trace_question *question,
                  const struct configuration *configuration, const struct topology *topology, void (*ready)(void *ctx),
                  void *ctx)
{
    size_t n = configuration->n_analyzers;
    struct trace_query *query = calloc(1, sizeof *query + n * sizeof query->streams[0]);
    struct evbuffer *url = evbuffer_new();
    if (!query || !url || !(query->wake = evtimer_new(base, on_wake, query))) {
        abort(); /* Control path. */
    }
    query->topology = topology;
    query->limit = question->limit;
    query->ready = ready;
    query->ctx = ctx;
    query->n_streams = n;
    query->kept.tail = &query->kept.head;
    const char *target = trace_query_target(url, question, "ndjson");
    for (size_t i = 0; i < n; i++) {
        struct stream *s = &query->streams[i];
        *s = (struct stream){.query = query, .peer = &configuration->analyzers[i], .last_start = {INT64_MIN}};
        s->queue.tail = &s->queue.head;
        s->reader.topology = topology;
        start_stream(base, s, target);
    }
    evbuffer_free(url);
    event_active(query->wake, EV_TIMEOUT, 1); /* Without analyzers it ends at once. */
    return query;
}

void
trace_query_destroy(struct trace_query *query)
{
    if (!query) {
        return;
    }
    for (size_t i = 0; i < query->n_streams; i++) {
        ef_http_call_cancel(query->streams[i].call);
        queue_clear(&query->streams[i].queue);
        json_decref(query->streams[i].explain);
    }
    queue_clear(&query->kept);
    event_free(query->wake);
    free(query);
}

void
trace_query_wake(struct trace_query *query)
{
    event_active(query->wake, EV_TIMEOUT, 1);
}

json_t *
trace_query_incomplete(const struct trace_query *query)
{
    json_t *list = json_array();
    for (size_t i = 0; i < query->n_streams; i++) {
        const struct stream *s = &query->streams[i];
        if (s->error[0]) {
            json_array_append_new(list, json_pack("{s:s, s:s}", "analyzer", s->peer->name, "error", s->error));
        }
    }
    return list;
}

bool
trace_query_more(const struct trace_query *query)
{
    return query->more;
}

json_t *
trace_query_explanations(const struct trace_query *query)
{
    json_t *list = json_array();
    for (size_t i = 0; i < query->n_streams; i++) {
        const struct stream *s = &query->streams[i];
        if (s->explain) {
            json_array_append_new(list, json_pack("{s:s, s:O}", "analyzer", s->peer->name, "explain", s->explain));
        }
    }
    return list;
}
