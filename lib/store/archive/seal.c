/* SPDX-License-Identifier: Apache-2.0 */
/* Spool files become segments, and old segments go; see archive.h. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "store/archive/archive_private.h"
#include "store/archive/parquet_writer.h"
#include "store/archive/row_codec.h"
#include "store/archive/row_sorter.h"

/* One spool file on its way. */
struct sealing {
    struct ef_archive *archive;
    struct ef_parquet_writer *writer;
    struct ef_row_set row;       /* One at a time. */
    struct ef_row_sorter sorter; /* All. */
    struct ef_segment segment;
    int fd;
};

static int
write_to_file(void *ctx, const void *data, size_t len)
{
    struct sealing *s = ctx;
    s->segment.n_bytes += len;
    return ef_file_write_all(s->archive->config.ops, s->fd, data, len);
}

/* A record of the spool is kept to be sorted. One that is no row, though its check
 * is right, is of a program with another idea of the schema: skipped. */
static bool
keep_record(void *ctx, const uint8_t *record, size_t len)
{
    struct sealing *s = ctx;
    ef_row_set_clear(&s->row);
    if (ef_row_decode(record, len, &s->row)) {
        ef_row_sorter_add(&s->sorter, record, len, s->row.rows[0]);
    }
    return true;
}

static int
write_row(struct sealing *s, struct ef_bytes record)
{
    ef_row_set_clear(&s->row);
    if (!ef_row_decode(record.data, record.len, &s->row)) {
        return 0; /* It was one before. */
    }
    int rc = ef_parquet_writer_add(s->writer, s->row.rows[0]);
    if (!rc) {
        int64_t time = (int64_t) ef_row_get_number(&s->row.schema->columns[0], s->row.rows[0]);
        s->segment.from.ns = EF_MIN(s->segment.from.ns, time);
        s->segment.to.ns = EF_MAX(s->segment.to.ns, time);
        s->segment.n_rows++;
    }
    return rc == -EMSGSIZE ? 0 : rc;
}

/* All rows of the spool file, in order, so that each row group has few of the
 * destinations, and questions about one need few groups. */
static int
write_rows(struct sealing *s)
{
    int rc = 0;
    ef_row_sorter_sort(&s->sorter);
    for (uint32_t i = 0; !rc && i < s->sorter.n; i++) {
        rc = write_row(s, ef_row_sorter_get(&s->sorter, i));
    }
    return rc;
}

static int
finish_file(struct sealing *s, const char *temp)
{
    const struct ef_file_ops *ops = s->archive->config.ops;
    char path[EF_SPOOL_PATH_MAX];
    int rc = ef_parquet_writer_finish(s->writer, NULL, 0);
    if (!rc && ops->fsync(s->fd)) {
        rc = -errno;
    }
    ef_segment_name(s->segment.from, s->segment.number, s->segment.name);
    ef_archive_path(s->archive, s->segment.name, path);
    if (!rc && ops->rename(temp, path)) {
        rc = -errno;
    }
    return rc ? rc : ef_file_sync_directory(ops, s->archive->dir);
}

/* Replaces the spool file by the segment in the catalogue. */
static void
note_sealed(struct ef_archive *a, struct sealing *s, uint64_t torn)
{
    pthread_mutex_lock(&a->mutex);
    ef_catalogue_remove(&a->catalogue, s->segment.number);
    if (s->segment.n_rows) {
        ef_catalogue_add(&a->catalogue, &s->segment);
        a->stats.n_sealed++;
        a->stats.n_sealed_rows += s->segment.number >= a->first_number ? s->segment.n_rows : 0;
    }
    a->stats.n_torn += torn > 0;
    a->stats.torn_bytes += torn;
    pthread_mutex_unlock(&a->mutex);
}

static int
write_segment(struct ef_archive *a, struct sealing *s, const char *spool, const char *temp, uint64_t *torn)
{
    struct ef_parquet_writer_config config = {.schema = a->config.schema, .sink = write_to_file, .ctx = s};
    struct ef_error err = EF_ERROR_INIT;
    s->fd = a->config.ops->open(temp, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    if (s->fd < 0) {
        return -errno;
    }
    int rc = ef_parquet_writer_create(&config, &s->writer, &err);
    if (!rc) {
        rc = ef_spool_read(spool, a->fingerprint, keep_record, s, torn);
        rc = rc ? rc : write_rows(s);
    }
    if (!rc && s->segment.n_rows) {
        rc = finish_file(s, temp);
    }
    ef_parquet_writer_destroy(s->writer);
    ef_row_set_deinit(&s->row);
    ef_row_sorter_deinit(&s->sorter);
    close(s->fd);
    if (rc || !s->segment.n_rows) {
        a->config.ops->unlink(temp);
    }
    return rc;
}

int
ef_archive_seal(struct ef_archive *a, uint64_t number)
{
    struct sealing s = {
        .archive = a,
        .row.schema = a->config.schema,
        .sorter.schema = a->config.schema,
        .segment = {.number = number, .is_sealed = true, .is_ended = true, .from = {INT64_MAX}, .to = {INT64_MIN}},
    };
    char spool[EF_SPOOL_PATH_MAX], temp[EF_SPOOL_PATH_MAX + sizeof EF_SEGMENT_TEMP];
    uint64_t torn = 0;
    ef_spool_path(a->dir, number, spool);
    snprintf(temp, sizeof temp, "%s" EF_SEGMENT_TEMP, spool);
    int rc = write_segment(a, &s, spool, temp, &torn);
    if (rc == -EBADMSG) {
        pthread_mutex_lock(&a->mutex);
        ef_catalogue_remove(&a->catalogue, number);
        ef_archive_set_aside(a, spool);
        pthread_mutex_unlock(&a->mutex);
        return 0;
    }
    if (rc) {
        return rc;
    }
    note_sealed(a, &s, torn);
    a->config.ops->unlink(spool);
    return 0;
}

/* --- Retention -------------------------------------------------------------------- */

/* The sealed segment that has to go first, or NULL. With the mutex held. */
static struct ef_segment *
oldest_sealed(struct ef_archive *a, uint64_t *total_bytes)
{
    struct ef_segment *oldest = NULL;
    *total_bytes = 0;
    for (unsigned i = 0; i < a->catalogue.n; i++) {
        struct ef_segment *s = &a->catalogue.segments[i];
        *total_bytes += s->n_bytes;
        if (s->is_sealed && (!oldest || ef_time_before(s->to, oldest->to))) {
            oldest = s;
        }
    }
    return oldest;
}

void
ef_archive_expire(struct ef_archive *a)
{
    struct ef_time now = ef_time_real();
    uint64_t total;
    pthread_mutex_lock(&a->mutex);
    for (struct ef_segment *s; (s = oldest_sealed(a, &total));) {
        bool is_old = a->config.max_age_ns && ef_time_before(ef_time_add_ns(s->to, a->config.max_age_ns), now);
        bool is_much = a->config.max_bytes && total > a->config.max_bytes;
        if (!is_old && !is_much) {
            break;
        }
        char path[EF_SPOOL_PATH_MAX];
        ef_archive_path(a, s->name, path);
        if (a->config.ops->unlink(path) && errno != ENOENT) {
            a->stats.alarm = -errno;
            break;
        }
        a->stats.n_expired++;
        a->stats.n_expired_rows += s->n_rows;
        ef_catalogue_remove(&a->catalogue, s->number);
    }
    pthread_mutex_unlock(&a->mutex);
}
