/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket's commands; see control.h. */
#include <config.h>

#include "analyzer/control.h"

#include <event2/buffer.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/explain.h"
#include "analyzer/status.h"
#include "base/json.h"

static int
show_status(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    json_t *json = ef_status_json(ctx);
    char *text = json_dumps(json, JSON_INDENT(2) | EF_JSON_REALS);
    json_decref(json);
    evbuffer_add_printf(reply, "%s\n", text ? text : "out of memory");
    free(text);
    return 0;
}

static void
show_counter(struct evbuffer *reply, const char *name, uint64_t value)
{
    evbuffer_add_printf(reply, "%-32s %20" PRIu64 "\n", name, value);
}

static int
show_counters(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    struct ef_status s;
    ef_status_collect(ctx, &s);
    show_counter(reply, "copies_received", s.copies_received);
    show_counter(reply, "copies_assembled", s.copies_assembled);
    for (unsigned i = 0; i < ef_status_n_reasons; i++) {
        enum ef_drop_reason reason = ef_status_reasons[i];
        evbuffer_add_printf(reply, "drops.%-26s %20" PRIu64 "  %s\n", ef_drop_reason_name(reason), s.drops[reason],
                            ef_drop_reason_text(reason));
    }
    show_counter(reply, "traces_opened", s.traces_opened);
    show_counter(reply, "traces_closed", s.traces_closed);
    show_counter(reply, "traces_stored", s.store.n_stored);
    show_counter(reply, "traces_evicted", s.store.n_evicted);
    show_counter(reply, "loops", s.loops);
    return 0;
}

static int
explain(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    const struct ef_analyzer *analyzer = ctx;
    return ef_explain_words(analyzer->n_workers, argc - 1, argv + 1, reply, err);
}

void
ef_control_serve(struct ef_analyzer *analyzer, struct ef_control *control)
{
    ef_control_add(control, "status", "", "the status as JSON, as GET /v1/status gives it", show_status, analyzer);
    ef_control_add(control, "counters", "", "all counters, one a line", show_counters, analyzer);
    ef_control_add(control, "explain", "HEX...",
                   "what is made of a copy and why; HEX is its whole frame, from Ethernet on", explain, analyzer);
}
