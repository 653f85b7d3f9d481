/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of one packet: the switches that it crossed, in order, with what
 * each saw of it, and the verdicts that follow from them alone.
 *
 * Filled by the analyzer's assembler from the copies of one packet, kept by its
 * store, printed by trace_json.h, asked by trace_match.h:
 *
 *     ef_hop_of_copy(&trace.hops[trace.n_hops++], &copy, &packet, frame.arrival);
 *     ...
 *     ef_trace_finish(&trace, debug_dscp);
 *     for (unsigned i = 0; i < trace.n_hops; i++) print(ef_trace_since_first_ns(&trace, i));
 *
 * Plain values: copied freely, no pointer inside, no thread protocol. */
#ifndef EF_TRACE_PACKET_TRACE_H
#define EF_TRACE_PACKET_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "packet/copy.h"
#include "packet/integrity.h"
#include "packet/packet.h"

enum {
    EF_TRACE_MAX_HOPS = 64,
    EF_TRACE_MAX_BYTES = 256, /* Kept of the original, from its Ethernet header. */
};

/* Hop flags. */
enum {
    EF_HOP_EGRESS = 1, /* The copy was taken when the packet left the switch. */
    EF_HOP_HAS_PORT = 2,
    EF_HOP_HAS_SEQUENCE = 4,
    EF_HOP_HAS_SWITCH_TIME = 8,
    EF_HOP_HAS_IP = 16,       /* ttl, outer_ttl, dscp and ecn are valid. */
    EF_HOP_ENCAPSULATED = 32, /* The packet was inside another IP packet here. */
    EF_HOP_TRUNCATED = 64,
    EF_HOP_CORRUPT = 128, /* Since the hop before; of the first, before it. See ef_trace_finish(). */
};

/* One switch's view of the packet. */
struct ef_hop {
    uint8_t switch_address[16]; /* IPv4 as ::ffff:a.b.c.d. */
    struct ef_time arrival;     /* Real time at the analyzer. */
    struct ef_time switch_time; /* Real time of the switch's clock. */
    uint32_t port;
    uint32_t sequence; /* Of the copies of this switch. */
    uint8_t src_mac[6];
    uint8_t ttl;       /* Of the innermost IP packet. */
    uint8_t outer_ttl; /* Of the outermost; the same if not encapsulated. */
    uint8_t dscp, ecn; /* Of the outermost, which is what switches act on. */
    uint8_t flags;
    uint8_t depth;                 /* IP packets around the innermost one. */
    uint8_t drop;                  /* Why the switch dropped the packet (packet/switch_drop.h), 0: it did not. */
    struct ef_integrity integrity; /* Only until the verdicts are given: nobody keeps it. */
};

/* What became of the packet, as far as the copies tell. */
enum ef_fate {
    EF_FATE_UNKNOWN,   /* Where it should have gone is not known. */
    EF_FATE_DELIVERED, /* The last switch for its destination saw it. */
    EF_FATE_DROPPED,   /* That switch never saw it, or the last one that did says that it dropped it. */
    EF_FATE_UNSURE,    /* It did not, or its copy was lost. */
    EF_FATE_EXPIRED,   /* The TTL ran out at or behind the last hop. */
    EF_FATE_LOOP,
};
#define EF_N_FATES 6
extern const char *const ef_fate_names[EF_N_FATES]; /* "unknown", ... */

struct ef_trace {
    uint64_t id;                           /* struct ef_identity's hash. */
    struct ef_time start;                  /* Arrival of the first and of */
    struct ef_time end;                    /* the last copy, real time. */
    uint8_t target[16];                    /* Where the copies were sent to. */
    uint32_t wire_len;                     /* Of the original. */
    uint32_t n_copies;                     /* With the duplicates. */
    uint32_t n_duplicates;                 /* Copies that repeat a hop. */
    uint16_t n_bytes;                      /* At `bytes`. */
    uint8_t n_hops;                        /* At `hops`. */
    bool loop;                             /* See ef_trace_finish(). */
    bool debug;                            /* A hop carried the debug mark. */
    bool corrupt;                          /* A hop is EF_HOP_CORRUPT. */
    bool is_mixed;                         /* Several packets that nothing tells apart are in it: see there. */
    bool switch_clock;                     /* All hops carry switch times: latencies are from them. */
    bool hops_full;                        /* There were more than EF_TRACE_MAX_HOPS. */
    bool copies_lost;                      /* The analyzer lost copies meanwhile: a hop may be missing. */
    uint8_t n_missing;                     /* Hops between those there, by the TTL. */
    uint8_t mux_hop;                       /* The first encapsulated hop behind a plain one, or 0: none. */
    uint8_t fate;                          /* enum ef_fate; by analyzer/judge.h, which knows the topology. */
    bool has_expected;                     /* `expected` is known: for fates DELIVERED, DROPPED, UNSURE. */
    uint8_t expected[16];                  /* A switch that should have been, or was, the last. */
    uint8_t bytes[EF_TRACE_MAX_BYTES];     /* The original as its first hop saw it. */
    struct ef_hop hops[EF_TRACE_MAX_HOPS]; /* In the packet's order once finished. */
};

/* Fills `hop` with what `copy` and the original in it, parsed into `packet`,
 * say. */
void ef_hop_of_copy(struct ef_hop *hop, const struct ef_copy *copy, const struct ef_packet *packet,
                    struct ef_time arrival);

/* True if `b` repeats `a`: same switch, TTL, port, direction, depth and drop. */
bool ef_hop_is_duplicate(const struct ef_hop *a, const struct ef_hop *b);

/* Orders the hops and gives the verdicts, once all copies are there.
 *
 * Order: TTL descending, then the switches' time if all hops carry it, else
 * the arrival. Where all copies are encapsulated (an overlay, whose inner TTL
 * stands still), the outer TTL decides before the time does.
 *
 * A drop comes after what else its switch saw with the same TTL. Of a switch
 * that saw the packet both arrive and leave with the same TTL, the sequence
 * numbers tell the order, else it arrived first. A switch that decremented the
 * TTL, as the copies of arrival and departure tell, comes before the others
 * that saw it with the lower TTL.
 *
 * Loop: a switch is there again with a lower TTL and not earlier, in the same
 * direction and as deep in other packets, which a guided probe that is led there
 * again is not. (A sender that repeats a packet with a growing
 * TTL, as traceroute does, makes no loop. A switch that copies at ingress and egress, or that sees a
 * packet go into a tunnel end beside it and come out again, is no loop.)
 *
 * Debug: a hop's DSCP has one of the bits `debug_dscp`.
 *
 * Missing: where the TTL of one IP header falls by more than one between two hops, the switches
 * between them sent no copy, or it was lost.
 *
 * Corrupt: a hop that the packet cannot have reached from the one before without
 * a change of bytes that nobody may change (packet/integrity.h). Where no checksum
 * proves it, the trace must be of one packet only: `is_mixed` says that it is not.
 *
 * Mux: a plain hop is followed by an encapsulated one, that is, somebody put the
 * packet into a tunnel there, such as a load balancer (a Mux) beside a switch. */
void ef_trace_finish(struct ef_trace *trace, uint8_t debug_dscp);

/* The time from the first hop to hop `index` and to the last hop, of a finished
 * trace with at least one hop; negative where the switches' clocks disagree. */
int64_t ef_trace_since_first_ns(const struct ef_trace *trace, unsigned index);
int64_t ef_trace_latency_ns(const struct ef_trace *trace);

/* From the last plain hop to the first encapsulated one; 0 without a mux_hop. */
int64_t ef_trace_mux_latency_ns(const struct ef_trace *trace);

#endif
