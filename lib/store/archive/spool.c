/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the spool; see spool.h. */
#include <config.h>

#include "store/archive/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "store/archive/byte_buffer.h"
#include "store/archive/crc.h"
#include "store/archive/spool_format.h"

struct ef_spool {
    char *dir;
    const struct ef_file_ops *ops;
    uint64_t fingerprint;
    int64_t sync_ms;
    struct ef_buffer gathered; /* Records not yet with the kernel. */
    uint32_t n_gathered;

    pthread_t syncer;
    pthread_mutex_t mutex; /* Guards what follows. */
    pthread_cond_t changed;
    bool stop;
    int fd;              /* -1: none yet. */
    uint64_t number;     /* Of the present file. */
    uint64_t file_bytes; /* All of it whole records; */
    uint64_t n_file;     /* so many, */
    uint64_t n_durable;  /* of which these were synced. */
    bool is_dirty;       /* There is something to sync, */
    bool is_syncing;     /* and the syncer is at it. */
    bool is_suspect;     /* A sync failed: what is in the file may be lost; begin another. */
    struct ef_spool_stats stats;
};

/* --- The syncer ------------------------------------------------------------------ */

/* A sync ended that began when the present file had `n_file` records. */
static void
note_sync(struct ef_spool *s, int rc, uint64_t n_file)
{
    s->stats.n_syncs += !rc;
    if (!rc) {
        s->stats.n_synced += n_file - s->n_durable;
        s->n_durable = n_file;
    } else {
        s->stats.n_failed_syncs++;
        s->stats.alarm = rc;
        s->is_suspect = true;
    }
}

/* Syncs without the mutex, so that nobody waits for the disk. */
static void
sync_now(struct ef_spool *s)
{
    int fd = dup(s->fd);
    uint64_t n_file = s->n_file;
    s->is_dirty = false;
    s->is_syncing = true;
    pthread_mutex_unlock(&s->mutex);
    int rc = fd < 0 || s->ops->fdatasync(fd) ? -errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    pthread_mutex_lock(&s->mutex);
    s->is_syncing = false;
    note_sync(s, rc, n_file);
    pthread_cond_broadcast(&s->changed);
}

static void
wait_ms(struct ef_spool *s, int64_t ms)
{
    struct ef_time until = ef_time_add_ms(ef_time_mono(), ms);
    struct timespec ts = {until.ns / EF_NS_PER_S, until.ns % EF_NS_PER_S};
    while (!s->stop && pthread_cond_timedwait(&s->changed, &s->mutex, &ts) != ETIMEDOUT) {
        continue;
    }
}

static void *
run_syncer(void *arg)
{
    struct ef_spool *s = arg;
    pthread_mutex_lock(&s->mutex);
    while (!s->stop) {
        if (s->is_dirty) {
            sync_now(s);
        }
        wait_ms(s, s->sync_ms);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* --- Files ----------------------------------------------------------------------- */

/* Ends the present file, with a last sync. With the mutex held. */
static void
end_file(struct ef_spool *s)
{
    while (s->is_syncing) {
        pthread_cond_wait(&s->changed, &s->mutex);
    }
    if (s->fd >= 0) {
        note_sync(s, s->ops->fdatasync(s->fd) ? -errno : 0, s->n_file);
        close(s->fd);
        s->fd = -1;
        s->number++;
    }
    s->is_dirty = s->is_suspect = false;
    s->file_bytes = s->n_file = s->n_durable = 0;
}

static int
begin_file(struct ef_spool *s)
{
    char path[EF_SPOOL_PATH_MAX];
    ef_spool_path(s->dir, s->number, path);
    int fd = s->ops->open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0640);
    if (fd < 0 && errno == EEXIST) {
        /* One that could be neither begun nor removed. */
        ef_spool_path(s->dir, ++s->number, path);
        fd = s->ops->open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0640);
    }
    if (fd < 0) {
        return -errno;
    }
    uint8_t header[SPOOL_HEADER_BYTES];
    memcpy(header, SPOOL_MAGIC, 8);
    ef_store_le64(header + 8, s->fingerprint);
    ef_store_le32(header + 16, ef_crc32c(0, header, 16));
    int rc = ef_file_write_all(s->ops, fd, header, sizeof header);
    if (!rc) {
        rc = ef_file_sync_directory(s->ops, s->dir);
    }
    if (rc) {
        close(fd);
        s->ops->unlink(path);
        return rc;
    }
    s->fd = fd;
    s->file_bytes = sizeof header;
    return 0;
}

/* After a failed write: only whole records may stay in the file, or nothing more
 * is appended to it. */
static void
repair_file(struct ef_spool *s)
{
    if (s->fd >= 0 && s->ops->ftruncate(s->fd, (off_t) s->file_bytes)) {
        s->is_suspect = true;
    }
}

static int
write_gathered(struct ef_spool *s)
{
    int rc = 0;
    if (s->is_suspect) {
        end_file(s);
    }
    if (s->fd < 0) {
        rc = begin_file(s);
    }
    if (!rc) {
        rc = ef_file_write_all(s->ops, s->fd, s->gathered.data, s->gathered.len);
        if (rc) {
            repair_file(s);
        }
    }
    if (!rc) {
        s->file_bytes += s->gathered.len;
        s->is_dirty = true;
        s->n_file += s->n_gathered;
        s->stats.n_written += s->n_gathered;
        s->stats.written_bytes += s->gathered.len;
    } else {
        s->stats.n_dropped += s->n_gathered;
    }
    s->stats.alarm = rc;
    return rc;
}

/* --- The seam -------------------------------------------------------------------- */

int
ef_spool_create(const struct ef_spool_config *config, struct ef_spool **out, struct ef_error *err)
{
    struct ef_spool *s = ef_must_realloc(NULL, sizeof *s);
    *s = (struct ef_spool){
        .dir = strdup(config->dir),
        .ops = config->ops ? config->ops : &ef_file_ops_real,
        .fingerprint = config->fingerprint,
        .sync_ms = config->sync_ms ? config->sync_ms : EF_SPOOL_SYNC_MS,
        .fd = -1,
        .number = config->next_number,
    };
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&s->mutex, NULL);
    int rc = s->dir ? pthread_create(&s->syncer, NULL, run_syncer, s) : ENOMEM;
    if (rc) {
        free(s->dir);
        free(s);
        return ef_error_set(err, -rc, "cannot start the spool's thread: %s", strerror(rc));
    }
    *out = s;
    return 0;
}

void
ef_spool_destroy(struct ef_spool *s)
{
    if (!s) {
        return;
    }
    ef_spool_rotate(s);
    pthread_mutex_lock(&s->mutex);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->syncer, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    ef_buffer_deinit(&s->gathered);
    free(s->dir);
    free(s);
}

void
ef_spool_append(struct ef_spool *s, const void *record, size_t len)
{
    uint8_t *head = ef_buffer_grow(&s->gathered, SPOOL_RECORD_BYTES);
    ef_store_le32(head, (uint32_t) len);
    ef_store_le32(head + 4, ef_spool_check((uint32_t) len, record));
    ef_buffer_add(&s->gathered, record, len);
    s->n_gathered++;
}

int
ef_spool_flush(struct ef_spool *s)
{
    int rc = 0;
    if (s->n_gathered) {
        pthread_mutex_lock(&s->mutex);
        rc = write_gathered(s);
        pthread_mutex_unlock(&s->mutex);
        s->gathered.len = 0;
        s->n_gathered = 0;
    }
    return rc;
}

uint64_t
ef_spool_size(const struct ef_spool *s)
{
    return s->file_bytes + s->gathered.len;
}

uint64_t
ef_spool_rotate(struct ef_spool *s)
{
    ef_spool_flush(s);
    pthread_mutex_lock(&s->mutex);
    uint64_t number = s->fd >= 0 ? s->number : 0;
    end_file(s);
    pthread_mutex_unlock(&s->mutex);
    return number;
}

uint64_t
ef_spool_number(const struct ef_spool *s)
{
    return s->number;
}

void
ef_spool_stats(struct ef_spool *s, struct ef_spool_stats *stats)
{
    pthread_mutex_lock(&s->mutex);
    *stats = s->stats;
    pthread_mutex_unlock(&s->mutex);
}
