/* SPDX-License-Identifier: Apache-2.0 */
/* The command line; see conf.h. */
#include <config.h>

#include "guided-prober/conf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/parse_number.h"
#include "base/time.h"
#include "guided-prober/output.h"
#include "io/capabilities.h"

enum { DEFAULT_RATE = 1000, DEFAULT_TOTAL = 10000, MAX_RATE = 100000000 };
#define MAX_TOTAL (1ull << 40)

#define SETTER(NAME) static int set_##NAME(void *ctx, const char *value, struct ef_error *err)

#define TEXT(NAME)                                  \
    SETTER(NAME)                                    \
    {                                               \
        ((struct prober_conf *) ctx)->NAME = value; \
        return 0;                                   \
    }

TEXT(topology)
TEXT(sink)
TEXT(pcap)
TEXT(http)

SETTER(count)
{
    return ef_parse_u64(value, "--count", 1, MAX_TOTAL, &((struct prober_conf *) ctx)->count, err);
}

SETTER(interval)
{
    struct prober_conf *c = ctx;
    c->has_interval = true;
    return ef_duration_parse(value, &c->interval_ns, err);
}

SETTER(rate_limit)
{
    return ef_parse_u64(value, "--rate-limit", 1, MAX_RATE, &((struct prober_conf *) ctx)->limits.rate, err);
}

SETTER(total_limit)
{
    return ef_parse_u64(value, "--total-limit", 1, MAX_TOTAL, &((struct prober_conf *) ctx)->limits.total, err);
}

SETTER(probe_id)
{
    struct prober_conf *c = ctx;
    char hex[20];
    c->has_probe_id = true;
    snprintf(hex, sizeof hex, "0x%.17s", value);
    return ef_parse_u64(hex, "--probe-id", 0, UINT64_MAX, &c->probe_id, err);
}

SETTER(explain)
{
    ((struct prober_conf *) ctx)->explain = true;
    return 0;
}

static const struct ef_option run_options[] = {
    {"topology", 't', "FILE", "topology document, which says to whom probes may go; required", set_topology},
    {"sink", 0, "SPEC", "where to: ip[@NETNS] (default ip) or packet:INTERFACE[@NETNS]", set_sink},
    {"count", 'n', "N", "how many probes (default 1)", set_count},
    {"interval", 'i', "TIME", "between two of them; 0s: as fast as allowed (default 100ms)", set_interval},
    {"probe-id", 0, "HEX", "what they are known by (default: by chance)", set_probe_id},
    {"explain", 0, NULL, "send nothing: show the first probe byte by byte", set_explain},
    {"pcap", 0, "FILE", "send nothing: write the probes into a capture", set_pcap},
    {"rate-limit", 0, "N", "never more probes a second (default 1000)", set_rate_limit},
    {"total-limit", 0, "N", "never more probes in one order (default 10000)", set_total_limit},
    {0},
};

static const struct ef_option serve_options[] = {
    {"http", 0, "ADDRESS", "take orders there instead, such as 127.0.0.1:8795", set_http},
    {0},
};

/* What to send is in the orders then, and not on the command line. */
static int
check_server(const struct prober_conf *c, struct ef_error *err)
{
    if (!c->http && (c->daemon.detach || c->daemon.pidfile || c->daemon.control)) {
        return ef_error_set(err, -EINVAL, "daemon options need --http");
    }
    if (c->http && (c->explain || c->pcap || *c->format.dst_text)) {
        return ef_error_set(err, -EINVAL, "--http takes orders; what to send is in them and not on the command line");
    }
    return 0;
}

static int
check(const struct prober_conf *c, struct ef_error *err)
{
    bool dry = c->explain || c->pcap;
    if (!c->topology) {
        return ef_error_set(err, -EINVAL, "--topology is required: it says to whom probes may go");
    }
    if (c->format.has_eth && !c->format.n_via && !dry && strncmp(c->sink, "packet:", 7)) {
        return ef_error_set(err, -EINVAL, "a frame needs --sink packet:INTERFACE, or --via to be taken out there");
    }
    return check_server(c, err);
}

int
prober_conf_parse(struct prober_conf *c, int argc, char *const argv[], struct ef_error *err)
{
    *c = (struct prober_conf){
        .limits = {DEFAULT_RATE, DEFAULT_TOTAL},
        .sink = "ip",
        .count = 1,
        .daemon = {.program = "ef-prober"},
    };
    prober_format_init(&c->format);
    struct ef_option_group groups[] = {{"What to send", prober_format_options, &c->format},
                                       {"How", run_options, c},
                                       {"Orders", serve_options, c},
                                       EF_TLS_GROUP(&c->tls),
                                       EF_DAEMON_GROUP(&c->daemon),
                                       {0}};
    int first = ef_options_parse(groups, argc, argv, err);
    if (first < 0) {
        return first;
    }
    if (first < argc) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not an option; all arguments are", argv[first]);
    }
    if (!c->has_interval) {
        c->interval_ns = 100 * EF_NS_PER_MS;
    }
    if (!c->has_probe_id && getrandom(&c->probe_id, sizeof c->probe_id, 0) != sizeof c->probe_id) {
        return ef_error_set(err, -errno, "no random number: %s", strerror(errno));
    }
    c->daemon.capabilities = ef_io_capabilities(&c->sink, 1);
    return check(c, err);
}

void
prober_conf_print_help(void)
{
    struct ef_option_group groups[] = {{"What to send", prober_format_options, NULL},
                                       {"How", run_options, NULL},
                                       {"Orders", serve_options, NULL},
                                       EF_TLS_GROUP(NULL),
                                       EF_DAEMON_GROUP(NULL),
                                       {0}};
    printf("Usage: ef-prober --topology FILE --dst TARGET [OPTION...]\n"
           "       ef-prober --topology FILE --http ADDRESS [OPTION...]\n"
           "Send guided probes, traced packets that take a given way; or take orders to.\n");
    ef_options_print(groups, stdout);
    printf("\nExample: ten probes over the link from leaf1 to spine1 and back, then to h4\n"
           "  ef-prober -t topology.json --sink ip@ef-demo-h1 --via leaf1,spine1,leaf1 --dst h4 --count 10\n");
}

int
prober_limits_check(const struct prober_limits *limits, uint64_t count, int64_t *interval_ns, struct ef_error *err)
{
    int64_t least = EF_MAX(EF_NS_PER_S / (int64_t) limits->rate, 1);
    if (count > limits->total) {
        return ef_error_set(err, -EACCES, "%" PRIu64 " probes are more than the %" PRIu64 " of --total-limit", count,
                            limits->total);
    }
    if (*interval_ns < 0 || (*interval_ns && *interval_ns < least)) {
        return ef_error_set(err, -EACCES,
                            "an interval of %" PRId64 " ns is shorter than --rate-limit %" PRIu64 " a second allows",
                            *interval_ns, limits->rate);
    }
    *interval_ns = *interval_ns ? *interval_ns : least;
    return 0;
}
