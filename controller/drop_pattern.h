/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets are dropped: the pattern, from how variations of one packet that
 * is dropped fare. A field that can be changed and the packet is still dropped is
 * not part of the pattern.
 *
 *     struct drop_pattern p;
 *     drop_pattern_init(&p, map, "spine1", &flow);
 *     n = drop_pattern_variations(&p, variations, 64);    // probe them all
 *     for each: drop_pattern_note(&p, &variations[i], order);
 *     drop_pattern_solve(&p);
 *     drop_pattern_text(&p, text, sizeof text);           // "TCP packets to port 443"
 *
 * Where there are equal paths, another flow may pass only because it went another
 * way. So "it passed" counts for the pattern only if it passed over the link under
 * suspicion; which one that is, those that pass tell, too: the one that none takes.
 *
 * Of a field of which some other values are dropped and some are not, addresses have a
 * prefix (drop_prefix.h), and ports are said to be one of several.
 *
 * No input or output; one thread. */
#ifndef CONTROLLER_DROP_PATTERN_H
#define CONTROLLER_DROP_PATTERN_H

#include <stdbool.h>

#include "controller/drop_prefix.h"
#include "controller/fabric_map.h"
#include "controller/probe_flow.h"
#include "controller/probe_round.h"

/* What is changed. LINK asks whether the next switch itself is reached over the
 * link, ALIVE whether it is reached over others. */
enum drop_field {
    DROP_BASE,
    DROP_SRC_PORT,
    DROP_DST_PORT,
    DROP_PROTO,
    DROP_FLAGS,
    DROP_SIZE,
    DROP_SRC_BESIDE,
    DROP_SRC_ELSEWHERE,
    DROP_DST_BESIDE,
    DROP_DST_ELSEWHERE,
    DROP_LINK,
    DROP_ALIVE,
};
#define DROP_N_FIELDS (DROP_ALIVE + 1)

enum drop_matter { DROP_NOT_TRIED, DROP_NOT_KNOWN, DROP_MATTERS, DROP_MATTERS_NOT };

/* One flow to probe, started at `at`. */
struct drop_variation {
    enum drop_field field;
    struct probe_flow flow;
    const char *at;
};

struct drop_pattern {
    const struct fabric_map *map;
    const char *at;         /* The last switch that sees the packets. */
    const char *expected;   /* The one that should see them in the end. */
    const char *subnets[2]; /* Prefixes of source and destination, or NULL. */
    struct probe_flow base;

    /* What was noted: variations (not probes) of each field. */
    struct {
        unsigned failed, passed, passed_link, no_answer;
        unsigned passed_next; /* Of `passed_link`, those that were seen at the next switch. */
    } seen[DROP_N_FIELDS];
    struct drop_prefix_set addresses[2]; /* Sources and destinations; passed: over the link. */
    int failing_ports[3];                /* Other source ports with which it is dropped, too. */
    unsigned n_failing_ports;
    struct {
        char name[PROBE_ROUND_NAME];
        bool passes;    /* Somebody went there. */
        bool same_flow; /* Who has the same addresses and ports, so takes the same way. */
    } candidates[FABRIC_MAP_NEXT];
    size_t n_candidates;
    bool is_retry;                        /* Variations are of what could not be told, with more ports. */
    bool next_is_silent;                  /* No copy of the next switch comes, and it made none; */
    bool next_is_heard;                   /* or some do, so that it is not down. */
    bool beyond_link;                     /* Packets that have another way are dropped as well. */
    const char *unheard[FABRIC_MAP_NEXT]; /* Neighbours of `at` of which no copies come at all. Borrowed. */
    size_t n_unheard;

    /* What follows; drop_pattern_solve(). */
    const char *next; /* The switch at the other end of the link, or NULL: cannot be told. */
    bool next_is_dead;
    enum drop_matter matters[DROP_N_FIELDS];
    int passes_length, fails_length; /* If the size matters: the largest or smallest known. */
};

/* `map` and `at` are borrowed. */
void drop_pattern_init(struct drop_pattern *p, const struct fabric_map *map, const char *at,
                       const struct probe_flow *base);

/* The packet itself is known to have been sent to this neighbour. */
void drop_pattern_went(struct drop_pattern *p, const char *next);

/* The other source ports, to begin with; more of them, if it is not known by these
 * which link it is; then what else is to be tried, given what was noted. Return how many, at most `size`. */
size_t drop_pattern_ports(const struct drop_pattern *p, struct drop_variation variations[], size_t size);
size_t drop_pattern_more_ports(const struct drop_pattern *p, struct drop_variation variations[], size_t size);
size_t drop_pattern_variations(const struct drop_pattern *p, struct drop_variation variations[], size_t size);

/* How a variation fared. */
void drop_pattern_note(struct drop_pattern *p, const struct drop_variation *v, const struct probe_round_order *result);

/* Draws the conclusions from all that was noted so far. */
void drop_pattern_solve(struct drop_pattern *p);

/* Of how many fields it is not known whether they matter: then the text may say more
 * than is dropped. */
unsigned drop_pattern_unknown(const struct drop_pattern *p);

/* Who should have seen the packets next, one of them: the next switch, or all that it may be. Names
 * live as long as the pattern. Returns how many. */
size_t drop_pattern_unseen(const struct drop_pattern *p, const char *names[FABRIC_MAP_NEXT]);

/* Some probe was seen at the next switch: its copies arrive. */
bool drop_pattern_next_is_seen(const struct drop_pattern *p);

/* "all packets", "TCP packets from 10.1.0.0/24 to 10.4.0.12 port 443". */
void drop_pattern_text(const struct drop_pattern *p, char *text, size_t size);

#endif
