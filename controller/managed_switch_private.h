/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of managed_switch.h share: managed_switch.c puts the row right,
 * managed_switch_life.c asks whether ovs-vswitchd lives, managed_switch_show.c is
 * what others see of it. */
#ifndef CONTROLLER_MANAGED_SWITCH_PRIVATE_H
#define CONTROLLER_MANAGED_SWITCH_PRIVATE_H

#include "base/time.h"
#include "controller/managed_switch.h"

struct ef_ovsdb_client;
struct event;

enum managed_switch_state { SWITCH_CONNECTING, SWITCH_UNREACHABLE, SWITCH_CONFIGURED, SWITCH_ERROR };
extern const char *const managed_switch_state_names[];

struct managed_switch {
    const struct topology_switch *node;
    struct ef_ovsdb_client *client;
    struct event *hold;  /* Pending while we must not write. */
    json_t *desired;     /* The row. */
    const json_t *rules; /* Of the configuration, borrowed; NULL: whatever they are. */
    json_t *set_rules;   /* Of sets. */
    json_t *all_rules;   /* Both. */
    enum managed_switch_state state;
    struct ef_time since; /* Real time; of `state`. */
    char error[600];
    char refusal[512]; /* Why the last write was not taken, or is not tried again yet. */
    bool is_active;
    bool writing;
    bool was_right;         /* The row, when we saw it last. */
    unsigned n_changes;     /* By others, in a row. */
    struct ef_time changed; /* The last of them, monotonic. */
    uint64_t n_writes, n_refusals, n_drifts;
    struct ef_time drifted; /* Real time; of the last of n_drifts. */
    char drift[200];        /* What it was. */
    void (*released)(void *ctx);
    void *released_ctx;
    int64_t rx_packets;       /* Of the statistics column, ... */
    struct ef_time refreshed; /* ... and when it changed. Monotonic. */
    struct ef_time asked;     /* Monotonic: when we asked whether ovs-vswitchd lives; 0: we did not. */
    json_int_t asked_cfg;     /* The number that it should copy; -1: not in the database yet. */
};

/* The only row of the root table, or NULL. */
json_t *managed_switch_root(const struct managed_switch *s);

/* The Everflow row that the root refers to: its UUID (borrowed, NULL if there
 * is none) and the row. */
const char *managed_switch_row(const struct managed_switch *s, json_t **row);

/* {UUID: row} of its Everflow_Rule. */
const json_t *managed_switch_rule_rows(const struct managed_switch *s);

#endif
