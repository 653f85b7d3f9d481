/* SPDX-License-Identifier: Apache-2.0 */
/* The Atomic MultiLog: typed records, appended by many writers without locks,
 * read by many readers as of one instant, within a fixed amount of memory.
 * After "Confluo: Distributed Monitoring and Diagnosis Stack for High-speed
 * Networks" (NSDI 2019), section 3; doc/store.md says what is different.
 *
 *     struct ef_multilog_config config = {.schema = &schema, .memory_bytes = 1 << 30, .max_writers = 4};
 *     ef_multilog_create(&config, &log, &err);
 *
 *     ef_multilog_writer_open(log, &writer);              // a thread's own
 *     ef_multilog_append(writer, flows, n_flows);         // visible as a whole, now
 *
 *     struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}};
 *     ef_multilog_snapshot(log, &query.snapshot);
 *     ef_multilog_query(log, &query, &cursor);
 *     while (ef_multilog_next(cursor)) {
 *         ef_multilog_record(cursor, &flow);
 *     }
 *     ef_multilog_cursor_close(cursor);
 *
 * What a reader sees: a snapshot is one instant between its call and its
 * return. It has every record whose append returned before that instant, none
 * whose append began after it, and of each batch all or nothing. If append A
 * returned before append B began, no snapshot has B without A, whichever
 * writers they came through. Later snapshots have all that earlier ones had.
 *
 * Memory: all of it is taken at create. When it is full, the bucket of records
 * whose newest time is the oldest of all leaves for each bucket that is begun.
 * A batch lies in one bucket: what one does not fill is lost to it, so batches
 * are best small against `bucket_rows`. The bucket that a writer has open stays
 * until it is full, or the writer seals it or closes. What is kept for installed
 * filters (filter_set.h) comes on top. A cursor holds on to the one bucket that it is reading; what left before it
 * came there is counted, not shown.
 *
 * Thread-safety: a writer belongs to one thread at a time, so does a cursor;
 * otherwise any thread may call anything. Appending waits for nobody: not for
 * readers, not for other writers, whether they run or not. Snapshots wait for
 * each other. */
#ifndef EF_STORE_MULTILOG_H
#define EF_STORE_MULTILOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"
#include "store/schema.h"

struct ef_multilog;
struct ef_multilog_writer;
struct ef_multilog_cursor;

enum { EF_MULTILOG_MAX_WRITERS = 64 };

struct ef_multilog_config {
    const struct ef_schema *schema; /* Copied. */
    uint64_t memory_bytes;          /* For records and indexes; besides 4 bytes per bucket and writer. */
    unsigned max_writers;           /* Open at one time, 1 to EF_MULTILOG_MAX_WRITERS. */
    uint32_t bucket_rows;           /* Records per bucket, a multiple of 64 up to 65536, which 0 means. */
    uint32_t bucket_variable_bytes; /* Room per bucket for variable parts; 0: 64 per record. */
    bool prefault;                  /* Touch all memory at create rather than while appending. */
};

/* One instant of the log. A plain value: it needs no closing. */
struct ef_multilog_snapshot {
    uint64_t tails[EF_MULTILOG_MAX_WRITERS]; /* Records that each writer's lane had. */
};

/* The values of a record's variable part, told by the program: it calls
 * ef_multilog_add_key() for each, any number of times. Any thread may call an
 * extract function; it must give the same values for the same bytes. */
struct ef_multilog_keys;
typedef void ef_multilog_extract(const void *data, uint32_t len, struct ef_multilog_keys *keys);
void ef_multilog_add_key(struct ef_multilog_keys *keys, const void *key);

/* True for a record of whose values one is between `low` and `high`, both
 * included; as in struct ef_multilog_index. */
struct ef_multilog_key_test {
    ef_multilog_extract *extract;
    enum ef_column_type key_type;
    uint32_t key_width;
    uint8_t low[EF_COLUMN_MAX_BYTES], high[EF_COLUMN_MAX_BYTES];
};

/* How records are found; the answer is the same. */
enum ef_multilog_plan {
    EF_MULTILOG_CHEAPEST, /* What is estimated to be faster, bucket by bucket. */
    EF_MULTILOG_BY_INDEX, /* By index wherever there is one. */
    EF_MULTILOG_BY_SCAN,
};

struct ef_predicate;
struct ef_installed_filter;

/* What is borrowed stays until the cursor is closed. */
struct ef_multilog_query {
    struct ef_multilog_snapshot snapshot;
    struct ef_multilog_snapshot after;        /* An earlier one: what it has is left out. Zero: nothing. */
    struct ef_time from, to;                  /* Of the record's time, both included. */
    const struct ef_predicate *predicate;     /* Borrowed; predicate.h. NULL: all records. */
    const struct ef_installed_filter *filter; /* Borrowed; filter_set.h. Instead of a predicate: with its matches. */
    const struct ef_multilog_key_test *keys;  /* Borrowed; all of them must be true, too. */
    unsigned n_keys;
    enum ef_multilog_plan plan;
    bool newest_first; /* Buckets in the descending order of their newest records, of all writers; in each from
                        * the end on that has the newer ones. */
    bool is_explained; /* For ef_multilog_cursor_explain(). */
};

struct ef_multilog_stats {
    uint64_t n_appended, n_evicted; /* Records. */
    uint64_t n_refused;             /* Records not taken, since no memory could be made free. */
    uint64_t n_not_captured;        /* Records left out by the capture filter; capture.h. */
    uint64_t memory_bytes;          /* What create took. */
    uint64_t used_bytes;            /* Of that, in buckets that are begun. */
    uint32_t n_buckets, bucket_rows, bucket_bytes;
    bool has_oldest;
    struct ef_time oldest;         /* No record in memory is older. */
    struct ef_time newest_evicted; /* No record that left memory is newer; INT64_MIN: none did. */
};

/* Returns 0; -EINVAL with `err` for a configuration that cannot work, which
 * names the least memory; or -ENOMEM with `err`. The caller destroys it. */
int ef_multilog_create(const struct ef_multilog_config *config, struct ef_multilog **log, struct ef_error *err);

/* All writers and cursors must be closed. NULL is fine. */
void ef_multilog_destroy(struct ef_multilog *log);

const struct ef_schema *ef_multilog_schema(const struct ef_multilog *log);
void ef_multilog_stats(struct ef_multilog *log, struct ef_multilog_stats *stats);

/* --- Writing --------------------------------------------------------------------- */

/* Returns 0, or -EBUSY if `max_writers` are open. */
int ef_multilog_writer_open(struct ef_multilog *log, struct ef_multilog_writer **writer);
void ef_multilog_writer_close(struct ef_multilog_writer *writer); /* NULL is fine. */

/* Appends `n_records` of the schema's struct, which lie one after another. All
 * of them become visible at once, before the function returns. Returns 0;
 * -EMSGSIZE if so many, or so long variable parts, never fit into a bucket; or
 * -ENOBUFS (counted) if no memory could be made free. Then none was taken. */
int ef_multilog_append(struct ef_multilog_writer *writer, const void *records, uint32_t n_records);

/* Where the variable parts of up to `n_records` records, `n_bytes` in all, may be
 * written one after another, to be appended in that order by the next call of
 * ef_multilog_append(), which then copies none of them. NULL if there is no room
 * for so many, or no memory could be made free: then they are written elsewhere. */
uint8_t *ef_multilog_room(struct ef_multilog_writer *writer, uint32_t n_records, uint32_t n_bytes);

/* Begins no new bucket, but puts no more records into the one that is open, so
 * that it can be indexed, archived and, in its turn, leave memory. A writer that
 * has nothing to append for a while calls this; closing a writer does it, too. */
void ef_multilog_seal(struct ef_multilog_writer *writer);

/* --- Snapshots ------------------------------------------------------------------- */

void ef_multilog_snapshot(struct ef_multilog *log, struct ef_multilog_snapshot *snapshot);

/* Until unfreeze, every snapshot is the instant of the freeze; appending goes
 * on. With freezes on several machines whose times overlap, their snapshots
 * are one consistent cut. Returns 0 and `*snapshot`, or -EALREADY if it is
 * frozen. */
int ef_multilog_freeze(struct ef_multilog *log, struct ef_multilog_snapshot *snapshot);
void ef_multilog_unfreeze(struct ef_multilog *log);

/* --- Reading --------------------------------------------------------------------- */

/* Starts an answer: the snapshot's records whose time is in the window and for
 * which all that the query asks for is true, found by indexes where that is
 * faster. They come writer by writer, each one's in the order of its appends. Returns
 * 0 or -ENOMEM; the caller closes the cursor. */
int ef_multilog_query(struct ef_multilog *log, const struct ef_multilog_query *query,
                      struct ef_multilog_cursor **cursor);
void ef_multilog_cursor_close(struct ef_multilog_cursor *cursor); /* NULL is fine. */

/* Goes to the next record; false at the end. */
bool ef_multilog_next(struct ef_multilog_cursor *cursor);

/* The same for threads that must not be held for long: 1 and the next record;
 * -EAGAIN after looking into one bucket in vain; 0 at the end. */
int ef_multilog_step(struct ef_multilog_cursor *cursor);

/* Lets go of the bucket, which may then leave memory, until the next step; what
 * the program had of the current record is no longer good. */
void ef_multilog_pause(struct ef_multilog_cursor *cursor);

/* From here on no record of an earlier time is asked for (up to 63 may still come).
 * With `newest_first` the answer ends where no bucket has later ones. */
void ef_multilog_raise_from(struct ef_multilog_cursor *cursor, struct ef_time from);

/* A name of the current record, good for the life of the log; and back to that
 * record with any cursor of the log whose answer has ended: false if the record
 * has left memory. */
uint64_t ef_multilog_place(const struct ef_multilog_cursor *cursor);
bool ef_multilog_go_to(struct ef_multilog_cursor *cursor, uint64_t place);

/* How many records of the snapshot left memory before they were reached. */
uint64_t ef_multilog_n_missed(const struct ef_multilog_cursor *cursor);

/* The current record: one column of it, `width` bytes at any alignment (a
 * variable column: `*len` bytes); or all of it in the program's struct, whose
 * variable part points into the store. Both are good until the next call of
 * ef_multilog_next(). `len` may be NULL. */
const void *ef_multilog_column(const struct ef_multilog_cursor *cursor, unsigned column, uint32_t *len);
void ef_multilog_record(const struct ef_multilog_cursor *cursor, void *record);

#endif
