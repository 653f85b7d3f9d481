/* SPDX-License-Identifier: Apache-2.0 */
/* Events, posted to other programs; see webhooks.h. */
#include <config.h>

#include "controller/webhooks.h"

#include <errno.h>
#include <event2/event.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/events.h"
#include "net/http_client.h"

enum { ANSWER_MS = 5000, FIRST_WAIT_S = 1, LONGEST_WAIT_S = 60, SIGNATURE_SIZE = 160 };

struct webhook {
    TAILQ_ENTRY(webhook) next;
    struct webhooks *all;
    json_t
        *document; /* {"name", "url", "kinds", "secret", "created"}; of the configuration without the first and last. */
    const char *name; /* Of the document; of the configuration: `made_name`. */
    char made_name[40];
    const json_t *kinds; /* NULL: all. */
    const char *secret;  /* Or NULL. */
    char *server;        /* The URL without its path, which may be a secret: all that is shown. */
    const char *target;  /* The path; of the document. */
    struct event *timer;
    struct ef_http_call *call; /* One at a time. */
    uint64_t after;            /* The number of the last event that is dealt with. */
    int wait_s;
    uint64_t sent, failed, missed;
    char error[200]; /* Of the last try; empty: it was taken. */
};

struct webhooks {
    struct controller *controller;
    struct events_listener *listener;
    TAILQ_HEAD(, webhook) list; /* Those of the configuration first. */
};

/* --- Sending --------------------------------------------------------------------- */

static void
try_again_in(struct webhook *h, int seconds)
{
    struct timeval tv = {seconds, 0};
    event_add(h->timer, &tv);
}

static bool
wants(const struct webhook *h, const char *data)
{
    json_t *alert = h->kinds ? json_loads(data, 0, NULL) : NULL;
    const char *kind = json_string_value(json_object_get(alert, "kind"));
    bool wanted = !h->kinds;
    for (size_t i = 0; kind && !wanted && i < json_array_size(h->kinds); i++) {
        wanted = !strcmp(json_string_value(json_array_get(h->kinds, i)), kind);
    }
    json_decref(alert);
    return wanted;
}

/* The header with the HMAC, or nothing without a secret. */
static void
sign(const struct webhook *h, const char *body, char header[SIGNATURE_SIZE])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned len;
    *header = '\0';
    if (!h->secret || !HMAC(EVP_sha256(), h->secret, (int) strlen(h->secret), (const unsigned char *) body,
                            strlen(body), mac, &len)) {
        return;
    }
    size_t n = (size_t) snprintf(header, SIGNATURE_SIZE, "Everflow-Signature: sha256=");
    for (unsigned i = 0; i < len; i++) {
        n += (size_t) snprintf(header + n, SIGNATURE_SIZE - n, "%02x", mac[i]);
    }
    snprintf(header + n, SIGNATURE_SIZE - n, "\r\n");
}

static void
on_done(void *ctx, const struct ef_http_result *result)
{
    struct webhook *h = ctx;
    h->call = NULL;
    if (!result->error && result->status / 100 == 2) {
        h->sent++;
        h->after++; /* The one that was on its way; see send_next(). */
        h->wait_s = FIRST_WAIT_S;
        h->error[0] = '\0';
        try_again_in(h, 0);
        return;
    }
    h->failed++;
    if (!h->error[0]) {
        ef_log_warn("webhooks", "%s does not take events: %s", h->server, result->error ? result->error : "refused");
    }
    if (result->error) {
        snprintf(h->error, sizeof h->error, "%s", result->error);
    } else {
        snprintf(h->error, sizeof h->error, "HTTP status %d", result->status);
    }
    try_again_in(h, h->wait_s);
    h->wait_s = EF_MIN(2 * h->wait_s, LONGEST_WAIT_S);
}

static void
post(struct webhook *h, const char *body)
{
    char signature[SIGNATURE_SIZE];
    struct ef_error err = EF_ERROR_INIT;
    sign(h, body, signature);
    const struct ef_http_call_spec spec = {
        .server = h->server,
        .tls = h->all->controller->configuration.tls,
        .target = *h->target ? h->target : "/",
        .method = "POST",
        .body = body,
        .body_len = strlen(body),
        .content_type = "application/json",
        .headers = signature,
        .timeout_ms = ANSWER_MS,
        .deadline_ms = ANSWER_MS,
        .max_bytes = 65536,
        .on_done = on_done,
        .ctx = h,
    };
    if (ef_http_call_start(h->all->controller->base, &spec, &h->call, &err)) {
        h->call = NULL;
        h->failed++;
        snprintf(h->error, sizeof h->error, "%.199s", err.text);
        try_again_in(h, LONGEST_WAIT_S);
    }
}

/* Posts the next event that is wanted. `after` stays before it until it is taken. */
static void
send_next(evutil_socket_t fd, short what, void *ctx)
{
    struct webhook *h = ctx;
    struct events *events = h->all->controller->events;
    struct event_text event;
    uint64_t after = h->after;
    if (h->call) {
        return;
    }
    while (events_read(events, &after, &event)) {
        h->missed += event.n_missed;
        h->after = event.number - 1;
        if (state_is_active(h->all->controller->state) && wants(h, event.data)) {
            post(h, event.data);
            return;
        }
        h->after = event.number;
    }
}

/* One that waits to try again goes on waiting. */
static void
on_event(void *ctx)
{
    struct webhooks *all = ctx;
    struct webhook *h;
    TAILQ_FOREACH(h, &all->list, next)
    {
        if (!h->call && !event_pending(h->timer, EV_TIMEOUT, NULL)) {
            try_again_in(h, 0);
        }
    }
}

/* --- Which there are ------------------------------------------------------------- */

/* `document` is as webhook_check() wants it. Returns it at the end of the list, without a name. */
static struct webhook *
insert(struct webhooks *all, json_t *document)
{
    struct webhook *h = calloc(1, sizeof *h);
    const char *url = json_string_value(json_object_get(document, "url"));
    if (!h || !(h->timer = evtimer_new(all->controller->base, send_next, h))) {
        abort(); /* Control path. */
    }
    h->all = all;
    h->document = json_incref(document);
    h->secret = json_string_value(json_object_get(document, "secret"));
    h->kinds = json_object_get(document, "kinds");
    h->target = webhook_path(url);
    h->server = strndup(url, (size_t) (h->target - url));
    h->wait_s = FIRST_WAIT_S;
    h->after = events_newest(all->controller->events); /* What was before is no news. */
    if (!h->server) {
        abort(); /* Control path. */
    }
    TAILQ_INSERT_TAIL(&all->list, h, next);
    return h;
}

static void
webhook_free(struct webhook *h)
{
    TAILQ_REMOVE(&h->all->list, h, next);
    ef_http_call_cancel(h->call);
    event_free(h->timer);
    free(h->server);
    json_decref(h->document);
    free(h);
}

static struct webhook *
find(const struct webhooks *all, const char *name)
{
    struct webhook *h;
    TAILQ_FOREACH(h, &all->list, next)
    {
        if (!strcmp(h->name, name)) {
            return h;
        }
    }
    return NULL;
}

static void
on_row_changed(void *ctx, const char *name, json_t *document)
{
    static const char *const known[] = {"name", "url", "kinds", "secret", "created", NULL};
    struct webhooks *all = ctx;
    struct ef_error err = EF_ERROR_INIT;
    struct doc_place place = {.value = document};
    struct webhook *before = find(all, name);
    if (before && before->name != before->made_name) {
        webhook_free(before);
    }
    if (!document) {
        return;
    }
    const char *own = json_string_value(json_object_get(document, "name"));
    if (!own || strcmp(own, name) || webhook_check(&place, known, &err)) {
        ef_log_warn("webhooks", "%.60s: a row that is no webhook: %s", name, err.text);
        return;
    }
    insert(all, document)->name = own;
}

/* --- Life ------------------------------------------------------------------------ */

struct webhooks *
webhooks_start(struct controller *c)
{
    json_t *entry;
    size_t i;
    struct webhooks *all = calloc(1, sizeof *all);
    if (!all) {
        abort(); /* Control path, at the start. */
    }
    all->controller = c;
    TAILQ_INIT(&all->list);
    json_array_foreach(c->configuration.webhooks, i, entry)
    {
        struct webhook *h = insert(all, entry);
        snprintf(h->made_name, sizeof h->made_name, "configuration:%zu", i);
        h->name = h->made_name;
    }
    all->listener = events_listen(c->events, on_event, all);
    state_watch(c->state, STATE_WEBHOOK, on_row_changed, all);
    return all;
}

void
webhooks_stop(struct webhooks *all)
{
    if (!all) {
        return;
    }
    events_unlisten(all->controller->events, all->listener);
    while (!TAILQ_EMPTY(&all->list)) {
        webhook_free(TAILQ_FIRST(&all->list));
    }
    free(all);
}

/* --- Looking --------------------------------------------------------------------- */

static json_t *
show(const struct webhook *h)
{
    json_t *created = json_object_get(h->document, "created");
    return json_pack("{s:s, s:s, s:O?, s:b, s:s, s:O?, s:I, s:I, s:I, s:s?}", "name", h->name, "url", h->server,
                     "kinds", (json_t *) h->kinds, "signed", h->secret != NULL, "origin",
                     h->name == h->made_name ? "configuration" : "added", "created", created, "sent",
                     (json_int_t) h->sent, "failed", (json_int_t) h->failed, "missed", (json_int_t) h->missed, "error",
                     h->error[0] ? h->error : NULL);
}

json_t *
webhooks_show(const struct webhooks *all)
{
    json_t *list = json_array();
    const struct webhook *h;
    TAILQ_FOREACH(h, &all->list, next)
    {
        json_array_append_new(list, show(h));
    }
    return list;
}

json_t *
webhooks_show_one(const struct webhooks *all, const char *name)
{
    const struct webhook *h = find(all, name);
    return h ? show(h) : NULL;
}
