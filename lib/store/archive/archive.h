/* SPDX-License-Identifier: Apache-2.0 */
/* Rows kept on disk: a spool in front (spool.h), sealed segments in Parquet
 * behind it, and a bound on their age and size.
 *
 *     struct ef_archive_config config = {.dir = "/var/lib/x", .schema = &schema, .max_bytes = 10 << 30};
 *     ef_archive_open(&config, &archive, &err);      // also takes up what a crash left
 *     ef_archive_append(archive, &row);              // gathered
 *     ef_archive_flush(archive);                     // to be found by queries, survives the process
 *     ef_archive_close(archive);                     // seals what is open
 *
 * Life of a row: file number N of the spool; once that has its size or age, a
 * thread of the archive sorts it into YYYYMMDDTHHMMSS.mmm-N.parquet (the time
 * of its oldest row, UTC), which is written under another name, synced, renamed,
 * and made durable before the spool file goes. So after a crash, at any
 * instant, each number has its spool file, its segment, or both, and then the
 * segment counts: no row is lost that was synced, and none is there twice.
 *
 * Files that are not ours are left alone; broken ones are renamed to *.broken
 * and counted. The directory belongs to one process at a time (a lock file).
 *
 * Thread-safety: one thread appends and flushes; any may query and ask for
 * statistics; a cursor belongs to one thread. */
#ifndef EF_STORE_ARCHIVE_ARCHIVE_H
#define EF_STORE_ARCHIVE_ARCHIVE_H

#include "base/time.h"
#include "store/archive/parquet_reader.h"
#include "store/archive/row_set.h"
#include "store/archive/spool.h"

#define EF_ARCHIVE_SEGMENT_BYTES (16ull << 20)
#define EF_ARCHIVE_SEAL_NS (60 * EF_NS_PER_S)

struct ef_archive;
struct ef_archive_cursor;

struct ef_archive_config {
    const char *dir;                    /* Exists. Copied. */
    const struct ef_row_schema *schema; /* Borrowed. */
    const struct ef_file_ops *ops;      /* NULL: the kernel's. */
    int64_t max_age_ns;                 /* Segments whose newest row is older go; 0: none. */
    uint64_t max_bytes;                 /* Of the directory's segments and spool; the oldest go; 0: no bound. */
    uint64_t segment_bytes;             /* Of the spool file that becomes a segment; 0: EF_ARCHIVE_SEGMENT_BYTES. */
    int64_t seal_ns;                    /* Its age at most; 0: EF_ARCHIVE_SEAL_NS. */
    int64_t sync_ms;                    /* How long a flushed row waits for the disk; 0: EF_SPOOL_SYNC_MS. */
    int64_t alarm_ns; /* How long a lost row is an alarm, though a smaller one fitted on the full disk since then. */
};

struct ef_archive_stats {
    struct ef_spool_stats spool;
    uint64_t n_segments, n_rows, n_bytes; /* Sealed, there now. */
    uint64_t n_unsealed;                  /* Spool files. */
    uint64_t n_sealed;                    /* Segments written since the start, */
    uint64_t n_sealed_rows;               /* and the rows in them that were appended since then. */
    uint64_t n_expired, n_expired_rows;   /* Segments that retention deleted, and their rows. */
    uint64_t n_broken;                    /* Files set aside. */
    uint64_t n_torn, torn_bytes;          /* Spool files with a torn end. */
    uint64_t n_failed_seals;
    bool has_oldest;
    struct ef_time oldest; /* Row in a sealed segment. */
    int alarm;             /* The negative errno of what fails now, or 0. */
};

/* Returns 0; -EBUSY if another process has the directory; or another negative
 * errno; each with `err`. */
int ef_archive_open(const struct ef_archive_config *config, struct ef_archive **archive, struct ef_error *err);

/* Seals what is open. All cursors must be closed. NULL is fine. */
void ef_archive_close(struct ef_archive *archive);

/* Takes a row; it never fails: what the disk refuses is counted. */
void ef_archive_append(struct ef_archive *archive, const void *row);

/* Writes what was appended; ends the spool file if it has its size or age. */
void ef_archive_flush(struct ef_archive *archive);

void ef_archive_stats(struct ef_archive *archive, struct ef_archive_stats *stats);

/* --- Asking ---------------------------------------------------------------------- */

/* Rows whose column is within [min, max]; `value` as ef_row_get_number(). Only
 * columns of numbers. */
struct ef_archive_bound {
    unsigned column;
    uint64_t min, max;
};

/* What an asker can tell from some columns alone, so that the others are read only
 * for rows, and row groups, that may match. */
struct ef_archive_sieve {
    const bool *columns; /* Those that `sift` looks at, per column of the schema. */
    /* Makes NULL of rows->rows[i] of those that cannot match; others are NULL already. */
    void (*sift)(void *ctx, struct ef_row_set *rows);
    /* False if the statistics of the row group say that no row can match; NULL: they are not asked. */
    bool (*can_match)(void *ctx, const struct ef_parquet_reader *reader, unsigned group);
    void *ctx;
};

/* How much of the archive an answer took. */
struct ef_archive_effort {
    uint64_t n_segments;                 /* Whose times overlapped. */
    uint64_t n_groups, n_groups_skipped; /* Row groups, and those that statistics ruled out. */
    uint64_t n_groups_sifted;            /* Of which only some columns were read. */
    uint64_t n_rows, n_rows_read;        /* In the row groups read, and read with all columns that were wanted. */
};

struct ef_archive_query {
    struct ef_time from, to; /* Of column 0, both included. */
    const struct ef_archive_bound *bounds;
    unsigned n_bounds;
    bool oldest_first;
    /* Of rows that were appended since the archive was opened only those up to
     * `fresh_to`: the asker has the others in memory. */
    bool limits_fresh;
    struct ef_time fresh_to;
    const bool *wanted;                   /* As for ef_parquet_reader_group(); borrowed. NULL: all columns. */
    const struct ef_archive_sieve *sieve; /* Borrowed; NULL: none. */
};

/* Starts an answer over what was flushed. The query's bounds are copied. */
struct ef_archive_cursor *ef_archive_query(struct ef_archive *archive, const struct ef_archive_query *query);
void ef_archive_cursor_close(struct ef_archive_cursor *cursor); /* NULL is fine. */

/* The next batch of matching rows, at most some ten thousand, segment by segment
 * from the newest (or the oldest), in no order within one; they are good until
 * the next call. Returns 1 and `*rows`, which may be empty; 0 at the end. `*edge`
 * is a time after which (or before which) no later batch has a row; NULL is fine. */
int ef_archive_next(struct ef_archive_cursor *cursor, struct ef_row_set **rows, struct ef_time *edge);

/* How many segments or row groups could not be read. */
uint64_t ef_archive_n_failed(const struct ef_archive_cursor *cursor);

/* What was done so far. */
void ef_archive_effort(const struct ef_archive_cursor *cursor, struct ef_archive_effort *effort);

#endif
