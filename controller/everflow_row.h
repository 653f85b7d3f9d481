/* SPDX-License-Identifier: Apache-2.0 */
/* The row that a switch's database should have in table Everflow, in OVSDB's
 * JSON: what it is, whether one is like it, and how one is shown to people. Pure
 * functions on values; switch_manager.c puts them to use. */
#ifndef CONTROLLER_EVERFLOW_ROW_H
#define CONTROLLER_EVERFLOW_ROW_H

#include <jansson.h>
#include <stdbool.h>

#include "controller/configuration.h"

/* How we know our own rows: external_ids:owner. */
#define EVERFLOW_OWNER "everflow-controller"

/* The columns that we set, without external_ids (new reference). `source_ip6`,
 * which may be NULL, is for ICMP time exceeded only. */
json_t *everflow_row_desired(const struct everflow_settings *settings, const char *source_ip, const char *source_ip6);

/* True if every column of `desired` is the same in `row`. */
bool everflow_row_matches(const json_t *row, const json_t *desired);

/* True if the row is ours. */
bool everflow_row_is_ours(const json_t *row);

/* The configuration columns as plain JSON (sets of many as arrays, absent
 * values as null), and a map column as an object (new references). */
json_t *everflow_row_show(const json_t *row);
json_t *everflow_row_show_map(const json_t *row, const char *column);

/* Operations of one transaction (new references). Inserting refuses, by a "wait",
 * when something is configured meanwhile; updating touches only a row that is
 * ours still. */
json_t *everflow_row_insert(const json_t *desired);
json_t *everflow_row_update(const char *uuid, const json_t *desired);

/* Takes the row, if it is the one that is in force, out of force: the switch deletes it. */
json_t *everflow_row_remove(const char *uuid);

#endif
