/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a fabric: switches, their ports, hosts. Everything that ef-fabric
 * does starts from it: what `up` builds, `flows` route, `status` compares with.
 *
 * It comes from a few numbers (topology_generate.c) or from a JSON document
 * (topology_json.c); in both, what is left out is filled in and the whole is
 * checked (topology_complete.c). Written as JSON it is the document that the
 * controller reads.
 *
 *     struct ef_topology *t;
 *     if (!ef_topology_read("/run/everflow/demo/topology.json", &t, &err)) {
 *         ... ef_topology_switch(t, "leaf1") ...
 *         ef_topology_destroy(t);
 *     }
 *
 * A finished topology is not changed any more; pointers into it stay valid
 * until it is destroyed. Not locked: one thread. */
#ifndef EF_FABRIC_TOPOLOGY_H
#define EF_FABRIC_TOPOLOGY_H

#include <jansson.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "utilities/fabric/addressing.h"

#define EF_NODE_NAME_SIZE 12 /* A port is named after its peer: "spine1", "spine1.2". */
#define EF_FABRIC_NAME_SIZE 16
#define EF_NETNS_NAME_SIZE (EF_FABRIC_NAME_SIZE + EF_NODE_NAME_SIZE + 3)
#define EF_BRIDGE "br0"          /* Every switch's only bridge. */
#define EF_HOST_INTERFACE "eth0" /* Every host's only interface. */
#define EF_HOST_MTU 1500
#define EF_FABRIC_MTU 1700 /* Mirrored copies of 1500-byte packets must fit. */
#define EF_MAX_SWITCHES 250
#define EF_MAX_HOSTS 2000
#define EF_MAX_PORT 0xfeff /* OFPP_MAX of OpenFlow 1.0, less one. */

enum ef_host_role { EF_HOST_PLAIN, EF_HOST_RESHUFFLER, EF_HOST_ANALYZER };

struct ef_topology_port {
    int number; /* OpenFlow port number. */
    char name[IFNAMSIZ];
    char peer[EF_NODE_NAME_SIZE]; /* A switch or a host. */
    int peer_port;                /* On the peer, if that is a switch; else 0. */
};

struct ef_topology_switch {
    char name[EF_NODE_NAME_SIZE];
    char role[EF_NODE_NAME_SIZE]; /* "leaf", "spine", or any other word. */
    uint32_t loopback;
    struct ef_mac mac;
    struct ef_prefix subnet; /* Of its hosts; len 0 if it has none. */
    struct ef_topology_port *ports;
    size_t n_ports;
};

struct ef_topology_host {
    char name[EF_NODE_NAME_SIZE];
    enum ef_host_role role;
    uint32_t address;
    struct ef_mac mac;
    char switch_name[EF_NODE_NAME_SIZE];
    int port; /* On that switch. */
};

struct ef_topology {
    char name[EF_FABRIC_NAME_SIZE];
    uint32_t vip;
    struct ef_topology_switch *switches;
    size_t n_switches;
    struct ef_topology_host *hosts;
    size_t n_hosts;
};

struct ef_topology_shape {
    int n_spines, n_leaves, hosts_per_leaf;
    int n_analyzers; /* With one reshuffler; 0: no collectors at all. */
};

/* Each of these makes a complete, checked topology that the caller destroys.
 * 0, or -EINVAL or another negative errno with `err`. `name` (of the fabric)
 * may be NULL for the two readers: then the document must have it. */
int ef_topology_generate(const char *name, const struct ef_topology_shape *shape, struct ef_topology **topology,
                         struct ef_error *err);
int ef_topology_parse(const char *json, const char *name, struct ef_topology **topology, struct ef_error *err);
int ef_topology_read(const char *path, const char *name, struct ef_topology **topology, struct ef_error *err);

/* NULL is fine. */
void ef_topology_destroy(struct ef_topology *topology);

/* The document; the caller owns the reference. */
json_t *ef_topology_to_json(const struct ef_topology *topology);

/* By name; NULL if there is none. */
struct ef_topology_switch *ef_topology_switch(const struct ef_topology *topology, const char *name);
struct ef_topology_host *ef_topology_host(const struct ef_topology *topology, const char *name);

/* By OpenFlow port number; NULL if there is none. */
struct ef_topology_port *ef_topology_port(const struct ef_topology_switch *sw, int number);

/* True if the port leads to a host; and whether to one of a collector role. */
bool ef_topology_port_is_to_host(const struct ef_topology *topology, const struct ef_topology_port *port);

/* The network namespace of a node, "ef-demo-leaf1". */
char *ef_topology_netns(const struct ef_topology *topology, const char *node, char text[EF_NETNS_NAME_SIZE]);

const char *ef_host_role_name(enum ef_host_role role);

/* Whether `name` may be a fabric's name; 0 or -EINVAL with `err`. */
int ef_fabric_name_check(const char *name, struct ef_error *err);

/* For the makers (topology_generate.c, topology_json.c): an empty topology,
 * new elements at the end (zeroed; they move the array), and the last step,
 * which fills in what is missing and checks everything. */
struct ef_topology *ef_topology_create(void);
struct ef_topology_switch *ef_topology_add_switch(struct ef_topology *topology);
struct ef_topology_host *ef_topology_add_host(struct ef_topology *topology);
struct ef_topology_port *ef_topology_add_port(struct ef_topology_switch *sw);
int ef_topology_complete(struct ef_topology *topology, struct ef_error *err);

/* Part of ef_topology_complete(): roles and addresses (topology_addresses.c). */
int ef_topology_complete_addresses(struct ef_topology *topology, struct ef_error *err);

#endif
