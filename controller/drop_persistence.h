/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop" (drop_run.h), once a switch is known behind which a packet
 * was not seen any more: are probes like it dropped there now, all, some or none?
 *
 * Beside them go probes with other source ports, which take other ways, if there are
 * any. Where none reaches the switch, its neighbours are tried as detours. */
#ifndef CONTROLLER_DROP_PERSISTENCE_H
#define CONTROLLER_DROP_PERSISTENCE_H

struct drop;

/* Goes on with drop_class.h (all) or drop_rate.h, or ends with a verdict. */
void drop_persistence_start(struct drop *a, const char *at);

#endif
