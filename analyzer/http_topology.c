/* SPDX-License-Identifier: Apache-2.0 */
/* GET and PUT /v1/topology: by what the verdicts are, as the controller sends it. */
#include <config.h>

#include <errno.h>

#include "analyzer/http.h"
#include "base/log.h"

void
ef_http_get_topology(struct ef_http_request *req, void *ctx)
{
    const struct ef_analyzer *analyzer = ctx;
    const json_t *document = ef_current_topology_document(analyzer->topology);
    if (document) {
        ef_http_reply_json(req, 200, json_deep_copy(document));
    } else {
        ef_http_reply_error(req, 404, "no_topology", -1, "no topology was given; the controller sends it");
    }
}

void
ef_http_put_topology(struct ef_http_request *req, void *ctx)
{
    struct ef_analyzer *analyzer = ctx;
    const char *body;
    struct ef_error err = EF_ERROR_INIT;
    if (!analyzer->takes_topology) {
        ef_http_reply_error(req, 409, "too_little_memory", -1,
                            "--memory is too little for verdicts by a topology; give more, or --topology at the start");
        return;
    }
    size_t len = ef_http_body(req, &body);
    json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
    int rc = document ? ef_current_topology_set(analyzer->topology, document, &err)
                      : ef_error_set(&err, -EINVAL, "the body is not JSON");
    json_decref(document);
    if (rc) {
        ef_http_reply_error(req, rc == -EINVAL ? 400 : 503, rc == -EINVAL ? "bad_topology" : "busy", -1, "%s",
                            err.text);
        return;
    }
    ef_log_info("topology", "a topology was set: %s", ef_current_topology_digest(analyzer->topology));
    ef_http_reply_json(req, 200, json_pack("{s:s}", "topology", ef_current_topology_digest(analyzer->topology)));
}
