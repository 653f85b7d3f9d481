/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that takes every closed trace to the archive on disk. It reads what
 * the workers appended to the memory store (trace_store.h), so it costs them
 * nothing; a trace that leaves memory before it was read is counted as missed.
 *
 *     ef_archiver_create(&config, store, &archiver, &err);   // opens the directory
 *     ef_archiver_start(archiver, &err);
 *     ... ef_archiver_destroy(archiver);                     // takes the rest, seals
 *
 * The workers must have stopped before destroy, and the store must still be
 * there. Statistics may be asked for from any thread. */
#ifndef EF_ANALYZER_ARCHIVER_H
#define EF_ANALYZER_ARCHIVER_H

#include "analyzer/trace_store.h"
#include "store/archive/archive.h"

enum { EF_ARCHIVER_MAX_QUESTIONS = 4 };

struct ef_archiver;

struct ef_archiver_config {
    const char *dir; /* Exists. Borrowed. */
    int64_t max_age_ns;
    uint64_t max_bytes;
};

struct ef_archiver_stats {
    uint64_t n_taken;  /* Traces handed to the archive. */
    uint64_t n_missed; /* Traces that left memory before. */
    struct ef_archive_stats archive;
};

/* Returns 0 or a negative errno with `err`, as ef_archive_open(). */
int ef_archiver_create(const struct ef_archiver_config *config, struct ef_trace_store *store,
                       struct ef_archiver **archiver, struct ef_error *err);
int ef_archiver_start(struct ef_archiver *archiver, struct ef_error *err);
void ef_archiver_destroy(struct ef_archiver *archiver); /* NULL is fine. */

/* What it writes to, for questions. */
struct ef_archive *ef_archiver_archive(struct ef_archiver *archiver);

/* For a question to the archive: asks for all that is in memory now to be handed
 * over at once. Then enter is true, once, as soon as that has been done and fewer
 * than EF_ARCHIVER_MAX_QUESTIONS are under way; it waits for a millisecond at
 * most. Leave ends the question. */
uint64_t ef_archiver_hurry(struct ef_archiver *archiver);
bool ef_archiver_enter(struct ef_archiver *archiver, uint64_t ticket);
void ef_archiver_leave(struct ef_archiver *archiver);

void ef_archiver_stats(struct ef_archiver *archiver, struct ef_archiver_stats *stats);

#endif
