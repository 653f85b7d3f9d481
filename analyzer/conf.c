/* SPDX-License-Identifier: Apache-2.0 */
/* The command line; see conf.h. */
#include <config.h>

#include "analyzer/conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse_number.h"
#include "io/capabilities.h"
#include "trace/trace_json.h"

enum { DEFAULT_WORKERS = 2, DEFAULT_DEBUG_DSCP_BIT = 1, MIN_ARCHIVE_BYTES = 64 << 20 };

#define DEFAULT_ARCHIVE_BYTES (10ull << 30)

static int
set_name(void *ctx, const char *value, struct ef_error *err)
{
    if (!*value || strlen(value) > EF_TRACE_NAME_MAX) {
        return ef_error_set(err, -EINVAL, "--name: a name has 1 to %d bytes", EF_TRACE_NAME_MAX);
    }
    ((struct ef_conf *) ctx)->analyzer.name = value;
    return 0;
}

static int
add_source(void *ctx, const char *value, struct ef_error *err)
{
    struct ef_analyzer_config *c = &((struct ef_conf *) ctx)->analyzer;
    if (c->n_sources == EF_ANALYZER_MAX_SOURCES) {
        return ef_error_set(err, -ENOSPC, "--source: at most %d sources", EF_ANALYZER_MAX_SOURCES);
    }
    for (unsigned i = 0; i < c->n_sources; i++) {
        if (!strcmp(c->sources[i], value)) {
            return ef_error_set(err, -EEXIST, "--source: '%.60s' is there twice; each copy would count twice", value);
        }
    }
    c->sources[c->n_sources++] = value;
    return 0;
}

static int
set_workers(void *ctx, const char *value, struct ef_error *err)
{
    uint64_t n;
    int rc = ef_parse_u64(value, "--workers", 1, EF_INGEST_MAX_WORKERS, &n, err);
    if (!rc) {
        ((struct ef_conf *) ctx)->analyzer.n_workers = (unsigned) n;
    }
    return rc;
}

static int
set_memory(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_size(value, "--memory", EF_MEMORY_PLAN_MIN_BYTES, EF_MEMORY_PLAN_MAX_BYTES,
                         &((struct ef_conf *) ctx)->analyzer.memory_bytes, err);
}

static int
set_idle(void *ctx, const char *value, struct ef_error *err)
{
    int64_t ns;
    struct ef_error why = EF_ERROR_INIT;
    if (ef_duration_parse(value, &ns, &why)) {
        return ef_error_set(err, -EINVAL, "--idle: %s", why.text);
    }
    if (ns < EF_NS_PER_MS || ns > 3600 * EF_NS_PER_S) {
        return ef_error_set(err, -ERANGE, "--idle: %.40s is not between 1ms and 1h", value);
    }
    ((struct ef_conf *) ctx)->analyzer.idle_ns = ns;
    return 0;
}

static int
set_debug_dscp(void *ctx, const char *value, struct ef_error *err)
{
    uint64_t bit;
    int rc = ef_parse_u64(value, "--debug-dscp", 0, 5, &bit, err);
    if (!rc) {
        ((struct ef_conf *) ctx)->analyzer.debug_dscp = (uint8_t) (1 << bit);
    }
    return rc;
}

static int
set_topology(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_conf *) ctx)->analyzer.topology = value;
    return 0;
}

/* Checked here, so that a mistake is one of usage; made where it is used. */
static int
set_keep(void *ctx, const char *value, struct ef_error *err)
{
    struct ef_keep keep;
    int rc = ef_keep_init(&keep, value, err);
    if (rc) {
        return ef_error_prefix(err, rc, "--keep");
    }
    ef_keep_deinit(&keep);
    ((struct ef_conf *) ctx)->analyzer.keep = value;
    return 0;
}

static int
set_archive(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_conf *) ctx)->analyzer.archive.dir = value;
    return 0;
}

static int
set_archive_age(void *ctx, const char *value, struct ef_error *err)
{
    int64_t ns;
    struct ef_error why = EF_ERROR_INIT;
    if (ef_duration_parse(value, &ns, &why)) {
        return ef_error_set(err, -EINVAL, "--archive-age: %s", why.text);
    }
    if (ns < EF_NS_PER_S) {
        return ef_error_set(err, -ERANGE, "--archive-age: %.40s is less than 1s", value);
    }
    ((struct ef_conf *) ctx)->analyzer.archive.max_age_ns = ns;
    return 0;
}

static int
set_archive_size(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_size(value, "--archive-size", MIN_ARCHIVE_BYTES, EF_MEMORY_PLAN_MAX_BYTES,
                         &((struct ef_conf *) ctx)->analyzer.archive.max_bytes, err);
}

static int
set_http(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_conf *) ctx)->http = value;
    return 0;
}

static const struct ef_option options[] = {
    {"name", 'n', "NAME", "what traces and the status call this analyzer; required", set_name},
    {"source", 's', "SPEC",
     "where copies come in, afpacket:IFACE[@NETNS], dpdk:DEVICE or pcap:FILE;\n"
     "once or more, each has its own thread; required",
     add_source},
    {"workers", 'w', "N", "threads that assemble traces, 1 to 64 (default 2)", set_workers},
    {"memory", 'm', "SIZE", "bound of the memory for rings and traces, at least 16M\n(default 256M)", set_memory},
    {"idle", 0, "TIME", "close a trace when no copy came for this long (default 1s)", set_idle},
    {"debug-dscp", 0, "BIT",
     "number of the DSCP bit that marks a packet for tracing, 0 to 5,\n"
     "as the switches have it in debug_dscp (default 1)",
     set_debug_dscp},
    {"topology", 't', "FILE",
     "which switch each host is behind, as ef-fabric topology --json writes it:\n"
     "else it is the controller that tells; without either no packet can be called dropped",
     set_topology},
    {"keep", 0, "WHAT",
     "which traces to keep, all others only count: all (the default), classes of\n"
     "abnormal, debug, control and probe joined by '+', or a filter",
     set_keep},
    {"archive", 0, "DIR", "keep every closed trace also in this directory, as Parquet files", set_archive},
    {"archive-age", 0, "TIME", "delete archived traces that are older, such as 72h (default: none)", set_archive_age},
    {"archive-size", 0, "SIZE", "delete the oldest when the archive has more, at least 64M\n(default 10G)",
     set_archive_size},
    {"http", 0, "ADDRESS", "answer there, such as 127.0.0.1:8781 or unix:PATH", set_http},
    {0},
};

static int
check(const struct ef_conf *conf, struct ef_error *err)
{
    if (!conf->analyzer.name) {
        return ef_error_set(err, -EINVAL, "--name is required: what traces call this analyzer");
    }
    if (!conf->analyzer.n_sources) {
        return ef_error_set(err, -EINVAL, "--source is required: where copies come in, such as afpacket:eth0");
    }
    if (!conf->analyzer.archive.dir &&
        (conf->analyzer.archive.max_age_ns || conf->analyzer.archive.max_bytes != DEFAULT_ARCHIVE_BYTES)) {
        return ef_error_set(err, -EINVAL, "--archive-age and --archive-size bound an archive; give --archive too");
    }
    struct ef_memory_plan plan;
    return ef_memory_plan_make(&plan, conf->analyzer.memory_bytes, conf->analyzer.n_sources, conf->analyzer.n_workers,
                               conf->analyzer.topology, err);
}

int
ef_conf_parse(struct ef_conf *conf, int argc, char *const argv[], struct ef_error *err)
{
    memset(conf, 0, sizeof *conf);
    conf->daemon.program = "ef-analyzer";
    conf->analyzer.n_workers = DEFAULT_WORKERS;
    conf->analyzer.memory_bytes = EF_MEMORY_PLAN_DEFAULT_BYTES;
    conf->analyzer.idle_ns = EF_NS_PER_S;
    conf->analyzer.archive.max_bytes = DEFAULT_ARCHIVE_BYTES;
    conf->analyzer.debug_dscp = 1 << DEFAULT_DEBUG_DSCP_BIT;
    struct ef_option_group groups[] = {
        {"Options", options, conf}, EF_TLS_GROUP(&conf->tls), EF_DAEMON_GROUP(&conf->daemon), {0}};
    int first = ef_options_parse(groups, argc, argv, err);
    if (first < 0) {
        return first;
    }
    if (first < argc) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not an option; all arguments are", argv[first]);
    }
    conf->daemon.capabilities = ef_io_capabilities(conf->analyzer.sources, conf->analyzer.n_sources);
    return check(conf, err);
}

void
ef_conf_print_help(void)
{
    struct ef_option_group groups[] = {{"Options", options, NULL}, EF_TLS_GROUP(NULL), EF_DAEMON_GROUP(NULL), {0}};
    printf("Usage: ef-analyzer --name NAME --source SPEC [--source ...] [OPTION...]\n"
           "Put the mirrored copies of each packet together into its trace, keep the traces,\n"
           "and answer questions about them over HTTP.\n");
    ef_options_print(groups, stdout);
    printf("\nExamples:\n"
           "  ef-analyzer --name analyzer1 --source afpacket:eth0 --http 127.0.0.1:8781\n"
           "  ef-analyzer --name offline --source pcap:copies.pcap --http 127.0.0.1:8781\n");
}
