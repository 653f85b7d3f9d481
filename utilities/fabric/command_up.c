/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric up, down: options and messages; up.c and down.c do the work. */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_number.h"
#include "base/time.h"
#include "utilities/fabric/commands.h"
#include "utilities/fabric/memory.h"
#include "utilities/fabric/ovs.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/up.h"

static struct up_options {
    struct ef_topology_shape shape;
    bool shape_given;
    const char *topology, *ovs;
} up_options = {.shape = {.n_spines = 2, .n_leaves = 4, .hosts_per_leaf = 2, .n_analyzers = 2}};

static int
set_count(int *count, const char *what, uint64_t min, uint64_t max, const char *value, struct ef_error *err)
{
    uint64_t number;
    int rc = ef_parse_u64(value, what, min, max, &number, err);
    if (!rc) {
        *count = (int) number;
        up_options.shape_given = true;
    }
    return rc;
}

static int
set_spines(void *ctx, const char *value, struct ef_error *err)
{
    return set_count(&up_options.shape.n_spines, "--spines", 0, 64, value, err);
}
static int
set_leaves(void *ctx, const char *value, struct ef_error *err)
{
    return set_count(&up_options.shape.n_leaves, "--leaves", 1, EF_MAX_SWITCHES, value, err);
}
static int
set_hosts_per_leaf(void *ctx, const char *value, struct ef_error *err)
{
    return set_count(&up_options.shape.hosts_per_leaf, "--hosts-per-leaf", 0, 180, value, err);
}
static int
set_collectors(void *ctx, const char *value, struct ef_error *err)
{
    return set_count(&up_options.shape.n_analyzers, "--collectors", 0, 99, value, err);
}
static int
set_topology(void *ctx, const char *value, struct ef_error *err)
{
    up_options.topology = value;
    return 0;
}

static int
set_ovs(void *ctx, const char *value, struct ef_error *err)
{
    up_options.ovs = value;
    return 0;
}

static const struct ef_option up_option_table[] = {
    {"spines", 's', "S", "spine switches (default 2)", set_spines},
    {"leaves", 'l', "L", "leaf switches (default 4)", set_leaves},
    {"hosts-per-leaf", 'H', "N", "hosts at each leaf (default 2)", set_hosts_per_leaf},
    {"collectors", 'c', "N", "analyzers, with one reshuffler (default 2; 0: neither)", set_collectors},
    {"topology", 't', "FILE", "build what this JSON document says", set_topology},
    {"ovs", 0, "PREFIX", "where Open vSwitch is installed (default $EF_OVS_PREFIX, or\n" EF_DEFAULT_OVS_PREFIX ")",
     set_ovs},
    {0},
};

static int
check_root(struct ef_error *err)
{
    return geteuid() ? ef_error_set(err, -EPERM, "needs root (network namespaces); run it with sudo") : 0;
}

static int
make_topology(const char *name, struct ef_topology **topology, struct ef_error *err)
{
    if (!up_options.topology) {
        return ef_topology_generate(name ? name : EF_DEFAULT_FABRIC, &up_options.shape, topology, err);
    }
    if (up_options.shape_given) {
        return ef_error_set(err, -EINVAL,
                            "--topology FILE says it all; leave out --spines, --leaves, "
                            "--hosts-per-leaf and --collectors");
    }
    return ef_topology_read(up_options.topology, name, topology, err);
}

static int
run_up(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    struct ef_topology *t;
    struct ef_time start = ef_time_mono();
    int rc = make_topology(common->name, &t, err);
    if (rc) {
        return rc == -EINVAL ? EF_EXIT_USAGE : EF_EXIT_FAILURE;
    }
    rc = check_root(err);
    if (!rc) {
        rc = ef_fabric_up(t, ef_ovs_prefix(up_options.ovs), err);
    }
    if (!rc) {
        printf("fabric '%s' is up: %zu switches, %zu hosts (%.1f s)\n", t->name, t->n_switches, t->n_hosts,
               (double) ef_time_diff_ns(ef_time_mono(), start) / 1e9);
    }
    ef_topology_destroy(t);
    return rc ? EF_EXIT_FAILURE : 0;
}

const struct ef_fabric_command ef_command_up = {
    .name = "up",
    .usage = "[--spines S --leaves L --hosts-per-leaf N --collectors N | --topology FILE]",
    .help = "start a fabric",
    .options = up_option_table,
    .run = run_up,
};

/* --- down ------------------------------------------------------------------- */

static bool down_all;

static int
set_all(void *ctx, const char *value, struct ef_error *err)
{
    down_all = true;
    return 0;
}

static const struct ef_option down_option_table[] = {
    {"all", 'a', NULL, "remove every fabric of this machine", set_all},
    {0},
};

static int
remove_fabric(const char *name, struct ef_error *err)
{
    bool found;
    int rc = ef_fabric_down(name, &found, err);
    if (!rc) {
        printf(found ? "fabric '%s' is removed\n" : "there is no fabric '%s'; nothing to remove\n", name);
    }
    return rc;
}

struct names {
    char **list;
    size_t n;
};

static void
add_name(const char *name, void *names_)
{
    struct names *names = names_;
    names->list = ef_xgrow(names->list, names->n, sizeof *names->list);
    names->list[names->n++] = ef_xasprintf("%s", name);
}

/* Goes on after a failure, which is then what it returns. */
static int
remove_all(struct ef_error *err)
{
    struct names names = {0};
    int rc = 0;
    ef_state_list(add_name, &names);
    for (size_t i = 0; i < names.n; i++) {
        struct ef_error one = EF_ERROR_INIT;
        int code = remove_fabric(names.list[i], &one);
        if (code) {
            rc = code;
            *err = one;
        }
        free(names.list[i]);
    }
    free(names.list);
    return rc;
}

static int
run_down(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    int rc = check_root(err);
    if (!rc) {
        rc = down_all ? remove_all(err) : remove_fabric(ef_fabric_name_of(common), err);
    }
    return rc ? EF_EXIT_FAILURE : 0;
}

const struct ef_fabric_command ef_command_down = {
    .name = "down",
    .usage = "[--all]",
    .help = "remove a fabric, or what is left of one",
    .options = down_option_table,
    .run = run_down,
};
