/* SPDX-License-Identifier: Apache-2.0 */
/* The capture filter: which of the records that are appended the log takes.
 *
 *     ef_multilog_setup_packet_capture(log, "dst == 10.0.0.0/8", 0.1, &err);
 *     ...
 *     ef_multilog_setup_packet_capture(log, "", 1, &err);    // all again
 *
 * Records that the filter does not match are not taken, and of those that it
 * matches a random share of `sample_ratio`; ef_multilog_stats() counts what was
 * left out. A batch that is being appended is judged as a whole by one filter.
 * Without a capture filter appending does nothing for it.
 *
 * How it is changed while writers run: a writer says in its lane which filter it
 * uses for as long as it does, looks whether that is still the log's, and uses
 * it then; who replaces the filter waits until no lane says the old one. Writers
 * wait for nobody. */
#ifndef EF_STORE_CAPTURE_H
#define EF_STORE_CAPTURE_H

#include "base/error.h"

struct ef_capture;
struct ef_multilog;
struct ef_multilog_writer;

/* `filter` in the filter language, empty for all; `sample_ratio` above 0, at most
 * 1. In force when it returns. Returns 0, -EINVAL with `err`, or -ENOMEM. */
int ef_multilog_setup_packet_capture(struct ef_multilog *log, const char *filter, double sample_ratio,
                                     struct ef_error *err);

/* Private to lib/store. The writer has put `n` rows, not yet published, behind
 * `lane->row`: keeps those that the log takes, closes up the gaps and returns
 * their number. `variable_start`: bytes of variable parts before them. */
uint32_t ef_capture_rows(struct ef_multilog_writer *lane, uint32_t n, uint32_t variable_start);

void ef_capture_destroy(struct ef_capture *capture); /* NULL is fine. */

#endif
