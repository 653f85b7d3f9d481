/* SPDX-License-Identifier: Apache-2.0 */
/* One table of the controller's state in memory: documents by key, and which rows of
 * the database they are from, as these come and go in any order (a row that is
 * replaced is a new row). What changed since it was last asked for is known, too.
 * Used by state.c; no threads. */
#ifndef CONTROLLER_STATE_COPY_H
#define CONTROLLER_STATE_COPY_H

#include <jansson.h>

struct state_copy {
    json_t *documents; /* {key: document} */
    json_t *owners;    /* {key: UUID of the row it is from} */
    json_t *keys;      /* {UUID: key} */
    json_t *touched;   /* {key: document before, or null}, to be told. */
};

void state_copy_init(struct state_copy *copy);
void state_copy_deinit(struct state_copy *copy);

/* Puts a document that is from no row; NULL: takes it away. */
void state_copy_keep(struct state_copy *copy, const char *key, json_t *document);

/* A row of the table called `table_name` is there, with "key" and "document", or is gone. */
void state_copy_take_row(struct state_copy *copy, const char *table_name, const char *uuid, const json_t *row);
void state_copy_drop_row(struct state_copy *copy, const char *uuid);

/* `rows`, {UUID: row}, are all there are. */
void state_copy_take_all(struct state_copy *copy, const char *table_name, const json_t *rows);

/* {key: document, or null if it is gone} of all that is not as it was at the last call; new reference. */
json_t *state_copy_changes(struct state_copy *copy);

#endif
