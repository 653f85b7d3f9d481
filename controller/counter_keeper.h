/* SPDX-License-Identifier: Apache-2.0 */
/* Sees to it that each analyzer has the counters that the state says there are
 * (STATE_COUNTER): one that has begun anew gets them again within some seconds,
 * and one that was away while a counter was removed loses it. Counters that
 * somebody gave to an analyzer directly are left alone. While this controller is
 * not the active one, nothing is done. One event base's thread. */
#ifndef CONTROLLER_COUNTER_KEEPER_H
#define CONTROLLER_COUNTER_KEEPER_H

struct controller;
struct counter_keeper;

/* `c` is borrowed; its state must be there. */
struct counter_keeper *counter_keeper_create(struct controller *c);
void counter_keeper_destroy(struct counter_keeper *keeper); /* NULL is fine. */

/* The counter `name` was removed: whoever still has it loses it, until there is
 * one of that name again. */
void counter_keeper_forget(struct counter_keeper *keeper, const char *name);

#endif
