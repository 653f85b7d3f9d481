/* SPDX-License-Identifier: Apache-2.0 */
/* Where switches sent flows that they could send several ways, by the traces, and
 * whether they share them evenly.
 *
 *     struct ecmp_flows *f = ecmp_flows_create(topology.document);
 *     ecmp_flows_take(f, trace);  ...
 *     n = ecmp_flows_judge(f, since, findings, 16);         // switches that do not
 *     ecmp_flows_destroy(f);
 *
 * A flow is a 5-tuple and counts once, however many of its packets were traced: a
 * heavy flow is no uneven share. A switch's choice is between the neighbours that the
 * topology has on shortest ways to the flow's destination; only where there are
 * two or more does a flow count. The test is chi-square against equal shares
 * (chi_square.h). Of some flows one does not know which way they went: the next
 * switch's copies did not arrive, or the packet did not. They count as if they had gone where the
 * fewest did: what is still uneven then, is. Of what is uneven, it is repeated for each destination switch, to know
 * whether all are hit or some.
 *
 * Bounded: ECMP_FLOWS_MAX crossings are remembered, the oldest make room. Names are borrowed from
 * the document. One thread. */
#ifndef CONTROLLER_ECMP_FLOWS_H
#define CONTROLLER_ECMP_FLOWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

struct ecmp_flows;

enum { ECMP_FLOWS_MAX = 32768, ECMP_FLOWS_WAYS = 16, ECMP_FLOWS_LEAST = 30, ECMP_FLOWS_CLASSES = 16 };

/* The flows of one switch to destinations for which it has this choice. */
struct ecmp_share {
    const char *to; /* The neighbour. */
    unsigned flows;
};

/* The flows to the hosts of one switch among them. */
struct ecmp_class {
    const char *dst, *prefix; /* The switch; its hosts' prefix (NULL: the topology does not say). */
    unsigned flows[ECMP_FLOWS_WAYS];
    unsigned unknown;
    double p;
    bool is_uneven;
};

struct ecmp_finding {
    const char *at;
    size_t n_ways;
    struct ecmp_share ways[ECMP_FLOWS_WAYS]; /* The one with most flows first. */
    unsigned flows;
    unsigned unknown; /* Flows beside these of which the way is not known. */
    double p;         /* The chance of such an uneven share, or one more uneven. */
    size_t n_classes;
    struct ecmp_class classes[ECMP_FLOWS_CLASSES]; /* Their flows in the order of `ways`. */
    bool is_some;                                  /* Some of the classes are uneven and the rest, together, is not. */
};

struct ecmp_flows *ecmp_flows_create(const json_t *document);
void ecmp_flows_destroy(struct ecmp_flows *flows); /* NULL is fine. */

/* Takes a trace, an object as the controller's. */
void ecmp_flows_take(struct ecmp_flows *flows, const json_t *trace);

/* Finds switches that share the flows since then unevenly: at least ECMP_FLOWS_LEAST, by a
 * chance below `p`, and one way with 1.3 times its share or more. Only of `at`, unless
 * that is NULL. Returns how many, at most `size`. */
size_t ecmp_flows_judge(const struct ecmp_flows *flows, struct ef_time since, double p, const char *at,
                        struct ecmp_finding findings[], size_t size);

/* The choice of a switch with most flows, even or not; false: it has none. */
bool ecmp_flows_look(const struct ecmp_flows *flows, struct ef_time since, const char *at,
                     struct ecmp_finding *finding);

/* Works out `p`, the order of the ways and the classes from the counts of flows. */
void ecmp_finding_judge(struct ecmp_finding *finding);

/* {"flows", "unknown", "p", "links": [{"to", "flows", "expected"}], "prefixes": [{"prefix", "switch", "flows":
 * {neighbour: n}, "p", "uneven"}]}, a new reference. */
json_t *ecmp_finding_show(const struct ecmp_finding *finding);

/* "all traffic" or "packets to 10.3.0.0/24 (leaf3), ...". Returns `text`. */
const char *ecmp_finding_class(const struct ecmp_finding *finding, char *text, size_t size);

#endif
