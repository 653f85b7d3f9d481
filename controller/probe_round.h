/* SPDX-License-Identifier: Apache-2.0 */
/* Several orders for probes at the same time, and what became of the probes: an
 * application's experiment.
 *
 *     struct probe_round_order *o = probe_round_add(round = probe_round_create(c), packet, 20, "spine1");
 *     probe_round_start(round, done, ctx);
 *
 *     static void done(void *ctx)            // all are over, and traced or late
 *     {
 *         if (o->failed && !o->passed) ...;  // none got past spine1
 *         probe_round_destroy(round);
 *     }
 *
 * The question that a round answers is: of the probes that reached the switch
 * `at`, how many went on, to which next switch, and how many ended there. A probe
 * of which no trace is known, or of which copies may be lost, counts as neither. Probes whose traces come in pieces
 * count by the best of them.
 *
 * A round waits for its part of the budget (probe_budget.h), and sends with half of the
 * rate that is allowed, all its orders within the same time. It ends at last
 * PROBE_ROUND_MAX_MS after it has begun. One event base's thread. */
#ifndef CONTROLLER_PROBE_ROUND_H
#define CONTROLLER_PROBE_ROUND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct controller;
struct probe_round;

enum { PROBE_ROUND_ORDERS = 64, PROBE_ROUND_NEXT = 8, PROBE_ROUND_NAME = 64, PROBE_ROUND_MAX_MS = 20000 };

struct probe_round_order {
    /* What was asked. */
    json_t *packet;
    unsigned count;
    char at[PROBE_ROUND_NAME];

    /* What came of it, once the round is done. */
    char id[17];      /* "" if it was not taken. */
    char error[200];  /* Why it was refused. */
    unsigned sent;    /* Probes. */
    unsigned traced;  /* Of those: has a trace, */
    unsigned reached; /* which has `at`. */
    unsigned passed;  /* Went on from there, or was delivered. */
    unsigned failed;  /* Was dropped there. */
    unsigned looped;  /* Came back to a switch. */
    bool is_doubtful; /* Some seemed dropped, but copies that would say otherwise are being lost (collection.h). */
    unsigned n_next;
    struct probe_round_next {
        char name[PROBE_ROUND_NAME];
        unsigned passed;
    } next[PROBE_ROUND_NEXT]; /* Where those went that passed. */
    json_t *ends;             /* {switch: probes}: the last switch of those that were dropped, wherever. */
    char a_trace[17];         /* One of a probe that did not pass, or else of any. */
};

struct probe_round *probe_round_create(struct controller *c);
void probe_round_destroy(struct probe_round *round); /* Stops it. NULL is fine. */

/* Adds an order of `count` probes; `packet` (taken over) has the fields of
 * ef-prober. NULL: there are PROBE_ROUND_ORDERS already. The result lives as long
 * as the round. */
struct probe_round_order *probe_round_add(struct probe_round *round, json_t *packet, unsigned count, const char *at);

/* `done` is called once, from the event loop. */
void probe_round_start(struct probe_round *round, void (*done)(void *ctx), void *ctx);

unsigned probe_round_n(const struct probe_round *round);
struct probe_round_order *probe_round_order(struct probe_round *round, unsigned index);

/* Evaluates one trace, as JSON text, of a probe of the round; for tests, too. */
void probe_round_take(struct probe_round *round, const char *json, size_t len);

#endif
