/* SPDX-License-Identifier: Apache-2.0 */
/* How many flows a switch sent over each of its equal ways, and what to say of it:
 * is it uneven, for all destinations or for some?
 *
 *     struct ecmp_finding x = {.at = "leaf1", .n_ways = 2, .ways = {{"spine1", 97}, {"spine2", 12}}, ...};
 *     ecmp_finding_judge(&x);        // x.p, x.is_some, x.classes[].is_uneven
 *
 * The test is chi-square against equal shares (chi_square.h). Of some flows one
 * does not know which way they went: the next switch's copies did not arrive, or the packet
 * did not. They count as if they had gone where the fewest did: what is still
 * uneven then, is. It is repeated for the flows to each destination switch, to know whether all are hit
 * or some. Filled by the flows of traces (ecmp_flows.h) and by counters (ecmp_counters.h). Values; names are
 * borrowed. Pure functions. */
#ifndef CONTROLLER_ECMP_FINDING_H
#define CONTROLLER_ECMP_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { ECMP_FLOWS_WAYS = 16, ECMP_FLOWS_LEAST = 30, ECMP_FLOWS_CLASSES = 16 };

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

/* Works out `p`, the order of the ways and the classes from the counts of flows. */
void ecmp_finding_judge(struct ecmp_finding *finding);

/* Has this neighbour first, whichever has most flows. */
void ecmp_finding_put_first(struct ecmp_finding *finding, const char *to);

/* The flows to this switch are known to be uneven, all together are not. */
void ecmp_finding_blame(struct ecmp_finding *finding, const char *dst);

/* {"flows", "unknown", "p", "links": [{"to", "flows", "expected"}], "prefixes": [{"prefix", "switch", "flows":
 * {neighbour: n}, "p", "uneven"}]}, a new reference. */
json_t *ecmp_finding_show(const struct ecmp_finding *finding);

/* "all traffic" or "packets to 10.3.0.0/24 (leaf3), ...". Returns `text`. */
const char *ecmp_finding_class(const struct ecmp_finding *finding, char *text, size_t size);

#endif
