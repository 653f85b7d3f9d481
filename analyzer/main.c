/* SPDX-License-Identifier: Apache-2.0 */
/* ef-analyzer: parses the command line, builds the parts, runs until a signal,
 * tears down. README.md says who does what. */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "analyzer/conf.h"
#include "analyzer/control.h"
#include "analyzer/http.h"
#include "analyzer/load_history.h"
#include "analyzer/status.h"
#include "base/log.h"
#include "base/signals.h"

enum { EXIT_OK, EXIT_RUN_TIME, EXIT_USAGE };

/* Everything that runs; what was not made yet is NULL. */
struct program {
    struct ef_conf conf;
    struct event_base *base;
    struct ef_signals *signals;
    struct ef_analyzer *analyzer;
    struct ef_tls *tls;
    struct ef_http_server *http;
    struct ef_control *control;
    struct event *load_timer;
};

static void
take_load(evutil_socket_t fd, short what, void *ctx)
{
    const struct program *p = ctx;
    ef_load_history_take(p->analyzer->load_history, p->analyzer, ef_time_mono());
}

static int
start_load_timer(struct program *p, struct ef_error *err)
{
    static const struct timeval interval = {.tv_sec = EF_LOAD_HISTORY_INTERVAL_S};
    p->load_timer = event_new(p->base, -1, EV_PERSIST, take_load, p);
    if (!p->load_timer || event_add(p->load_timer, &interval)) {
        return ef_error_set(err, -ENOMEM, "cannot make a timer");
    }
    return 0;
}

static int
open_events(struct program *p, struct ef_error *err)
{
    p->base = event_base_new();
    if (!p->base) {
        return ef_error_set(err, -ENOMEM, "cannot make an event loop");
    }
    return ef_signals_create(p->base, &p->signals, err);
}

static int
open_servers(struct program *p, struct ef_error *err)
{
    if (p->conf.http) {
        int rc = ef_tls_create(&p->conf.tls, &p->tls, err);
        rc = rc ? rc : ef_http_server_create(p->base, p->conf.http, p->tls, &p->http, err);
        if (rc) {
            return rc;
        }
        ef_http_server_limit(p->http, p->conf.daemon.max_connections);
        ef_http_serve(p->analyzer, p->http);
    }
    if (p->conf.daemon.control) {
        int rc = ef_control_create(p->base, p->conf.daemon.control, &p->control, err);
        if (rc) {
            return rc;
        }
        ef_control_serve(p->analyzer, p->control);
    }
    return 0;
}

/* Threads other than this one take no signals. */
static int
start_threads(struct program *p, struct ef_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = ef_analyzer_start(p->analyzer, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Everything that can fail comes before the first frame is taken. */
static int
start(struct program *p, struct ef_error *err)
{
    int rc;
    if ((rc = open_events(p, err)) || (rc = ef_analyzer_create(&p->conf.analyzer, &p->analyzer, err)) ||
        (rc = open_servers(p, err)) || (rc = start_load_timer(p, err)) || (rc = start_threads(p, err))) {
        return rc;
    }
    return ef_daemon_ready(&p->conf.daemon, err);
}

static void
say_totals(const struct program *p)
{
    struct ef_status s;
    ef_status_collect(p->analyzer, &s);
    ef_log_info("analyzer", "ends: %" PRIu64 " copies received, %" PRIu64 " assembled, %" PRIu64 " traces closed",
                s.copies_received, s.copies_assembled, s.traces_closed);
    for (unsigned i = 0; i < ef_status_n_reasons; i++) {
        if (s.drops[ef_status_reasons[i]]) {
            ef_log_info("analyzer", "discarded %" PRIu64 ": %s", s.drops[ef_status_reasons[i]],
                        ef_drop_reason_text(ef_status_reasons[i]));
        }
    }
}

static void
stop(struct program *p)
{
    ef_http_server_destroy(p->http);
    ef_tls_destroy(p->tls);
    ef_control_destroy(p->control);
    if (p->load_timer) {
        event_free(p->load_timer);
    }
    ef_analyzer_destroy(p->analyzer);
    ef_signals_destroy(p->signals);
    if (p->base) {
        event_base_free(p->base);
    }
    ef_daemon_end(&p->conf.daemon);
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
        fprintf(stderr, "ef-analyzer: %s\n", err.text);
    } else {
        ef_log_info("analyzer", "%s listens for copies on %u sources", p->conf.analyzer.name,
                    p->conf.analyzer.n_sources);
        event_base_dispatch(p->base);
        say_totals(p);
    }
    stop(p);
    return !rc ? EXIT_OK : rc == -EINVAL ? EXIT_USAGE : EXIT_RUN_TIME;
}

int
main(int argc, char *argv[])
{
    static struct program p;
    struct ef_error err = EF_ERROR_INIT;
    switch (ef_conf_parse(&p.conf, argc, argv, &err)) {
    case 0:
        return p.conf.daemon.check_only ? ef_daemon_say_checked(&p.conf.daemon) : run(&p);
    case EF_OPTIONS_HELP:
        ef_conf_print_help();
        return EXIT_OK;
    case EF_OPTIONS_VERSION:
        puts("ef-analyzer (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return EXIT_OK;
    default:
        fprintf(stderr, "ef-analyzer: %s; try ef-analyzer --help\n", err.text);
        return EXIT_USAGE;
    }
}
