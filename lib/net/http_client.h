/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP exchange: asynchronous on an event base, or blocking for command-line
 * tools. Errors come in words, with the remedy where there is one ("connection
 * refused: is ef-analyzer running?").
 *
 *     struct ef_http_call_spec spec = {
 *         .server = "http://127.0.0.1:8781", .target = "/v1/traces?limit=5", .program = "ef-analyzer",
 *         .timeout_ms = 5000, .on_line = take_trace, .on_done = finish, .ctx = query,
 *     };
 *     if (ef_http_call_start(base, &spec, &call, &err)) ...      // asynchronous
 *
 *     struct ef_http_answer answer;
 *     if (ef_http_fetch(&spec, &answer, &err)) fail;             // blocking
 *     puts(answer.body); ef_http_answer_deinit(&answer);
 *
 * One connection per exchange, unless there is a pool (http_pool.h): then one that
 * a whole answer left behind is used again, for methods that may be repeated
 * (GET, PUT, DELETE). If the server had closed it meanwhile, and nothing of an
 * answer came, the request goes out once more on a new connection; any other failure is told.
 * A cancelled call closes its connection. It stands on bufferevents and not on
 * evhttp's client, which tells no reason when it fails, delays a small POST by 40 ms
 * and cannot reach Unix sockets.
 *
 * Thread-safety: none; callbacks come from the event base's thread, never from
 * inside ef_http_call_start(). Ownership: a call ends with `on_done` (exactly
 * once) or with ef_http_call_cancel(), after which no callback comes. */
#ifndef EF_NET_HTTP_CLIENT_H
#define EF_NET_HTTP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct event_base;
struct ef_http_call;
struct ef_http_pool;
struct ef_tls;

/* How an exchange ended. Borrowed by `on_done`. */
struct ef_http_result {
    int status;        /* 200...; 0 if there was no whole answer, then see `error`. */
    const char *error; /* In words; NULL if the answer is whole. */
    const char *body;  /* What did not go to `on_line` or `on_data`; ends with NUL. */
    size_t body_len;
};

struct ef_http_call_spec {
    const char *server;        /* "http://127.0.0.1:8781", "https://[::1]:443" or "unix:/path". */
    const struct ef_tls *tls;  /* Whom to trust, and who we are; only for https; borrowed. */
    struct ef_http_pool *pool; /* Outlives the call; NULL: a connection for this call alone. */
    const char *target;        /* "/v1/status?a=b", encoded (see http_query.h). */
    const char *method;        /* NULL: GET. */
    const char *program;       /* Who should answer there, for error texts; may be NULL. */
    const char *body, *content_type;
    const char *headers; /* Of ours, each ended by CR LF; NULL: none. */
    size_t body_len;
    int64_t timeout_ms;  /* Longest silence; 0: 5 seconds. */
    int64_t deadline_ms; /* Longest time for all of it; 0: none. */
    size_t max_bytes;    /* Longest body kept, or longest line; 0: 64 MiB. */
    /* At most one of these. They get the body of a 2xx answer as it comes; any
     * other answer goes to `on_done` as a whole. A line comes without its end,
     * NUL-terminated, and may be changed; an empty one is left out. */
    void (*on_data)(void *ctx, const char *data, size_t len);
    void (*on_line)(void *ctx, char *line, size_t len);
    void (*on_done)(void *ctx, const struct ef_http_result *result);
    void *ctx;
};

/* Starts an exchange; the strings of `spec` are copied. Returns 0 or -EINVAL
 * (a URL that we cannot read) with `err`; all that can go wrong later is told
 * to `on_done`. */
int ef_http_call_start(struct event_base *base, const struct ef_http_call_spec *spec, struct ef_http_call **call,
                       struct ef_error *err);

/* Ends it without `on_done`; may be called from its own callbacks. NULL is fine. */
void ef_http_call_cancel(struct ef_http_call *call);

/* Stops and restarts the flow of the body, so that a reader that is slow makes
 * the sender wait. What was read already may still come. Timeouts stand still
 * while paused (the deadline does not). */
void ef_http_call_pause(struct ef_http_call *call);
void ef_http_call_resume(struct ef_http_call *call);

/* Checks the form of `server`. Returns 0 or -EINVAL with `err`. */
int ef_http_server_url_check(const char *server, struct ef_error *err);

/* A sentence about what is wrong, for a result that is not a 2xx answer: its
 * `error`, or the message of the JSON error in its body. Returns `buf`. */
char *ef_http_result_explain(const struct ef_http_result *result, char *buf, size_t size);

/* --- Blocking ------------------------------------------------------------- */

struct ef_http_answer {
    int status;
    char *body; /* As in ef_http_result; never NULL after success. */
    size_t body_len;
};

/* Does a whole exchange on an event base of its own; `on_done` is not used.
 * Returns 0 if there was an answer, of whatever status, or a negative errno
 * with `err`. The caller calls ef_http_answer_deinit(). */
int ef_http_fetch(const struct ef_http_call_spec *spec, struct ef_http_answer *answer, struct ef_error *err);
void ef_http_answer_deinit(struct ef_http_answer *answer);

#endif
