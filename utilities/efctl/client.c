/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the controller; see client.h. */
#include <config.h>

#include "utilities/efctl/client.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/time.h"
#include "net/http_client.h"
#include "utilities/efctl/json_get.h"

/* The controller itself waits some seconds for an analyzer that is silent. */
enum { TIMEOUT_MS = 30000, MAX_TOKEN = 255 };
#define TOKEN_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~+/=-"

struct exchange {
    const struct efctl_client *client;
    const struct efctl_client_sink *sink; /* NULL: the body is a document. */
    json_t *document;
    struct efctl_failure *failure;
    struct event_base *base;
    struct ef_http_call *call; /* NULL after its end. */
    const char *method, *body; /* NULL: GET, without one. */
    int rc;
};

static void
stop(struct exchange *exchange, int rc)
{
    exchange->rc = rc;
    ef_http_call_cancel(exchange->call);
    exchange->call = NULL;
    event_base_loopbreak(exchange->base);
}

static void
on_line(void *ctx, char *line, size_t len)
{
    struct exchange *exchange = ctx;
    int rc = exchange->sink->line(exchange->sink->ctx, line, len);
    if (rc) {
        stop(exchange, rc);
    }
}

static void
on_data(void *ctx, const char *data, size_t len)
{
    struct exchange *exchange = ctx;
    int rc = exchange->sink->data(exchange->sink->ctx, data, len);
    if (rc) {
        stop(exchange, rc);
    }
}

/* Reads {"error":{"code","message","offset"}}. Whatever else it is, there is a
 * sentence in the end. */
static int
refused(struct exchange *exchange, const struct ef_http_result *result)
{
    struct efctl_failure *failure = exchange->failure;
    json_t *body = json_loadb(result->body, result->body_len, 0, NULL);
    const json_t *error = efctl_get_object(body, "error");
    const char *message = efctl_get_string(error, "message", NULL);
    failure->http_status = result->status;
    snprintf(failure->code, sizeof failure->code, "%s", efctl_get_string(error, "code", ""));
    if (message) {
        ef_error_set_at(&failure->error, -EPROTO, (int) efctl_get_int(error, "offset", -1), "%s", message);
    } else {
        ef_error_set(&failure->error, -EPROTO, "%s answers with HTTP status %d; is that the controller?",
                     exchange->client->url, result->status);
    }
    json_decref(body);
    return -EPROTO;
}

static int
read_document(struct exchange *exchange, const struct ef_http_result *result)
{
    json_error_t error;
    exchange->document = json_loadb(result->body, result->body_len, 0, &error);
    return exchange->document ? 0
                              : ef_error_set(&exchange->failure->error, -EPROTO,
                                             "%s does not answer with JSON (%s); is that the controller?",
                                             exchange->client->url, error.text);
}

static void
on_done(void *ctx, const struct ef_http_result *result)
{
    struct exchange *exchange = ctx;
    exchange->call = NULL;
    if (result->error) {
        exchange->rc = ef_error_set(
            &exchange->failure->error, -ECONNREFUSED,
            "no answer from the controller: %s (--controller or EFCTL_CONTROLLER names another)", result->error);
    } else if (result->status / 100 != 2) {
        exchange->rc = refused(exchange, result);
    } else {
        exchange->rc = exchange->sink ? 0 : read_document(exchange, result);
    }
    event_base_loopbreak(exchange->base);
}

/* Writes what says who asks, and that it is asked once. */
static int
write_headers(const struct exchange *exchange, char *text, size_t size, struct ef_error *err)
{
    const char *token = exchange->client->token;
    uint64_t chance[2];
    size_t n = 0;
    *text = '\0';
    if (token && (strspn(token, TOKEN_CHARACTERS) != strlen(token) || strlen(token) > MAX_TOKEN)) {
        return ef_error_set(err, -EINVAL, "EFCTL_TOKEN is no token of efctl token add");
    }
    if (token) {
        n = (size_t) snprintf(text, size, "Authorization: Bearer %s\r\n", token);
    }
    if (exchange->method && getrandom(chance, sizeof chance, 0) == sizeof chance) {
        snprintf(text + n, size - n, "Everflow-Once: %lld-%016" PRIx64 "%016" PRIx64 "\r\n",
                 (long long) (ef_time_real().ns / EF_NS_PER_MS), chance[0], chance[1]);
    }
    return 0;
}

/* Runs the exchange to its end; `exchange->rc` says how it was. */
static int
run(struct exchange *exchange, const char *path)
{
    const struct efctl_client_sink *sink = exchange->sink;
    struct ef_tls *tls;
    char headers[MAX_TOKEN + 200];
    *exchange->failure = (struct efctl_failure){.error = EF_ERROR_INIT};
    int rc = write_headers(exchange, headers, sizeof headers, &exchange->failure->error);
    rc = rc ? rc : ef_tls_create(&exchange->client->tls, &tls, &exchange->failure->error);
    if (rc) {
        return rc;
    }
    const struct ef_http_call_spec spec = {
        .server = exchange->client->url,
        .tls = tls,
        .target = path,
        .method = exchange->method,
        .headers = headers,
        .body = exchange->body,
        .body_len = exchange->body ? strlen(exchange->body) : 0,
        .content_type = exchange->body ? "application/json" : NULL,
        .program = "ef-controller",
        .timeout_ms = TIMEOUT_MS,
        .on_line = sink && sink->line ? on_line : NULL,
        .on_data = sink && sink->data ? on_data : NULL,
        .on_done = on_done,
        .ctx = exchange,
    };
    exchange->base = event_base_new();
    if (!exchange->base) {
        ef_tls_destroy(tls);
        return ef_error_set(&exchange->failure->error, -ENOMEM, "cannot make an event base: %s", strerror(errno));
    }
    exchange->rc = ef_http_call_start(exchange->base, &spec, &exchange->call, &exchange->failure->error);
    if (!exchange->rc) {
        event_base_dispatch(exchange->base);
    }
    ef_http_call_cancel(exchange->call);
    event_base_free(exchange->base);
    ef_tls_destroy(tls);
    return exchange->rc;
}

int
efctl_client_get(const struct efctl_client *client, const char *path, const struct efctl_client_sink *sink,
                 struct efctl_failure *failure)
{
    struct exchange exchange = {.client = client, .sink = sink, .failure = failure};
    return run(&exchange, path);
}

int
efctl_client_get_json(const struct efctl_client *client, const char *path, json_t **document,
                      struct efctl_failure *failure)
{
    struct exchange exchange = {.client = client, .failure = failure};
    int rc = run(&exchange, path);
    *document = exchange.document;
    return rc;
}

int
efctl_client_send_json(const struct efctl_client *client, const char *method, const char *path, const char *body,
                       json_t **document, struct efctl_failure *failure)
{
    struct exchange exchange = {.client = client, .failure = failure, .method = method, .body = body};
    int rc = run(&exchange, path);
    *document = exchange.document;
    return rc;
}
