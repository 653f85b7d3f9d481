/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop" (drop_run.h), where the length matters: packets of which
 * length on are dropped, by bisection: some lengths between the two that are next to
 * each other and fare differently, again and again. At most some rounds, each beside
 * probes of the packet itself, since it may end meanwhile. Each step's result is told. */
#ifndef CONTROLLER_DROP_LENGTHS_H
#define CONTROLLER_DROP_LENGTHS_H

struct drop;

/* Ends with the verdict. */
void drop_lengths_start(struct drop *a);

#endif
