/* SPDX-License-Identifier: Apache-2.0 */
/* efctl load: what switches, ports and links carried of the traced packets, and
 * how long probes took over links. */
#include <config.h>

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "net/http_query.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/views.h"

enum { WATCH_MS = 2000 };

struct load_options {
    const char *last, *start, *end;
    bool latency, watch;
};

static int
set_last(void *ctx, const char *value, struct ef_error *err)
{
    struct load_options *options = ctx;
    int64_t ns;
    int rc = ef_duration_parse(value, &ns, err);
    if (!rc && (ns <= 0 || strlen(value) > 60)) {
        rc = ef_error_set(err, -EINVAL, "--last %.40s: the duration must be positive", value);
    }
    options->last = value;
    return rc;
}

static int
set_start(void *ctx, const char *value, struct ef_error *err)
{
    ((struct load_options *) ctx)->start = value;
    return efctl_command_check_time("--start", value, err);
}

static int
set_end(void *ctx, const char *value, struct ef_error *err)
{
    ((struct load_options *) ctx)->end = value;
    return efctl_command_check_time("--end", value, err);
}

static int
set_latency(void *ctx, const char *value, struct ef_error *err)
{
    ((struct load_options *) ctx)->latency = true;
    return 0;
}

static int
set_watch(void *ctx, const char *value, struct ef_error *err)
{
    ((struct load_options *) ctx)->watch = true;
    return 0;
}

static const struct ef_option option_table[] = {
    {"last", 0, "DURATION", "of the last 30s, 5m, 1h ... (default: since the\nanalyzers' start)", set_last},
    {"start", 0, "TIME", "from TIME on (2026-11-21T02:30:00Z, or an age: -5m)", set_start},
    {"end", 0, "TIME", "up to TIME", set_end},
    {"latency", 0, NULL, "how long probes took over links, instead", set_latency},
    {"watch", 'w', NULL, "again every 2 s, until interrupted", set_watch},
    {0},
};

static int
check(const struct load_options *o, int n_words, char *words[], struct ef_error *err)
{
    if (n_words) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not expected here", words[0]);
    }
    if (o->last && (o->start || o->end)) {
        return ef_error_set(err, -EINVAL, "--last already says the time: leave out --start and --end");
    }
    if (o->latency && (o->last || o->start || o->end)) {
        return ef_error_set(err, -EINVAL, "--latency is of all probes: leave out the time");
    }
    return 0;
}

/* What is asked for; the caller frees it. */
static char *
make_path(const struct load_options *o)
{
    char last[64];
    struct evbuffer *url = evbuffer_new();
    if (!url) {
        abort(); /* Control path. */
    }
    evbuffer_add_printf(url, "%s", o->latency ? "/v1/latency" : "/v1/load");
    if (o->last) {
        snprintf(last, sizeof last, "-%s", o->last);
    }
    ef_http_query_append(url, "start", o->last ? last : o->start);
    ef_http_query_append(url, "end", o->end);
    evbuffer_add(url, "", 1);
    char *path = strdup((const char *) evbuffer_pullup(url, -1));
    evbuffer_free(url);
    if (!path) {
        abort(); /* Control path. */
    }
    return path;
}

/* Over and over; what does not answer now may answer the next time. */
static int
watch(struct efctl_context *context, const char *path, efctl_view *view)
{
    struct efctl_output *out = &context->out;
    struct ef_error err;
    for (;;) {
        efctl_command_show(context, path, view, NULL, NULL);
        efctl_output_newline(out);
        if (efctl_output_flush(out, &err) || efctl_output_pause(out, WATCH_MS)) {
            return EFCTL_OK; /* The reader has gone; or efctl_finish() says what else. */
        }
    }
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct load_options options = {0};
    const struct ef_option_group groups[] = {{"Load", option_table, &options}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    int status = efctl_command_parse(&efctl_load, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (check(&options, argc, argv, &err)) {
        return efctl_usage_error(&efctl_load, &err);
    }
    char *path = make_path(&options);
    efctl_view *view = options.latency ? efctl_latency_view : efctl_load_view;
    status = options.watch ? watch(context, path, view) : efctl_command_show(context, path, view, NULL, NULL);
    free(path);
    return status;
}

const struct efctl_command efctl_load = {
    "load",
    "",
    "What switches, ports and links carried of the traced packets, and how long probes took over links",
    "  efctl load --last 1m\n"
    "  efctl load --watch --last 10s\n"
    "  efctl load --latency\n"
    "  efctl load --json | jq '.links[] | [.from_name, .to_name, .packets]'\n",
    true,
    run,
};
