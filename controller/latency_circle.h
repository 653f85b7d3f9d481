/* SPDX-License-Identifier: Apache-2.0 */
/* In which direction is a link slow? Round trips do not tell. Probes do that go
 * around a circle of switches over the link, one half of them this way round,
 * the other that way round: each begins and ends at the same switch, whose clock alone measures it,
 * and all that differs is the direction in which the link is crossed.
 *
 *     circle = latency_circle_start(c, "leaf2", "spine1", 200, false, done, ctx);
 *
 *     static void done(void *ctx) { sender = latency_circle_sender(circle, why, sizeof why);
 * latency_circle_stop(circle); }
 *
 * One event base's thread. */
#ifndef CONTROLLER_LATENCY_CIRCLE_H
#define CONTROLLER_LATENCY_CIRCLE_H

#include <stdbool.h>
#include <stddef.h>

struct controller;
struct latency_circle;

/* A link that adds `us` to round trips: to all, or (`is_queue`) to the slowest tenth.
 * NULL if the topology has no circle over it. `done` is called once. */
struct latency_circle *latency_circle_start(struct controller *c, const char *a, const char *b, double us,
                                            bool is_queue, void (*done)(void *ctx), void *ctx);
void latency_circle_stop(struct latency_circle *circle); /* NULL is fine. */

/* The switch (`a` or `b` as they were given) that sends what is held back, or NULL: both
 * or not clear. `why` says what was measured. */
const char *latency_circle_sender(const struct latency_circle *circle, char *why, size_t size);

#endif
