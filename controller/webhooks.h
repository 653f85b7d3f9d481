/* SPDX-License-Identifier: Apache-2.0 */
/* Tells other programs of events: each is POSTed, in order, to each URL of the
 * configuration, and of those that were added at run time (POST /v1/webhooks),
 * which the state keeps.
 *
 *     "webhooks": [{"url": "http://10.1.0.9:9000/everflow", "kinds": ["drop", "link"], "secret": "..."}]
 *
 * The body is the alert as GET /v1/alerts/ID shows it. With a secret, the header
 * Everflow-Signature is "sha256=" and the HMAC of the body (RFC 2104) in hex, so that
 * the receiver knows whom it is from. An answer other than 2xx, or none in 5 s, is
 * tried again, after 1 s, 2 s, ... 60 s, until it is taken or newer events have pushed
 * it out; so an event may come twice, and its "id" and "last" tell. Only the active
 * controller sends; what is on its way when it dies is not sent by the next.
 *
 * A URL's path is shown to nobody, as it often is a secret; the database has it. One
 * event base's thread. */
#ifndef CONTROLLER_WEBHOOKS_H
#define CONTROLLER_WEBHOOKS_H

#include <jansson.h>

#include "controller/document.h"

struct controller;
struct webhooks;

enum { WEBHOOKS_MAX = 16, WEBHOOK_MAX_NAME = 40 }; /* In the configuration, and as many added. */

/* --- Reading (webhooks_read.c) ------------------------------------------------- */

/* Checks "webhooks" of `root`, which stay borrowed in `*list` (NULL: none). Returns 0 or
 * -EINVAL with `err`. */
int webhooks_read(const struct doc_place *root, json_t **list, struct ef_error *err);

/* Checks one, which has no members but `known`. Returns 0 or -EINVAL with `err`, which never has the URL's path. */
int webhook_check(const struct doc_place *place, const char *const known[], struct ef_error *err);

/* What the state keeps of an order {"name", "url", "kinds", "secret"}, all but the URL optional, into `*document`
 * (new reference). Returns 0 or a negative errno with `err`. */
int webhook_read_order(json_t *order, json_t **document, struct ef_error *err);

/* The path of a URL, in it: where "http://HOST:PORT" ends. */
const char *webhook_path(const char *url);

/* --- Sending ------------------------------------------------------------------- */

/* `c` is borrowed; before the event loop runs. */
struct webhooks *webhooks_start(struct controller *c);
void webhooks_stop(struct webhooks *webhooks); /* NULL is fine. */

/* [{"name", "url", "kinds", "signed", "origin": "configuration" | "added", "created", "sent", "failed", "missed",
 * "error"}], a new reference; neither the secret nor the URL's path is shown. */
json_t *webhooks_show(const struct webhooks *webhooks);
json_t *webhooks_show_one(const struct webhooks *webhooks, const char *name); /* NULL: there is none. */

#endif
