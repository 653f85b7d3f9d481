/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the controller's state as OVSDB operations (RFC 7047, 5.2): pure
 * functions, which state.c puts to use. */
#ifndef CONTROLLER_STATE_OPERATIONS_H
#define CONTROLLER_STATE_OPERATIONS_H

#include <jansson.h>

#include "controller/state_tables.h"

#define STATE_DATABASE "Everflow_State"

struct ef_ovsdb_table;

/* What is followed of each table, for ef_ovsdb_config. Not changed after the
 * first call; one thread. */
const struct ef_ovsdb_table *state_operations_monitored(void);

/* One transaction (new reference) that is refused without the lock `lock`: the row
 * `key` becomes `document`, or is deleted. */
json_t *state_operations_put(enum state_table table, const char *key, const json_t *document, const char *lock);
json_t *state_operations_delete(enum state_table table, const char *key, const char *lock);

#endif
