/* SPDX-License-Identifier: Apache-2.0 */
/* ef-replay: parses the command line, makes or reads copies, plays them, and
 * tells what it did. README.md says who does what. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "utilities/replay/conf.h"
#include "utilities/replay/play.h"
#include "utilities/replay/truth.h"

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

static int
play_workload(struct replay_conf *conf, struct replay_play *play, struct ef_error *err)
{
    struct replay_stream *stream;
    struct ef_time start = conf->has_start ? conf->start : ef_time_real();
    int rc = replay_stream_create(&conf->workload, start, &stream, err);
    if (rc) {
        return rc;
    }
    rc = replay_play_stream(play, stream);
    if (rc) {
        ef_error_set(err, rc, "stopped%s", conf->truth ? "; no truth was written" : "");
    } else if (conf->truth) {
        rc = replay_truth_write(conf->truth, &conf->workload, stream, conf->every_packet, err);
    }
    replay_stream_destroy(stream);
    return rc;
}

/* Every copy played must have gone out, or the truth is none. */
static int
say_what_was_sent(const struct replay_play *play, struct ef_error *err)
{
    struct ef_sink_stats stats;
    ef_sink_stats(play->sink, &stats);
    double seconds = (double) ef_time_diff_ns(ef_time_mono(), play->began) / EF_NS_PER_S;
    printf("%" PRIu64 " copies in %.1f s\n", stats.packets, play->n_sent ? seconds : 0);
    if (play->n_not_copies) {
        printf("%" PRIu64 " frames of the capture were no copies\n", play->n_not_copies);
    }
    if (stats.packets == play->n_sent) {
        return 0;
    }
    return ef_error_set(err, -EIO, "%" PRIu64 " copies were not sent (%s)", play->n_sent - stats.packets,
                        stats.too_big ? "larger than the link's MTU" : strerror(ef_sink_last_error(play->sink)));
}

static int
run(struct replay_conf *conf)
{
    struct replay_play play = {.speed = conf->speed, .show_progress = conf->show_progress, .stop = &stop};
    struct ef_error err = EF_ERROR_INIT;
    int rc = ef_sink_open(conf->sink, &play.sink, &err);
    if (!rc) {
        catch_signals();
        rc = conf->capture ? replay_play_capture(&play, conf->capture, &err) : play_workload(conf, &play, &err);
        rc = rc ? rc : say_what_was_sent(&play, &err);
    }
    ef_sink_close(play.sink);
    if (rc) {
        fprintf(stderr, "ef-replay: %s\n", rc == -EINTR ? "stopped" : err.text);
        return rc == -EINVAL ? EXIT_USAGE : EXIT_RUN_TIME;
    }
    return EXIT_OK;
}

int
main(int argc, char *argv[])
{
    struct replay_conf conf;
    struct ef_error err = EF_ERROR_INIT;
    switch (replay_conf_parse(&conf, argc, argv, &err)) {
    case 0:
        return run(&conf);
    case EF_OPTIONS_HELP:
        replay_conf_print_help();
        return EXIT_OK;
    case EF_OPTIONS_VERSION:
        puts("ef-replay (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return EXIT_OK;
    default:
        fprintf(stderr, "ef-replay: %s; try ef-replay --help\n", err.text);
        return EXIT_USAGE;
    }
}
