/* SPDX-License-Identifier: Apache-2.0 */
/* efctl trace: which way packets took. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/trace_errors.h"
#include "utilities/efctl/trace_export.h"
#include "utilities/efctl/trace_fetch.h"
#include "utilities/efctl/trace_follow.h"
#include "utilities/efctl/trace_options.h"
#include "utilities/efctl/trace_view.h"

enum { DEFAULT_LIMIT = 10, MAX_ID_LEN = 16 };

struct options {
    struct efctl_trace_options which;
    const char *id, *pcapng;
    bool ndjson, follow;
};

static int
set_id(void *ctx, const char *value, struct ef_error *err)
{
    size_t len = strlen(value);
    ((struct options *) ctx)->id = value;
    return len && len <= MAX_ID_LEN && strspn(value, "0123456789abcdef") == len
               ? 0
               : ef_error_set(err, -EINVAL, "--id %.40s: an id has up to 16 digits of 0-9 and a-f", value);
}

static int
set_cursor(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->which.query.cursor = value;
    return 0;
}

static int
set_details(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->which.query.details = true;
    return 0;
}

static int
set_ndjson(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->ndjson = true;
    return 0;
}

static int
set_pcapng(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->pcapng = value;
    return 0;
}

static int
set_follow(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->follow = true;
    return 0;
}

static int
set_explain(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->which.query.explain = true;
    return 0;
}

static const struct ef_option option_table[] = {
    {"id", 0, "ID", "the trace with this id (or its beginning), in\nfull detail", set_id},
    {"cursor", 0, "CURSOR", "the page before: CURSOR is \"next\" of an answer to\nthe same question", set_cursor},
    {"details", 'd', NULL, "all that is known of each trace, and its bytes", set_details},
    {"follow", 'f', NULL, "go on and show traces as they come", set_follow},
    {"explain", 0, NULL, "how each analyzer found its part", set_explain},
    {"ndjson", 0, NULL, "one JSON document per line and trace", set_ndjson},
    {"pcapng", 0, "FILE", "write a capture file with one interface per\nswitch, - for the standard output", set_pcapng},
    {0},
};

static int
check_together(const struct options *options, bool json, struct ef_error *err)
{
    if (json + options->ndjson + (options->pcapng != NULL) > 1) {
        return ef_error_set(err, -EINVAL, "choose one of --json, --ndjson and --pcapng");
    }
    if (options->id && (options->follow || options->pcapng)) {
        return ef_error_set(err, -EINVAL, "--id goes neither with --follow nor with --pcapng");
    }
    if (options->which.query.cursor && (options->id || options->follow)) {
        return ef_error_set(err, -EINVAL, "--cursor goes neither with --id nor with --follow");
    }
    if (options->which.query.explain && (options->follow || options->pcapng)) {
        return ef_error_set(err, -EINVAL, "--explain goes neither with --follow nor with --pcapng");
    }
    if (options->follow && (json || options->pcapng || options->which.query.end)) {
        return ef_error_set(err, -EINVAL, "--follow does not end: use --ndjson instead of --json, --pcapng or --end");
    }
    return 0;
}

enum { PROGRESS_STEP = 1000 };

/* A long answer is shown when it is complete, as its columns are as wide as they
 * must be: meanwhile who waits at a terminal sees that it comes. */
static void
show_progress(size_t n)
{
    if (n % PROGRESS_STEP == 0 && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%zu traces so far; with --ndjson each is shown at once", n);
    }
}

static void
clear_progress(size_t n)
{
    if (n >= PROGRESS_STEP && isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
}

/* What arrives: kept, or with --ndjson printed at once. */
struct collector {
    struct efctl_output *out;
    const struct options *options;
    json_t *traces;
};

static int
take(void *ctx, json_t *trace)
{
    struct collector *collector = ctx;
    const char *id = collector->options->id;
    if (id && strncmp(efctl_get_string(trace, "id", ""), id, strlen(id))) {
        return 0;
    }
    if (collector->options->ndjson) {
        efctl_output_json_line(collector->out, trace);
        return ferror(collector->out->file) ? -EPIPE : 0;
    }
    if (json_array_append(collector->traces, trace)) {
        abort(); /* Out of memory. */
    }
    show_progress(json_array_size(collector->traces));
    return 0;
}

/* A document of the controller that only makes the answer nicer, or NULL. */
static json_t *
get_if_possible(struct efctl_context *context, const char *path)
{
    struct efctl_failure failure;
    json_t *document;
    return efctl_client_get_json(&context->client, path, &document, &failure) ? NULL : document;
}

/* `end`: the answer's last line, which says whose part is missing. */
static int
no_such_id(const char *id, const json_t *end)
{
    struct ef_error err;
    const json_t *silent = json_array_get(efctl_get_array(end, "incomplete"), 0);
    if (silent) {
        ef_error_set(&err, -ENOENT,
                     "no trace has an id that begins with %s; but %.60s, which may have it, did not answer", id,
                     efctl_get_string(silent, "analyzer", "an analyzer"));
    } else {
        ef_error_set(&err, -ENOENT, "no trace has an id that begins with %s; old traces make room for new ones", id);
    }
    return efctl_fail(&err);
}

static void
show(struct efctl_context *context, struct options *options, json_t *traces, const json_t *end)
{
    json_t *document = json_pack("{s:O,s:I,s:b}", "traces", traces, "count", (json_int_t) json_array_size(traces),
                                 "more", efctl_get_bool(end, "more"));
    static const char *const also[] = {"next", "incomplete", "explanations"};
    if (!document) {
        abort();
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(also); i++) {
        json_t *value = json_object_get(end, also[i]);
        if (value) {
            json_object_set(document, also[i], value);
        }
    }
    if (!context->out.json && !json_array_size(traces)) {
        json_t *status = get_if_possible(context, "/v1/status");
        options->which.query.status = status;
        efctl_output_document(&context->out, document, efctl_trace_view, &options->which.query);
        json_decref(status);
    } else {
        efctl_output_document(&context->out, document, efctl_trace_view, &options->which.query);
    }
    json_decref(document);
}

static int
fetch_and_show(struct efctl_context *context, struct options *options)
{
    struct collector collector = {&context->out, options, json_array()};
    struct efctl_trace_sink sink = {take, &collector};
    struct efctl_failure failure;
    json_t *end;
    int status = EFCTL_OK, rc = efctl_trace_fetch(&context->client, &options->which.query, &sink, &end, &failure);
    clear_progress(json_array_size(collector.traces));
    if (rc) {
        json_decref(collector.traces);
        return rc == -EPIPE ? EFCTL_OK : efctl_trace_fail(&options->which.query, &failure);
    }
    if (options->ndjson) {
        efctl_output_json_line(&context->out, end);
    } else if (options->id && !json_array_size(collector.traces)) {
        status = no_such_id(options->id, end);
    } else {
        show(context, options, collector.traces, end);
    }
    json_decref(end);
    json_decref(collector.traces);
    return status;
}

static int
answer(struct efctl_context *context, struct options *options)
{
    if (options->pcapng) {
        return efctl_trace_export(context, &options->which.query, options->pcapng, "pcapng");
    }
    bool for_people = !context->out.json && !options->ndjson;
    json_t *topology = for_people ? get_if_possible(context, "/v1/topology") : NULL;
    options->which.query.topology = topology;
    int status = options->follow ? efctl_trace_follow(context, &options->which.query, options->ndjson)
                                 : fetch_and_show(context, options);
    json_decref(topology);
    return status;
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct options options = {.which.query.limit = DEFAULT_LIMIT};
    const struct ef_option_group groups[] = {
        {"Which traces", efctl_trace_option_table, &options.which}, {"Options", option_table, &options}, {0}};
    int status = efctl_command_parse(&efctl_trace, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    struct ef_error err;
    if (efctl_trace_options_finish(&options.which, &err) || check_together(&options, context->out.json, &err)) {
        return efctl_usage_error(&efctl_trace, &err);
    }
    if (options.id) {
        options.which.query.id = options.id;
        options.which.query.limit = 0;
        options.which.query.details = true;
    }
    char *filter = efctl_join_words(argc, argv);
    options.which.query.filter = filter;
    status = answer(context, &options);
    free(filter);
    return status;
}

const struct efctl_command efctl_trace = {
    "trace",
    "[FILTER]",
    "Shows which way packets took: one block per packet, one line per switch; the newest 10 unless told",
    "  efctl trace                                         the newest ten\n"
    "  efctl trace 'ip.dst == 10.4.0.0/16 && tcp.port == 80'\n"
    "  efctl trace --condition trace.loop --last 1h        packets that went in circles\n"
    "  efctl trace --id 3f2a                               one packet in full detail\n"
    "  efctl trace 'switch == leaf1' --follow\n"
    "  efctl trace --all --pcapng - | tshark -r -\n",
    true,
    run,
};
