/* SPDX-License-Identifier: Apache-2.0 */
/* What archive.c, seal.c and archive_query.c share. */
#ifndef EF_STORE_ARCHIVE_ARCHIVE_PRIVATE_H
#define EF_STORE_ARCHIVE_ARCHIVE_PRIVATE_H

#include <pthread.h>

#include "store/archive/archive.h"
#include "store/archive/catalogue.h"

struct ef_archive {
    struct ef_archive_config config;
    char *dir;
    uint64_t fingerprint;
    uint64_t first_number; /* Of what is appended since the opening. */
    int lock_fd;

    /* The appending thread's. */
    struct ef_spool *spool;
    struct ef_buffer row;
    struct ef_time file_began; /* Monotonic time. */
    struct ef_time from, to;   /* Of the rows appended since the catalogue was told. */

    pthread_t sealer;
    bool has_sealer;
    pthread_mutex_t mutex; /* Guards what follows. */
    pthread_cond_t changed;
    bool stop;
    struct ef_catalogue catalogue;
    struct ef_archive_stats stats;
    int loss; /* The negative errno that cost rows last, or 0; and when that was. */
    struct ef_time loss_at;
};

/* The path of a file of the archive, EF_SPOOL_PATH_MAX bytes. */
void ef_archive_path(const struct ef_archive *archive, const char *name, char *path);

/* Renames a file to *.broken and counts it. With the mutex held. */
void ef_archive_set_aside(struct ef_archive *archive, const char *path);

/* Makes a segment of the ended spool file `number`. Returns 0 or a negative
 * errno, after which the spool file is still there. Without the mutex. */
int ef_archive_seal(struct ef_archive *archive, uint64_t number);

/* Deletes what is too old or too much. Without the mutex. */
void ef_archive_expire(struct ef_archive *archive);

#endif
