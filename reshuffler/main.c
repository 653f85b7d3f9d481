/* SPDX-License-Identifier: Apache-2.0 */
/* ef-reshuffler: parses the command line, builds the parts, runs until a signal
 * or the end of a source, tears down. README.md says who does what. */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/control_socket.h"
#include "base/log.h"
#include "base/signals.h"
#include "net/http_server.h"
#include "reshuffler/status.h"

enum { EXIT_OK, EXIT_RUN_TIME, EXIT_USAGE };

/* Everything that runs; what was not made yet is NULL or -1. */
struct program {
    struct ef_conf conf;
    struct ef_reshuffler reshuffler;
    struct event_base *base;
    struct ef_signals *signals;
    struct event *on_worker, *on_second;
    struct ef_tls *tls;
    struct ef_http_server *http;
    struct ef_control *control;
    int notify_fd;
    int exit_code;
};

/* Without a source that failed and with one that still gives frames, go on. */
static void
on_worker_end(evutil_socket_t fd, short what, void *ctx)
{
    struct program *p = ctx;
    uint64_t n;
    unsigned n_running = 0;
    if (read(fd, &n, sizeof n) < 0) {
        return;
    }
    for (unsigned i = 0; i < p->reshuffler.n_workers; i++) {
        const char *text;
        int result = ef_worker_result(p->reshuffler.workers[i], &text);
        n_running += !result;
        if (result && result != -ENODATA) {
            ef_log_error("reshuffler", "source %s: %s", ef_worker_source_spec(p->reshuffler.workers[i]), text);
            p->exit_code = EXIT_RUN_TIME;
        }
    }
    if (!n_running || p->exit_code) {
        event_base_loopbreak(p->base);
    }
}

static void
note_congestion(evutil_socket_t fd, short what, void *ctx)
{
    struct program *p = ctx;
    struct ef_congestion *c = &p->reshuffler.congestion;
    struct ef_totals totals;
    ef_reshuffler_totals(&p->reshuffler, &totals);
    if (!ef_congestion_note(c, totals.received, totals.drops[EF_DROP_SOURCE_OVERFLOW])) {
        return;
    }
    if (c->is_congested) {
        ef_log_warn("reshuffler", "congested: the receive rings lost %.1f %% of the copies of the last second",
                    100 * c->lost_share);
    } else {
        ef_log_info("reshuffler", "no longer congested");
    }
}

static int
open_events(struct program *p, struct ef_error *err)
{
    static const struct timeval second = {.tv_sec = 1};
    p->base = event_base_new();
    p->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!p->base || p->notify_fd < 0) {
        return ef_error_set(err, -ENOMEM, "cannot make an event loop");
    }
    p->on_worker = event_new(p->base, p->notify_fd, EV_READ | EV_PERSIST, on_worker_end, p);
    p->on_second = event_new(p->base, -1, EV_PERSIST, note_congestion, p);
    if (!p->on_worker || event_add(p->on_worker, NULL) || !p->on_second || event_add(p->on_second, &second)) {
        return ef_error_set(err, -ENOMEM, "cannot make an event loop");
    }
    return ef_signals_create(p->base, &p->signals, err);
}

static int
open_servers(struct program *p, struct ef_error *err)
{
    int rc = 0;
    if (p->conf.http) {
        rc = ef_tls_create(&p->conf.tls, &p->tls, err);
        rc = rc ? rc : ef_http_server_create(p->base, p->conf.http, p->tls, &p->http, err);
        ef_watch_use_tls(p->reshuffler.watch, p->tls);
        if (rc) {
            return rc;
        }
        ef_http_server_limit(p->http, p->conf.daemon.max_connections);
        ef_status_serve_http(&p->reshuffler, p->http);
    }
    if (p->conf.daemon.control) {
        rc = ef_control_create(p->base, p->conf.daemon.control, &p->control, err);
        if (rc) {
            return rc;
        }
        ef_status_serve_control(&p->reshuffler, p->control);
    }
    return 0;
}

static uint64_t
steered_to(void *ctx, unsigned i)
{
    struct ef_totals totals;
    ef_reshuffler_totals(ctx, &totals);
    return totals.steered[i];
}

static uint64_t
reports_sent(void *ctx)
{
    const struct ef_reshuffler *r = ctx;
    uint64_t sum = 0;
    for (unsigned i = 0; i < r->n_workers; i++) {
        sum += ef_worker_reports(r->workers[i]);
    }
    return sum;
}

static int
open_members(struct program *p, struct ef_error *err)
{
    if (getrandom(&p->conf.plan.sender, sizeof p->conf.plan.sender, 0) < 0) {
        return ef_error_set(err, -errno, "no random number: %s", strerror(errno));
    }
    struct ef_plan *plan = ef_plan_copy(&p->conf.plan);
    int rc = plan ? ef_plan_finish(plan, err) : ef_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        ef_plan_free(plan);
        return rc;
    }
    ef_members_init(&p->reshuffler.members, plan, steered_to, &p->reshuffler);
    rc = ef_watch_create(p->base, &p->reshuffler.members, &p->reshuffler.watch, err);
    if (!rc) {
        ef_watch_compare_reports(p->reshuffler.watch, p->conf.plan.sender, reports_sent, &p->reshuffler);
    }
    return rc;
}

static int
open_workers(struct program *p, struct ef_error *err)
{
    struct ef_reshuffler *r = &p->reshuffler;
    for (unsigned i = 0; i < p->conf.n_sources; i++) {
        int rc = ef_worker_create(&r->members.cell, p->conf.sources[i], p->conf.sink, p->conf.ring_bytes, p->notify_fd,
                                  &r->workers[i], err);
        if (rc) {
            return rc;
        }
        r->n_workers++;
    }
    return 0;
}

static int
open_responders(struct program *p, struct ef_error *err)
{
    struct ef_reshuffler *r = &p->reshuffler;
    for (unsigned i = 0; p->conf.answers && i < p->conf.n_sources; i++) {
        if (!strncmp(p->conf.sources[i], "dpdk:", 5)) { /* Nobody else sees what comes there. */
            int rc = ef_worker_answer(r->workers[i], err);
            if (rc) {
                return rc;
            }
            continue;
        }
        int rc =
            ef_responder_create(p->base, &r->members.cell, p->conf.sources[i], &r->responders[r->n_responders], err);
        if (rc) {
            return rc;
        }
        r->n_responders++;
    }
    return 0;
}

/* Everything that can fail comes before the first frame is taken. */
static int
start(struct program *p, struct ef_error *err)
{
    p->reshuffler.conf = &p->conf;
    p->reshuffler.started_mono = ef_time_mono();
    int rc = open_events(p, err);
    if (!rc) {
        rc = open_members(p, err);
    }
    if (!rc) {
        rc = open_workers(p, err);
    }
    if (!rc) {
        rc = open_responders(p, err);
    }
    if (!rc) {
        rc = open_servers(p, err);
    }
    for (unsigned i = 0; !rc && i < p->reshuffler.n_workers; i++) {
        rc = ef_worker_start(p->reshuffler.workers[i], err);
    }
    return rc ? rc : ef_daemon_ready(&p->conf.daemon, err);
}

static void
stop_and_say_totals(const struct program *p)
{
    struct ef_totals totals;
    for (unsigned i = 0; i < p->reshuffler.n_workers; i++) {
        ef_worker_stop(p->reshuffler.workers[i]);
    }
    ef_reshuffler_totals(&p->reshuffler, &totals);
    ef_log_info("reshuffler", "ends: %" PRIu64 " copies received, %" PRIu64 " sent, %" PRIu64 " discarded",
                totals.received, totals.sent, totals.received - totals.sent);
    for (int i = 0; i < EF_N_DROP_REASONS; i++) {
        if (totals.drops[i]) {
            ef_log_info("reshuffler", "discarded %" PRIu64 ": %s", totals.drops[i], ef_drop_reason_text(i));
        }
    }
}

static void
free_event(struct event *event)
{
    if (event) {
        event_free(event);
    }
}

static void
stop(struct program *p)
{
    ef_http_server_destroy(p->http);
    ef_tls_destroy(p->tls);
    ef_control_destroy(p->control);
    for (unsigned i = 0; i < p->reshuffler.n_workers; i++) {
        ef_worker_destroy(p->reshuffler.workers[i]);
    }
    for (unsigned i = 0; i < p->reshuffler.n_responders; i++) {
        ef_responder_destroy(p->reshuffler.responders[i]);
    }
    ef_watch_destroy(p->reshuffler.watch);
    ef_members_deinit(&p->reshuffler.members);
    ef_signals_destroy(p->signals);
    free_event(p->on_worker);
    free_event(p->on_second);
    if (p->base) {
        event_base_free(p->base);
    }
    if (p->notify_fd >= 0) {
        close(p->notify_fd);
    }
    ef_daemon_end(&p->conf.daemon);
    ef_conf_deinit(&p->conf);
}

static int
run(struct program *p)
{
    struct ef_error err = EF_ERROR_INIT;
    int rc = ef_daemon_begin(&p->conf.daemon, &err);
    if (!rc) {
        rc = start(p, &err);
    }
    if (rc) {
        fprintf(stderr, "ef-reshuffler: %s\n", err.text);
        p->exit_code = rc == -EINVAL ? EXIT_USAGE : EXIT_RUN_TIME;
    } else {
        ef_log_info("reshuffler", "%s steers copies to %u analyzers", p->conf.name, p->conf.plan.n_analyzers);
        event_base_dispatch(p->base);
        stop_and_say_totals(p);
    }
    stop(p);
    return p->exit_code;
}

int
main(int argc, char *argv[])
{
    static struct program p = {.notify_fd = -1};
    struct ef_error err = EF_ERROR_INIT;
    switch (ef_conf_parse(&p.conf, argc, argv, &err)) {
    case 0:
        return p.conf.daemon.check_only ? ef_daemon_say_checked(&p.conf.daemon) : run(&p);
    case EF_OPTIONS_HELP:
        ef_conf_print_help();
        return EXIT_OK;
    case EF_OPTIONS_VERSION:
        puts("ef-reshuffler (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return EXIT_OK;
    default:
        fprintf(stderr, "ef-reshuffler: %s; try ef-reshuffler --help\n", err.text);
        return EXIT_USAGE;
    }
}
