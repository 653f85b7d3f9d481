/* SPDX-License-Identifier: Apache-2.0 */
/* ef-prober: parses the command line, builds the probe, sends or shows it, and
 * tells what it did. README.md says who does what. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "guided-prober/conf.h"
#include "guided-prober/explain.h"
#include "guided-prober/serve.h"
#include "guided-prober/stream.h"

enum { EXIT_OK, EXIT_RUN_TIME, EXIT_USAGE };

static volatile sig_atomic_t stop;

static void
on_signal(int signal_number)
{
    stop = 1;
}

static void
catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void
sleep_until(struct ef_time due)
{
    struct timespec until = {due.ns / EF_NS_PER_S, due.ns % EF_NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL); /* A signal ends it: then `stop` is set. */
}

/* Into a capture at once, else in time. */
static void
send_all(struct prober_stream *s, bool at_once)
{
    struct ef_time now = ef_time_mono();
    prober_stream_start(s, now);
    while (!stop && !prober_stream_done(s)) {
        prober_stream_send(s, now);
        now = at_once ? prober_stream_due(s) : ef_time_mono();
        if (!at_once && !prober_stream_done(s) && ef_time_before(now, prober_stream_due(s))) {
            sleep_until(prober_stream_due(s));
            now = ef_time_mono();
        }
    }
}

/* Every probe must have gone out, or results about them would be wrong. */
static int
say_what_was_sent(const struct prober_stream *s, uint64_t probe_id, const char *what, struct ef_time began,
                  struct ef_error *err)
{
    struct ef_sink_stats stats;
    prober_output_stats(s->output, &stats);
    double seconds = (double) ef_time_diff_ns(ef_time_mono(), began) / EF_NS_PER_S;
    printf("probes %016" PRIx64 ": %" PRIu64 " %s in %.1f s\n", probe_id, stats.packets, what, seconds);
    if (stats.packets == s->count) {
        return 0;
    }
    return s->n_sent < s->count
               ? ef_error_set(err, -EINTR, "stopped after %" PRIu64 " of %" PRIu64 " probes", s->n_sent, s->count)
               : ef_error_set(err, -EIO, "%" PRIu64 " probes were not sent (%s)", s->count - stats.packets,
                              stats.too_big ? "larger than the link's MTU"
                                            : strerror(prober_output_last_error(s->output)));
}

static int
send_probes(const struct prober_conf *conf, const struct prober_craft *craft, struct ef_error *err)
{
    char capture[4096 + 8];
    struct prober_stream stream = {.craft = craft, .count = conf->count, .interval_ns = conf->interval_ns};
    snprintf(capture, sizeof capture, "pcap:%s", conf->pcap ? conf->pcap : "");
    int rc = prober_output_open(conf->pcap ? capture : conf->sink, &stream.output, err);
    if (rc) {
        return rc;
    }
    struct ef_time began = ef_time_mono();
    catch_signals();
    send_all(&stream, conf->pcap != NULL);
    rc = say_what_was_sent(&stream, conf->probe_id, conf->pcap ? "written" : "sent", began, err);
    prober_output_close(stream.output);
    return rc;
}

static int
show_probe(const struct prober_craft *craft)
{
    uint8_t *frame = malloc(craft->len);
    if (!frame) {
        return -ENOMEM;
    }
    prober_craft_write(craft, 0, ef_time_real(), frame);
    prober_explain(frame, craft->len, craft->start, stdout);
    free(frame);
    return 0;
}

static int
run(struct prober_conf *conf, struct prober_craft *craft, struct ef_error *err)
{
    struct prober_targets *targets;
    int rc = prober_targets_load(conf->topology, &targets, err);
    if (rc) {
        return rc;
    }
    rc = prober_format_resolve(&conf->format, targets, prober_output_netns(conf->sink), err);
    prober_targets_destroy(targets);
    rc = rc ? rc : prober_limits_check(&conf->limits, conf->count, &conf->interval_ns, err);
    rc = rc ? rc : prober_craft_init(craft, &conf->format, conf->probe_id, err);
    rc = rc || !conf->explain ? rc : show_probe(craft);
    return rc || (conf->explain && !conf->pcap) ? rc : send_probes(conf, craft, err);
}

static int
serve(struct prober_conf *conf, struct ef_error *err)
{
    struct prober_targets *targets;
    int rc = prober_targets_load(conf->topology, &targets, err);
    rc = rc ? rc : prober_serve(conf, targets, err);
    prober_targets_destroy(targets);
    return rc;
}

/* What is not allowed is wrong usage, but for a daemon that may not listen. */
static int
run_program(struct prober_conf *conf)
{
    struct ef_error err = EF_ERROR_INIT;
    struct prober_craft *craft = malloc(sizeof *craft);
    int rc = !craft       ? ef_error_set(&err, -ENOMEM, "out of memory")
             : conf->http ? serve(conf, &err)
                          : run(conf, craft, &err);
    free(craft);
    if (rc) {
        fprintf(stderr, "ef-prober: %s\n", err.text);
    }
    return !rc ? EXIT_OK : conf->http ? EXIT_RUN_TIME : rc == -EINVAL || rc == -EACCES ? EXIT_USAGE : EXIT_RUN_TIME;
}

int
main(int argc, char *argv[])
{
    struct prober_conf conf;
    struct ef_error err = EF_ERROR_INIT;
    switch (prober_conf_parse(&conf, argc, argv, &err)) {
    case 0:
        return conf.daemon.check_only ? ef_daemon_say_checked(&conf.daemon) : run_program(&conf);
    case EF_OPTIONS_HELP:
        prober_conf_print_help();
        return EXIT_OK;
    case EF_OPTIONS_VERSION:
        puts("ef-prober (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return EXIT_OK;
    default:
        fprintf(stderr, "ef-prober: %s; try ef-prober --help\n", err.text);
        return EXIT_USAGE;
    }
}
