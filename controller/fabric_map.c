/* SPDX-License-Identifier: Apache-2.0 */
/* The topology as a graph; see fabric_map.h. */
#include <config.h>

#include "controller/fabric_map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { FAR = UINT32_MAX };

struct port {
    int number;
    size_t peer; /* Index of a switch. */
};

struct node {
    const char *name, *address, *address6, *subnet, *subnet6; /* All but the first two may be NULL. */
    struct port *ports;
    size_t n_ports;
};

struct host {
    const char *name, *address, *address6;
    size_t node;
    bool is_ordinary; /* Neither reshuffler nor analyzer. */
};

struct fabric_map {
    struct node *nodes;
    struct host *hosts;
    size_t n_nodes, n_hosts;
};

/* --- Reading -------------------------------------------------------------- */

static const char *
text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void *
allocate(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (!p) {
        abort(); /* Control path. */
    }
    return p;
}

/* The index of the switch with this name, or n_nodes. */
static size_t
node_of(const struct fabric_map *m, const char *name)
{
    size_t i = 0;
    while (name && i < m->n_nodes && strcmp(m->nodes[i].name, name)) {
        i++;
    }
    return name ? i : m->n_nodes;
}

static void
read_nodes(struct fabric_map *m, const json_t *switches)
{
    size_t i;
    const json_t *entry;
    m->nodes = allocate(json_array_size(switches), sizeof *m->nodes);
    json_array_foreach((json_t *) switches, i, entry)
    {
        const char *name = text_of(entry, "name"), *loopback = text_of(entry, "loopback");
        if (name && loopback) {
            m->nodes[m->n_nodes++] = (struct node){.name = name,
                                                   .address = loopback,
                                                   .address6 = text_of(entry, "loopback6"),
                                                   .subnet = text_of(entry, "subnet"),
                                                   .subnet6 = text_of(entry, "subnet6")};
        }
    }
}

static void
read_ports(struct fabric_map *m, const json_t *switches)
{
    size_t i, j;
    const json_t *entry, *port;
    json_array_foreach((json_t *) switches, i, entry)
    {
        size_t at = node_of(m, text_of(entry, "name"));
        const json_t *ports = json_object_get(entry, "ports");
        if (at == m->n_nodes || m->nodes[at].ports) {
            continue;
        }
        struct node *node = &m->nodes[at];
        node->ports = allocate(json_array_size(ports), sizeof *node->ports);
        json_array_foreach((json_t *) ports, j, port)
        {
            size_t peer = node_of(m, text_of(json_object_get(port, "peer"), "node"));
            int number = (int) json_integer_value(json_object_get(port, "number"));
            if (peer < m->n_nodes) {
                node->ports[node->n_ports++] = (struct port){number, peer};
            }
        }
    }
}

static void
read_hosts(struct fabric_map *m, const json_t *hosts)
{
    size_t i;
    const json_t *entry;
    m->hosts = allocate(json_array_size(hosts), sizeof *m->hosts);
    json_array_foreach((json_t *) hosts, i, entry)
    {
        const char *name = text_of(entry, "name"), *address = text_of(entry, "address"), *role = text_of(entry, "role");
        size_t node = node_of(m, text_of(entry, "switch"));
        if (name && address && node < m->n_nodes) {
            m->hosts[m->n_hosts++] =
                (struct host){name, address, text_of(entry, "address6"), node, !role || !strcmp(role, "host")};
        }
    }
}

struct fabric_map *
fabric_map_create(const json_t *document)
{
    struct fabric_map *m = allocate(0, sizeof *m);
    read_nodes(m, json_object_get(document, "switches"));
    read_ports(m, json_object_get(document, "switches"));
    read_hosts(m, json_object_get(document, "hosts"));
    return m;
}

void
fabric_map_destroy(struct fabric_map *m)
{
    for (size_t i = 0; m && i < m->n_nodes; i++) {
        free(m->nodes[i].ports);
    }
    if (m) {
        free(m->nodes);
        free(m->hosts);
    }
    free(m);
}

/* --- Who is who ------------------------------------------------------------ */

static bool
is_called(const char *text, const char *name, const char *address, const char *address6)
{
    return !strcmp(text, name) || !strcmp(text, address) || (address6 && !strcmp(text, address6));
}

static const struct host *
find_host(const struct fabric_map *m, const char *text)
{
    for (size_t i = 0; i < m->n_hosts; i++) {
        if (is_called(text, m->hosts[i].name, m->hosts[i].address, m->hosts[i].address6)) {
            return &m->hosts[i];
        }
    }
    return NULL;
}

static const struct node *
find_node(const struct fabric_map *m, const char *text)
{
    for (size_t i = 0; i < m->n_nodes; i++) {
        if (is_called(text, m->nodes[i].name, m->nodes[i].address, m->nodes[i].address6)) {
            return &m->nodes[i];
        }
    }
    return NULL;
}

bool
fabric_map_has_switch(const struct fabric_map *m, const char *name)
{
    return node_of(m, name) < m->n_nodes;
}

const char *
fabric_map_switch_of(const struct fabric_map *m, const char *text)
{
    const struct host *host = find_host(m, text);
    const struct node *node = host ? &m->nodes[host->node] : find_node(m, text);
    return node ? node->name : NULL;
}

const char *
fabric_map_address_of(const struct fabric_map *m, const char *text)
{
    const struct host *host = find_host(m, text);
    const struct node *node = host ? NULL : find_node(m, text);
    bool wants_6 = strchr(text, ':');
    return host ? wants_6 ? host->address6 : host->address : node ? wants_6 ? node->address6 : node->address : NULL;
}

/* --- Ways ----------------------------------------------------------------- */

/* How many links each switch is away from `to`. The caller frees the array. */
static uint32_t *
distances(const struct fabric_map *m, size_t to)
{
    uint32_t *distance = allocate(m->n_nodes, sizeof *distance);
    size_t *queue = allocate(m->n_nodes, sizeof *queue), head = 0, tail = 0;
    for (size_t i = 0; i < m->n_nodes; i++) {
        distance[i] = FAR;
    }
    distance[to] = 0;
    queue[tail++] = to;
    while (head < tail) {
        const struct node *node = &m->nodes[queue[head]];
        for (size_t i = 0; i < node->n_ports; i++) {
            size_t peer = node->ports[i].peer;
            if (distance[peer] == FAR) {
                distance[peer] = distance[queue[head]] + 1;
                queue[tail++] = peer;
            }
        }
        head++;
    }
    free(queue);
    return distance;
}

/* Adds a name once; several links may lead to the same neighbour. */
static size_t
add_name(const char *names[], size_t n, size_t size, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(names[i], name)) {
            return n;
        }
    }
    if (n < size) {
        names[n++] = name;
    }
    return n;
}

size_t
fabric_map_next(const struct fabric_map *m, const char *from, const char *to, const char *next[], size_t size)
{
    size_t start = node_of(m, from), end = node_of(m, to), n = 0;
    if (start == m->n_nodes || end == m->n_nodes) {
        return 0;
    }
    uint32_t *distance = distances(m, end);
    for (size_t i = 0; i < m->nodes[start].n_ports; i++) {
        size_t peer = m->nodes[start].ports[i].peer;
        if (distance[peer] != FAR && distance[peer] + 1 == distance[start]) {
            n = add_name(next, n, size, m->nodes[peer].name);
        }
    }
    free(distance);
    return n;
}

size_t
fabric_map_neighbours(const struct fabric_map *m, const char *of, const char *neighbours[], size_t size)
{
    size_t at = node_of(m, of), n = 0;
    for (size_t i = 0; at < m->n_nodes && i < m->nodes[at].n_ports; i++) {
        n = add_name(neighbours, n, size, m->nodes[m->nodes[at].ports[i].peer].name);
    }
    return n;
}

int
fabric_map_port(const struct fabric_map *m, const char *from, const char *to)
{
    size_t at = node_of(m, from), peer = node_of(m, to);
    for (size_t i = 0; at < m->n_nodes && i < m->nodes[at].n_ports; i++) {
        if (m->nodes[at].ports[i].peer == peer) {
            return m->nodes[at].ports[i].number;
        }
    }
    return 0;
}

const char *
fabric_map_behind(const struct fabric_map *m, const char *from, int port)
{
    size_t at = node_of(m, from);
    for (size_t i = 0; at < m->n_nodes && i < m->nodes[at].n_ports; i++) {
        if (m->nodes[at].ports[i].number == port) {
            return m->nodes[m->nodes[at].ports[i].peer].name;
        }
    }
    return NULL;
}

const char *
fabric_map_subnet(const struct fabric_map *m, const char *name, bool is_ipv6)
{
    size_t at = node_of(m, name);
    return at == m->n_nodes ? NULL : is_ipv6 ? m->nodes[at].subnet6 : m->nodes[at].subnet;
}

/* --- Hosts near and far --------------------------------------------------- */

/* The address of the version of `like`, or NULL. */
static const char *
address_like(const struct host *host, const char *like)
{
    return strchr(like, ':') ? host->address6 : host->address;
}

size_t
fabric_map_hosts_beside(const struct fabric_map *m, const char *like, const char *addresses[], size_t size)
{
    const struct host *self = find_host(m, like);
    size_t n = 0;
    for (size_t i = 0; self && i < m->n_hosts && n < size; i++) {
        const struct host *host = &m->hosts[i];
        const char *address = address_like(host, like);
        if (host != self && host->is_ordinary && host->node == self->node && address) {
            addresses[n++] = address;
        }
    }
    return n;
}

size_t
fabric_map_hosts_elsewhere(const struct fabric_map *m, const char *like, const char *addresses[], size_t size)
{
    const struct host *self = find_host(m, like);
    size_t n = 0, *seen = allocate(m->n_nodes, sizeof *seen);
    for (size_t i = 0; self && i < m->n_hosts && n < size; i++) {
        const struct host *host = &m->hosts[i];
        const char *address = address_like(host, like);
        if (host->is_ordinary && host->node != self->node && address && !seen[host->node]++) {
            addresses[n++] = address;
        }
    }
    free(seen);
    return n;
}
