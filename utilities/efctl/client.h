/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the controller: the one place where efctl meets the network.
 *
 *     struct efctl_client client = {.url = "http://127.0.0.1:8780"};
 *     json_t *document;
 *     if (efctl_client_get_json(&client, "/v1/switches", &document, &failure)) ...
 *
 * Errors are sentences for the operator: an unreachable controller names its
 * URL and what to do, an HTTP error is the controller's own message. */
#ifndef EFCTL_CLIENT_H
#define EFCTL_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "net/tls.h"

struct efctl_client {
    const char *url;         /* Without a path; borrowed. */
    const char *token;       /* NULL: none. */
    struct ef_tls_files tls; /* For https:// URLs. */
};

/* Why a request failed. `error.offset` is the controller's, for bad_filter and
 * the like. */
struct efctl_failure {
    struct ef_error error;
    char code[32];   /* "bad_filter", or "" if the controller did not answer. */
    int http_status; /* 0 if it did not answer. */
};

/* Takes the body of a 200 answer as it arrives: line by line (without its end,
 * NUL-terminated) or in pieces; one of the two is NULL. They return 0, or a
 * negative errno that ends the transfer. */
struct efctl_client_sink {
    int (*line)(void *ctx, char *line, size_t len);
    int (*data)(void *ctx, const char *data, size_t len);
    void *ctx;
};

/* GETs `path` (with its query). Returns 0, or a negative errno with `failure`,
 * or what the sink returned. */
int efctl_client_get(const struct efctl_client *client, const char *path, const struct efctl_client_sink *sink,
                     struct efctl_failure *failure);

/* GETs one JSON document; the caller json_decref()s it. */
int efctl_client_get_json(const struct efctl_client *client, const char *path, json_t **document,
                          struct efctl_failure *failure);

/* Sends `method` with the JSON text `body` (NULL: none), else as above. */
int efctl_client_send_json(const struct efctl_client *client, const char *method, const char *path, const char *body,
                           json_t **document, struct efctl_failure *failure);

#endif
