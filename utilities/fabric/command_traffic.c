/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric traffic start, stop, status: options and messages; traffic.c does the work. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_number.h"
#include "utilities/fabric/commands.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/traffic.h"

#define MAX_RATE 1000

static struct ef_traffic_options options = {.connections = 10, .datagrams = 20, .seed = 1};

static int
set_rate(double *rate, const char *name, const char *value, struct ef_error *err)
{
    char *end;
    *rate = strtod(value, &end);
    return end == value || *end || !isfinite(*rate) || *rate < 0 || *rate > MAX_RATE || (*rate > 0 && *rate < 0.01)
               ? ef_error_set(err, -EINVAL, "%s: '%.40s' is neither 0 nor between 0.01 and %d a second", name, value,
                              MAX_RATE)
               : 0;
}

static int
set_connections(void *ctx, const char *value, struct ef_error *err)
{
    return set_rate(&options.connections, "--connections", value, err);
}
static int
set_datagrams(void *ctx, const char *value, struct ef_error *err)
{
    return set_rate(&options.datagrams, "--datagrams", value, err);
}
static int
set_seed(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--seed", 0, INT64_MAX, &options.seed, err);
}

static const struct ef_option traffic_option_table[] = {
    {"connections", 'c', "N", "TCP connections a second (default 10)", set_connections},
    {"datagrams", 'd', "N", "UDP datagrams a second (default 20)", set_datagrams},
    {"seed", 's', "N", "the same hosts, ports and sizes again (default 1)", set_seed},
    {0},
};

static int
act(const struct ef_topology *t, const char *action, struct ef_error *err)
{
    if (!strcmp(action, "start")) {
        return ef_traffic_start(t, &options, err) ? EF_EXIT_FAILURE : 0;
    }
    if (!strcmp(action, "stop")) {
        ef_traffic_stop(t);
        return 0;
    }
    if (!strcmp(action, "status")) {
        ef_print_json(ef_traffic_status(t));
        return 0;
    }
    ef_error_set(err, -EINVAL, "unknown action '%.40s'; say traffic start, traffic stop or traffic status", action);
    return EF_EXIT_USAGE;
}

static int
run_traffic(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    const char *name = ef_fabric_name_of(common);
    struct ef_topology *t;
    if (geteuid()) {
        ef_error_set(err, -EPERM, "needs root (network namespaces); run it with sudo");
        return EF_EXIT_FAILURE;
    }
    if (ef_state_load(name, &t, err)) {
        return EF_EXIT_FAILURE;
    }
    int code = EF_EXIT_FAILURE, lock = ef_state_lock(name, err);
    if (lock >= 0) {
        code = act(t, words[0], err);
        close(lock);
    } else if (lock == -ENOENT) {
        ef_error_set(err, lock, "fabric '%s' was removed meanwhile", name);
    }
    ef_topology_destroy(t);
    return code;
}

const struct ef_fabric_command ef_command_traffic = {
    .name = "traffic",
    .usage = "start [--connections N] [--datagrams N] [--seed N] | stop | status",
    .help = "background traffic between the hosts",
    .options = traffic_option_table,
    .min_words = 1,
    .max_words = 1,
    .run = run_traffic,
};
