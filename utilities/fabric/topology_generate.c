/* SPDX-License-Identifier: Apache-2.0 */
/* A two-tier Clos fabric from a few numbers: every leaf has a link to every
 * spine, hosts are h1, h2 ... in the order of the leaves, the reshuffler is on
 * the first leaf and the analyzers on the following ones, so that mirrored
 * copies travel through the fabric themselves. See topology.h. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "utilities/fabric/topology.h"

static void
name_node(char name[EF_NODE_NAME_SIZE], const char *kind, int number)
{
    char text[32];
    snprintf(text, sizeof text, "%.16s%d", kind, number);
    snprintf(name, EF_NODE_NAME_SIZE, "%.11s", text);
}

static void
add_switches(struct ef_topology *t, const char *role, int n)
{
    for (int i = 1; i <= n; i++) {
        struct ef_topology_switch *sw = ef_topology_add_switch(t);
        name_node(sw->name, role, i);
        snprintf(sw->role, sizeof sw->role, "%s", role);
    }
}

/* Each leaf's uplinks come first, so that port N leads to spine N everywhere. */
static void
add_links(struct ef_topology *t, const struct ef_topology_shape *shape)
{
    for (int leaf = 1; leaf <= shape->n_leaves; leaf++) {
        for (int spine = 1; spine <= shape->n_spines; spine++) {
            struct ef_topology_port *port = ef_topology_add_port(&t->switches[leaf - 1]);
            port->number = spine;
            port->peer_port = leaf;
            name_node(port->peer, "spine", spine);
        }
    }
}

static void
add_host(struct ef_topology *t, enum ef_host_role role, const char *kind, int number, int leaf)
{
    struct ef_topology_host *host = ef_topology_add_host(t);
    host->role = role;
    name_node(host->name, kind, number);
    name_node(host->switch_name, "leaf", leaf);
}

int
ef_topology_generate(const char *name, const struct ef_topology_shape *shape, struct ef_topology **topology,
                     struct ef_error *err)
{
    if (!shape->n_spines && shape->n_leaves > 1) {
        return ef_error_set(err, -EINVAL, "%d leaves without a spine are not connected; use --spines 1 or more",
                            shape->n_leaves);
    }
    if (shape->n_spines + shape->n_leaves > EF_MAX_SWITCHES ||
        shape->n_leaves * shape->hosts_per_leaf + shape->n_analyzers + 1 > EF_MAX_HOSTS) {
        return ef_error_set(err, -EINVAL, "too large: at most %d switches and %d hosts", EF_MAX_SWITCHES, EF_MAX_HOSTS);
    }
    struct ef_topology *t = ef_topology_create();
    snprintf(t->name, sizeof t->name, "%s", name);
    add_switches(t, "leaf", shape->n_leaves);
    add_switches(t, "spine", shape->n_spines);
    add_links(t, shape);
    for (int i = 0; i < shape->n_leaves * shape->hosts_per_leaf; i++) {
        add_host(t, EF_HOST_PLAIN, "h", i + 1, i / shape->hosts_per_leaf + 1);
    }
    if (shape->n_analyzers) {
        add_host(t, EF_HOST_RESHUFFLER, "reshuffler", 1, 1);
    }
    for (int i = 1; i <= shape->n_analyzers; i++) {
        add_host(t, EF_HOST_ANALYZER, "analyzer", i, i % shape->n_leaves + 1);
    }
    int rc = ef_topology_complete(t, err);
    if (rc) {
        ef_topology_destroy(t);
        return rc;
    }
    *topology = t;
    return 0;
}
