/* SPDX-License-Identifier: Apache-2.0 */
/* The fault lab: faults that are put into a running fabric and taken out again.
 *
 *     struct ef_fault fault = {.kind = ef_fault_kind_find("random-drop", &err), .rate = 0.01, .seed = 1};
 *     if (!ef_fault_place(t, "leaf1:spine2", &fault, &err) && !ef_fault_match_parse("tcp", &fault.match, &err)) {
 *         rc = ef_faults_add(t, &fault, &err);
 *     }
 *
 * Silent faults act behind the switch (BPF programs on the links, see
 * fault_bpf.h; a relay process, see fault_relay.h), so that none of its counters
 * shows them; a loop and skewed ECMP are rules, as a wrong configuration would
 * be. A kind is a struct of functions, in the file of its mechanism.
 *
 * What there is stands in /run/everflow/NAME/faults/ID.json, written before a
 * fault is made and removed after it is undone: a command that was killed
 * leaves nothing that `fault clear` (or `down`) does not find. Undoing what was
 * never made is no error. The fabric's lock is held by the caller of everything
 * that changes (ef_state_lock()). One thread. */
#ifndef EF_FABRIC_FAULT_H
#define EF_FABRIC_FAULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"
#include "utilities/fabric/fault_params.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/topology.h"

#define EF_FAULT_TEXT_SIZE 512 /* Of a filter. */
#define EF_MAX_FAULTS 1000     /* At a time; also the greatest number of one. */

/* What --rate means. */
enum ef_fault_rate { EF_FAULT_NO_RATE, EF_FAULT_PROBABILITY, EF_FAULT_BITS, EF_FAULT_FRAMES };

struct ef_fault {
    const struct ef_fault_kind *kind;
    uint32_t id; /* From 1 on. */
    char node[EF_NODE_NAME_SIZE];
    bool at_host; /* `node` is a host. */
    int port;     /* Of a switch; 0: all of them. */
    char match_text[EF_FAULT_TEXT_SIZE];
    struct ef_fault_match match;
    double rate; /* A probability, bits per second or frames per second. */
    int64_t delay_ns;
    uint64_t seed;
    char type[16]; /* Of what is injected; see the kind. */
    struct ef_time since;
};

struct ef_fault_kind {
    const char *name, *help;
    bool needs_port, takes_port, takes_host, needs_match, takes_match, needs_delay;
    enum ef_fault_rate rate;
    double default_rate;      /* 0: it must be given. */
    const char *const *types; /* NULL-terminated, the default first; NULL: it has none. */
    int (*start)(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err);
    int (*stop)(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err);
    /* Adds what the fault did so far; NULL: nobody counts. */
    void (*count)(const struct ef_topology *t, const struct ef_fault *fault, struct ef_fault_counters *counters);
};

/* All kinds, NULL at the end. */
extern const struct ef_fault_kind *const ef_fault_kinds[];

/* By name; NULL with `err` if there is none. */
const struct ef_fault_kind *ef_fault_kind_find(const char *name, struct ef_error *err);

/* Reads where: SWITCH, SWITCH:PORT (number or name) or HOST. -EINVAL with `err`. */
int ef_fault_place(const struct ef_topology *t, const char *text, struct ef_fault *fault, struct ef_error *err);

/* Reads --rate as the kind means it: "0.1", "10%"; "5mbit"; "200". -EINVAL with `err`. */
int ef_fault_rate_parse(const char *text, struct ef_fault *fault, struct ef_error *err);

/* Gives the fault a number and makes it. 0 or a negative errno with `err`; then
 * nothing is left of it. */
int ef_faults_add(const struct ef_topology *t, struct ef_fault *fault, struct ef_error *err);

/* Undoes fault `id`, or all with 0; -ENOENT with `err` if there is no such one. */
int ef_faults_clear(const struct ef_topology *t, uint32_t id, struct ef_error *err);

/* All faults as a JSON array, by number, with what they did (new reference). */
json_t *ef_faults_to_json(const struct ef_topology *t);

/* One fault as JSON without its counters, and back. -EINVAL if it is none. */
json_t *ef_fault_to_json(const struct ef_topology *t, const struct ef_fault *fault);
int ef_fault_from_json(const struct ef_topology *t, const json_t *json, struct ef_fault *fault);

/* For the kinds: calls `each` in the switch's namespace for every port that is
 * meant, and stops at a failure. */
int ef_fault_each_port(const struct ef_topology *t, const struct ef_fault *fault,
                       int (*each)(const struct ef_topology_port *port, void *ctx, struct ef_error *err), void *ctx,
                       struct ef_error *err);

/* The program's parameters for a fault that does `action`. */
struct ef_fault_params ef_fault_params_of(const struct ef_fault *fault, enum ef_fault_action action);

/* The pidfile of a fault's process; see worker.h. Returns `path`. */
char *ef_fault_pidfile(const struct ef_topology *t, const struct ef_fault *fault, char path[EF_STATE_PATH_SIZE]);

/* The `count` of those that are BPF programs on ports. */
void ef_fault_count_ports(const struct ef_topology *t, const struct ef_fault *fault,
                          struct ef_fault_counters *counters);

/* The kinds, by the file that has them. */
extern const struct ef_fault_kind ef_fault_blackhole, ef_fault_random_drop, ef_fault_size_drop, ef_fault_corrupt,
    ef_fault_mirror_loss;                                                 /* fault_silent.c */
extern const struct ef_fault_kind ef_fault_link_down;                     /* fault_silent.c */
extern const struct ef_fault_kind ef_fault_switch_crash;                  /* fault_crash.c */
extern const struct ef_fault_kind ef_fault_loop, ef_fault_ecmp_skew;      /* fault_rules.c */
extern const struct ef_fault_kind ef_fault_delay, ef_fault_queue;         /* fault_relay.c */
extern const struct ef_fault_kind ef_fault_pfc_storm, ef_fault_rdma_nack; /* fault_inject.c */

#endif
