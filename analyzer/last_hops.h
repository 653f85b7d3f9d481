/* SPDX-License-Identifier: Apache-2.0 */
/* Which switch is the last on the way to an address, from the topology
 * document: the one that a host is attached to, and for its own loopback each
 * switch itself.
 *
 *     if (ef_last_hops_load("topology.json", &last_hops, &err)) fail;
 *     const struct ef_last_hop *last = ef_last_hops_find(last_hops, destination);
 *
 * A host's "address" may be a prefix ("10.1.0.0/24"); the longest that holds the
 * address counts. Hosts may have an "address6" and switches a "loopback6" beside it:
 * a switch's copies come from the one or the other, as their target is. A host that is there more than once, with
 * different switches, has several last hops. Immutable once loaded: any thread may ask. */
#ifndef EF_ANALYZER_LAST_HOPS_H
#define EF_ANALYZER_LAST_HOPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EF_LAST_HOP_SWITCHES = 16 };

struct ef_last_hop {
    uint8_t prefix[16];
    uint8_t prefix_len; /* Of 128. */
    uint8_t n_switches;
    uint8_t switches[EF_LAST_HOP_SWITCHES][16];
};

struct ef_last_hops;

/* Returns 0, or -EINVAL or -ENOMEM with `err`. */
int ef_last_hops_load(const char *file, struct ef_last_hops **last_hops, struct ef_error *err);
int ef_last_hops_create(const json_t *document, struct ef_last_hops **last_hops, struct ef_error *err);
void ef_last_hops_destroy(struct ef_last_hops *last_hops); /* NULL is fine. */

/* NULL if nothing is known about the address. */
const struct ef_last_hop *ef_last_hops_find(const struct ef_last_hops *last_hops, const uint8_t address[16]);

bool ef_last_hop_is(const struct ef_last_hop *last, const uint8_t switch_address[16]);

#endif
