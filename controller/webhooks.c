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

#include "base/log.h"
#include "base/util.h"
#include "controller/controller.h"
#include "controller/events.h"
#include "net/http_client.h"

enum { MAX_WEBHOOKS = 16, ANSWER_MS = 5000, FIRST_WAIT_S = 1, LONGEST_WAIT_S = 60, SIGNATURE_SIZE = 160 };

struct webhook {
    struct webhooks *all;
    const json_t *kinds; /* NULL: all. */
    const char *url, *secret;
    char *server; /* The URL without its path, which may be a secret: all that is shown. */
    const char *target;
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
    struct webhook list[MAX_WEBHOOKS];
    size_t n;
};

/* --- Configuration --------------------------------------------------------------- */

/* The path of a URL, or "/": where "http://HOST:PORT" ends. */
static const char *
path_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *slash = host ? strchr(host + 3, '/') : NULL;
    return slash ? slash : "";
}

static int
check_url(const struct doc_place *place, const char *url, struct ef_error *err)
{
    struct ef_error why = EF_ERROR_INIT;
    const char *path = path_of(url);
    char server[256];
    snprintf(server, sizeof server, "%.*s", (int) (path - url), url);
    if (strncmp(url, "http", 4) || (size_t) (path - url) >= sizeof server || ef_http_server_url_check(server, &why)) {
        return doc_error(place, err, "%s", why.text[0] ? why.text : "is no http:// or https:// URL");
    }
    for (const char *p = path; *p; p++) {
        if (*p <= ' ' || *p > '~') {
            return doc_error(place, err, "has a character that is none of a URL's");
        }
    }
    return 0;
}

static int
check_kinds(const struct doc_place *place, struct ef_error *err)
{
    struct doc_place kinds;
    if (doc_array(place, "kinds", false, &kinds, err)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < json_array_size(kinds.value); i++) {
        struct doc_place kind = doc_element(&kinds, i);
        if (!json_is_string(kind.value)) {
            return doc_error(&kind, err, "is no kind of alert");
        }
    }
    return 0;
}

int
webhooks_read(const struct doc_place *root, json_t **list, struct ef_error *err)
{
    static const char *const known[] = {"url", "kinds", "secret", NULL};
    struct doc_place places;
    const char *url, *secret;
    if (doc_array(root, "webhooks", false, &places, err)) {
        return -EINVAL;
    }
    *list = places.value;
    if (json_array_size(places.value) > MAX_WEBHOOKS) {
        return doc_error(&places, err, "more than %d", MAX_WEBHOOKS);
    }
    for (size_t i = 0; i < json_array_size(places.value); i++) {
        struct doc_place place = doc_element(&places, i);
        if (doc_check_keys(&place, known, err) || doc_string(&place, "url", NULL, &url, err) ||
            doc_string(&place, "secret", "none", &secret, err) || check_kinds(&place, err)) {
            return -EINVAL;
        }
        struct doc_place url_place = doc_member(&place, "url");
        if (check_url(&url_place, url, err)) {
            return -EINVAL;
        }
    }
    return 0;
}

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
    for (size_t i = 0; i < all->n; i++) {
        if (!all->list[i].call && !event_pending(all->list[i].timer, EV_TIMEOUT, NULL)) {
            try_again_in(&all->list[i], 0);
        }
    }
}

/* --- Life ------------------------------------------------------------------------ */

struct webhooks *
webhooks_start(struct controller *c)
{
    const json_t *list = c->configuration.webhooks, *entry;
    struct webhooks *all = json_array_size(list) ? calloc(1, sizeof *all) : NULL;
    size_t i;
    if (!all) {
        return NULL;
    }
    all->controller = c;
    json_array_foreach(list, i, entry)
    {
        struct webhook *h = &all->list[all->n++];
        h->all = all;
        h->url = json_string_value(json_object_get(entry, "url"));
        h->secret = json_string_value(json_object_get(entry, "secret"));
        h->kinds = json_object_get(entry, "kinds");
        h->target = path_of(h->url);
        h->server = strndup(h->url, (size_t) (h->target - h->url));
        h->wait_s = FIRST_WAIT_S;
        h->timer = evtimer_new(c->base, send_next, h);
        if (!h->server || !h->timer) {
            abort(); /* Control path, at the start. */
        }
    }
    all->listener = events_listen(c->events, on_event, all);
    return all;
}

void
webhooks_stop(struct webhooks *all)
{
    if (!all) {
        return;
    }
    events_unlisten(all->controller->events, all->listener);
    for (size_t i = 0; i < all->n; i++) {
        ef_http_call_cancel(all->list[i].call);
        event_free(all->list[i].timer);
        free(all->list[i].server);
    }
    free(all);
}

json_t *
webhooks_show(const struct webhooks *all)
{
    json_t *list = json_array();
    for (size_t i = 0; all && i < all->n; i++) {
        const struct webhook *h = &all->list[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:s?}", "url", h->server, "sent",
                                              (json_int_t) h->sent, "failed", (json_int_t) h->failed, "missed",
                                              (json_int_t) h->missed, "error", h->error[0] ? h->error : NULL));
    }
    return list;
}
