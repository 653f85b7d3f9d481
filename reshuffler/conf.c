/* SPDX-License-Identifier: Apache-2.0 */
/* The command line; see conf.h. */
#include <config.h>

#include "reshuffler/conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse_number.h"
#include "io/capabilities.h"

static int
set_name(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_conf *) ctx)->name = value;
    return 0;
}

static int
add_vips(void *ctx, const char *value, struct ef_error *err)
{
    struct ef_conf *conf = ctx;
    int rc = 0;
    for (const char *rest = value; !rc; rest++) {
        char one[64];
        size_t n = strcspn(rest, ",");
        snprintf(one, sizeof one, "%.*s", (int) EF_MIN(n, sizeof one), rest);
        rc = ef_plan_add_vip(&conf->plan, one, err);
        rest += n;
        if (!*rest) {
            break;
        }
    }
    return rc;
}

static int
add_analyzer(void *ctx, const char *value, struct ef_error *err)
{
    return ef_plan_add_analyzer(&((struct ef_conf *) ctx)->plan, value, err);
}

static int
add_source(void *ctx, const char *value, struct ef_error *err)
{
    struct ef_conf *conf = ctx;
    if (conf->n_sources == EF_CONF_MAX_SOURCES) {
        return ef_error_set(err, -ENOSPC, "--source: at most %d sources", EF_CONF_MAX_SOURCES);
    }
    for (unsigned i = 0; i < conf->n_sources; i++) {
        if (!strcmp(conf->sources[i], value)) {
            return ef_error_set(err, -EEXIST, "--source: '%.60s' is there twice; each copy would be sent twice", value);
        }
    }
    conf->sources[conf->n_sources++] = value;
    return 0;
}

static int
set_sink(void *ctx, const char *value, struct ef_error *err)
{
    struct ef_conf *conf = ctx;
    if (conf->sink) {
        return ef_error_set(err, -EEXIST, "--sink: only one");
    }
    conf->sink = value;
    return 0;
}

static int
set_ring(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_size(value, "--ring", 1 << 20, 1 << 30, &((struct ef_conf *) ctx)->ring_bytes, err);
}

static int
set_answer(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_conf *) ctx)->answers = true;
    return 0;
}

static int
set_http(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_conf *) ctx)->http = value;
    return 0;
}

static const struct ef_option options[] = {
    {"vip", 0, "IP[,IP...]", "take copies sent to these addresses, of IPv4, IPv6 or both; required", add_vips},
    {"analyzer", 'a', "NAME=IP[,address6=IP][,weight=N][,url=URL]",
     "an analyzer to spread flows over; once for each, at least one unless --http\n"
     "is there to be told of some. With VIPs of IPv4 and IPv6 it needs an address of\n"
     "each. Its share is as its weight (1 to 1000, default 100); at the URL it is\n"
     "asked for its health, and left out while it is down",
     add_analyzer},
    {"source", 's', "SPEC",
     "where copies come in, afpacket:IFACE[@NETNS], dpdk:DEVICE or pcap:FILE;\n"
     "once or more, each has its own thread; required",
     add_source},
    {"sink", 0, "SPEC", "where copies go out, ip[@NETNS] (default ip), dpdk:DEVICE#MAC or pcap:FILE", set_sink},
    {"answer", 0, NULL,
     "answer ARP, neighbor solicitations and pings for the VIPs at the sources'\n"
     "interfaces, where no kernel has them (afpacket and dpdk)",
     set_answer},
    {"ring", 0, "SIZE", "memory of each source's receive ring, 1M to 1G (default 32M)", set_ring},
    {"http", 0, "ADDRESS", "serve /v1/status, /v1/analyzers and /metrics, such as 127.0.0.1:8790 or unix:PATH",
     set_http},
    {"name", 'n', "NAME", "what the status calls this reshuffler (default reshuffler)", set_name},
    {0},
};

static int
check(struct ef_conf *conf, struct ef_error *err)
{
    if (!conf->plan.n_vips) {
        return ef_error_set(err, -EINVAL, "--vip is required: the address that switches send copies to");
    }
    if (!conf->plan.n_analyzers && !conf->http) {
        return ef_error_set(err, -EINVAL,
                            "--analyzer is required: NAME=IP, where copies go; or --http, to be told of some");
    }
    if (!conf->n_sources) {
        return ef_error_set(err, -EINVAL, "--source is required: where copies come in, such as afpacket:eth0");
    }
    if (conf->n_sources > 1 && !strncmp(conf->sink, "pcap", 4)) {
        return ef_error_set(err, -EINVAL, "--sink: a capture file takes the copies of one --source only");
    }
    for (unsigned i = 0; conf->answers && i < conf->n_sources; i++) {
        if (strncmp(conf->sources[i], "afpacket:", 9) && strncmp(conf->sources[i], "dpdk:", 5)) {
            return ef_error_set(err, -EINVAL,
                                "--answer: only for sources afpacket:IFACE and dpdk:DEVICE, not for '%.60s'",
                                conf->sources[i]);
        }
    }
    return ef_plan_finish(&conf->plan, err);
}

static const int *
capabilities(const struct ef_conf *conf)
{
    const char *specs[EF_ARRAY_SIZE(conf->sources) + 1];
    memcpy(specs, conf->sources, conf->n_sources * sizeof *specs);
    specs[conf->n_sources] = conf->sink;
    return ef_io_capabilities(specs, conf->n_sources + 1u);
}

int
ef_conf_parse(struct ef_conf *conf, int argc, char *const argv[], struct ef_error *err)
{
    memset(conf, 0, sizeof *conf);
    conf->daemon.program = "ef-reshuffler";
    struct ef_option_group groups[] = {
        {"Options", options, conf}, EF_TLS_GROUP(&conf->tls), EF_DAEMON_GROUP(&conf->daemon), {0}};
    int first = ef_options_parse(groups, argc, argv, err);
    if (first < 0) {
        return first;
    }
    if (first < argc) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not an option; all arguments are", argv[first]);
    }
    conf->name = conf->name ? conf->name : "reshuffler";
    conf->sink = conf->sink ? conf->sink : "ip";
    conf->daemon.capabilities = capabilities(conf);
    return check(conf, err);
}

void
ef_conf_deinit(struct ef_conf *conf)
{
    ef_plan_deinit(&conf->plan);
}

void
ef_conf_print_help(void)
{
    struct ef_option_group groups[] = {{"Options", options, NULL}, EF_TLS_GROUP(NULL), EF_DAEMON_GROUP(NULL), {0}};
    printf("Usage: ef-reshuffler --vip IP --source SPEC --analyzer NAME=IP [--analyzer ...] [OPTION...]\n"
           "Take mirrored copies of packets and pass each flow's to the analyzer it belongs to.\n");
    ef_options_print(groups, stdout);
    printf("\nExample:\n"
           "  ef-reshuffler --vip 10.255.255.1 --source afpacket:eth0 --sink ip \\\n"
           "      --analyzer analyzer1=10.1.0.21 --analyzer analyzer2=10.2.0.21 --http 127.0.0.1:8790\n");
}
