/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of making a topology: what the document left out is filled in
 * (ports' far ends and numbers, roles, addresses), then everything is checked.
 * See topology.h for who calls it and addressing.h for the defaults. */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/memory.h"
#include "utilities/fabric/topology.h"

/* --- Names ------------------------------------------------------------------ */

static int
check_node_name(const char *name, struct ef_error *err)
{
    static const char *const taken[] = {EF_BRIDGE, EF_HOST_INTERFACE, "lo", "all", "default"};
    bool good = islower((unsigned char) name[0]) != 0;
    for (const char *c = name; good && *c; c++) {
        good = islower((unsigned char) *c) || isdigit((unsigned char) *c) || *c == '_';
    }
    if (!good) {
        return ef_error_set(err, -EINVAL,
                            "'%.20s' is no name for a node; use a small letter, then small letters, "
                            "digits and '_'",
                            name);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(taken); i++) {
        if (!strcmp(taken[i], name)) {
            return ef_error_set(err, -EINVAL, "a node cannot be called '%s'", name);
        }
    }
    return 0;
}

static int
check_names(const struct ef_topology *t, struct ef_error *err)
{
    int rc = ef_fabric_name_check(t->name, err);
    for (size_t i = 0; !rc && i < t->n_switches; i++) {
        const char *name = t->switches[i].name;
        rc = check_node_name(name, err);
        if (!rc && ef_topology_switch(t, name) != &t->switches[i]) {
            rc = ef_error_set(err, -EINVAL, "two switches are called '%s'", name);
        }
    }
    for (size_t i = 0; !rc && i < t->n_hosts; i++) {
        const char *name = t->hosts[i].name;
        rc = check_node_name(name, err);
        if (!rc && (ef_topology_host(t, name) != &t->hosts[i] || ef_topology_switch(t, name))) {
            rc = ef_error_set(err, -EINVAL, "two nodes are called '%s'", name);
        }
    }
    return rc;
}

/* --- Links ------------------------------------------------------------------ */

/* The port of `sw` that is the far end of `near` of `peer`: it leads back, and
 * neither end says that it belongs to another. */
static struct ef_topology_port *
find_far_end(const struct ef_topology_switch *sw, const struct ef_topology_switch *peer,
             const struct ef_topology_port *near)
{
    for (size_t i = 0; i < sw->n_ports; i++) {
        struct ef_topology_port *p = &sw->ports[i];
        bool theirs = !p->peer_port || p->peer_port == near->number;
        bool ours = !near->peer_port || near->peer_port == p->number;
        if (!strcmp(p->peer, peer->name) && theirs && ours) {
            return p;
        }
    }
    return NULL;
}

static int
next_free_number(const struct ef_topology_switch *sw)
{
    int number = 1;
    while (ef_topology_port(sw, number)) {
        number++;
    }
    return number;
}

/* Numbers are given before far ends are looked for, since both ends name each
 * other by number. A far end that the document does not list keeps the number
 * that its near end asks for. */
static void
number_ports(struct ef_topology *t)
{
    for (size_t i = 0; i < t->n_switches; i++) {
        for (size_t j = 0; j < t->switches[i].n_ports; j++) {
            struct ef_topology_port *port = &t->switches[i].ports[j];
            if (!port->number) {
                port->number = next_free_number(&t->switches[i]);
            }
        }
    }
}

static int
check_peer(const struct ef_topology *t, const struct ef_topology_switch *sw, const struct ef_topology_port *port,
           struct ef_error *err)
{
    if (!strcmp(port->peer, sw->name)) {
        return ef_error_set(err, -EINVAL, "switch %s: port %d leads to the switch itself", sw->name, port->number);
    }
    if (!ef_topology_switch(t, port->peer) && !ef_topology_host(t, port->peer)) {
        return ef_error_set(err, -EINVAL, "switch %s: port %d leads to '%s', which is neither a switch nor a host",
                            sw->name, port->number, port->peer);
    }
    return 0;
}

/* Ties `port` of `sw` to its far end on a switch, which is made if need be. */
static int
join_switches(struct ef_topology_switch *sw, size_t index, struct ef_topology_switch *peer, struct ef_error *err)
{
    struct ef_topology_port *near = &sw->ports[index];
    struct ef_topology_port *far = find_far_end(peer, sw, near);
    if (!far) {
        if (near->peer_port && ef_topology_port(peer, near->peer_port)) {
            return ef_error_set(err, -EINVAL, "switch %s: port %d leads to port %d of %s, which leads elsewhere",
                                sw->name, near->number, near->peer_port, peer->name);
        }
        far = ef_topology_add_port(peer);
        far->number = near->peer_port;
        if (!far->number) {
            far->number = next_free_number(peer);
        }
        strcpy(far->peer, sw->name);
    }
    near->peer_port = far->number;
    far->peer_port = near->number;
    return 0;
}

static int
join_host(struct ef_topology_host *host, const struct ef_topology_switch *sw, const struct ef_topology_port *port,
          struct ef_error *err)
{
    if (port->peer_port) {
        return ef_error_set(err, -EINVAL, "switch %s: port %d leads to host %s, whose only port has no number",
                            sw->name, port->number, host->name);
    }
    if ((host->switch_name[0] && strcmp(host->switch_name, sw->name)) || (host->port && host->port != port->number)) {
        return ef_error_set(err, -EINVAL, "host %s is at port %d of %s and at another port as well", host->name,
                            port->number, sw->name);
    }
    strcpy(host->switch_name, sw->name);
    host->port = port->number;
    return 0;
}

static int
join_listed_ports(struct ef_topology *t, struct ef_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < t->n_switches; i++) {
        struct ef_topology_switch *sw = &t->switches[i];
        for (size_t j = 0; !rc && j < sw->n_ports; j++) {
            rc = check_peer(t, sw, &sw->ports[j], err);
            if (!rc) {
                struct ef_topology_switch *peer = ef_topology_switch(t, sw->ports[j].peer);
                rc = peer ? join_switches(sw, j, peer, err)
                          : join_host(ef_topology_host(t, sw->ports[j].peer), sw, &sw->ports[j], err);
            }
        }
    }
    return rc;
}

/* Hosts that only say which switch they are at get a port there. */
static int
attach_hosts(struct ef_topology *t, struct ef_error *err)
{
    for (size_t i = 0; i < t->n_hosts; i++) {
        struct ef_topology_host *host = &t->hosts[i];
        struct ef_topology_switch *sw = ef_topology_switch(t, host->switch_name);
        if (!host->switch_name[0]) {
            return ef_error_set(err, -EINVAL, "host %s is at no switch; say \"switch\":...", host->name);
        }
        if (!sw) {
            return ef_error_set(err, -EINVAL, "host %s is at switch '%s', which is not there", host->name,
                                host->switch_name);
        }
        struct ef_topology_port *port = ef_topology_port(sw, host->port);
        if (host->port && port && !strcmp(port->peer, host->name)) {
            continue;
        }
        if (host->port && port) {
            return ef_error_set(err, -EINVAL, "host %s is at port %d of %s, which leads to %s", host->name, host->port,
                                sw->name, port->peer);
        }
        if (!host->port) {
            host->port = next_free_number(sw);
        }
        port = ef_topology_add_port(sw);
        port->number = host->port;
        strcpy(port->peer, host->name);
    }
    return 0;
}

/* A port is called after its peer; the second link to the same one "x-2". */
static void
name_ports(struct ef_topology_switch *sw)
{
    for (size_t i = 0; i < sw->n_ports; i++) {
        struct ef_topology_port *port = &sw->ports[i];
        int nth = 1;
        for (size_t j = 0; j < i; j++) {
            nth += !strcmp(sw->ports[j].peer, port->peer);
        }
        if (port->name[0]) {
            continue;
        }
        if (nth == 1) {
            snprintf(port->name, sizeof port->name, "%s", port->peer);
        } else {
            snprintf(port->name, sizeof port->name, "%.11s-%d", port->peer, nth % 1000);
        }
    }
}

static int
compare_ports(const void *a, const void *b)
{
    const struct ef_topology_port *p = a, *q = b;
    return p->number - q->number;
}

static int
check_ports(struct ef_topology_switch *sw, struct ef_error *err)
{
    if (!sw->n_ports) {
        return 0;
    }
    qsort(sw->ports, sw->n_ports, sizeof *sw->ports, compare_ports);
    name_ports(sw);
    for (size_t i = 0; i < sw->n_ports; i++) {
        const struct ef_topology_port *port = &sw->ports[i];
        if (i && sw->ports[i - 1].number == port->number) {
            return ef_error_set(err, -EINVAL, "switch %s has two ports %d", sw->name, port->number);
        }
        if (strspn(port->name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != strlen(port->name) ||
            !strcmp(port->name, EF_BRIDGE) || !strcmp(port->name, "lo") || !strcmp(port->name, "ovs-netdev") ||
            port->name[0] == '-') {
            return ef_error_set(err, -EINVAL, "switch %s: port %d cannot be called '%s'", sw->name, port->number,
                                port->name);
        }
        for (size_t j = 0; j < i; j++) {
            if (!strcmp(sw->ports[j].name, port->name)) {
                return ef_error_set(err, -EINVAL, "switch %s has two ports '%s'", sw->name, port->name);
            }
        }
    }
    return 0;
}

static int
complete_links(struct ef_topology *t, struct ef_error *err)
{
    number_ports(t);
    int rc = join_listed_ports(t, err);
    if (!rc) {
        rc = attach_hosts(t, err);
    }
    for (size_t i = 0; !rc && i < t->n_switches; i++) {
        rc = check_ports(&t->switches[i], err);
    }
    return rc;
}

/* --- Reachability ----------------------------------------------------------- */

static void
mark_reachable(const struct ef_topology *t, const struct ef_topology_switch *sw, bool *reached)
{
    reached[sw - t->switches] = true;
    for (size_t i = 0; i < sw->n_ports; i++) {
        const struct ef_topology_switch *peer = ef_topology_switch(t, sw->ports[i].peer);
        if (peer && !reached[peer - t->switches]) {
            mark_reachable(t, peer, reached);
        }
    }
}

static int
check_connected(const struct ef_topology *t, struct ef_error *err)
{
    bool *reached = ef_xzalloc(t->n_switches * sizeof *reached);
    int rc = 0;
    mark_reachable(t, &t->switches[0], reached);
    for (size_t i = 1; !rc && i < t->n_switches; i++) {
        if (!reached[i]) {
            rc = ef_error_set(err, -EINVAL, "switches %s and %s are not connected", t->switches[0].name,
                              t->switches[i].name);
        }
    }
    free(reached);
    return rc;
}

int
ef_topology_complete(struct ef_topology *t, struct ef_error *err)
{
    if (!t->n_switches) {
        return ef_error_set(err, -EINVAL, "a fabric needs at least one switch");
    }
    if (t->n_switches > EF_MAX_SWITCHES || t->n_hosts > EF_MAX_HOSTS) {
        return ef_error_set(err, -EINVAL, "%zu switches and %zu hosts are too many; at most %d and %d", t->n_switches,
                            t->n_hosts, EF_MAX_SWITCHES, EF_MAX_HOSTS);
    }
    int rc = check_names(t, err);
    if (!rc) {
        rc = complete_links(t, err);
    }
    if (!rc) {
        rc = check_connected(t, err);
    }
    return rc ? rc : ef_topology_complete_addresses(t, err);
}
