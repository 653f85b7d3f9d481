/* SPDX-License-Identifier: Apache-2.0 */
/* efctl store: what is kept where, and how to get it out. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/store_parquet.h"
#include "utilities/efctl/store_view.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/trace_errors.h"
#include "utilities/efctl/trace_export.h"
#include "utilities/efctl/trace_fetch.h"
#include "utilities/efctl/trace_options.h"

enum { QUERY_LIMIT = 100 };
#define NO_LIMIT UINT64_MAX /* None was given. */

struct options {
    struct efctl_trace_options which;
    const char *format;
    bool ndjson;
};

static int
set_format(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->format = value;
    return !strcmp(value, "ndjson") || !strcmp(value, "pcapng") || !strcmp(value, "parquet")
               ? 0
               : ef_error_set(err, -EINVAL, "--format %.40s: is not ndjson, pcapng or parquet", value);
}

static int
set_ndjson(void *ctx, const char *value, struct ef_error *err)
{
    ((struct options *) ctx)->ndjson = true;
    return 0;
}

static const struct ef_option option_table[] = {
    {"ndjson", 0, NULL, "query: one JSON document per line and trace", set_ndjson},
    {"format", 0, "NAME", "export: ndjson, pcapng or parquet; default: as\nFILE ends", set_format},
    {0},
};

static int
refuse(const char *fmt, const char *word)
{
    struct ef_error err;
    ef_error_set(&err, -EINVAL, fmt, word);
    return efctl_usage_error(&efctl_store, &err);
}

/* --- status ------------------------------------------------------------------------------ */

static int
show_status(struct efctl_context *context)
{
    struct ef_time now = ef_time_real();
    json_t *document = NULL;
    int status = efctl_command_show(context, "/v1/status", efctl_store_view, &now, &document);
    if (status == EFCTL_OK && efctl_store_is_bad(document)) {
        status = EFCTL_FAILED;
    }
    json_decref(document);
    return status;
}

/* --- query ------------------------------------------------------------------------------- */

struct collector {
    struct efctl_output *out;
    json_t *traces; /* NULL: each is printed at once. */
};

static int
take(void *ctx, json_t *trace)
{
    struct collector *collector = ctx;
    if (!collector->traces) {
        efctl_output_json_line(collector->out, trace);
        return ferror(collector->out->file) ? -EPIPE : 0;
    }
    if (json_array_append(collector->traces, trace)) {
        abort(); /* Out of memory. */
    }
    return 0;
}

/* Makes `end`, the answer's last line, its document by adding the traces. */
static void
show_traces(struct efctl_context *context, const struct options *options, json_t *traces, json_t *end)
{
    json_object_del(end, "end");
    json_object_set(end, "traces", traces);
    efctl_output_document(&context->out, end, efctl_store_traces_view, &options->which.query);
}

static int
query(struct efctl_context *context, const struct options *options)
{
    struct collector collector = {&context->out, options->ndjson ? NULL : json_array()};
    struct efctl_trace_sink sink = {take, &collector};
    struct efctl_failure failure;
    json_t *end;
    int rc = efctl_trace_fetch(&context->client, &options->which.query, &sink, &end, &failure);
    if (rc) {
        json_decref(collector.traces);
        return rc == -EPIPE ? EFCTL_OK : efctl_trace_fail(&options->which.query, &failure);
    }
    if (options->ndjson) {
        efctl_output_json_line(&context->out, end);
    } else {
        show_traces(context, options, collector.traces, end);
    }
    json_decref(end);
    json_decref(collector.traces);
    return EFCTL_OK;
}

/* --- export ------------------------------------------------------------------------------- */

/* The format that the name of the file asks for, or NULL. */
static const char *
format_of_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return !dot                                                ? NULL
           : !strcmp(dot, ".pcapng")                           ? "pcapng"
           : !strcmp(dot, ".parquet")                          ? "parquet"
           : !strcmp(dot, ".ndjson") || !strcmp(dot, ".jsonl") ? "ndjson"
                                                               : NULL;
}

static int export(struct efctl_context *context, const struct options *options, const char *path)
{
    const char *format = options->format ? options->format : format_of_name(path);
    if (!format) {
        return refuse("%.100s: give --format, or a name that ends in .ndjson, .pcapng or .parquet", path);
    }
    if (!strcmp(format, "parquet")) {
        return !strcmp(path, "-") ? refuse("export: Parquet has its index at the end: give a FILE instead of %s", path)
                                  : efctl_store_parquet(context, &options->which.query, path);
    }
    return efctl_trace_export(context, &options->which.query, path, format);
}

/* --- The command ----------------------------------------------------------------------------- */

static int
run_query(struct efctl_context *context, struct options *options, int argc, char *argv[])
{
    if (options->format) {
        return refuse("query: --format is for export; use --json or --ndjson%s", "");
    }
    if (options->ndjson && context->out.json) {
        return refuse("choose one of --json and --ndjson%s", "");
    }
    char *filter = efctl_join_words(argc, argv);
    options->which.query.filter = filter;
    options->which.query.limit = options->which.query.limit == NO_LIMIT ? QUERY_LIMIT : options->which.query.limit;
    int status = query(context, options);
    free(filter);
    return status;
}

static int
run_export(struct efctl_context *context, struct options *options, int argc, char *argv[])
{
    if (!argc) {
        return refuse("export: to which FILE?%s", "");
    }
    if (options->ndjson || context->out.json) {
        return refuse("export: use --format instead of --json and --ndjson%s", "");
    }
    char *filter = efctl_join_words(argc - 1, argv + 1);
    options->which.query.filter = filter;
    options->which.query.limit = options->which.query.limit == NO_LIMIT ? 0 : options->which.query.limit;
    int status = export(context, options, argv[0]);
    free(filter);
    return status;
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct options options = {.which.query.limit = NO_LIMIT};
    const struct ef_option_group groups[] = {
        {"Which traces", efctl_trace_option_table, &options.which}, {"Options", option_table, &options}, {0}};
    int status = efctl_command_parse(&efctl_store, context, groups, &argc, argv);
    struct ef_error err;
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (efctl_trace_options_finish(&options.which, &err)) {
        return efctl_usage_error(&efctl_store, &err);
    }
    if (!argc) {
        return refuse("store: status, query or export?%s", "");
    }
    if (!strcmp(argv[0], "query")) {
        return run_query(context, &options, argc - 1, argv + 1);
    }
    if (!strcmp(argv[0], "export")) {
        return run_export(context, &options, argc - 1, argv + 1);
    }
    if (strcmp(argv[0], "status") || argc > 1) {
        return refuse("store: '%.40s' is not status, query or export", argv[argc > 1 && !strcmp(argv[0], "status")]);
    }
    return show_status(context);
}

const struct efctl_command efctl_store = {
    "store",
    "status | query [FILTER] | export FILE [FILTER]",
    "Shows what the analyzers keep in memory and on disk, and gets it out",
    "  efctl store status                                  how much, since when, what is lacking\n"
    "  efctl store query 'ip.src == 10.1.0.2' --last 24h   a line per trace, from memory and archive\n"
    "  efctl store export day.ndjson --last 24h            all traces, a JSON document per line\n"
    "  efctl store export drops.parquet --condition trace.drop   for DuckDB, pandas, Spark\n"
    "  efctl store export day.pcapng --start -24h --end -12h 'tcp.port == 443'\n",
    true,
    run,
};
