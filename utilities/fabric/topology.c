/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a fabric: memory and look-ups; see topology.h. */
#include <config.h>

#include "utilities/fabric/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/memory.h"

struct ef_topology *
ef_topology_create(void)
{
    return ef_xzalloc(sizeof(struct ef_topology));
}

void
ef_topology_destroy(struct ef_topology *t)
{
    if (t) {
        for (size_t i = 0; i < t->n_switches; i++) {
            free(t->switches[i].ports);
        }
        free(t->switches);
        free(t->hosts);
        free(t);
    }
}

struct ef_topology_switch *
ef_topology_add_switch(struct ef_topology *t)
{
    t->switches = ef_xgrow(t->switches, t->n_switches, sizeof *t->switches);
    return &t->switches[t->n_switches++];
}

struct ef_topology_host *
ef_topology_add_host(struct ef_topology *t)
{
    t->hosts = ef_xgrow(t->hosts, t->n_hosts, sizeof *t->hosts);
    return &t->hosts[t->n_hosts++];
}

struct ef_topology_port *
ef_topology_add_port(struct ef_topology_switch *sw)
{
    sw->ports = ef_xgrow(sw->ports, sw->n_ports, sizeof *sw->ports);
    return &sw->ports[sw->n_ports++];
}

struct ef_topology_switch *
ef_topology_switch(const struct ef_topology *t, const char *name)
{
    for (size_t i = 0; i < t->n_switches; i++) {
        if (!strcmp(t->switches[i].name, name)) {
            return &t->switches[i];
        }
    }
    return NULL;
}

struct ef_topology_host *
ef_topology_host(const struct ef_topology *t, const char *name)
{
    for (size_t i = 0; i < t->n_hosts; i++) {
        if (!strcmp(t->hosts[i].name, name)) {
            return &t->hosts[i];
        }
    }
    return NULL;
}

struct ef_topology_port *
ef_topology_port(const struct ef_topology_switch *sw, int number)
{
    for (size_t i = 0; i < sw->n_ports; i++) {
        if (sw->ports[i].number == number) {
            return &sw->ports[i];
        }
    }
    return NULL;
}

bool
ef_topology_port_is_to_host(const struct ef_topology *t, const struct ef_topology_port *port)
{
    return ef_topology_host(t, port->peer) != NULL;
}

char *
ef_topology_netns(const struct ef_topology *t, const char *node, char text[EF_NETNS_NAME_SIZE])
{
    snprintf(text, EF_NETNS_NAME_SIZE, "ef-%.*s-%.*s", EF_FABRIC_NAME_SIZE - 1, t->name, EF_NODE_NAME_SIZE - 1, node);
    return text;
}

const char *
ef_host_role_name(enum ef_host_role role)
{
    static const char *const names[] = {"host", "reshuffler", "analyzer"};
    return names[role];
}

int
ef_fabric_name_check(const char *name, struct ef_error *err)
{
    size_t len = strlen(name);
    bool good = len > 0 && len < EF_FABRIC_NAME_SIZE;
    for (size_t i = 0; good && i < len; i++) {
        good = islower((unsigned char) name[i]) || isdigit((unsigned char) name[i]) || name[i] == '_';
    }
    /* No dash: "ef-a-b" must be node b of fabric a, and nothing else. */
    return good ? 0
                : ef_error_set(err, -EINVAL,
                               "'%.40s' is no name for a fabric; use 1 to %d small letters, digits and '_'", name,
                               EF_FABRIC_NAME_SIZE - 1);
}
