/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric exec: a command in the namespace of a host or switch. At a switch
 * the tools of Open vSwitch talk to that switch. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "utilities/fabric/commands.h"
#include "utilities/fabric/memory.h"
#include "utilities/fabric/ovs.h"
#include "utilities/fabric/state.h"

static void
no_such_node(const struct ef_topology *t, const char *name, struct ef_error *err)
{
    const char **names = ef_xzalloc((t->n_switches + t->n_hosts + 1) * sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < t->n_hosts; i++) {
        names[n++] = t->hosts[i].name;
    }
    for (size_t i = 0; i < t->n_switches; i++) {
        names[n++] = t->switches[i].name;
    }
    const char *near = ef_nearest_word(name, names);
    ef_error_set(err, -ENOENT, "fabric '%s' has no host or switch '%.40s'%s%s%s", t->name, name,
                 near ? "; did you mean '" : "; see `ef-fabric topology`", near ? near : "", near ? "'?" : "");
    free(names);
}

/* `ip netns exec` gives the command the namespace's own /sys as well. */
static int
exec_in(const struct ef_topology *t, const char *node, int n_words, char *const words[], struct ef_error *err)
{
    char netns[EF_NETNS_NAME_SIZE];
    const char **argv = ef_xzalloc(((size_t) n_words + 5) * sizeof *argv);
    size_t n = 0;
    argv[n++] = "ip";
    argv[n++] = "netns";
    argv[n++] = "exec";
    argv[n++] = ef_topology_netns(t, node, netns);
    for (int i = 0; i < n_words; i++) {
        argv[n++] = words[i];
    }
    execvp(argv[0], (char *const *) argv);
    int rc = ef_error_set(err, -errno, "cannot run ip: %s", strerror(errno));
    free(argv);
    return rc;
}

static int
run_exec(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    const char *node = words[0];
    struct ef_topology *t;
    int skip = n_words > 1 && !strcmp(words[1], "--") ? 2 : 1;
    if (n_words <= skip) {
        ef_error_set(err, -EINVAL, "say what to run; usage: ef-fabric exec %s", ef_command_exec.usage);
        return EF_EXIT_USAGE;
    }
    if (ef_state_load(ef_fabric_name_of(common), &t, err)) {
        return EF_EXIT_FAILURE;
    }
    if (ef_topology_switch(t, node)) {
        ef_ovs_set_environment(t->name, node);
    }
    if (geteuid()) {
        ef_error_set(err, -EPERM, "needs root (network namespaces); run it with sudo");
    } else if (!ef_topology_switch(t, node) && !ef_topology_host(t, node)) {
        no_such_node(t, node, err);
    } else {
        exec_in(t, node, n_words - skip, words + skip, err);
    }
    ef_topology_destroy(t);
    return EF_EXIT_FAILURE;
}

const struct ef_fabric_command ef_command_exec = {
    .name = "exec",
    .usage = "NODE [--] COMMAND [ARGUMENT...]",
    .help = "run a command at a host or switch",
    .min_words = 1,
    .max_words = -1,
    .run = run_exec,
};
