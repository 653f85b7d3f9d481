/* SPDX-License-Identifier: Apache-2.0 */
/* An archive's life: opening a directory whatever state it is in, appending, and
 * the thread that seals; see archive.h. */
#include <config.h>

#include "store/archive/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "store/archive/archive_private.h"
#include "store/archive/row_codec.h"

enum { TURN_MS = 1000 };

/* The times of no row. */
static const struct ef_time never_from = {INT64_MAX}, never_to = {INT64_MIN};

void
ef_archive_path(const struct ef_archive *a, const char *name, char *path)
{
    snprintf(path, EF_SPOOL_PATH_MAX, "%s/%s", a->dir, name);
}

void
ef_archive_set_aside(struct ef_archive *a, const char *path)
{
    char aside[EF_SPOOL_PATH_MAX + sizeof EF_SEGMENT_BROKEN];
    snprintf(aside, sizeof aside, "%s" EF_SEGMENT_BROKEN, path);
    a->config.ops->rename(path, aside);
    a->stats.n_broken++;
}

/* --- Opening ----------------------------------------------------------------------- */

static bool
ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);
    return len >= n && !strcmp(name + len - n, end);
}

static void
take_up_segment(struct ef_archive *a, const char *name, uint64_t number)
{
    char path[EF_SPOOL_PATH_MAX];
    struct ef_segment segment = {.number = number};
    struct ef_parquet_reader *reader;
    struct ef_error err = EF_ERROR_INIT;
    int fd;
    ef_archive_path(a, name, path);
    int rc = ef_segment_open(path, a->config.schema, &fd, &reader, &segment, &err);
    if (rc) {
        if (rc == -EBADMSG || rc == -EINVAL) {
            ef_archive_set_aside(a, path);
        }
        return;
    }
    ef_parquet_reader_destroy(reader);
    close(fd);
    memcpy(segment.name, name, strlen(name) + 1); /* It fits, or it had no number. */
    /* A number is sealed once; a second file of it is somebody's copy. */
    if (ef_catalogue_find(&a->catalogue, number)) {
        ef_archive_set_aside(a, path);
    } else {
        ef_catalogue_add(&a->catalogue, &segment);
    }
}

static void
take_up_spool(struct ef_archive *a, uint64_t number)
{
    char path[EF_SPOOL_PATH_MAX];
    struct stat st;
    ef_spool_path(a->dir, number, path);
    const struct ef_segment *other = ef_catalogue_find(&a->catalogue, number);
    if (other) {
        /* Its segment was finished: a crash came between that and the deletion. */
        if (other->is_sealed) {
            a->config.ops->unlink(path);
        }
        return;
    }
    struct ef_segment segment = {
        .number = number,
        .is_ended = true,
        .n_bytes = stat(path, &st) ? 0 : (uint64_t) st.st_size,
        .from = {INT64_MIN},
        .to = {INT64_MAX},
    };
    ef_catalogue_add(&a->catalogue, &segment);
}

/* One look at every name: first the segments, then the spool. Returns the
 * greatest number seen, of both. */
static uint64_t
scan(struct ef_archive *a, DIR *d, bool is_spool_turn)
{
    uint64_t greatest = 0;
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) {
        uint64_t segment = ef_segment_number_of_name(e->d_name), spool = ef_spool_number_of_name(e->d_name);
        greatest = EF_MAX(greatest, EF_MAX(segment, spool));
        if (segment && !is_spool_turn) {
            take_up_segment(a, e->d_name, segment);
        } else if (spool && is_spool_turn) {
            take_up_spool(a, spool);
        } else if (!is_spool_turn && !strncmp(e->d_name, "spool-", 6) && ends_with(e->d_name, EF_SEGMENT_TEMP)) {
            char path[EF_SPOOL_PATH_MAX];
            ef_archive_path(a, e->d_name, path);
            a->config.ops->unlink(path);
        }
    }
    return greatest;
}

static int
take_lock(struct ef_archive *a, struct ef_error *err)
{
    char path[EF_SPOOL_PATH_MAX];
    ef_archive_path(a, "lock", path);
    a->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (a->lock_fd < 0) {
        return ef_error_set(err, -errno, "cannot use directory %s: %s", a->dir, strerror(errno));
    }
    if (flock(a->lock_fd, LOCK_EX | LOCK_NB)) {
        return ef_error_set(err, -EBUSY, "directory %s is another process's archive; give each its own", a->dir);
    }
    return 0;
}

static int
open_directory(struct ef_archive *a, struct ef_error *err)
{
    int rc = take_lock(a, err);
    if (rc) {
        return rc;
    }
    DIR *d = opendir(a->dir);
    if (!d) {
        return ef_error_set(err, -errno, "cannot read directory %s: %s", a->dir, strerror(errno));
    }
    uint64_t greatest = scan(a, d, false);
    scan(a, d, true);
    closedir(d);
    a->first_number = greatest + 1;
    struct ef_spool_config config = {.dir = a->dir,
                                     .ops = a->config.ops,
                                     .fingerprint = a->fingerprint,
                                     .next_number = a->first_number,
                                     .sync_ms = a->config.sync_ms};
    return ef_spool_create(&config, &a->spool, err);
}

/* --- The sealing thread -------------------------------------------------------------- */

/* The number of a spool file that is to be sealed, or 0. With the mutex held. */
static uint64_t
next_ended(const struct ef_archive *a, uint64_t after)
{
    for (unsigned i = 0; i < a->catalogue.n; i++) {
        const struct ef_segment *s = &a->catalogue.segments[i];
        if (s->number > after && s->is_ended && !s->is_sealed) {
            return s->number;
        }
    }
    return 0;
}

/* Seals all that can be; one that fails does not keep the next from its turn. */
static void
seal_all(struct ef_archive *a)
{
    uint64_t number = 0;
    int failure = 0;
    while ((number = next_ended(a, number))) {
        pthread_mutex_unlock(&a->mutex);
        int rc = ef_archive_seal(a, number);
        pthread_mutex_lock(&a->mutex);
        a->stats.n_failed_seals += rc != 0;
        failure = rc ? rc : failure;
    }
    a->stats.alarm = failure;
}

static void *
run_sealer(void *arg)
{
    struct ef_archive *a = arg;
    pthread_mutex_lock(&a->mutex);
    for (bool is_last = false; !is_last;) {
        is_last = a->stop;
        seal_all(a);
        pthread_mutex_unlock(&a->mutex);
        ef_archive_expire(a);
        pthread_mutex_lock(&a->mutex);
        if (!a->stop) {
            struct ef_time until = ef_time_add_ms(ef_time_mono(), TURN_MS);
            struct timespec ts = {until.ns / EF_NS_PER_S, until.ns % EF_NS_PER_S};
            pthread_cond_timedwait(&a->changed, &a->mutex, &ts);
        }
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

/* --- The seam ------------------------------------------------------------------------- */

static void
init_mutex(struct ef_archive *a)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&a->mutex, NULL);
}

int
ef_archive_open(const struct ef_archive_config *config, struct ef_archive **out, struct ef_error *err)
{
    int rc = ef_row_schema_check(config->schema, err);
    if (rc) {
        return rc;
    }
    struct ef_archive *a = ef_must_realloc(NULL, sizeof *a);
    *a = (struct ef_archive){
        .config = *config, .dir = strdup(config->dir), .lock_fd = -1, .from = never_from, .to = never_to};
    a->config.ops = config->ops ? config->ops : &ef_file_ops_real;
    a->config.segment_bytes = config->segment_bytes ? config->segment_bytes : EF_ARCHIVE_SEGMENT_BYTES;
    a->config.seal_ns = config->seal_ns ? config->seal_ns : EF_ARCHIVE_SEAL_NS;
    a->fingerprint = ef_row_schema_fingerprint(config->schema);
    init_mutex(a);
    rc = a->dir ? open_directory(a, err) : ef_error_set(err, -ENOMEM, "out of memory");
    if (!rc && (rc = -pthread_create(&a->sealer, NULL, run_sealer, a))) {
        ef_error_set(err, rc, "cannot start the archive's thread: %s", strerror(-rc));
    }
    a->has_sealer = !rc;
    if (rc) {
        ef_archive_close(a);
        return rc;
    }
    *out = a;
    return 0;
}

/* Ends the spool file, if there is one, so that it will be sealed. */
static void
end_spool_file(struct ef_archive *a)
{
    uint64_t number = ef_spool_rotate(a->spool);
    if (number) {
        pthread_mutex_lock(&a->mutex);
        struct ef_segment *s = ef_catalogue_find(&a->catalogue, number);
        if (s) {
            s->is_ended = true;
        }
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->mutex);
    }
}

void
ef_archive_close(struct ef_archive *a)
{
    if (!a) {
        return;
    }
    if (a->has_sealer) {
        ef_archive_flush(a);
        end_spool_file(a);
        pthread_mutex_lock(&a->mutex);
        a->stop = true;
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->mutex);
        pthread_join(a->sealer, NULL);
    }
    ef_spool_destroy(a->spool);
    if (a->lock_fd >= 0) {
        close(a->lock_fd);
    }
    ef_catalogue_deinit(&a->catalogue);
    ef_buffer_deinit(&a->row);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
    free(a->dir);
    free(a);
}

void
ef_archive_append(struct ef_archive *a, const void *row)
{
    int64_t time = (int64_t) ef_row_get_number(&a->config.schema->columns[0], row);
    a->from.ns = EF_MIN(a->from.ns, time);
    a->to.ns = EF_MAX(a->to.ns, time);
    a->row.len = 0;
    ef_row_encode(a->config.schema, row, &a->row);
    ef_spool_append(a->spool, a->row.data, a->row.len);
}

/* Lets the catalogue know the file that is appended to, its size and its times.
 * A file that the spool gave up after a failure has ended. */
static void
note_file(struct ef_archive *a)
{
    uint64_t number = ef_spool_number(a->spool);
    pthread_mutex_lock(&a->mutex);
    for (unsigned i = 0; i < a->catalogue.n; i++) {
        a->catalogue.segments[i].is_ended |= a->catalogue.segments[i].number < number;
    }
    struct ef_segment *s = ef_catalogue_find(&a->catalogue, number);
    if (!s) {
        struct ef_segment fresh = {.number = number, .from = never_from, .to = never_to};
        s = ef_catalogue_add(&a->catalogue, &fresh);
        a->file_began = ef_time_mono();
    }
    s->n_bytes = ef_spool_size(a->spool);
    s->from.ns = EF_MIN(s->from.ns, a->from.ns);
    s->to.ns = EF_MAX(s->to.ns, a->to.ns);
    pthread_mutex_unlock(&a->mutex);
    a->from = never_from;
    a->to = never_to;
}

static void
note_loss(struct ef_archive *a, int rc)
{
    pthread_mutex_lock(&a->mutex);
    a->loss = rc;
    a->loss_at = ef_time_mono();
    pthread_mutex_unlock(&a->mutex);
}

void
ef_archive_flush(struct ef_archive *a)
{
    int rc = ef_spool_flush(a->spool);
    if (rc) {
        note_loss(a, rc);
    }
    if (!ef_spool_size(a->spool)) {
        return;
    }
    note_file(a);
    if (ef_spool_size(a->spool) >= a->config.segment_bytes ||
        ef_time_diff_ns(ef_time_mono(), a->file_began) >= a->config.seal_ns) {
        end_spool_file(a);
    }
}

/* Of the last loss, while it is an alarm. With the mutex held. */
static int
recent_loss(const struct ef_archive *a)
{
    return a->loss && ef_time_diff_ns(ef_time_mono(), a->loss_at) < a->config.alarm_ns ? a->loss : 0;
}

void
ef_archive_stats(struct ef_archive *a, struct ef_archive_stats *stats)
{
    pthread_mutex_lock(&a->mutex);
    *stats = a->stats;
    for (unsigned i = 0; i < a->catalogue.n; i++) {
        const struct ef_segment *s = &a->catalogue.segments[i];
        stats->n_segments += s->is_sealed;
        stats->n_unsealed += !s->is_sealed;
        stats->n_rows += s->n_rows;
        stats->n_bytes += s->n_bytes;
        if (s->is_sealed && (!stats->has_oldest || ef_time_before(s->from, stats->oldest))) {
            stats->has_oldest = true;
            stats->oldest = s->from;
        }
    }
    stats->alarm = stats->alarm ? stats->alarm : recent_loss(a);
    pthread_mutex_unlock(&a->mutex);
    ef_spool_stats(a->spool, &stats->spool);
    stats->alarm = stats->spool.alarm ? stats->spool.alarm : stats->alarm;
}
