/* SPDX-License-Identifier: Apache-2.0 */
/* The spool in front of the archive: records appended to numbered files, each
 * with its length and CRC-32C, made durable in groups.
 *
 *     struct ef_spool_config config = {.dir = dir, .fingerprint = f, .next_number = 1};
 *     ef_spool_create(&config, &spool, &err);
 *     ef_spool_append(spool, record, len);        // gathered
 *     ef_spool_flush(spool);                      // with the kernel: survives the process
 *     ... a second later at the latest            // on the disk: survives the power
 *     ef_spool_rotate(spool);                     // the file is complete; another begins
 *
 * A file is a header and records. What a crash tore off its end is cut by the
 * reader, which never refuses the rest. A disk that is full or fails costs the
 * records that were to be written, counted, and raises an alarm, which ends
 * with the first record that is written again; it never stops the spool.
 *
 * Thread-safety: one thread appends, flushes and rotates; any may ask for
 * statistics. Syncing has a thread of its own, which the appending one never
 * waits for. */
#ifndef EF_STORE_ARCHIVE_SPOOL_H
#define EF_STORE_ARCHIVE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/archive/file_ops.h"

enum { EF_SPOOL_SYNC_MS = 1000, EF_SPOOL_MAX_RECORD = 1 << 24, EF_SPOOL_PATH_MAX = 4096 };

struct ef_spool;

struct ef_spool_config {
    const char *dir;               /* Exists. Copied. */
    const struct ef_file_ops *ops; /* NULL: the kernel's. */
    uint64_t fingerprint;          /* Of the records' format; readers ask for it. */
    uint64_t next_number;          /* Of the first file. */
    int64_t sync_ms;               /* How long a record waits for the disk at most; 0: EF_SPOOL_SYNC_MS. */
};

struct ef_spool_stats {
    uint64_t n_written, written_bytes; /* Records with the kernel, and bytes with their headers. */
    uint64_t n_synced;                 /* Of the records written, those that are on the disk for certain. */
    uint64_t n_dropped;                /* Records that could not be written. */
    uint64_t n_syncs, n_failed_syncs;
    int alarm; /* The negative errno of what fails now, or 0. */
};

int ef_spool_create(const struct ef_spool_config *config, struct ef_spool **spool, struct ef_error *err);

/* Flushes and syncs first. NULL is fine. */
void ef_spool_destroy(struct ef_spool *spool);

void ef_spool_append(struct ef_spool *spool, const void *record, size_t len);

/* Returns 0, or the negative errno that cost the gathered records. */
int ef_spool_flush(struct ef_spool *spool);

/* How many bytes the present file has, with what is gathered. */
uint64_t ef_spool_size(const struct ef_spool *spool);

/* Flushes, syncs and ends the present file. Returns its number, or 0 if no
 * record went into one since the last time. */
uint64_t ef_spool_rotate(struct ef_spool *spool);

/* The number of the file that is appended to, or will be. */
uint64_t ef_spool_number(const struct ef_spool *spool);

void ef_spool_stats(struct ef_spool *spool, struct ef_spool_stats *stats);

/* Writes the path of file `number` to `path`, EF_SPOOL_PATH_MAX bytes. */
void ef_spool_path(const char *dir, uint64_t number, char *path);

/* The number in the name of a spool file, or 0 if it is none. */
uint64_t ef_spool_number_of_name(const char *name);

/* Reads the whole records of the file at `path`, in order. Creating it returns 0;
 * -EBADMSG if that is no spool file of that fingerprint; or another negative
 * errno. Next returns 1 and a record, which is good until the next call; 0 at
 * the end of such, behind which `torn` bytes follow; or a negative errno. */
struct ef_spool_reader;
int ef_spool_reader_create(const char *path, uint64_t fingerprint, struct ef_spool_reader **reader);
int ef_spool_reader_next(struct ef_spool_reader *reader, const uint8_t **record, size_t *len);
uint64_t ef_spool_reader_torn(const struct ef_spool_reader *reader);
void ef_spool_reader_destroy(struct ef_spool_reader *reader); /* NULL is fine. */

/* Calls `each` for every whole record of the file at `path`, in order, until it
 * returns false. `*torn_bytes` is what follows them. Returns 0; -EBADMSG if it
 * is no spool file of that fingerprint; or another negative errno. */
int ef_spool_read(const char *path, uint64_t fingerprint, bool (*each)(void *ctx, const uint8_t *record, size_t len),
                  void *ctx, uint64_t *torn_bytes);

#endif
