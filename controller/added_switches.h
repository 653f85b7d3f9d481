/* SPDX-License-Identifier: Apache-2.0 */
/* Switches that were added at run time, beside those of the topology file: the
 * state's table Switch has {"name", "ovsdb", "source_ip", "edge_ports"} of each. Those that are
 * there are managed like all others (the controller's `switches` has them after the
 * topology's) and named in traces; one that is removed loses our Everflow row, so
 * that it sends no more copies.
 *
 *     POST /v1/switches {"ovsdb": "tcp:10.0.0.5:6640", "name": "tor5"}  ->  DELETE /v1/switches/tor5
 *
 * One event base's thread. */
#ifndef CONTROLLER_ADDED_SWITCHES_H
#define CONTROLLER_ADDED_SWITCHES_H

#include <jansson.h>

#include "base/error.h"

struct added_switches;
struct controller;

/* `c` is borrowed; its state and the topology's switches must be there. */
struct added_switches *added_switches_create(struct controller *c);
void added_switches_destroy(struct added_switches *added); /* NULL is fine. */

/* Reads an order to add a switch into what the state keeps of it (new reference):
 * without a name it is called by its source address, without that it has the
 * address of its OVSDB remote. NULL with `rc` and `err`: it is wrong (-EINVAL), its
 * name or address is taken (-EEXIST), there are too many (-ENOSPC). */
json_t *added_switches_read(const struct controller *c, const json_t *order, int *rc, struct ef_error *err);

#endif
