/* SPDX-License-Identifier: Apache-2.0 */
/* Status and counters over HTTP and the control socket; see status.h. */
#include <config.h>

#include "reshuffler/status.h"

#include <errno.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <netinet/in.h>
#include <string.h>

#include "base/control_socket.h"
#include "base/json.h"
#include "net/http_server.h"
#include "net/metrics.h"
#include "reshuffler/analyzers.h"
#include "reshuffler/explain.h"
#include "reshuffler/switch_accounts.h"

/* The reasons that occur here, shown even while they are zero. */
static const enum ef_drop_reason our_reasons[] = {
    EF_DROP_NOT_A_COPY, EF_DROP_OUTER_FRAGMENT, EF_DROP_OUTER_TRUNCATED, EF_DROP_OUTER_CHECKSUM,
    EF_DROP_BAD_GRE,    EF_DROP_BAD_ERSPAN,     EF_DROP_NOT_OUR_VIP,     EF_DROP_NO_ANALYZER,
    EF_DROP_TOO_BIG,    EF_DROP_SEND_FAILED,    EF_DROP_SOURCE_OVERFLOW, EF_DROP_ANALYZERS_DOWN,
};

void
ef_reshuffler_totals(const struct ef_reshuffler *r, struct ef_totals *sum)
{
    memset(sum, 0, sizeof *sum);
    for (unsigned i = 0; i < r->n_workers; i++) {
        ef_worker_add_totals(r->workers[i], sum);
    }
}

static const char *const redirects[EF_N_REDIRECTS] = {
    [EF_REDIRECT_DOWN] = "down",
    [EF_REDIRECT_DRAINING] = "draining",
};

uint64_t
ef_reshuffler_copies_to(const struct ef_reshuffler *r, const struct ef_totals *totals, unsigned i)
{
    return totals->steered[i] - r->members.steered_before[i];
}

static double
uptime_s(const struct ef_reshuffler *r)
{
    return (double) ef_time_diff_ns(ef_time_mono(), r->started_mono) / EF_NS_PER_S;
}

static json_t *
drops_json(const struct ef_totals *totals)
{
    json_t *drops = json_object();
    for (size_t i = 0; i < EF_ARRAY_SIZE(our_reasons); i++) {
        json_object_set_new(drops, ef_drop_reason_name(our_reasons[i]),
                            json_integer((json_int_t) totals->drops[our_reasons[i]]));
    }
    return drops;
}

static json_t *
sources_json(const struct ef_reshuffler *r)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < r->n_workers; i++) {
        const char *text, *state = "running";
        int result = ef_worker_result(r->workers[i], &text);
        if (result) {
            state = result == -ENODATA ? "ended" : "failed";
        } else if (ef_worker_is_away(r->workers[i])) {
            state = "away";
        }
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "source", ef_worker_source_spec(r->workers[i]), "state", state));
    }
    return list;
}

static json_t *
vips_json(const struct ef_plan *plan)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < plan->n_vips; i++) {
        char address[INET6_ADDRSTRLEN];
        json_array_append_new(list, json_string(ef_address_format(plan->vips[i], address)));
    }
    return list;
}

static const char *const answer_kinds[EF_N_ANSWER_KINDS] = {
    [EF_ANSWER_ARP] = "arp",
    [EF_ANSWER_ND] = "nd",
    [EF_ANSWER_PING] = "ping",
};

static void
add_answers(struct ef_responder_stats *sum, const struct ef_responder_stats *one)
{
    for (int k = 0; k < EF_N_ANSWER_KINDS; k++) {
        sum->answers[k] += one->answers[k];
    }
    sum->limited += one->limited;
}

/* Of all responders, those of the workers' own ports too. */
static struct ef_responder_stats
sum_answers(const struct ef_reshuffler *r)
{
    struct ef_responder_stats sum = {0}, one;
    for (unsigned i = 0; i < r->n_responders; i++) {
        ef_responder_stats(r->responders[i], &one);
        add_answers(&sum, &one);
    }
    for (unsigned i = 0; i < r->n_workers; i++) {
        ef_worker_answer_stats(r->workers[i], &one);
        add_answers(&sum, &one);
    }
    return sum;
}

/* NULL, which becomes null, without --answer. */
static json_t *
answers_json(const struct ef_reshuffler *r)
{
    struct ef_responder_stats sum = sum_answers(r);
    json_t *object = r->conf->answers ? json_object() : NULL;
    for (int k = 0; k < EF_N_ANSWER_KINDS; k++) {
        json_object_set_new(object, answer_kinds[k], json_integer((json_int_t) sum.answers[k]));
    }
    json_object_set_new(object, "limited", json_integer((json_int_t) sum.limited));
    return object;
}

static json_t *
redirected_json(const struct ef_totals *totals)
{
    json_t *object = json_object();
    for (int i = 0; i < EF_N_REDIRECTS; i++) {
        json_object_set_new(object, redirects[i], json_integer((json_int_t) totals->redirected[i]));
    }
    return object;
}

static json_t *
status_json(const struct ef_reshuffler *r)
{
    struct ef_totals totals;
    ef_reshuffler_totals(r, &totals);
    return json_pack("{s:s, s:s, s:s, s:f, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o?, s:b, s:f}", "role",
                     "reshuffler", "name", r->conf->name, "version", PACKAGE_VERSION, "uptime_s", uptime_s(r), "vips",
                     vips_json(&r->conf->plan), "copies_received", (json_int_t) totals.received, "copies_sent",
                     (json_int_t) totals.sent, "drops", drops_json(&totals), "redirected", redirected_json(&totals),
                     "analyzers", ef_analyzers_json(r), "sources", sources_json(r), "switches",
                     ef_switch_accounts_json(r), "answers", answers_json(r), "congested", r->congestion.is_congested,
                     "lost_share", r->congestion.lost_share);
}

static void
get_status(struct ef_http_request *req, void *ctx)
{
    ef_http_reply_json(req, 200, status_json(ctx));
}

static void
get_metrics(struct ef_http_request *req, void *ctx)
{
    const struct ef_reshuffler *r = ctx;
    struct ef_totals totals;
    struct ef_metrics m;
    ef_reshuffler_totals(r, &totals);
    ef_metrics_init(&m);
    ef_metrics_single(&m, "everflow_uptime_seconds", "gauge", "time since the start", uptime_s(r));
    ef_metrics_single(&m, "everflow_copies_received_total", "counter",
                      "frames received, with those lost in the receive ring", (double) totals.received);
    ef_metrics_single(&m, "everflow_copies_sent_total", "counter", "copies passed on to analyzers",
                      (double) totals.sent);
    ef_metrics_family(&m, "everflow_drops_total", "counter", "frames discarded, by reason");
    for (size_t i = 0; i < EF_ARRAY_SIZE(our_reasons); i++) {
        ef_metrics_value(&m, (double) totals.drops[our_reasons[i]], "reason", ef_drop_reason_name(our_reasons[i]),
                         NULL);
    }
    ef_metrics_family(&m, "everflow_copies_redirected_total", "counter",
                      "copies sent to another analyzer than the one they belong to, by what that one was");
    for (int i = 0; i < EF_N_REDIRECTS; i++) {
        ef_metrics_value(&m, (double) totals.redirected[i], "reason", redirects[i], NULL);
    }
    ef_metrics_single(&m, "everflow_congested", "gauge", "1 while copies come faster than they can be passed on",
                      r->congestion.is_congested);
    ef_analyzers_add_metrics(r, &totals, &m);
    if (r->conf->answers) {
        struct ef_responder_stats answers = sum_answers(r);
        ef_metrics_family(&m, "everflow_answers_total", "counter",
                          "questions for the VIPs that were answered, by kind");
        for (int k = 0; k < EF_N_ANSWER_KINDS; k++) {
            ef_metrics_value(&m, (double) answers.answers[k], "kind", answer_kinds[k], NULL);
        }
        ef_metrics_single(&m, "everflow_answers_limited_total", "counter", "questions beyond the rate of answers",
                          (double) answers.limited);
    }
    ef_switch_accounts_add_metrics(r, &m);
    ef_metrics_reply(&m, req);
}

void
ef_status_serve_http(struct ef_reshuffler *r, struct ef_http_server *server)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/status", NULL, get_status},
        {"GET", "/metrics", NULL, get_metrics},
        {0},
    };
    ef_http_server_add_routes(server, routes, r);
    ef_analyzers_serve_http(r, server);
}

static int
show_status(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    json_t *json = status_json(ctx);
    char *text = json_dumps(json, JSON_INDENT(2) | EF_JSON_REALS);
    json_decref(json);
    evbuffer_add_printf(reply, "%s\n", text ? text : "out of memory");
    free(text);
    return 0;
}

static int
show_counters(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    const struct ef_reshuffler *r = ctx;
    struct ef_totals totals;
    ef_reshuffler_totals(r, &totals);
    evbuffer_add_printf(reply, "%-32s %20llu\n", "copies_received", (unsigned long long) totals.received);
    evbuffer_add_printf(reply, "%-32s %20llu\n", "copies_sent", (unsigned long long) totals.sent);
    for (size_t i = 0; i < EF_ARRAY_SIZE(our_reasons); i++) {
        evbuffer_add_printf(reply, "drops.%-26s %20llu  %s\n", ef_drop_reason_name(our_reasons[i]),
                            (unsigned long long) totals.drops[our_reasons[i]], ef_drop_reason_text(our_reasons[i]));
    }
    for (int i = 0; i < EF_N_REDIRECTS; i++) {
        evbuffer_add_printf(reply, "redirected.%-21s %20llu\n", redirects[i],
                            (unsigned long long) totals.redirected[i]);
    }
    const struct ef_plan *plan = ef_members_plan(&r->members);
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        if (plan->states[i] != EF_ANALYZER_NONE) {
            evbuffer_add_printf(reply, "steered.%-24s %20llu\n", plan->analyzers[i].name,
                                (unsigned long long) ef_reshuffler_copies_to(r, &totals, i));
        }
    }
    return 0;
}

static int
explain(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    return ef_explain_words(ef_members_plan(&((struct ef_reshuffler *) ctx)->members), argc - 1, argv + 1, reply, err);
}

void
ef_status_serve_control(struct ef_reshuffler *r, struct ef_control *control)
{
    ef_control_add(control, "status", "", "the status as JSON, as GET /v1/status gives it", show_status, r);
    ef_control_add(control, "counters", "", "all counters, one a line", show_counters, r);
    ef_control_add(control, "explain", "HEX...", "where a copy goes and why; HEX is its whole frame, from Ethernet on",
                   explain, r);
}
