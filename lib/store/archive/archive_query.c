/* SPDX-License-Identifier: Apache-2.0 */
/* Asking an archive; see archive.h. Segments are taken newest first; of sealed
 * ones only the row groups whose statistics overlap the query are read. */
#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "store/archive/archive_private.h"
#include "store/archive/parquet_writer.h"
#include "store/archive/row_codec.h"

enum { MAX_BOUNDS = 8, SPOOL_BATCH_ROWS = EF_PARQUET_GROUP_ROWS };

struct ef_archive_cursor {
    struct ef_archive *archive;
    struct ef_archive_query query;
    struct ef_archive_bound bounds[MAX_BOUNDS];
    struct ef_segment *segments; /* As of the start, in the order in which they are read. */
    unsigned n_segments, at;
    struct ef_parquet_reader *reader; /* Of segments[at], if it is open, */
    int fd;
    unsigned groups_left;
    struct ef_spool_reader *spool; /* or this, if it is not sealed. */
    struct ef_row_set rows;
    uint64_t n_failed;
    bool first[EF_ROW_MAX_COLUMNS]; /* Columns that tell whether a row matches. */
    bool has_rest;                  /* And there are others. */
    struct ef_archive_effort effort;
};

/* --- Opening ------------------------------------------------------------------------- */

/* What is asked for of a segment goes up to here. */
static struct ef_time
upper_bound(const struct ef_archive_cursor *c, uint64_t number)
{
    bool is_fresh = number >= c->archive->first_number;
    int64_t to = c->query.to.ns;
    return (struct ef_time){c->query.limits_fresh && is_fresh ? EF_MIN(to, c->query.fresh_to.ns) : to};
}

static bool
is_asked_for(const struct ef_archive_cursor *c, const struct ef_segment *s)
{
    struct ef_time to = upper_bound(c, s->number);
    return s->from.ns <= to.ns && s->to.ns >= c->query.from.ns && c->query.from.ns <= to.ns;
}

static int
compare_times(struct ef_time a, struct ef_time b)
{
    return (a.ns > b.ns) - (a.ns < b.ns);
}

static int
compare_newest_first(const void *a_, const void *b_)
{
    const struct ef_segment *a = a_, *b = b_;
    int order = compare_times(b->to, a->to);
    return order ? order : (a->number < b->number) - (a->number > b->number);
}

static int
compare_oldest_first(const void *a_, const void *b_)
{
    const struct ef_segment *a = a_, *b = b_;
    int order = compare_times(a->from, b->from);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Finds out which columns are read first. */
static void
choose_columns(struct ef_archive_cursor *c)
{
    const struct ef_archive_sieve *sieve = c->query.sieve;
    c->first[0] = true;
    for (unsigned i = 0; i < c->query.n_bounds; i++) {
        c->first[c->bounds[i].column] = true;
    }
    for (unsigned i = 0; i < c->rows.schema->n_columns; i++) {
        c->first[i] |= sieve && sieve->columns[i];
        c->has_rest |= !c->first[i] && (!c->query.wanted || c->query.wanted[i]);
    }
}

struct ef_archive_cursor *
ef_archive_query(struct ef_archive *a, const struct ef_archive_query *query)
{
    struct ef_archive_cursor *c = ef_must_realloc(NULL, sizeof *c);
    *c = (struct ef_archive_cursor){.archive = a, .query = *query, .fd = -1, .rows.schema = a->config.schema};
    c->query.n_bounds = EF_MIN(query->n_bounds, (unsigned) MAX_BOUNDS);
    for (unsigned i = 0; i < c->query.n_bounds; i++) {
        c->bounds[i] = query->bounds[i];
    }
    c->query.bounds = c->bounds;
    choose_columns(c);
    pthread_mutex_lock(&a->mutex);
    c->segments = ef_must_realloc(NULL, EF_MAX(a->catalogue.n, 1u) * sizeof *c->segments);
    for (unsigned i = 0; i < a->catalogue.n; i++) {
        if (is_asked_for(c, &a->catalogue.segments[i])) {
            c->segments[c->n_segments++] = a->catalogue.segments[i];
        }
    }
    pthread_mutex_unlock(&a->mutex);
    c->effort.n_segments = c->n_segments;
    qsort(c->segments, c->n_segments, sizeof *c->segments,
          query->oldest_first ? compare_oldest_first : compare_newest_first);
    return c;
}

static void
close_segment(struct ef_archive_cursor *c)
{
    ef_spool_reader_destroy(c->spool);
    ef_parquet_reader_destroy(c->reader);
    c->spool = NULL;
    c->reader = NULL;
    if (c->fd >= 0) {
        close(c->fd);
        c->fd = -1;
    }
}

void
ef_archive_cursor_close(struct ef_archive_cursor *c)
{
    if (c) {
        close_segment(c);
        ef_row_set_deinit(&c->rows);
        free(c->segments);
        free(c);
    }
}

uint64_t
ef_archive_n_failed(const struct ef_archive_cursor *c)
{
    return c->n_failed;
}

void
ef_archive_effort(const struct ef_archive_cursor *c, struct ef_archive_effort *effort)
{
    *effort = c->effort;
}

/* --- Rows ---------------------------------------------------------------------------- */

static bool
row_matches(const struct ef_archive_cursor *c, const void *row)
{
    const struct ef_row_column *columns = c->rows.schema->columns;
    int64_t time = (int64_t) ef_row_get_number(&columns[0], row);
    bool ok = time >= c->query.from.ns && time <= upper_bound(c, c->segments[c->at].number).ns;
    for (unsigned i = 0; ok && i < c->query.n_bounds; i++) {
        const struct ef_archive_bound *b = &c->bounds[i];
        const struct ef_row_column *column = &columns[b->column];
        uint64_t value = ef_row_has(column, row) ? ef_row_get_number(column, row) : 0;
        ok = ef_row_has(column, row) && ef_row_compare_numbers(column->type, value, b->min) >= 0 &&
             ef_row_compare_numbers(column->type, value, b->max) <= 0;
    }
    return ok;
}

/* Makes NULL of the rows that do not match. */
static void
reject_rows(struct ef_archive_cursor *c)
{
    const struct ef_archive_sieve *sieve = c->query.sieve;
    for (uint32_t i = 0; i < c->rows.n_rows; i++) {
        c->rows.rows[i] = row_matches(c, c->rows.rows[i]) ? c->rows.rows[i] : NULL;
    }
    if (sieve) {
        sieve->sift(sieve->ctx, &c->rows);
    }
}

static uint32_t
count_rows(const struct ef_row_set *rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        n += rows->rows[i] != NULL;
    }
    return n;
}

/* Closes the gaps between the rows that match. */
static void
close_gaps(struct ef_row_set *rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        if (rows->rows[i]) {
            rows->rows[n++] = rows->rows[i];
        }
    }
    rows->n_rows = n;
}

static bool
is_overlap(const struct ef_archive_cursor *c, unsigned group, unsigned column, uint64_t min, uint64_t max)
{
    uint8_t low[64], high[64];
    enum ef_row_type type = c->rows.schema->columns[column].type;
    return !ef_parquet_reader_bounds(c->reader, group, column, low, high) ||
           (ef_row_compare_numbers(type, ef_load_le64(low), max) <= 0 &&
            ef_row_compare_numbers(type, ef_load_le64(high), min) >= 0);
}

static bool
group_can_match(const struct ef_archive_cursor *c, unsigned group)
{
    struct ef_time to = upper_bound(c, c->segments[c->at].number);
    bool ok = is_overlap(c, group, 0, (uint64_t) c->query.from.ns, (uint64_t) to.ns);
    for (unsigned i = 0; ok && i < c->query.n_bounds; i++) {
        ok = is_overlap(c, group, c->bounds[i].column, c->bounds[i].min, c->bounds[i].max);
    }
    const struct ef_archive_sieve *sieve = c->query.sieve;
    return ok && (!sieve || !sieve->can_match || sieve->can_match(sieve->ctx, c->reader, group));
}

/* --- Sealed segments ------------------------------------------------------------------- */

/* Makes segments[at] what it is by now: a spool file may have been sealed, a
 * segment may have expired. False if there is no such segment any more. */
static bool
look_up_sealed(struct ef_archive_cursor *c)
{
    pthread_mutex_lock(&c->archive->mutex);
    const struct ef_segment *now = ef_catalogue_find(&c->archive->catalogue, c->segments[c->at].number);
    bool is_there = now && now->is_sealed;
    if (is_there) {
        c->segments[c->at] = *now;
    }
    pthread_mutex_unlock(&c->archive->mutex);
    return is_there;
}

/* False if there is nothing to read. */
static bool
open_sealed(struct ef_archive_cursor *c)
{
    struct ef_error err = EF_ERROR_INIT;
    char path[EF_SPOOL_PATH_MAX];
    if (!look_up_sealed(c)) {
        return false;
    }
    ef_archive_path(c->archive, c->segments[c->at].name, path);
    if (ef_segment_open(path, c->rows.schema, &c->fd, &c->reader, &c->segments[c->at], &err)) {
        c->fd = -1;
        c->n_failed += look_up_sealed(c); /* Else it expired just now. */
        return false;
    }
    c->groups_left = ef_parquet_reader_meta(c->reader)->n_groups;
    return true;
}

/* The group that is read when so many are left. */
static unsigned
group_at(const struct ef_archive_cursor *c, unsigned groups_left)
{
    return c->query.oldest_first ? ef_parquet_reader_meta(c->reader)->n_groups - groups_left : groups_left - 1;
}

/* Reads the rows of a group that match: first the columns that say which do. */
static int
read_rows(struct ef_archive_cursor *c, unsigned group)
{
    struct ef_error err = EF_ERROR_INIT;
    int rc = ef_parquet_reader_group(c->reader, group, c->first, &c->rows, &err);
    if (rc) {
        return rc;
    }
    reject_rows(c);
    uint32_t n = count_rows(&c->rows);
    c->effort.n_rows += c->rows.n_rows;
    c->effort.n_rows_read += n;
    if (n && c->has_rest) {
        rc = ef_parquet_reader_rest(c->reader, group, c->first, c->query.wanted, &c->rows, &err);
    } else {
        c->effort.n_groups_sifted++;
    }
    close_gaps(&c->rows);
    return rc;
}

/* Reads the next row group that can match; false if there is none in the segment. */
static bool
read_group(struct ef_archive_cursor *c)
{
    while (c->groups_left > 0) {
        unsigned group = group_at(c, c->groups_left--);
        c->effort.n_groups++;
        if (group_can_match(c, group)) {
            if (read_rows(c, group)) {
                c->n_failed++;
                ef_row_set_clear(&c->rows);
            }
            return true;
        }
        c->effort.n_groups_skipped++;
    }
    return false;
}

/* --- Spool files ------------------------------------------------------------------------ */

/* Returns 0 or a negative errno: -ENOENT if it was sealed meanwhile; -EBADMSG for
 * one that a crash left without a header, so without a row, which the sealer
 * will set aside. */
static int
open_spool(struct ef_archive_cursor *c)
{
    char path[EF_SPOOL_PATH_MAX];
    ef_spool_path(c->archive->dir, c->segments[c->at].number, path);
    return ef_spool_reader_create(path, c->archive->fingerprint, &c->spool);
}

/* Reads the next batch; false at the end of the file. */
static bool
read_spool(struct ef_archive_cursor *c)
{
    const uint8_t *record;
    size_t len;
    int rc = 1;
    for (unsigned i = 0; i < SPOOL_BATCH_ROWS && (rc = ef_spool_reader_next(c->spool, &record, &len)) > 0; i++) {
        if (ef_row_decode(record, len, &c->rows) && !row_matches(c, c->rows.rows[c->rows.n_rows - 1])) {
            c->rows.n_rows--;
        }
    }
    if (c->query.sieve) {
        c->query.sieve->sift(c->query.sieve->ctx, &c->rows);
        close_gaps(&c->rows);
    }
    c->n_failed += rc < 0;
    return rc > 0;
}

/* --- The answer -------------------------------------------------------------------------- */

/* Extends `*edge` by the row groups of the open segment that are still to come. */
static void
add_groups_to_edge(const struct ef_archive_cursor *c, struct ef_time *edge)
{
    for (unsigned left = c->groups_left; left > 0; left--) {
        uint8_t low[64], high[64];
        if (!ef_parquet_reader_bounds(c->reader, group_at(c, left), 0, low, high)) {
            ef_store_le64(low, (uint64_t) INT64_MIN);
            ef_store_le64(high, INT64_MAX);
        }
        edge->ns = c->query.oldest_first ? EF_MIN(edge->ns, (int64_t) ef_load_le64(low))
                                         : EF_MAX(edge->ns, (int64_t) ef_load_le64(high));
    }
}

/* What is still to come is not newer (or not older) than this. */
static struct ef_time
find_edge(const struct ef_archive_cursor *c)
{
    bool oldest_first = c->query.oldest_first;
    unsigned next = c->at + (c->reader != NULL);
    struct ef_time edge = {oldest_first ? INT64_MAX : INT64_MIN};
    if (next < c->n_segments) {
        edge = oldest_first ? c->segments[next].from : c->segments[next].to;
    }
    if (c->reader) {
        add_groups_to_edge(c, &edge);
    }
    return edge;
}

/* Opens segments[at] in one form or the other; false if there is nothing to read. */
static bool
open_segment(struct ef_archive_cursor *c)
{
    int rc = c->segments[c->at].is_sealed ? -ENOENT : open_spool(c);
    if (rc == -ENOENT) {
        return open_sealed(c);
    }
    c->n_failed += rc && rc != -EBADMSG;
    return !rc;
}

int
ef_archive_next(struct ef_archive_cursor *c, struct ef_row_set **rows, struct ef_time *edge)
{
    ef_row_set_clear(&c->rows);
    *rows = &c->rows;
    if (c->at == c->n_segments) {
        return 0;
    }
    bool is_open = c->reader || c->spool || open_segment(c);
    if (!is_open || !(c->spool ? read_spool(c) : read_group(c))) {
        close_segment(c);
        c->at++;
    }
    if (edge) {
        *edge = find_edge(c);
    }
    return 1;
}
