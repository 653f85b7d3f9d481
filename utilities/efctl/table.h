/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose columns line up, with free lines between them.
 *
 *     struct efctl_table *t = efctl_table_create(2);           // two spaces of indent
 *     efctl_table_cell(t, EFCTL_BOLD, "leaf1");                // a left-aligned cell
 *     efctl_table_cell_right(t, EFCTL_PLAIN, "%d us", 41);
 *     efctl_table_end_row(t);
 *     efctl_table_print(t, out);
 *     efctl_table_destroy(t);
 *
 * Widths are those of the widest cell of a column in all rows, so that blocks
 * of one answer line up with each other. Runs out of memory by aborting. */
#ifndef EFCTL_TABLE_H
#define EFCTL_TABLE_H

#include "utilities/efctl/output.h"

struct efctl_table;

struct efctl_table *efctl_table_create(unsigned indent);
void efctl_table_destroy(struct efctl_table *table); /* NULL is fine. */

/* Adds a cell to the row that is being built. */
void efctl_table_cell(struct efctl_table *table, enum efctl_style style, const char *fmt, ...) EF_PRINTF(3, 4);
void efctl_table_cell_right(struct efctl_table *table, enum efctl_style style, const char *fmt, ...) EF_PRINTF(3, 4);

/* Appends to the last cell, for a word in another style; its own width counts. */
void efctl_table_append(struct efctl_table *table, enum efctl_style style, const char *fmt, ...) EF_PRINTF(3, 4);

/* Column heads: one cell for each word of the NULL-terminated list; a word
 * that starts with '>' is aligned right. */
void efctl_table_head(struct efctl_table *table, const char *const words[]);

/* Ends the row; its columns are aligned. Cells beyond 12 are left out. */
void efctl_table_end_row(struct efctl_table *table);

/* Ends the row as a free line: no indent, cells as they are, one after the
 * other. Without a cell it is an empty line. */
void efctl_table_end_line(struct efctl_table *table);

void efctl_table_print(const struct efctl_table *table, struct efctl_output *out);

#endif
