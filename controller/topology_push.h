/* SPDX-License-Identifier: Apache-2.0 */
/* Sees to it that every analyzer judges by our topology: asks each for the digest
 * of its own every 2 s, and sends ours to those that have none or another.
 *
 *     push = topology_push_start(base, &configuration, &topology);
 *     ... topology_push_stop(push);
 *
 * What an analyzer refuses is logged once for each reason. One event base's thread. */
#ifndef CONTROLLER_TOPOLOGY_PUSH_H
#define CONTROLLER_TOPOLOGY_PUSH_H

#include "controller/configuration.h"
#include "controller/topology.h"

struct event_base;
struct topology_push;

/* `configuration` and `topology` must outlive it. */
struct topology_push *topology_push_start(struct event_base *base, const struct configuration *configuration,
                                          const struct topology *topology);
void topology_push_stop(struct topology_push *push); /* NULL is fine. */

#endif
