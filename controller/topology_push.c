/* SPDX-License-Identifier: Apache-2.0 */
/* Our topology to the analyzers; see topology_push.h. */
#include <config.h>

#include "controller/topology_push.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/fan_out.h"
#include "net/json_digest.h"

enum { EVERY_S = 2 };

/* An analyzer to which the topology is under way. */
struct target {
    struct topology_push *push;
    struct fan_out *sending;
    char last_error[300];
};

struct topology_push {
    struct event_base *base;
    const struct configuration *configuration;
    const struct topology *topology;
    char digest[EF_JSON_DIGEST_SIZE];
    struct event *timer;
    struct fan_out *asking;
    struct target *targets; /* One per analyzer. */
};

static void
on_sent(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct target *t = ctx;
    t->sending = NULL;
    for (size_t i = 0; i < n; i++) { /* One. */
        const struct fan_out_answer *a = &answers[i];
        if (!*a->error) {
            ef_log_info("topology", "sent to %s", a->peer->name);
        } else if (strcmp(t->last_error, a->error)) {
            ef_log_warn("topology", "%s does not take it: %s", a->peer->name, a->error);
        }
        memcpy(t->last_error, a->error, sizeof t->last_error);
    }
}

static bool
is_missing(const struct topology_push *p, const json_t *status)
{
    const char *theirs = json_string_value(json_object_get(status, "topology"));
    return theirs && strcmp(theirs, p->digest);
}

/* Who does not answer is asked again; who does not know topologies is left alone. */
static void
on_asked(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct topology_push *p = ctx;
    p->asking = NULL;
    struct fan_out_request request = {
        .method = "PUT", .target = "/v1/topology", .program = "ef-analyzer", .body = p->topology->document};
    for (size_t i = 0; i < n; i++) {
        if (!*answers[i].error && is_missing(p, answers[i].body) && !p->targets[i].sending) {
            p->targets[i].sending = fan_out_start(p->base, answers[i].peer, 1, &request, on_sent, &p->targets[i]);
        }
    }
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
    struct topology_push *p = arg;
    struct fan_out_request request = {.method = "GET", .target = "/v1/status", .program = "ef-analyzer"};
    if (!p->asking) {
        p->asking =
            fan_out_start(p->base, p->configuration->analyzers, p->configuration->n_analyzers, &request, on_asked, p);
    }
}

struct topology_push *
topology_push_start(struct event_base *base, const struct configuration *configuration, const struct topology *topology)
{
    static const struct timeval every = {.tv_sec = EVERY_S};
    struct topology_push *p = calloc(1, sizeof *p);
    if (!p || !(p->targets = calloc(configuration->n_analyzers + 1, sizeof *p->targets)) ||
        !(p->timer = event_new(base, -1, EV_PERSIST, on_time, p))) {
        abort(); /* Control path at start-up. */
    }
    p->base = base;
    p->configuration = configuration;
    p->topology = topology;
    ef_json_digest(topology->document, p->digest);
    event_add(p->timer, &every);
    event_active(p->timer, EV_TIMEOUT, 0);
    return p;
}

void
topology_push_stop(struct topology_push *p)
{
    if (!p) {
        return;
    }
    fan_out_cancel(p->asking);
    for (size_t i = 0; i < p->configuration->n_analyzers; i++) {
        fan_out_cancel(p->targets[i].sending);
    }
    event_free(p->timer);
    free(p->targets);
    free(p);
}
