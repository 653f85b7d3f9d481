/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of rules that operators asked for (POST /v1/rules), in the state: what is
 * there is in force, on every controller that follows; so a controller that starts
 * or takes over goes on with them, until they expire. Sets of other owners end with
 * what they were made for. One event base's thread. */
#ifndef CONTROLLER_RULE_SETS_KEPT_H
#define CONTROLLER_RULE_SETS_KEPT_H

#include "controller/rule_sets.h"
#include "controller/state.h"

#define RULE_SETS_OPERATOR "operator" /* The owner of such sets. */

struct rule_sets_kept;

/* Both are borrowed; before the event loop runs. */
struct rule_sets_kept *rule_sets_kept_create(struct rule_sets *sets, struct state_store *state);
void rule_sets_kept_destroy(struct rule_sets_kept *kept); /* Before both. NULL is fine. */

/* Puts a set, whose owner need not be given; as rule_sets_put(), but that `done` says whether it
 * is kept, and in force then. Without 0 `done` is not called. */
int rule_sets_kept_put(struct rule_sets_kept *kept, const struct rule_set_spec *spec, state_done *done, void *ctx,
                       struct ef_error *err);

/* Removes the set, if there is one. */
void rule_sets_kept_remove(struct rule_sets_kept *kept, const char *name, state_done *done, void *ctx);

#endif
