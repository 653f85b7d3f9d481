/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/load and GET /v1/latency. */
#include <config.h>

#include "analyzer/http.h"
#include "analyzer/load.h"
#include "analyzer/load_history.h"

const char *const ef_http_load_params[] = {"start", "end", NULL};

/* The monotonic time at which the wall clock, as it is set now, showed that of the
 * parameter; `otherwise` without one. False if it is no time: replied. */
static bool
time_param(struct ef_http_request *req, const char *name, struct ef_time mono, struct ef_time otherwise,
           struct ef_time *time)
{
    const char *text = ef_http_param(req, name);
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time real = ef_time_real(), asked;
    *time = otherwise;
    if (!text) {
        return true;
    }
    if (ef_time_parse(text, real, &asked, &err)) {
        ef_http_reply_error(req, 400, "bad_time", -1, "%s: %s", name, err.text);
        return false;
    }
    int64_t age_ns;
    if (__builtin_sub_overflow(real.ns, asked.ns, &age_ns) || __builtin_sub_overflow(mono.ns, age_ns, &time->ns)) {
        time->ns = asked.ns < 0 ? INT64_MIN : INT64_MAX;
    }
    return true;
}

void
ef_http_get_load(struct ef_http_request *req, void *ctx)
{
    const struct ef_analyzer *analyzer = ctx;
    struct ef_time mono = ef_time_mono(), start, end;
    struct ef_load_span span;
    if (!time_param(req, "start", mono, analyzer->started, &start) || !time_param(req, "end", mono, mono, &end)) {
        return;
    }
    if (ef_time_before(end, start)) {
        ef_http_reply_error(req, 400, "bad_time", -1, "end is before start");
        return;
    }
    bool is_span = ef_http_param(req, "start") || ef_http_param(req, "end");
    ef_load_history_span(analyzer->load_history, start, end, mono, &span);
    ef_http_reply_json(req, 200, ef_load_json(analyzer, is_span ? &span : NULL));
}

void
ef_http_get_latency(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, ef_latency_json(ctx));
}
