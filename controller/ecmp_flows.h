/* SPDX-License-Identifier: Apache-2.0 */
/* Where switches sent flows that they could send several ways, by the traces, and
 * whether they share them evenly.
 *
 *     struct ecmp_flows *f = ecmp_flows_create(topology.document);
 *     ecmp_flows_take(f, trace);  ...
 *     n = ecmp_flows_judge(f, since, 1e7, NULL, findings, 16);         // switches that do not
 *     ecmp_flows_destroy(f);
 *
 * A flow is a 5-tuple and counts once, however many of its packets were traced: a
 * heavy flow is no uneven share. A switch's choice is between the neighbours that the
 * topology has on shortest ways to the flow's destination; only where there are
 * two or more does a flow count. They are judged one after the other (ecmp_sequence.h), those of a
 * choice together and those to each destination switch; what is uneven at the end is counted
 * from where it began (ecmp_finding.h). What was uneven and is over is no finding.
 *
 * Bounded: ECMP_FLOWS_MAX crossings are remembered, the oldest make room. Names are borrowed from
 * the document. One thread. */
#ifndef CONTROLLER_ECMP_FLOWS_H
#define CONTROLLER_ECMP_FLOWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"
#include "controller/ecmp_finding.h"

struct ecmp_flows;

enum { ECMP_FLOWS_MAX = 32768 };

struct ecmp_flows *ecmp_flows_create(const json_t *document);
void ecmp_flows_destroy(struct ecmp_flows *flows); /* NULL is fine. */

/* Takes a trace, an object as the controller's. */
void ecmp_flows_take(struct ecmp_flows *flows, const json_t *trace);

/* Finds switches that share the flows unevenly now, with one false alarm in `flows_between` flows of
 * a switch at most. Only those since then count, and only those of `at`, unless that is NULL. In a finding are the
 * flows since it began, and `p` is the chance that one time it would be seen so.
 * Returns how many, at most `size`. */
size_t ecmp_flows_judge(const struct ecmp_flows *flows, struct ef_time since, double flows_between, const char *at,
                        struct ecmp_finding findings[], size_t size);

/* The choice of a switch with most flows, even or not; false: it has none. */
bool ecmp_flows_look(const struct ecmp_flows *flows, struct ef_time since, const char *at,
                     struct ecmp_finding *finding);

#endif
