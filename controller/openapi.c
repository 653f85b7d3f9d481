/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/openapi.json: the description of the API, doc/openapi.json, which is
 * part of the program. */
#include <config.h>

#include <event2/buffer.h>

#include "controller/controller.h"

__asm__(".pushsection .rodata\n"
        "openapi_begin:\n"
        ".incbin \"" OPENAPI_FILE "\"\n"
        "openapi_end:\n"
        ".popsection\n");
extern const char openapi_begin[], openapi_end[];

static void
get_openapi(struct ef_http_request *req, void *ctx)
{
    struct evbuffer *body = evbuffer_new();
    if (!body || evbuffer_add_reference(body, openapi_begin, (size_t) (openapi_end - openapi_begin), NULL, NULL)) {
        ef_http_reply_error(req, 500, "out_of_memory", -1, "out of memory");
    } else {
        ef_http_reply(req, 200, "application/json", body);
    }
    if (body) {
        evbuffer_free(body);
    }
}

void
api_openapi_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {{"GET", "/v1/openapi.json", NULL, get_openapi}, {0}};
    ef_http_server_add_routes(c->http, routes, c);
}
