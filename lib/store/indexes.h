/* SPDX-License-Identifier: Apache-2.0 */
/* The indexes of a multilog: added and removed at any time, for what is there
 * already and for what comes.
 *
 *     static const struct ef_multilog_index by_destination = {.column = "dst"};
 *     ef_multilog_add_index(log, &by_destination, &err);
 *
 * An index is made per bucket, by the log's background thread (derived.h), once
 * the bucket is sealed: writers do nothing for it, and wait for nothing. Buckets without one
 * (the open ones, those that the thread has not come to) are scanned. Which
 * records an answer has is decided by its snapshot alone, however they are
 * found.
 *
 * Multi-valued indexes are over the variable part: the program tells what
 * values a record's bytes have, such as the switches of a trace's hops:
 *
 *     static void
 *     hop_switches(const void *data, uint32_t len, struct ef_multilog_keys *keys)
 *     {
 *         for (const struct hop *hop = data; len >= sizeof *hop; hop++, len -= sizeof *hop) {
 *             ef_multilog_add_key(keys, hop->address);
 *         }
 *     }
 *     static const struct ef_multilog_index by_switch = {
 *         .column = "hops", .extract = hop_switches, .key_type = EF_COLUMN_IPV6};
 *
 * and a question names the same function: struct ef_multilog_key_test, in
 * multilog.h. Memory: indexes take whole buckets' worth of the log's memory, as
 * they need it, at most half of it; where there is none left, buckets stay
 * without. Any thread may call these functions; they wait for each other. */
#ifndef EF_STORE_INDEXES_H
#define EF_STORE_INDEXES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/multilog.h"

enum { EF_MULTILOG_MAX_INDEXES = 16 };

struct ef_multilog_index {
    const char *column;           /* Its name. Copied: the number counts. */
    ef_multilog_extract *extract; /* For the variable column; NULL for others. */
    enum ef_column_type key_type; /* Of the extracted values; ignored without `extract`. */
    uint32_t key_width;           /* Their bytes; only for EF_COLUMN_BYTES, otherwise ignored. */
};

struct ef_multilog_index_stats {
    unsigned column;
    bool is_multi_valued;
    uint64_t n_buckets, n_records; /* That have it now. */
    uint64_t memory_bytes;
    uint64_t n_without;  /* Buckets left without one for lack of memory. */
    uint64_t builder_ns; /* Processor time spent on it. */
};

/* Returns 0; -EINVAL with `err` for a column that cannot have one; -EEXIST if it
 * has; -ENOSPC if there are EF_MULTILOG_MAX_INDEXES; -EBUSY if too many that were
 * removed have still to be taken off the buckets; or -ENOMEM. */
int ef_multilog_add_index(struct ef_multilog *log, const struct ef_multilog_index *index, struct ef_error *err);

/* Queries that are running keep it until they end. Returns 0 or -ENOENT. */
int ef_multilog_remove_index(struct ef_multilog *log, const struct ef_multilog_index *index);

/* Fills `stats` for up to `max` indexes; returns how many there are. */
unsigned ef_multilog_index_stats(struct ef_multilog *log, struct ef_multilog_index_stats *stats, unsigned max);

#endif
