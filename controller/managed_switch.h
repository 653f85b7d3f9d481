/* SPDX-License-Identifier: Apache-2.0 */
/* One switch that we configure: its database is watched, and whenever its
 * Everflow row is not what it should be (never set, changed by hand, deleted,
 * lost in a restart) it is put right.
 *
 * A row that somebody else put there (without our external_ids:owner) is left
 * alone and reported. Writes are at most two a second, so that two controllers
 * that disagree do not wear out a switch.
 *
 * When the controller ends, rows stay: telemetry must not stop because its
 * controller restarts. One event base's thread. */
#ifndef CONTROLLER_MANAGED_SWITCH_H
#define CONTROLLER_MANAGED_SWITCH_H

#include <jansson.h>
#include <stdbool.h>

#include "controller/configuration.h"
#include "controller/rule_sets.h"
#include "controller/topology.h"

struct event_base;
struct managed_switch;

/* `node`, `settings` and `tls` (for ssl:, or NULL) are borrowed for the switch's life. Returns 0 or a
 * negative errno with `err`. */
int managed_switch_create(struct event_base *base, const struct topology_switch *node,
                          const struct everflow_settings *settings, const struct ef_tls *tls,
                          struct managed_switch **out, struct ef_error *err);
void managed_switch_destroy(struct managed_switch *s); /* NULL is fine. */

/* It is managed no longer: our row is taken away, if we may and can; `done`, which
 * comes from the event loop, at most 2 s later, destroys it. */
void managed_switch_release(struct managed_switch *s, void (*done)(void *ctx), void *ctx);

/* Only while this controller is the active one (it is not at first) does it write. */
void managed_switch_set_active(struct managed_switch *s, bool is_active);

/* Has the switch send copies to `targets`, an array of addresses, from now on. */
void managed_switch_set_targets(struct managed_switch *s, const json_t *targets);

/* Has the switch follow the rules of `rules` (see rule_sets.h), too, from now on,
 * and no others of sets. */
void managed_switch_set_rules(struct managed_switch *s, json_t *rules);

/* What the switch says of the rule with that name; why it refuses it, in `why`. */
enum rule_state managed_switch_rule_state(const struct managed_switch *s, const char *name, char *why, size_t size);

/* Its ports, [{"name", "number", "link": "up" | "down"}], as its database has them; what is not known is
 * left out; a new reference. */
json_t *managed_switch_ports(const struct managed_switch *s);

/* Whether ovs-vswitchd lives, asked as ovs-vsctl asks: by a number in next_cfg,
 * which it copies into cur_cfg when it has taken the configuration. The first call
 * asks; DEAD when no answer came within 3 s. Forget what is not needed any more. */
enum switch_life { SWITCH_ASKED, SWITCH_ALIVE, SWITCH_DEAD };
enum switch_life managed_switch_check(struct managed_switch *s);
void managed_switch_forget_check(struct managed_switch *s);

/* Its database answers. */
bool managed_switch_is_reached(const struct managed_switch *s);

bool managed_switch_is_configured(const struct managed_switch *s);

const char *managed_switch_name(const struct managed_switch *s);

/* Transactions sent, and those that were refused. */
uint64_t managed_switch_writes(const struct managed_switch *s);
uint64_t managed_switch_refusals(const struct managed_switch *s);

/* What GET /v1/switches shows of it (new reference). */
json_t *managed_switch_show(const struct managed_switch *s);

/* What the switch has: {"ovs_version", "hostname", "bridges": [{"name", "datapath_type", "ports": [names]}]} (new
 * reference; empty if it cannot be reached). */
json_t *managed_switch_discovered(const struct managed_switch *s);

/* A number of the statistics column, or -1; when that column changed last (monotonic;
 * 0: never); and what it says of the rule called `name`: false if nothing. */
int64_t managed_switch_counter(const struct managed_switch *s, const char *name);
struct ef_time managed_switch_refreshed(const struct managed_switch *s);
bool managed_switch_rule_counts(const struct managed_switch *s, const char *name, int64_t *packets, int64_t *bytes);

/* How often others changed what we had put right. */
uint64_t managed_switch_drifts(const struct managed_switch *s);

/* The statistics column as an object (new reference; empty if unknown). */
json_t *managed_switch_statistics(const struct managed_switch *s);

#endif
