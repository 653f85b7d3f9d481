/* SPDX-License-Identifier: Apache-2.0 */
/* Finer counters, for as long as they are needed: how many connections went from a
 * switch over each of its ways, for each prefix of destinations. They are counters by filter
 * (POST /v1/counters) of all analyzers, which count SYNs.
 *
 *     counters = ecmp_counters_start(c, id, &finding, done, ctx);       // installs them
 *     ecmp_counters_read(counters);                                     // `done` when all have answered
 *     ecmp_counters_stop(counters);                                     // removes them
 *
 * At most ECMP_COUNTERS_MAX are installed. One event base's thread. */
#ifndef CONTROLLER_ECMP_COUNTERS_H
#define CONTROLLER_ECMP_COUNTERS_H

#include <jansson.h>

#include "controller/ecmp_flows.h"

struct controller;
struct ecmp_counters;

enum { ECMP_COUNTERS_MAX = 16 };

/* For the ways and classes of `finding`, which is copied. `done` comes after each
 * ecmp_counters_read(), with the finding's counts replaced by those of the counters. */
struct ecmp_counters *ecmp_counters_start(struct controller *c, const char *id, const struct ecmp_finding *finding,
                                          void (*done)(void *ctx, const struct ecmp_finding *counted), void *ctx);
void ecmp_counters_read(struct ecmp_counters *counters);
void ecmp_counters_stop(struct ecmp_counters *counters); /* NULL is fine. */

size_t ecmp_counters_n(const struct ecmp_counters *counters);

#endif
