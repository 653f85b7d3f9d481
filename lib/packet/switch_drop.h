/* SPDX-License-Identifier: Apache-2.0 */
/* Why a switch dropped a packet: the numbers that copies of dropped packets
 * carry (doc/wire-format.md), and their names.
 *
 *     if (copy.switch_drop) printf("DROPPED: %s", ef_switch_drop_name(copy.switch_drop));
 *
 * Plain tables: any number of threads. */
#ifndef EF_PACKET_SWITCH_DROP_H
#define EF_PACKET_SWITCH_DROP_H

#include <stdint.h>

/* Reasons are 1 to EF_SWITCH_DROP_MAX; 0 means that the packet was not dropped.
 * Switches may send numbers that have no name here yet. */
enum { EF_SWITCH_DROP_MAX = 63, EF_SWITCH_DROP_TTL = 17 };

/* Returns the name, or "unknown". */
const char *ef_switch_drop_name(uint8_t reason);

#endif
