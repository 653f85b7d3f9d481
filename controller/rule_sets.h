/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that switches have for a time and a purpose, beside those of the
 * configuration file: a debug session marks packets, an application of
 * diagnosis copies what it wants to see. Who needs rules puts a set of them,
 * under a name of its own, and takes it away again:
 *
 *     struct rule_set_spec spec = {.owner = "debug", .name = "42", .switches = names, .rules = rules,
 *                                  .expires = ef_time_add_ms(ef_time_real(), 60000)};
 *     if (rule_sets_put(sets, &spec, &err)) refuse;
 *     ... rule_sets_remove(sets, "debug", "42");
 *
 * Rules are written as in "everflow"."rules" of the configuration (see
 * everflow_rules.h): [{"name": "a", "match": "tcp,nw_dst=10.2.0.11", "action": "mark"}].
 * At the switch, that rule is called "@debug/42/a", which no rule of the
 * configuration can be called.
 *
 * A set always ends: when it expires it is removed, and each of its rules has a
 * hard_timeout (what is left, in whole seconds, rounded up), so that the switch
 * stops by itself should the controller be gone by then. Only a switch that gets
 * the rules late, because it could not be reached before, would then keep them
 * for longer, at most for as long again. Switches are told within 0.5 s, what is
 * told together in one transaction.
 *
 * Sets live in memory: a controller that becomes the active one removes all such
 * rules that it finds and has no set for. Those of operators are in the state
 * (rule_sets_kept.h); who wants others to outlive it puts them again before. One
 * event base's thread. */
#ifndef CONTROLLER_RULE_SETS_H
#define CONTROLLER_RULE_SETS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"

struct event_base;
struct rule_sets;

enum {
    RULE_SETS_MAX = 256,        /* Sets at a time. */
    RULE_SETS_MAX_RULES = 1000, /* At a switch, of all sets. */
    RULE_SETS_MAX_S = 7 * 24 * 60 * 60,
};

enum rule_state {
    RULE_PENDING,   /* The switch has not said anything yet; perhaps it cannot be reached. */
    RULE_INSTALLED, /* It is in force. */
    RULE_REFUSED,
};

/* The switches, of the topology and added at run time, by a number from 0, which
 * need not stay; managed_switch.h behind it, or a test. */
struct rule_sets_switches {
    size_t (*count)(void *ctx);
    const char *(*name)(void *ctx, size_t number);
    void (*set_rules)(void *ctx, size_t number, json_t *rules); /* An array, borrowed. */
    /* Of the rule called `name`; `why` is only written with RULE_REFUSED. */
    enum rule_state (*rule_state)(void *ctx, size_t number, const char *name, char *why, size_t size);
    void *ctx;
};

struct rule_set_spec {
    const char *owner, *name; /* 1 to 40 of letters, digits, '.', '_' and '-'. */
    const json_t *switches;   /* An array of names; NULL or empty: all, also those that are added later. */
    bool may_be_away;         /* Names of switches that are not there are fine: they have it once they are. */
    const json_t *rules;
    struct ef_time expires; /* Real time; at most RULE_SETS_MAX_S from now. */
};

/* Rules that sample need the low bits of `sample_value`. */
struct rule_sets *rule_sets_create(struct event_base *base, int64_t sample_value,
                                   const struct rule_sets_switches *switches);
/* The rules stay at the switches until they time out. NULL is fine. */
void rule_sets_destroy(struct rule_sets *sets);

/* Adds the set, or puts it in the place of the one of that owner and name.
 * Returns 0, or with `err` -EINVAL (which names the place: "rules[0].match: missing",
 * "switches[1]: ...", "expires: ..."), or -ENOSPC. What `spec` points at is copied. */
int rule_sets_put(struct rule_sets *sets, const struct rule_set_spec *spec, struct ef_error *err);

/* What rule_sets_put() would return; changes nothing. */
int rule_sets_check(const struct rule_sets *sets, const struct rule_set_spec *spec, struct ef_error *err);

/* A switch is there anew: it is told its rules. */
void rule_sets_tell_switch(const struct rule_sets *sets, size_t number);

/* Has `expired` called after a set has ended by itself. One listener. */
typedef void rule_sets_expired(void *ctx, const char *owner, const char *name);
void rule_sets_on_expired(struct rule_sets *sets, rule_sets_expired *expired, void *ctx);

/* Returns false if there is none. */
bool rule_sets_remove(struct rule_sets *sets, const char *owner, const char *name);

bool rule_sets_has(const struct rule_sets *sets, const char *owner, const char *name);

/* RULE_INSTALLED when all its rules are in force at all its switches;
 * RULE_REFUSED if a switch refuses one, with who and why in `why`; of a set that
 * is not there, RULE_PENDING. */
enum rule_state rule_sets_state(const struct rule_sets *sets, const char *owner, const char *name, char *why,
                                size_t size);

/* [{"owner", "name", "state": "pending" | "installed" | "refused", "error", "switches": [...], "rules": [...],
 * "expires"}], oldest first, a new reference; only of `owner` unless that is NULL. */
json_t *rule_sets_show(const struct rule_sets *sets, const char *owner);

#endif
