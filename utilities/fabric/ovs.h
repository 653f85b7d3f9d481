/* SPDX-License-Identifier: Apache-2.0 */
/* Where Open vSwitch is installed, and starting one switch of it. */
#ifndef EF_FABRIC_OVS_H
#define EF_FABRIC_OVS_H

#include "utilities/fabric/topology.h"

#define EF_VSWITCHD_PIDFILE "ovs-vswitchd.pid"
#define EF_OVSDB_PIDFILE "ovsdb-server.pid"

/* The installation to use: `option` (of --ovs), or $EF_OVS_PREFIX, or what was
 * built beside this program. */
const char *ef_ovs_prefix(const char *option);

/* 0 if the programs are there, else -ENOENT with `err`. */
int ef_ovs_check(const char *prefix, struct ef_error *err);

/* Remembers with which installation fabric `name` runs, by a link in its
 * folder. Returns 0 or a negative errno with `err`. */
int ef_ovs_remember(const char *prefix, const char *name, struct ef_error *err);

/* Sets the environment of the calling process so that the programs of the
 * fabric's installation are found first and talk to switch `sw`. */
void ef_ovs_set_environment(const char *name, const char *sw);

/* Starts the switch's daemons, its bridge and its flows. The calling process
 * must be in the switch's namespace and have its environment. Returns 0 or a
 * negative errno with `err`. */
int ef_ovs_start(const char *prefix, const struct ef_topology *topology, const struct ef_topology_switch *sw,
                 struct ef_error *err);

/* Starts the switch daemon again after its end, with the flows that it had; the
 * database server was running all the time. As above otherwise. */
int ef_ovs_restart_daemon(const struct ef_topology *topology, const struct ef_topology_switch *sw,
                          struct ef_error *err);

#endif
