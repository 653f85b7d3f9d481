/* SPDX-License-Identifier: Apache-2.0 */
/* The command line; see conf.h. */
#include <config.h>

#include "utilities/replay/conf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/parse_number.h"
#include "packet/headers.h"
#include "packet/packet.h"

static int
parse_number(const char *text, const char *what, double most, double *out, struct ef_error *err)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || !(x >= 0) || x > most) {
        return ef_error_set(err, -EINVAL, "%s: '%.40s' is not a number from 0 to %g", what, text, most);
    }
    *out = x;
    return 0;
}

/* "0.001" or "0.1%". */
static int
parse_share(const char *text, const char *what, double *out, struct ef_error *err)
{
    char number[40];
    size_t n = strlen(text);
    bool percent = n && text[n - 1] == '%';
    snprintf(number, sizeof number, "%.*s", (int) (n - percent), text);
    int rc = parse_number(number, what, percent ? 100 : 1, out, err);
    *out /= percent ? 100 : 1;
    return rc;
}

static int
parse_u32(const char *text, const char *what, uint64_t min, uint64_t max, uint32_t *out, struct ef_error *err)
{
    uint64_t x;
    int rc = ef_parse_u64(text, what, min, max, &x, err);
    *out = rc ? 0 : (uint32_t) x;
    return rc;
}

/* Options that set one member of the workload. */
#define SETTER(NAME, PARSE)                                                   \
    static int set_##NAME(void *ctx, const char *value, struct ef_error *err) \
    {                                                                         \
        struct replay_conf *conf = ctx;                                       \
        struct replay_workload *w = &conf->workload;                          \
        conf->has_workload = true;                                            \
        return PARSE;                                                         \
    }

SETTER(packets, ef_parse_u64(value, "--packets", 1, 1ull << 32, &w->n_packets, err))
SETTER(flows, parse_u32(value, "--flows", 1, 1 << 23, &w->n_flows, err))
SETTER(hops, parse_u32(value, "--hops", 1, REPLAY_MAX_HOPS, &w->hops, err))
SETTER(width, parse_u32(value, "--width", 1, REPLAY_MAX_WIDTH, &w->width, err))
SETTER(bytes, parse_u32(value, "--bytes", 54, 1600, &w->packet_bytes, err))
SETTER(truncate, parse_u32(value, "--truncate", 0, 1600, &w->truncate, err))
SETTER(seed, ef_parse_u64(value, "--seed", 0, UINT64_MAX, &w->seed, err))
SETTER(lost, parse_share(value, "--lost", &w->lost, err))
SETTER(duplicated, parse_share(value, "--duplicated", &w->duplicated, err))
SETTER(loops, parse_share(value, "--loops", &w->loops, err))
SETTER(drops, parse_share(value, "--drops", &w->drops, err))
SETTER(muxed, parse_share(value, "--muxed", &w->muxed, err))
SETTER(debug, parse_share(value, "--debug", &w->debug, err))
SETTER(reorder, ef_duration_parse(value, &w->reorder_ns, err))
SETTER(hop_delay, ef_duration_parse(value, &w->hop_ns, err))

static int
set_target(void *ctx, const char *value, struct ef_error *err)
{
    struct replay_conf *conf = ctx;
    conf->has_workload = true;
    if (ef_address_parse(value, conf->workload.target) || !ef_address_is_ipv4(conf->workload.target)) {
        return ef_error_set(err, -EINVAL, "--target: '%.60s' is not an IPv4 address", value);
    }
    return 0;
}

static int
set_encap(void *ctx, const char *value, struct ef_error *err)
{
    static const char *const names[] = {[EF_ENCAP_GRE] = "gre",
                                        [EF_ENCAP_ERSPAN1] = "erspan1",
                                        [EF_ENCAP_ERSPAN2] = "erspan2",
                                        [EF_ENCAP_ERSPAN3] = "erspan3",
                                        [EF_ENCAP_VENDOR_8949] = "vendor8949"};
    struct replay_conf *conf = ctx;
    conf->has_workload = true;
    for (unsigned i = 0; i < EF_ARRAY_SIZE(names); i++) {
        if (!strcmp(value, names[i])) {
            conf->workload.encapsulation = (uint8_t) i;
            return 0;
        }
    }
    return ef_error_set(err, -EINVAL, "--encap: '%.40s' is none of gre, erspan1, erspan2, erspan3, vendor8949", value);
}

static int
set_rate(void *ctx, const char *value, struct ef_error *err)
{
    struct replay_conf *conf = ctx;
    conf->has_workload = true;
    int rc = parse_number(value, "--rate", 1e9, &conf->rate, err);
    return rc || conf->rate >= 1 ? rc : ef_error_set(err, -EINVAL, "--rate: at least 1 copy a second");
}

static int
set_start(void *ctx, const char *value, struct ef_error *err)
{
    struct replay_conf *conf = ctx;
    conf->has_start = conf->has_workload = true;
    return ef_time_parse(value, ef_time_real(), &conf->start, err);
}

static int
set_speed(void *ctx, const char *value, struct ef_error *err)
{
    return parse_number(value, "--speed", 1e6, &((struct replay_conf *) ctx)->speed, err);
}

static int
set_sink(void *ctx, const char *value, struct ef_error *err)
{
    ((struct replay_conf *) ctx)->sink = value;
    return 0;
}

static int
set_truth(void *ctx, const char *value, struct ef_error *err)
{
    struct replay_conf *conf = ctx;
    conf->truth = value;
    conf->has_workload = true;
    return 0;
}

static int
set_truth_all(void *ctx, const char *value, struct ef_error *err)
{
    ((struct replay_conf *) ctx)->every_packet = true;
    return 0;
}

static int
set_capture(void *ctx, const char *value, struct ef_error *err)
{
    ((struct replay_conf *) ctx)->capture = value;
    return 0;
}

static int
set_progress(void *ctx, const char *value, struct ef_error *err)
{
    ((struct replay_conf *) ctx)->show_progress = true;
    return 0;
}

static const struct ef_option workload_options[] = {
    {"packets", 'n', "N", "packets to make copies of (default 1000)", set_packets},
    {"flows", 0, "N", "TCP flows that they belong to (default 100)", set_flows},
    {"hops", 0, "N", "switches on a packet's way, 1 to 16 (default 5)", set_hops},
    {"width", 0, "N", "equal switches at each hop, 1 to 200 (default 4)", set_width},
    {"bytes", 0, "N", "length of the packets (default 64)", set_bytes},
    {"truncate", 0, "N", "bytes of a packet in its copy; 0: all (default)", set_truncate},
    {"encap", 0, "NAME", "gre, erspan1, erspan2, erspan3 (default) or vendor8949", set_encap},
    {"target", 0, "IP", "where the switches send copies (default 10.255.255.1)", set_target},
    {"rate", 0, "N", "copies a second (default 100000)", set_rate},
    {"hop-delay", 0, "TIME", "between two switches (default 10us)", set_hop_delay},
    {"reorder", 0, "TIME", "a copy arrives up to so much late (default 0s)", set_reorder},
    {"lost", 0, "SHARE", "of the copies are lost on their way: 0.001 or 0.1% (default 0)", set_lost},
    {"duplicated", 0, "SHARE", "of the copies arrive twice", set_duplicated},
    {"loops", 0, "SHARE", "of the packets go in a loop", set_loops},
    {"drops", 0, "SHARE", "of the packets are dropped by a switch", set_drops},
    {"muxed", 0, "SHARE", "of the packets pass a load balancer, which encapsulates them", set_muxed},
    {"debug", 0, "SHARE", "of the packets carry the debug bit (DSCP bit 1)", set_debug},
    {"seed", 0, "N", "another seed, another workload (default 1)", set_seed},
    {"start", 0, "TIME", "time of the first packet (default now)", set_start},
    {"truth", 0, "FILE", "write what happened to which packet, as lines of JSON", set_truth},
    {"truth-all", 0, NULL, "of every packet, not just of those to which something happened", set_truth_all},
    {0},
};

static const struct ef_option play_options[] = {
    {"capture", 'r', "FILE", "play the copies in a pcap or pcapng file instead of making some", set_capture},
    {"sink", 's', "SPEC", "where to: ip[@NETNS], dpdk:DEVICE#MAC or pcap:FILE; required", set_sink},
    {"speed", 0, "X", "2: twice as fast as the copies' times say; 0: at once (default 1)", set_speed},
    {"progress", 'p', NULL, "say each second how far it is", set_progress},
    {0},
};

static int
check(struct replay_conf *conf, struct ef_error *err)
{
    if (!conf->sink) {
        return ef_error_set(err, -EINVAL, "--sink is required: where the copies go, such as ip or pcap:copies.pcap");
    }
    if (conf->capture && conf->has_workload) {
        return ef_error_set(err, -EINVAL, "--capture plays a file as it is; options that make copies do not apply");
    }
    if (conf->every_packet && !conf->truth) {
        return ef_error_set(err, -EINVAL, "--truth-all needs --truth FILE");
    }
    return 0;
}

int
replay_conf_parse(struct replay_conf *conf, int argc, char *const argv[], struct ef_error *err)
{
    *conf = (struct replay_conf){
        .workload = {.seed = 1,
                     .n_packets = 1000,
                     .n_flows = 100,
                     .hops = 5,
                     .width = 4,
                     .packet_bytes = 64,
                     .hop_ns = 10 * EF_NS_PER_US,
                     .encapsulation = EF_ENCAP_ERSPAN3},
        .speed = 1,
        .rate = 100000,
    };
    ef_address_parse("10.255.255.1", conf->workload.target);
    struct ef_option_group groups[] = {
        {"What to make", workload_options, conf}, {"How to play it", play_options, conf}, {0}};
    int first = ef_options_parse(groups, argc, argv, err);
    if (first < 0) {
        return first;
    }
    if (first < argc) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not an option; all arguments are", argv[first]);
    }
    int64_t gap_ns = llround(conf->workload.hops * 1e9 / conf->rate);
    conf->workload.gap_ns = EF_MAX(gap_ns, 1);
    return check(conf, err);
}

void
replay_conf_print_help(void)
{
    struct ef_option_group groups[] = {
        {"What to make", workload_options, NULL}, {"How to play it", play_options, NULL}, {0}};
    printf("Usage: ef-replay --sink SPEC [OPTION...]\n"
           "       ef-replay --capture FILE --sink SPEC [OPTION...]\n"
           "Make mirrored copies of packets with a known story, or play captured ones.\n");
    ef_options_print(groups, stdout);
    printf("\nExample: a million copies with losses, loops and drops, and the truth about them\n"
           "  ef-replay --packets 200000 --lost 0.1%% --loops 0.01%% --drops 0.01%% --sink ip --truth truth.ndjson\n");
}
