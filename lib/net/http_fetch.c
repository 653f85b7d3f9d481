/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking side of the HTTP client; see http_client.h. */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "net/http_client.h"

/* The caller's callbacks get the caller's context; ours comes before. */
struct fetch {
    const struct ef_http_call_spec *spec;
    struct event_base *base;
    struct ef_http_answer *answer;
    struct ef_error *err;
    int rc;
};

static void
fetch_done(void *ctx, const struct ef_http_result *result)
{
    struct fetch *fetch = ctx;
    if (result->error) {
        fetch->rc = ef_error_set(fetch->err, -EIO, "%s", result->error);
    } else {
        fetch->answer->status = result->status;
        fetch->answer->body = malloc(result->body_len + 1);
        if (!fetch->answer->body) {
            abort();
        }
        memcpy(fetch->answer->body, result->body, result->body_len + 1);
        fetch->answer->body_len = result->body_len;
    }
    event_base_loopbreak(fetch->base);
}

static void
fetch_data(void *ctx, const char *data, size_t len)
{
    const struct ef_http_call_spec *spec = ((struct fetch *) ctx)->spec;
    spec->on_data(spec->ctx, data, len);
}

static void
fetch_line(void *ctx, char *line, size_t len)
{
    const struct ef_http_call_spec *spec = ((struct fetch *) ctx)->spec;
    spec->on_line(spec->ctx, line, len);
}

int
ef_http_fetch(const struct ef_http_call_spec *spec, struct ef_http_answer *answer, struct ef_error *err)
{
    struct event_base *base = event_base_new();
    if (!base) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    memset(answer, 0, sizeof *answer);
    struct fetch fetch = {spec, base, answer, err, 0};
    struct ef_http_call_spec inner = *spec;
    inner.on_data = spec->on_data ? fetch_data : NULL;
    inner.on_line = spec->on_line ? fetch_line : NULL;
    inner.on_done = fetch_done;
    inner.ctx = &fetch;
    struct ef_http_call *call;
    fetch.rc = ef_http_call_start(base, &inner, &call, err);
    if (!fetch.rc) {
        event_base_dispatch(base);
    }
    event_base_free(base);
    return fetch.rc;
}

void
ef_http_answer_deinit(struct ef_http_answer *answer)
{
    free(answer->body);
    answer->body = NULL;
}
