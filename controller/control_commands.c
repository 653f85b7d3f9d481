/* SPDX-License-Identifier: Apache-2.0 */
/* What ef-controller answers on its control socket. */
#include <config.h>

#include <event2/buffer.h>
#include <inttypes.h>

#include "base/control_socket.h"
#include "controller/controller.h"

static int
show_counters(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    struct controller *c = ctx;
    struct ef_http_server_stats http;
    uint64_t writes = 0, refusals = 0;
    ef_http_server_stats(c->http, &http);
    for (size_t i = 0; i < c->n_switches; i++) {
        writes += managed_switch_writes(c->switches[i]);
        refusals += managed_switch_refusals(c->switches[i]);
    }
    evbuffer_add_printf(
        reply,
        "http_requests %" PRIu64 "\nhttp_client_errors %" PRIu64 "\nhttp_server_errors %" PRIu64
        "\nstreams_open %" PRIu64 "\nstreams_cancelled %" PRIu64 "\ntrace_queries %" PRIu64 "\ntraces_returned %" PRIu64
        "\nincomplete_answers %" PRIu64 "\nswitch_writes %" PRIu64 "\nswitch_writes_refused %" PRIu64 "\n",
        http.requests, http.client_errors, http.server_errors, http.streams_open, http.streams_cancelled,
        c->counters.queries, c->counters.traces, c->counters.incomplete, writes, refusals);
    return 0;
}

static int
show_status(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    struct controller *c = ctx;
    evbuffer_add_printf(reply, "listening on %s\n%zu of %zu switches configured\n", ef_http_server_address(c->http),
                        controller_n_configured(c), c->n_switches);
    for (size_t i = 0; i < c->n_switches; i++) {
        json_t *show = managed_switch_show(c->switches[i]);
        const char *error = json_string_value(json_object_get(show, "error"));
        evbuffer_add_printf(reply, "%s %s%s%s\n", managed_switch_name(c->switches[i]),
                            json_string_value(json_object_get(show, "state")), error ? ": " : "", error ? error : "");
        json_decref(show);
    }
    return 0;
}

void
control_commands_add(struct controller *c, struct ef_control *control)
{
    ef_control_add(control, "counters", "", "all counters, one per line", show_counters, c);
    ef_control_add(control, "status", "", "where it listens, and the state of each switch", show_status, c);
}
