/* SPDX-License-Identifier: Apache-2.0 */
/* Where packets are corrupted, by the traces that say so: sorted by the two ends
 * between which their bytes changed.
 *
 *     struct corrupt_links *l = corrupt_links_create(topology.document);
 *     corrupt_links_take(l, trace);  ...
 *     n = corrupt_links_find(l, since, findings, 16);      // the worst first
 *     corrupt_links_destroy(l);
 *
 * A trace's hop that is "corrupt" was reached from the hop before with other bytes: the link
 * between the two, if they are neighbours; the switch itself, if both are it;
 * else somewhere between. Where the first hop is corrupt, the link is that of the port
 * by which the packet came, and nothing is known without one.
 *
 * Bounded: CORRUPT_LINKS_EVENTS are remembered. What is in a trace comes from outside. One thread. */
#ifndef CONTROLLER_CORRUPT_LINKS_H
#define CONTROLLER_CORRUPT_LINKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct corrupt_links;

enum {
    CORRUPT_LINKS_EVENTS = 8192,
    CORRUPT_LINKS_TRACES = 5, /* Ids that are kept as examples. */
    CORRUPT_LINKS_NAME = 64,
    CORRUPT_LINKS_ODD = 2, /* So few may be chance. */
};

struct corrupt_finding {
    char from[CORRUPT_LINKS_NAME], to[CORRUPT_LINKS_NAME];
    bool is_link;                    /* The two are neighbours. */
    unsigned n;                      /* Packets that were corrupted there, by their traces. */
    double span_s;                   /* Set by the caller, as the next two: in these last seconds, */
    uint64_t n_packets, n_corrupted; /* of so many packets of the link so many; 0: not known. */
    struct ef_time first, last;
    char traces[CORRUPT_LINKS_TRACES][17];
    size_t n_traces;
};

/* `document` is the topology's, borrowed. */
struct corrupt_links *corrupt_links_create(const json_t *document);
void corrupt_links_destroy(struct corrupt_links *links); /* NULL is fine. */

/* Takes a trace; one that says nothing of the sort is left out. */
void corrupt_links_take(struct corrupt_links *links, const json_t *trace);

/* The places since then, most packets first. Returns how many, at most `size`. */
size_t corrupt_links_find(const struct corrupt_links *links, struct ef_time since, struct corrupt_finding findings[],
                          size_t size);

/* One sentence; true if it is about more than what may be chance. And as JSON, a new
 * reference, with "device", "corrupted", "packets", "span_s" and "traces". */
bool corrupt_finding_text(const struct corrupt_finding *finding, char *text, size_t size);
json_t *corrupt_finding_show(const struct corrupt_finding *finding);

/* The device at fault: who sends over the link; NULL: somewhere between. */
const char *corrupt_finding_device(const struct corrupt_finding *finding);

#endif
