/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/config: the configuration file as it is in force, without what is secret
 * in it. For admins alone (role.c), as it says where everything is. */
#include <config.h>

#include "controller/controller.h"

static const char hidden[] = "(hidden)";

/* The secrets of webhooks, and where they lead, as that often is a secret as well. */
static void
hide_secrets(json_t *document)
{
    size_t i;
    json_t *webhook;
    json_array_foreach(json_object_get(document, "webhooks"), i, webhook)
    {
        json_object_set_new(webhook, "url", json_string(hidden));
        if (json_object_get(webhook, "secret")) {
            json_object_set_new(webhook, "secret", json_string(hidden));
        }
    }
}

static void
get_config(struct ef_http_request *req, void *ctx)
{
    const struct controller *c = ctx;
    json_t *document = json_deep_copy(c->configuration.document);
    hide_secrets(document);
    ef_http_reply_json(req, 200,
                       json_pack("{s:s, s:s, s:o}", "file", c->configuration.file, "topology_file",
                                 c->configuration.topology_file, "configuration", document));
}

void
api_config_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {{"GET", "/v1/config", NULL, get_config}, {0}};
    ef_http_server_add_routes(c->http, routes, c);
}
