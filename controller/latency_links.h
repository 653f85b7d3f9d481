/* SPDX-License-Identifier: Apache-2.0 */
/* Which links the application "latency" measures: those that packets between two
 * servers can take, by the topology (all shortest paths) and by their traces (what they
 * really do), and some others to compare with.
 *
 *     rc = latency_links_init(&links, document, "h1", "10.4.0.11", address, err);
 *     latency_links_add_probes(&links, probes);
 *     latency_links_take(&links, probes, trace);          // may add one
 *     latency_links_deinit(&links);
 *
 * Names are borrowed from the document. One thread. */
#ifndef CONTROLLER_LATENCY_LINKS_H
#define CONTROLLER_LATENCY_LINKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "controller/topology_links.h"

struct fabric_map;
struct link_probes;

enum { LATENCY_LINKS_LEAST = 10, LATENCY_LINKS_NAME = 70 };

struct latency_link {
    struct topology_link link;
    bool is_between; /* On a way between the two; else it is only compared with. */
    size_t probe[2]; /* In link_probes: as either end sees it. */
    unsigned n_traces;
};

struct latency_links {
    struct latency_link *links;
    size_t n, n_between;
    const char *ends[2]; /* The servers' switches. */
    struct fabric_map *map;
    struct topology_link *all;
    size_t n_all;
};

/* `src` and `dst` are hosts by name or address; `address` gets their addresses (borrowed from the
 * document or the arguments). Returns 0, or with `err` -ENOENT (no such host) or -EINVAL (nothing
 * lies between them). Released by latency_links_deinit() in each case. */
int latency_links_init(struct latency_links *l, const json_t *document, const char *src, const char *dst,
                       const char *address[2], struct ef_error *err);
void latency_links_deinit(struct latency_links *l);

/* Adds both ends of each link to `probes`. */
void latency_links_add_probes(struct latency_links *l, struct link_probes *probes);

/* Counts the links of a trace's way, and takes those that are new. Returns true if
 * there are any. */
bool latency_links_take(struct latency_links *l, struct link_probes *probes, const json_t *trace);
void latency_links_forget_traces(struct latency_links *l);

/* The link, whichever way round; it must be there. */
const struct latency_link *latency_links_find(const struct latency_links *l, const char *a, const char *b);

/* "leaf1 - spine1", in `text`, which it returns. */
const char *latency_links_text(char text[2 * LATENCY_LINKS_NAME], const char *a, const char *b);

#endif
