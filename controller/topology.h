/* SPDX-License-Identifier: Apache-2.0 */
/* The topology document, as `ef-fabric topology --json` writes it: which
 * switches there are, how each is reached, and who an address is.
 *
 *     if (topology_load("topology.json", &topology, &err)) fail;
 *     const struct topology_switch *s = topology_find(topology, "10.255.0.1");
 *
 * Immutable once loaded, but for switches that are added at run time. Only what the controller uses is checked; the
 * document as a whole is handed on to those who ask for it. */
#ifndef CONTROLLER_TOPOLOGY_H
#define CONTROLLER_TOPOLOGY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct topology_switch {
    const char *name, *loopback, *ovsdb; /* Borrowed from the document. */
    const char *loopback6;               /* IPv6 beside an IPv4 loopback, or NULL. */
    const char *bridge;                  /* That it should have, or NULL. */
    json_t *edge_ports;                  /* Names of its ports towards hosts, an array; NULL if not known. */
    uint8_t address[16];                 /* The loopback; IPv4 mapped. */
};

struct topology {
    json_t *document;
    struct topology_switch *switches; /* In the document's order. */
    size_t n_switches;
    struct topology_switch **by_address; /* Sorted. */
    struct topology_switch **added;      /* Not in the document: see added_switches.h, whose they are. */
    size_t n_added;
    unsigned generation; /* Another one when a switch has come or gone: what was found may be no more. */
};

/* Reads and checks `file`. Returns 0, or -EINVAL or -ENOMEM with `err`, which
 * names the file and the place in it. */
int topology_load(const char *file, struct topology *topology, struct ef_error *err);

/* Releases it; a zeroed struct is fine. */
void topology_free(struct topology *topology);

/* The switch whose loopback this is (as text or 16 bytes), or NULL. */
const struct topology_switch *topology_find(const struct topology *topology, const char *address);
const struct topology_switch *topology_find_address(const struct topology *topology, const uint8_t address[16]);

#endif
