/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a switch's port; see neighbours.h. */
#include <config.h>

#include "utilities/efctl/neighbours.h"

#include <stdlib.h>

#include "utilities/efctl/json_get.h"

struct efctl_neighbours {
    json_t *ports_by_address; /* Loopback -> the switch's array of ports. */
};

struct efctl_neighbours *
efctl_neighbours_create(const json_t *topology)
{
    struct efctl_neighbours *neighbours = malloc(sizeof *neighbours);
    json_t *by_address = json_object();
    if (!neighbours || !by_address) {
        abort();
    }
    size_t i;
    json_t *node;
    json_array_foreach(efctl_get_array(topology, "switches"), i, node)
    {
        json_t *ports = json_object_get(node, "ports");
        if (ports) {
            json_object_set(by_address, efctl_get_string(node, "loopback", ""), ports);
        }
    }
    neighbours->ports_by_address = by_address;
    return neighbours;
}

void
efctl_neighbours_destroy(struct efctl_neighbours *neighbours)
{
    if (neighbours) {
        json_decref(neighbours->ports_by_address);
        free(neighbours);
    }
}

const char *
efctl_neighbour(const struct efctl_neighbours *neighbours, const char *address, int64_t number)
{
    size_t i;
    json_t *port;
    json_array_foreach(efctl_get_array(neighbours->ports_by_address, address), i, port)
    {
        if (efctl_get_int(port, "number", -1) == number) {
            return efctl_get_string(efctl_get_object(port, "peer"), "node", NULL);
        }
    }
    return NULL;
}
