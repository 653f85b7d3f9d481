/* SPDX-License-Identifier: Apache-2.0 */
/* A switch whose daemon dies: nothing is forwarded any more, while its links
 * stay up and its database still answers. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "utilities/fabric/fault.h"
#include "utilities/fabric/netns.h"
#include "utilities/fabric/ovs.h"
#include "utilities/fabric/plan.h"
#include "utilities/fabric/process.h"
#include "utilities/fabric/run_command.h"
#include "utilities/fabric/state.h"

static pid_t
daemon_of(const struct ef_topology *t, const struct ef_fault *fault)
{
    char path[EF_STATE_PATH_SIZE];
    return ef_pidfile_owner(ef_state_path(t->name, fault->node, EF_VSWITCHD_PIDFILE, path));
}

static int
start(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    pid_t pid = daemon_of(t, fault);
    if (!pid) {
        return ef_error_set(err, -ESRCH, "the daemon of %s does not run; see `ef-fabric status`", fault->node);
    }
    return kill(pid, SIGKILL)
               ? ef_error_set(err, -errno, "cannot kill the daemon of %s: %s", fault->node, strerror(errno))
               : 0;
}

/* The bridge's own interface outlives the daemon with its addresses, but need not. */
static int
restart(const struct ef_topology *t, const struct ef_topology_switch *sw, struct ef_error *err)
{
    const char *argv[] = {"ip", "-batch", "-", NULL};
    bool has_interface = ef_link_get(EF_BRIDGE).exists;
    int rc = ef_ovs_restart_daemon(t, sw, err);
    if (!rc && !has_interface) {
        char *batch = ef_plan_cpu(sw, !access("/proc/sys/net/ipv6", F_OK));
        rc = ef_run(argv, batch, NULL, err);
        free(batch);
    }
    return rc;
}

static int
stop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    char netns[EF_NETNS_NAME_SIZE];
    if (daemon_of(t, fault)) {
        return 0;
    }
    int here = ef_netns_here();
    int rc = ef_netns_enter(ef_topology_netns(t, fault->node, netns), err);
    if (!rc) {
        ef_ovs_set_environment(t->name, fault->node);
        rc = restart(t, ef_topology_switch(t, fault->node), err);
    }
    ef_netns_return(here);
    return rc;
}

const struct ef_fault_kind ef_fault_switch_crash = {
    .name = "switch-crash",
    .help = "the switch's daemon is killed; its links stay up",
    .start = start,
    .stop = stop,
};
