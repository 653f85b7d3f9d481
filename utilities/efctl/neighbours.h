/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a switch's port, from a topology document.
 *
 *     struct efctl_neighbours *n = efctl_neighbours_create(topology);
 *     const char *peer = efctl_neighbour(n, "10.255.0.1", 3);       // "h1" or NULL
 *
 * Borrows the document. */
#ifndef EFCTL_NEIGHBOURS_H
#define EFCTL_NEIGHBOURS_H

#include <jansson.h>
#include <stdint.h>

struct efctl_neighbours;

/* `topology` NULL: nothing is known. Aborts when out of memory. */
struct efctl_neighbours *efctl_neighbours_create(const json_t *topology);
void efctl_neighbours_destroy(struct efctl_neighbours *neighbours);

/* The node at the end of `port` of the switch with loopback `address`, or NULL. */
const char *efctl_neighbour(const struct efctl_neighbours *neighbours, const char *address, int64_t port);

#endif
