/* SPDX-License-Identifier: Apache-2.0 */
/* Filters over records: a text of the one filter language (lib/filter), whose
 * fields are the columns of a schema, becomes a predicate over columns.
 *
 *     struct ef_predicate *p;
 *     ef_predicate_compile("dst == 10.0.0.0/8 && dstport in {80, 443}", schema, &p, &err);
 *     uint64_t bits[EF_PREDICATE_CHUNK_WORDS];
 *     ef_predicate_eval(p, columns, first_row, n_rows, bits);   // bit i: row first_row + i matches
 *     ef_predicate_destroy(p);
 *
 * Its tests are terms, each about one column: (value & mask) is in one of some
 * ranges. ==, !=, <, a prefix, a set and a bit test are all of that form; a
 * comparison of two columns is the only other one. A planner reads the
 * predicate as terms (ef_predicate_term()) and as its disjunctive normal form
 * (ef_predicate_conjunction()); evaluation follows the text's own tree, so
 * that a filter whose normal form would be too long works all the same.
 *
 * Every column has exactly one value per record: a name alone is always true,
 * `any` and `all` mean nothing. Columns of fixed bytes and the variable one
 * cannot be named. IPv6 columns take IPv4 values as ::ffff:a.b.c.d. Relative
 * times ("-5m") are taken when the text is compiled.
 *
 * Evaluation looks at 64 rows at a time with AVX-512, AVX2 or plain C,
 * whatever the processor has. A set evaluates many predicates together: a term
 * that several of them have is evaluated once per row, and predicates of the
 * same normal text are one.
 *
 * Predicates and sets are immutable: any thread may evaluate them. */
#ifndef EF_STORE_PREDICATE_H
#define EF_STORE_PREDICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "filter/ast.h"
#include "store/schema.h"

struct ef_predicate;
struct ef_predicate_set;
struct ef_predicate_scratch;

/* Rows that one call evaluates at most. */
enum { EF_PREDICATE_CHUNK_ROWS = 1024, EF_PREDICATE_CHUNK_WORDS = EF_PREDICATE_CHUNK_ROWS / 64 };

/* A normal form with more conjunctions, or more terms in all, is not made. */
enum { EF_PREDICATE_MAX_CONJUNCTIONS = 64, EF_PREDICATE_MAX_DNF_TERMS = 1024 };

/* One test. Values are those of ef_column_value(). */
struct ef_term {
    unsigned column;
    int right_column;          /* Compared with `relation` to this column; or -1: ranges count. */
    enum ef_relation relation; /* EQ, NE, LT, LE, GT or GE. */
    ef_u128 mask;              /* All ones where the text has none. */
    uint32_t n_ranges;
    const struct ef_value_range *ranges; /* Inclusive, ascending, disjoint; none: never true. */
};

/* --- One predicate ---------------------------------------------------------------- */

/* Compiles `text` (empty: every record) for records of `schema`, whose names
 * are read only now. Returns 0; -EINVAL with `err` (byte offset, what was
 * expected); or -ENOMEM. The caller destroys it. */
int ef_predicate_compile(const char *text, const struct ef_schema *schema, struct ef_predicate **predicate,
                         struct ef_error *err);
void ef_predicate_destroy(struct ef_predicate *predicate); /* NULL is fine. */

/* The text in its normal form. Lives as long as the predicate. */
const char *ef_predicate_text(const struct ef_predicate *predicate);

/* True if the predicate matches every record. */
bool ef_predicate_is_always(const struct ef_predicate *predicate);

/* The terms, each once. */
unsigned ef_predicate_n_terms(const struct ef_predicate *predicate);
const struct ef_term *ef_predicate_term(const struct ef_predicate *predicate, unsigned term);

/* The disjunctive normal form: a record matches if all terms of one of the
 * conjunctions are true. Returns the number of conjunctions: 0 if none can
 * match; or -E2BIG if it is too long to be made. */
int ef_predicate_n_conjunctions(const struct ef_predicate *predicate);

/* The terms of one conjunction, as numbers for ef_predicate_term(); none: it is
 * always true. */
const uint16_t *ef_predicate_conjunction(const struct ef_predicate *predicate, unsigned conjunction, unsigned *n_terms);

/* Evaluates rows `first_row` to `first_row + n_rows - 1`, at most
 * EF_PREDICATE_CHUNK_ROWS. `columns[i]` is where column i of row 0 lies (NULL
 * where the schema's column cannot be named). Writes (n_rows + 63) / 64 words;
 * bits behind the last row are 0. No byte of another row is read. */
void ef_predicate_eval(const struct ef_predicate *predicate, const uint8_t *const *columns, uint32_t first_row,
                       uint32_t n_rows, uint64_t *bits);

/* --- Many ------------------------------------------------------------------------- */

/* `predicates` are borrowed and must outlive the set. Returns 0 or -ENOMEM. */
int ef_predicate_set_create(const struct ef_predicate *const *predicates, unsigned n, struct ef_predicate_set **set);
void ef_predicate_set_destroy(struct ef_predicate_set *set); /* NULL is fine. */

/* What one thread needs to evaluate a set; NULL for lack of memory. */
struct ef_predicate_scratch *ef_predicate_scratch_create(const struct ef_predicate_set *set);
void ef_predicate_scratch_destroy(struct ef_predicate_scratch *scratch); /* NULL is fine. */

/* As ef_predicate_eval() for each of the set's predicates, or only those whose
 * bit is set in `wanted` (NULL: all): those of predicate i start at
 * bits[i * EF_PREDICATE_CHUNK_WORDS]. */
void ef_predicate_set_eval(const struct ef_predicate_set *set, struct ef_predicate_scratch *scratch,
                           const uint64_t *wanted, const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows,
                           uint64_t *bits);

/* --- Values ----------------------------------------------------------------------- */

/* True if a filter can name columns of that type: all but BYTES and VARIABLE. */
bool ef_column_is_comparable(const struct ef_column *column);

/* The value at `p` (any alignment) as the number that filters compare: numbers
 * and IPv4 addresses as they are, times by ef_value_of_time(), MAC and IPv6
 * addresses as numbers in network order. */
ef_u128 ef_column_value(enum ef_column_type type, const void *p);

#endif
