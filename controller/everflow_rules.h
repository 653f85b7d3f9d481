/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that every switch should have: rows of table Everflow_Rule, to which
 * column "rules" of the Everflow row refers. A rule is known by its name: one
 * that is there is changed in place and keeps its counters.
 *
 *     "everflow": {"rules": [{"name": "web", "match": "tcp,tp_dst=80", "action": "mirror",
 *                             "sample_bits": 4, "idle_timeout": 60, "hard_timeout": 3600}]}
 *
 * Names that begin with '@' are those of rule_sets.h; no others may.
 *
 * A list of rules is a JSON array of rows, in OVSDB's JSON. What is in the
 * database is the value of column "rules", and the rows of Everflow_Rule by
 * UUID; both may be NULL, which is none. Pure functions on values; any thread.
 * managed_switch.c puts them to use, as those of everflow_row.h. */
#ifndef CONTROLLER_EVERFLOW_RULES_H
#define CONTROLLER_EVERFLOW_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "controller/document.h"

#define EVERFLOW_RULES_OF_SETS '@'

/* Reads "rules" of object `everflow`, whose sample_value is given. Returns 0 and
 * the list in `out` (new reference; NULL if rules are not our business), or
 * -EINVAL with `err`, which names the place. What a match means, only the switch knows. */
int everflow_rules_read(const struct doc_place *everflow, int64_t sample_value, json_t **out, struct ef_error *err);

/* True if `desired` and nothing else is in the database; with `only_sets`, other
 * rules than those of sets are none of our business, and may be there. */
bool everflow_rules_match(const json_t *desired, bool only_sets, const json_t *column, const json_t *rows);

/* Appends to `operations` what makes the rows like `desired`, and returns the
 * value that column "rules" must get in the same transaction (new reference).
 * Rows that it does not name then, the server deletes by itself. */
json_t *everflow_rules_write(const json_t *desired, bool only_sets, const json_t *column, const json_t *rows,
                             json_t *operations);

/* If the switch refuses a rule, writes which and why into `text`, and returns
 * true. Rules of sets are left out: that is for those who put them there. */
bool everflow_rules_refused(const json_t *column, const json_t *rows, char *text, size_t size);

/* What the switch says of the rule called `name`: the value of its column
 * "status" (borrowed), or NULL if it is not there. */
const json_t *everflow_rules_status(const json_t *column, const json_t *rows, const char *name);

/* The rules as plain JSON, by name, with statistics and status (new reference). */
json_t *everflow_rules_show(const json_t *column, const json_t *rows);

#endif
