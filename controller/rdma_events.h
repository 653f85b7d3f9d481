/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with RDMA, by the control frames that switches copied: pauses
 * (PFC and 802.3x) by the port that got them, RoCEv2's NAKs, RNR NAKs and congestion
 * notifications (CNP) by queue pair.
 *
 *     struct rdma_events *e = rdma_events_create(topology.document);
 *     rdma_events_take(e, trace);  ...
 *     n = rdma_events_storms(e, since, storms, 16);        // who pauses whom, and where it begins
 *     n = rdma_events_bursts(e, since, bursts, 16);        // which queue pairs complain
 *     rdma_events_destroy(e);
 *
 * A pause that arrives at a switch's port was sent by whoever is behind it: its
 * neighbour stops it. A neighbour that is a switch may do so because it is
 * stopped itself: so the origin of a storm is found by following the pauses from
 * switch to switch, until one that nobody pauses, or a host; if that leads in a
 * circle, it is a deadlock.
 *
 * A NAK of the sequence says that packets to its sender were lost; an RNR NAK, that its
 * sender's application did not provide buffers; a CNP, that packets to its
 * sender met congestion.
 *
 * Bounded: RDMA_EVENTS_MAX are remembered. Names are borrowed from the document. One thread. */
#ifndef CONTROLLER_RDMA_EVENTS_H
#define CONTROLLER_RDMA_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct rdma_events;

enum {
    RDMA_EVENTS_MAX = 16384,
    RDMA_STORM_LEAST = 20, /* Pauses at a port, */
    RDMA_STORM_RATE = 5,   /* and so many a second, */
    RDMA_BURST_LEAST = 10, /* NAKs of a queue pair, */
    RDMA_CNP_LEAST = 50,   /* CNPs: some are as it should be. */
    RDMA_TRACES = 5,       /* Ids that are kept as examples. */
    RDMA_WAY = 8,
};

/* Pauses at one port. */
struct rdma_storm {
    const char *at; /* The switch that is paused, */
    uint32_t port;  /* on this port, */
    const char *by; /* by this neighbour; NULL: not known. */
    unsigned pauses, resumes;
    unsigned classes; /* A bit for each priority; 0: of all (802.3x). */
    struct ef_time first, last;
    /* Where it begins: `origin` sends pauses to `origin_to`, over switches `way` to `at`. */
    const char *origin, *origin_to;
    size_t n_way;
    const char *way[RDMA_WAY];
    bool is_circle; /* Nobody begins: each of `way` is paused by the next. */
    char traces[RDMA_TRACES][17];
    size_t n_traces;
};

enum rdma_kind { RDMA_SEQUENCE, RDMA_RNR, RDMA_NAK, RDMA_CNP, RDMA_N_KINDS };

/* Of one queue pair of one host to another. */
struct rdma_burst {
    enum rdma_kind kind;
    char from[48], to[48];           /* Addresses: who complains, and to whom. */
    const char *from_name, *to_name; /* By the topology, or NULL. */
    const char *from_switch;
    uint32_t queue_pair; /* Of `to`. */
    unsigned n;
    uint32_t first_psn, last_psn;
    struct ef_time first, last;
    char traces[RDMA_TRACES][17];
    size_t n_traces;
};

struct rdma_events *rdma_events_create(const json_t *document);
void rdma_events_destroy(struct rdma_events *events); /* NULL is fine. */

/* Takes a trace; what is neither is left out. */
void rdma_events_take(struct rdma_events *events, const json_t *trace);

/* Since then: ports with at least RDMA_STORM_LEAST pauses and RDMA_STORM_RATE a second up to `until`, the
 * most first; bursts, the gravest kind first. Returns how many, at most `size`. */
size_t rdma_events_storms(const struct rdma_events *events, struct ef_time since, struct ef_time until,
                          struct rdma_storm storms[], size_t size);
size_t rdma_events_bursts(const struct rdma_events *events, struct ef_time since, struct rdma_burst bursts[],
                          size_t size);

/* One sentence; and as JSON, a new reference, with "device" and "traces". */
const char *rdma_storm_text(const struct rdma_storm *storm, char *text, size_t size);
const char *rdma_burst_text(const struct rdma_burst *burst, char *text, size_t size);
json_t *rdma_storm_show(const struct rdma_storm *storm);
json_t *rdma_burst_show(const struct rdma_burst *burst);

extern const char *const rdma_kind_names[];

#endif
