/* SPDX-License-Identifier: Apache-2.0 */
/* Tells other programs of events: each is POSTed, in order, to each URL of the
 * configuration.
 *
 *     "webhooks": [{"url": "http://10.1.0.9:9000/everflow", "kinds": ["drop", "link"], "secret": "..."}]
 *
 * The body is the alert as GET /v1/alerts/ID shows it. With a secret, the header
 * Everflow-Signature is "sha256=" and the HMAC of the body (RFC 2104) in hex, so that
 * the receiver knows whom it is from. An answer other than 2xx, or none in 5 s, is
 * tried again, after 1 s, 2 s, ... 60 s, until it is taken or newer events have pushed
 * it out; so an event may come twice, and its "id" and "last" tell. Only the active
 * controller sends. One event base's thread. */
#ifndef CONTROLLER_WEBHOOKS_H
#define CONTROLLER_WEBHOOKS_H

#include <jansson.h>

#include "controller/document.h"

struct controller;
struct webhooks;

/* Checks "webhooks" of `root`, which stay borrowed in `*list` (NULL: none). Returns 0 or
 * -EINVAL with `err`. */
int webhooks_read(const struct doc_place *root, json_t **list, struct ef_error *err);

/* NULL if the configuration has none. */
struct webhooks *webhooks_start(struct controller *c);
void webhooks_stop(struct webhooks *webhooks); /* NULL is fine. */

/* [{"url", "sent", "failed", "missed", "error"}], a new reference; neither the secret nor the URL's path
 * is shown, which often is one, too. */
json_t *webhooks_show(const struct webhooks *webhooks);

#endif
