/* SPDX-License-Identifier: Apache-2.0 */
/* Installed filters: their matches are found once for each bucket and kept, so
 * that asking for them again costs what there is to return.
 *
 *     ef_multilog_add_filter(log, "web", "dport in {80, 443}", &err);
 *     struct ef_installed_filter *filter = ef_multilog_get_filter(log, "web");
 *     struct ef_multilog_query query = {.filter = filter, .from = from, .to = to};
 *     ...                                          // as with a predicate; multilog.h
 *     ef_installed_filter_release(filter);
 *     ef_multilog_remove_filter(log, "web");
 *
 * A filter's answer is always what its predicate says about the records of the
 * snapshot, those appended before it was added included: what is kept only
 * makes it fast. The background thread (derived.h) evaluates all filters on
 * each bucket when it is sealed, terms that they share once; on the rows of the
 * open buckets a reader evaluates its filter itself, 64 at a time. Appending
 * does nothing for filters, so they cannot be seen half updated.
 *
 * Kept per filter and bucket: row numbers of 2 bytes, or a bit per row where
 * that is less, so never more than 2 bytes per match.
 *
 * Thread-safety: any thread may call anything; a filter that is removed while
 * somebody uses it stays until it is released. */
#ifndef EF_STORE_FILTER_SET_H
#define EF_STORE_FILTER_SET_H

#include <stdint.h>

#include "base/error.h"
#include "store/predicate.h"

struct ef_bucket;
struct ef_multilog;
struct ef_installed_filter;

enum { EF_FILTER_NAME_SIZE = 64 };

/* Returns 0; -EEXIST if the name is taken or -EINVAL for the name or the text,
 * with `err`; -EBUSY if all derivers' slots are taken; or -ENOMEM. */
int ef_multilog_add_filter(struct ef_multilog *log, const char *name, const char *text, struct ef_error *err);

/* Removes it with its aggregates. Returns 0 or -ENOENT. */
int ef_multilog_remove_filter(struct ef_multilog *log, const char *name);

/* The filter of that name, to be released; or NULL. */
struct ef_installed_filter *ef_multilog_get_filter(struct ef_multilog *log, const char *name);
void ef_installed_filter_retain(struct ef_installed_filter *filter);  /* To be released once more. */
void ef_installed_filter_release(struct ef_installed_filter *filter); /* NULL is fine. */

const struct ef_predicate *ef_installed_filter_predicate(const struct ef_installed_filter *filter);

/* As ef_predicate_eval() on rows of a bucket that the caller holds: from what is
 * kept, or by looking at them. */
void ef_installed_filter_eval(const struct ef_installed_filter *filter, const struct ef_multilog *log,
                              struct ef_bucket *bucket, uint32_t first_row, uint32_t n_rows, uint64_t *bits);

/* The same from what is kept only, any number of rows; false, with nothing
 * written, if nothing is kept of the bucket. */
bool ef_installed_filter_kept(const struct ef_installed_filter *filter, const struct ef_multilog *log,
                              const struct ef_bucket *bucket, uint32_t first_row, uint32_t n_rows, uint64_t *bits);

struct ef_filter_stats {
    uint64_t n_filters, n_aggregates;
    uint64_t kept_bytes;     /* Of matches and summaries in memory. */
    uint64_t n_buckets_kept; /* Buckets that have them. */
};

void ef_multilog_filter_stats(struct ef_multilog *log, struct ef_filter_stats *stats);

#endif
