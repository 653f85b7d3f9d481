/* SPDX-License-Identifier: Apache-2.0 */
/* The faults that are wrong rules of switches: a loop between two of them, and
 * a switch that prefers one of several equal ways. The rules carry a cookie by
 * which they are removed. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "utilities/fabric/fault.h"
#include "utilities/fabric/fault_match.h"
#include "utilities/fabric/flows.h"
#include "utilities/fabric/ovs.h"
#include "utilities/fabric/routes.h"
#include "utilities/fabric/run_command.h"

#define COOKIE UINT64_C(0xefa0000000000000)
#define MATCH_SIZE 256
#define GROUPS 100000u /* Of the faults, by their number. */

/* Changes of a switch's flows and groups, all or nothing. */
static int
change_flows(const struct ef_topology *t, const char *sw, const char *changes, struct ef_error *err)
{
    const char *argv[] = {"ovs-ofctl", "-O", EF_FLOWS_VERSION, "bundle", EF_BRIDGE, "-", NULL};
    ef_ovs_set_environment(t->name, sw);
    return ef_run(argv, changes, NULL, err);
}

static int
remove_rules(const struct ef_topology *t, const struct ef_fault *fault, const char *sw, struct ef_error *err)
{
    char changes[160];
    snprintf(changes, sizeof changes, "flow delete cookie=%#" PRIx64 "/-1\ngroup delete group_id=%u\n",
             COOKIE | fault->id, GROUPS + fault->id);
    return change_flows(t, sw, changes, err);
}

/* --- A loop ----------------------------------------------------------------- */

static int
send_to(const struct ef_topology *t, const struct ef_fault *fault, const struct ef_topology_switch *sw,
        const struct ef_topology_port *port, struct ef_error *err)
{
    char match[MATCH_SIZE], own[EF_MAC_TEXT_SIZE], next[EF_MAC_TEXT_SIZE], rule[2 * MATCH_SIZE];
    int rc = ef_fault_match_to_openflow(&fault->match, match, sizeof match, err);
    if (rc) {
        return rc;
    }
    snprintf(rule, sizeof rule,
             "flow add table=1,cookie=%#" PRIx64 ",priority=%u,%s,actions=set_field:%s->eth_src,set_field:%s->eth_dst,"
             "output:%d\n",
             COOKIE | fault->id, 1000 + fault->id, match, ef_mac_format(sw->mac, own),
             ef_mac_format(ef_topology_switch(t, port->peer)->mac, next), port->number);
    return change_flows(t, sw->name, rule, err);
}

static int
start_loop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    const struct ef_topology_switch *sw = ef_topology_switch(t, fault->node);
    const struct ef_topology_port *port = ef_topology_port(sw, fault->port);
    const struct ef_topology_switch *peer = ef_topology_switch(t, port->peer);
    if (!peer) {
        return ef_error_set(err, -EINVAL, "a loop needs a port to another switch; %s leads to a host", port->name);
    }
    int rc = send_to(t, fault, sw, port, err);
    return rc ? rc : send_to(t, fault, peer, ef_topology_port(peer, port->peer_port), err);
}

static int
stop_loop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    const struct ef_topology_switch *sw = ef_topology_switch(t, fault->node);
    const struct ef_topology_port *port = ef_topology_port(sw, fault->port);
    int rc = remove_rules(t, fault, sw->name, err);
    return rc || !ef_topology_switch(t, port->peer) ? rc : remove_rules(t, fault, port->peer, err);
}

const struct ef_fault_kind ef_fault_loop = {
    .name = "loop",
    .help = "the switches at both ends of the link send it to each other",
    .needs_port = true,
    .takes_port = true,
    .needs_match = true,
    .takes_match = true,
    .start = start_loop,
    .stop = stop_loop,
};

/* --- Skewed ECMP ------------------------------------------------------------ */

static bool
goes_through(const struct ef_route *route, int port)
{
    for (size_t i = 0; i < route->n_ports; i++) {
        if (route->ports[i] == port) {
            return true;
        }
    }
    return false;
}

/* The group gives the port its share and the others equal parts of the rest. */
static void
write_group(FILE *out, const struct ef_topology *t, const struct ef_fault *fault, const struct ef_topology_switch *sw,
            const struct ef_route *route)
{
    unsigned preferred = (unsigned) (fault->rate * 1000 * (double) (route->n_ports - 1) + 0.5);
    unsigned other = (unsigned) ((1 - fault->rate) * 1000 + 0.5);
    fprintf(out,
            "group add group_id=%u,type=select,selection_method=hash,selection_method_param=%" PRIu64
            ",fields(ip_src,ip_dst,ipv6_src,ipv6_dst,ip_proto,tcp_src,tcp_dst,udp_src,udp_dst)",
            GROUPS + fault->id, fault->seed);
    for (size_t i = 0; i < route->n_ports; i++) {
        const struct ef_topology_port *port = ef_topology_port(sw, route->ports[i]);
        char mac[EF_MAC_TEXT_SIZE];
        unsigned weight = port->number == fault->port ? preferred : other;
        if (weight) {
            fprintf(out, ",bucket=bucket_id:%zu,weight:%u,watch_port:%d,actions=set_field:%s->eth_dst,output:%d", i,
                    weight, port->number, ef_mac_format(ef_topology_switch(t, port->peer)->mac, mac), port->number);
        }
    }
    fputc('\n', out);
}

/* A rule for every route that had the choice. The set of its ports is the same
 * for all of them in a Clos fabric; where it is not, the first one's is taken. */
static int
write_skew(FILE *out, const struct ef_topology *t, const struct ef_fault *fault, const struct ef_topology_switch *sw,
           struct ef_error *err)
{
    char own[EF_MAC_TEXT_SIZE], text[MATCH_SIZE];
    struct ef_routes routes;
    bool any = false;
    int rc = 0;
    ef_mac_format(sw->mac, own);
    ef_routes_init(&routes, t, sw);
    for (size_t i = 0; !rc && i < routes.n_routes; i++) {
        const struct ef_route *route = &routes.routes[i];
        struct ef_fault_match match = fault->match;
        uint32_t mask = ef_prefix_mask(route->prefix.len), common = mask & match.destination_mask;
        if (route->host || route->n_ports < 2 || !goes_through(route, fault->port) ||
            (match.destination & common) != (route->prefix.address & common)) {
            continue;
        }
        match.destination |= route->prefix.address;
        match.destination_mask |= mask;
        rc = ef_fault_match_to_openflow(&match, text, sizeof text, err);
        if (!rc && !any) {
            write_group(out, t, fault, sw, route);
            any = true;
        }
        fprintf(out, "flow add table=1,cookie=%#" PRIx64 ",priority=%u,%s,actions=set_field:%s->eth_src,group:%u\n",
                COOKIE | fault->id, 1000 + (unsigned) route->prefix.len, text, own, GROUPS + fault->id);
    }
    ef_routes_deinit(&routes);
    return rc || any
               ? rc
               : ef_error_set(err, -EINVAL, "%s has no choice between its port %d and others for what --match says",
                              sw->name, fault->port);
}

static int
start_skew(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    char *changes;
    size_t size;
    FILE *out = open_memstream(&changes, &size);
    int rc = write_skew(out, t, fault, ef_topology_switch(t, fault->node), err);
    fclose(out);
    if (!rc) {
        rc = change_flows(t, fault->node, changes, err);
    }
    free(changes);
    return rc;
}

static int
stop_skew(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    return remove_rules(t, fault, fault->node, err);
}

const struct ef_fault_kind ef_fault_ecmp_skew = {
    .name = "ecmp-skew",
    .help = "of several equal ways the port gets --rate of the flows (default 90%)",
    .needs_port = true,
    .takes_port = true,
    .takes_match = true,
    .rate = EF_FAULT_PROBABILITY,
    .default_rate = 0.9,
    .start = start_skew,
    .stop = stop_skew,
};
