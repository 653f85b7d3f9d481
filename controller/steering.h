/* SPDX-License-Identifier: Apache-2.0 */
/* Looks after the reshufflers, every second: those that do not have the
 * configuration's analyzers, with their addresses and weights, are told them
 * (whether one is draining stays as it is there); and the switches are moved away
 * from those that are congested or down (shedding.h).
 *
 *     steering = steering_start(controller);
 *     ... steering_stop(steering);
 *
 * One event base's thread. */
#ifndef CONTROLLER_STEERING_H
#define CONTROLLER_STEERING_H

struct controller;
struct steering;

/* `controller`, whose switches have been made, must outlive it. */
struct steering *steering_start(struct controller *controller);
void steering_stop(struct steering *steering); /* NULL is fine. */

#endif
