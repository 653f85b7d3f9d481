/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose columns line up; see table.h. */
#include <config.h>

#include "utilities/efctl/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "utilities/efctl/text.h"

enum { MAX_CELLS = 12, GAP = 2 };

/* A piece of text in one style; a cell is a list of pieces. */
struct piece {
    struct piece *next;
    enum efctl_style style;
    char *text;
};

struct cell {
    struct piece *pieces, *last;
    size_t width;
    bool right;
};

struct row {
    bool is_line;
    unsigned n_cells;
    struct cell cells[MAX_CELLS];
};

struct efctl_table {
    unsigned indent;
    struct row *rows; /* The last one is being built. */
    size_t n_rows, capacity;
};

static void
add_row(struct efctl_table *table)
{
    if (table->n_rows == table->capacity) {
        table->capacity = EF_MAX(16, 2 * table->capacity);
        table->rows = realloc(table->rows, table->capacity * sizeof *table->rows);
        if (!table->rows) {
            abort();
        }
    }
    table->rows[table->n_rows++] = (struct row){0};
}

struct efctl_table *
efctl_table_create(unsigned indent)
{
    struct efctl_table *table = calloc(1, sizeof *table);
    if (!table) {
        abort();
    }
    table->indent = indent;
    add_row(table);
    return table;
}

static void
free_pieces(struct piece *piece)
{
    while (piece) {
        struct piece *next = piece->next;
        free(piece->text);
        free(piece);
        piece = next;
    }
}

void
efctl_table_destroy(struct efctl_table *table)
{
    if (table) {
        for (size_t i = 0; i < table->n_rows; i++) {
            for (unsigned c = 0; c < table->rows[i].n_cells; c++) {
                free_pieces(table->rows[i].cells[c].pieces);
            }
        }
        free(table->rows);
        free(table);
    }
}

static void
append(struct cell *cell, enum efctl_style style, const char *fmt, va_list args)
{
    struct piece *piece = calloc(1, sizeof *piece);
    char *raw;
    if (!piece || vasprintf(&raw, fmt, args) < 0) {
        abort();
    }
    piece->style = style;
    piece->text = efctl_escape(raw);
    free(raw);
    cell->width += efctl_text_width(piece->text);
    if (cell->last) {
        cell->last->next = piece;
    } else {
        cell->pieces = piece;
    }
    cell->last = piece;
}

static struct cell *
add_cell(struct efctl_table *table, bool right)
{
    struct row *row = &table->rows[table->n_rows - 1];
    if (row->n_cells == MAX_CELLS) {
        return NULL;
    }
    struct cell *cell = &row->cells[row->n_cells++];
    *cell = (struct cell){.right = right};
    return cell;
}

static void
add(struct efctl_table *table, bool right, enum efctl_style style, const char *fmt, va_list args)
{
    struct cell *cell = add_cell(table, right);
    if (cell) {
        append(cell, style, fmt, args);
    }
}

void
efctl_table_cell(struct efctl_table *table, enum efctl_style style, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add(table, false, style, fmt, args);
    va_end(args);
}

void
efctl_table_cell_right(struct efctl_table *table, enum efctl_style style, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add(table, true, style, fmt, args);
    va_end(args);
}

void
efctl_table_append(struct efctl_table *table, enum efctl_style style, const char *fmt, ...)
{
    struct row *row = &table->rows[table->n_rows - 1];
    struct cell *cell = row->n_cells ? &row->cells[row->n_cells - 1] : add_cell(table, false);
    va_list args;
    va_start(args, fmt);
    append(cell, style, fmt, args);
    va_end(args);
}

void
efctl_table_head(struct efctl_table *table, const char *const words[])
{
    for (; *words; words++) {
        if (**words == '>') {
            efctl_table_cell_right(table, EFCTL_DIM, "%s", *words + 1);
        } else {
            efctl_table_cell(table, EFCTL_DIM, "%s", *words);
        }
    }
    efctl_table_end_row(table);
}

void
efctl_table_end_row(struct efctl_table *table)
{
    add_row(table);
}

void
efctl_table_end_line(struct efctl_table *table)
{
    table->rows[table->n_rows - 1].is_line = true;
    add_row(table);
}

static void
measure(const struct efctl_table *table, size_t widths[MAX_CELLS])
{
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct row *row = &table->rows[i];
        for (unsigned c = 0; !row->is_line && c < row->n_cells; c++) {
            widths[c] = EF_MAX(widths[c], row->cells[c].width);
        }
    }
}

static void
print_pieces(const struct cell *cell, struct efctl_output *out)
{
    for (const struct piece *p = cell->pieces; p; p = p->next) {
        efctl_output_text(out, p->style, p->text);
    }
}

/* Writes a row without spaces at its end: `owed` are those due before the
 * next cell that has text. */
static void
print_row(const struct row *row, const size_t widths[MAX_CELLS], unsigned indent, struct efctl_output *out)
{
    size_t owed = indent;
    for (unsigned c = 0; c < row->n_cells; c++) {
        const struct cell *cell = &row->cells[c];
        size_t fill = widths[c] - cell->width;
        owed += cell->right ? fill : 0;
        if (cell->width) {
            fprintf(out->file, "%*s", (int) owed, "");
            print_pieces(cell, out);
            owed = 0;
        }
        owed += (cell->right ? 0 : fill) + (widths[c] ? GAP : 0);
    }
    efctl_output_newline(out);
}

void
efctl_table_print(const struct efctl_table *table, struct efctl_output *out)
{
    size_t widths[MAX_CELLS] = {0};
    measure(table, widths);
    for (size_t i = 0; i + 1 < table->n_rows; i++) {
        const struct row *row = &table->rows[i];
        if (!row->is_line) {
            print_row(row, widths, table->indent, out);
            continue;
        }
        for (unsigned c = 0; c < row->n_cells; c++) {
            print_pieces(&row->cells[c], out);
        }
        efctl_output_newline(out);
    }
}
