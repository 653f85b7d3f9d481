/* SPDX-License-Identifier: Apache-2.0 */
/* Asking an archive; see archive.h. Segments are taken newest first; of sealed
 * ones only the row groups whose statistics overlap the query are read. */
#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "store/archive/archive_private.h"
#include "store/archive/row_codec.h"

enum { MAX_BOUNDS = 8 };

struct ef_archive_cursor {
    struct ef_archive *archive;
    struct ef_archive_query query;
    struct ef_archive_bound bounds[MAX_BOUNDS];
    struct ef_segment *segments; /* As of the start; unsealed ones first, then by newest time. */
    unsigned n_segments, at;
    struct ef_parquet_reader *reader; /* Of segments[at], if it is open. */
    int fd;
    unsigned group; /* Next one, counting down to 0. */
    struct ef_row_set rows;
    uint64_t n_failed;
};

/* True if `a` comes before `b`. What is not sealed is the newest. */
static bool
is_newer(const struct ef_segment *a, const struct ef_segment *b)
{
    if (a->is_sealed != b->is_sealed) {
        return b->is_sealed;
    }
    return a->is_sealed && a->to.ns != b->to.ns ? a->to.ns > b->to.ns : a->number > b->number;
}

static int
compare_segments(const void *a, const void *b)
{
    return is_newer(a, b) ? -1 : is_newer(b, a) ? 1 : 0;
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
    pthread_mutex_lock(&a->mutex);
    c->segments = ef_must_realloc(NULL, a->catalogue.n * sizeof *c->segments);
    for (unsigned i = 0; i < a->catalogue.n; i++) {
        const struct ef_segment *s = &a->catalogue.segments[i];
        if (!s->is_sealed || (s->from.ns <= query->to.ns && s->to.ns >= query->from.ns)) {
            c->segments[c->n_segments++] = *s;
        }
    }
    pthread_mutex_unlock(&a->mutex);
    qsort(c->segments, c->n_segments, sizeof *c->segments, compare_segments);
    return c;
}

static void
close_segment(struct ef_archive_cursor *c)
{
    ef_parquet_reader_destroy(c->reader);
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

/* --- Rows ---------------------------------------------------------------------------- */

static bool
row_matches(const struct ef_archive_cursor *c, const void *row)
{
    const struct ef_row_column *columns = c->rows.schema->columns;
    int64_t time = (int64_t) ef_row_get_number(&columns[0], row);
    bool ok = time >= c->query.from.ns && time <= c->query.to.ns;
    for (unsigned i = 0; ok && i < c->query.n_bounds; i++) {
        const struct ef_archive_bound *b = &c->bounds[i];
        const struct ef_row_column *column = &columns[b->column];
        uint64_t value = ef_row_has(column, row) ? ef_row_get_number(column, row) : 0;
        ok = ef_row_has(column, row) && ef_row_compare_numbers(column->type, value, b->min) >= 0 &&
             ef_row_compare_numbers(column->type, value, b->max) <= 0;
    }
    return ok;
}

/* Keeps the rows that match. */
static void
sift_rows(struct ef_archive_cursor *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->rows.n_rows; i++) {
        if (row_matches(c, c->rows.rows[i])) {
            c->rows.rows[n++] = c->rows.rows[i];
        }
    }
    c->rows.n_rows = n;
}

static bool
is_overlap(const struct ef_archive_cursor *c, unsigned column, uint64_t min, uint64_t max)
{
    uint8_t low[64], high[64];
    enum ef_row_type type = c->rows.schema->columns[column].type;
    return !ef_parquet_reader_bounds(c->reader, c->group, column, low, high) ||
           (ef_row_compare_numbers(type, ef_load_le64(low), max) <= 0 &&
            ef_row_compare_numbers(type, ef_load_le64(high), min) >= 0);
}

static bool
group_can_match(const struct ef_archive_cursor *c)
{
    bool ok = is_overlap(c, 0, (uint64_t) c->query.from.ns, (uint64_t) c->query.to.ns);
    for (unsigned i = 0; ok && i < c->query.n_bounds; i++) {
        ok = is_overlap(c, c->bounds[i].column, c->bounds[i].min, c->bounds[i].max);
    }
    return ok;
}

static bool
take_row(void *ctx, const uint8_t *record, size_t len)
{
    struct ef_archive_cursor *c = ctx;
    if (ef_row_decode(record, len, &c->rows) && !row_matches(c, c->rows.rows[c->rows.n_rows - 1])) {
        c->rows.n_rows--;
    }
    return true;
}

/* --- Segments -------------------------------------------------------------------------- */

/* Opens segments[at] as what it is by now: a spool file may have been sealed, a
 * segment may have expired. Returns 0, or a negative errno if it is gone. */
static int
open_sealed(struct ef_archive_cursor *c)
{
    struct ef_segment *s = &c->segments[c->at];
    struct ef_error err = EF_ERROR_INIT;
    char path[EF_SPOOL_PATH_MAX];
    pthread_mutex_lock(&c->archive->mutex);
    const struct ef_segment *now = ef_catalogue_find(&c->archive->catalogue, s->number);
    bool is_there = now && now->is_sealed;
    if (is_there) {
        *s = *now;
    }
    pthread_mutex_unlock(&c->archive->mutex);
    if (!is_there) {
        return -ENOENT;
    }
    ef_archive_path(c->archive, s->name, path);
    int rc = ef_segment_open(path, c->rows.schema, &c->fd, &c->reader, s, &err);
    if (rc) {
        c->fd = -1;
        return rc;
    }
    c->group = ef_parquet_reader_meta(c->reader)->n_groups;
    return 0;
}

/* Reads a whole spool file; false if it is not there any more. One that a crash
 * left without a header holds no row; the sealer sets it aside and counts it. */
static bool
read_spool(struct ef_archive_cursor *c)
{
    char path[EF_SPOOL_PATH_MAX];
    uint64_t torn;
    ef_spool_path(c->archive->dir, c->segments[c->at].number, path);
    int rc = ef_spool_read(path, c->archive->fingerprint, take_row, c, &torn);
    c->n_failed += rc && rc != -ENOENT && rc != -EBADMSG;
    return rc != -ENOENT;
}

/* The next row group that can match, read; false if there is none in the segment. */
static bool
read_group(struct ef_archive_cursor *c)
{
    struct ef_error err = EF_ERROR_INIT;
    while (c->group > 0) {
        c->group--;
        if (group_can_match(c)) {
            if (ef_parquet_reader_group(c->reader, c->group, NULL, &c->rows, &err)) {
                c->n_failed++;
                ef_row_set_clear(&c->rows);
            }
            sift_rows(c);
            return true;
        }
    }
    return false;
}

/* What is still to come is not newer than this. */
static struct ef_time
newest_to_come(const struct ef_archive_cursor *c)
{
    if (c->at >= c->n_segments) {
        return (struct ef_time){INT64_MIN};
    }
    return c->segments[c->at].is_sealed ? c->segments[c->at].to : (struct ef_time){INT64_MAX};
}

int
ef_archive_next(struct ef_archive_cursor *c, struct ef_row_set **rows, struct ef_time *newest)
{
    ef_row_set_clear(&c->rows);
    *rows = &c->rows;
    if (c->at == c->n_segments) {
        return 0;
    }
    struct ef_segment *s = &c->segments[c->at];
    bool is_done = !c->reader && !s->is_sealed && read_spool(c);
    if (!is_done && !c->reader) {
        int rc = open_sealed(c);
        c->n_failed += rc && rc != -ENOENT;
        is_done = rc != 0;
    }
    if (!is_done && !read_group(c)) {
        is_done = true;
    }
    if (is_done) {
        close_segment(c);
        c->at++;
    }
    if (newest) {
        *newest = newest_to_come(c);
    }
    return 1;
}
