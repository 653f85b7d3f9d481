/* SPDX-License-Identifier: Apache-2.0 */
/* To whom probes may go: the switches and hosts of the topology document, by
 * name or address. A prober sends to nobody else.
 *
 *     if (prober_targets_load("topology.json", &targets, &err)) fail;
 *     if (prober_targets_find(targets, "leaf1", PROBER_SWITCHES, address, &err)) refuse;
 *
 * Immutable once loaded; any thread may ask. */
#ifndef PROBER_TARGETS_H
#define PROBER_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct prober_targets;

enum prober_target_kind { PROBER_ANY, PROBER_SWITCHES };

/* Reads `file`, as ef-fabric topology --json writes it. Returns 0, -EINVAL or
 * -ENOMEM with `err`, which names the place. The caller destroys `*targets`. */
int prober_targets_load(const char *file, struct prober_targets **targets, struct ef_error *err);
void prober_targets_destroy(struct prober_targets *targets); /* NULL is fine. */

/* The address of the target that `text` names: a name, or one of its addresses.
 * A name stands for the IPv6 address if `want_ipv6`. Returns 0, or -EACCES with
 * `err`: not in the topology, or not of this kind. */
int prober_targets_find(const struct prober_targets *targets, const char *text, enum prober_target_kind kind,
                        bool want_ipv6, uint8_t address[16], struct ef_error *err);

/* The address of the host whose network namespace this is. Returns 0 or
 * -ENOENT. */
int prober_targets_of_netns(const struct prober_targets *targets, const char *netns, bool want_ipv6,
                            uint8_t address[16]);

#endif
