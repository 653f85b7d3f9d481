/* SPDX-License-Identifier: Apache-2.0 */
/* Building a fabric, and removing one. Both leave either a whole fabric or
 * none: `up` removes what it made when it cannot finish, and `down` removes
 * whatever there is, however it came about. */
#ifndef EF_FABRIC_UP_H
#define EF_FABRIC_UP_H

#include <stdbool.h>

#include "utilities/fabric/topology.h"

/* Builds `topology` with the Open vSwitch at `prefix`. Returns 0 when packets
 * are forwarded, or a negative errno with `err`. */
int ef_fabric_up(const struct ef_topology *topology, const char *prefix, struct ef_error *err);

/* Removes fabric `name`: processes, links, namespaces, files. `*found` says
 * whether there was anything. Returns 0 or a negative errno with `err`. */
int ef_fabric_down(const char *name, bool *found, struct ef_error *err);

#endif
