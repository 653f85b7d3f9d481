/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel and Open vSwitch are told to build a topology, as text for
 * `ip -batch` and as argument lists: pure functions of the topology, so that
 * they can be read (and tested) without root. up.c runs them.
 *
 * Every text is the caller's to free. */
#ifndef EF_FABRIC_PLAN_H
#define EF_FABRIC_PLAN_H

#include <stdbool.h>

#include "utilities/fabric/topology.h"

/* One `ip -batch` for the whole fabric: namespaces, and links moved into them. */
char *ef_plan_links(const struct ef_topology *topology);

/* `ip -batch` inside a host's namespace: its address, gateway, routes. */
char *ef_plan_host(const struct ef_topology *topology, const struct ef_topology_host *host, bool ipv6);

/* `ip -batch` inside a switch's namespace: its ports up, without a life of
 * their own; and, once its bridge exists, the CPU's addresses and routes. */
char *ef_plan_ports(const struct ef_topology_switch *sw, bool ipv6);
char *ef_plan_cpu(const struct ef_topology_switch *sw, bool ipv6);

/* Kernel settings of a switch's namespace: pairs of a path below /proc/sys/net
 * and a value, ending with NULL. Those of IPv6 may be missing in the kernel. */
struct ef_setting {
    const char *path, *value;
};
extern const struct ef_setting ef_plan_switch_settings[];
extern const struct ef_setting ef_plan_host_settings[];

/* The arguments of ovs-vsctl that make the bridge and its ports, NULL at the
 * end; freed with ef_plan_free_arguments(). `program` and `db` come first. */
char **ef_plan_vsctl(const struct ef_topology_switch *sw, const char *program, const char *db);
void ef_plan_free_arguments(char **arguments);

#endif
