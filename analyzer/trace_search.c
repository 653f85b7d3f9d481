/* SPDX-License-Identifier: Apache-2.0 */
/* Memory's part of an answer and the archive's, merged; see trace_search.h. */
#include <config.h>

#include "analyzer/trace_search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace_history.h"

enum {
    ENTER_MS = 5000, /* For the archiver to come after, and for other answers to end. */
    DROPS = 256,     /* In one slice of work. */
};

enum phase { MEMORY, ARCHIVER, ARCHIVE, MERGE };

/* The next trace of one side. */
struct front {
    bool is_there, is_over;
    struct ef_trace trace;
};

struct ef_trace_search {
    struct ef_trace_store *store;
    struct ef_archiver *archiver;
    struct ef_trace_query query;
    enum phase phase;

    struct ef_trace_cursor *memory;
    struct front recent;
    struct ef_time split; /* What started later is memory's. */
    uint64_t n_lost;      /* As far as the archive was asked for it. */

    uint64_t ticket; /* The archiver's, */
    struct ef_time deadline;
    bool is_admitted; /* and whether we have entered. */
    struct ef_trace_history *history;
    struct front old;

    bool is_counted; /* Both sides have said how much they have. */
    uint64_t to_skip, n_given;
    struct ef_trace_key next; /* No trace before it is to be given any more. */
    bool more;
    const char *incomplete;
};

/* --- The two sides -------------------------------------------------------------------- */

/* Returns 0 once the front is there or over, else -EAGAIN. */
static int
fetch_recent(struct ef_trace_search *s)
{
    if (s->recent.is_there || s->recent.is_over) {
        return 0;
    }
    int rc = ef_trace_cursor_next(s->memory, &s->recent.trace);
    s->recent.is_there = rc > 0;
    s->recent.is_over = !rc;
    return rc < 0 ? rc : 0;
}

static int
fetch_old(struct ef_trace_search *s)
{
    if (!s->history || s->old.is_there || s->old.is_over) {
        return 0;
    }
    int rc = ef_trace_history_next(s->history, &s->old.trace);
    s->old.is_there = rc > 0;
    s->old.is_over = !rc;
    return rc < 0 ? rc : 0;
}

static struct ef_trace_key
key_of(const struct ef_trace *trace)
{
    return (struct ef_trace_key){trace->start, trace->id};
}

/* Has memory's traces that are the archive's to tell dropped. */
static int
drop_archived(struct ef_trace_search *s)
{
    for (int i = 0; i < DROPS; i++) {
        if (fetch_recent(s)) {
            return -EAGAIN;
        }
        if (!s->recent.is_there || ef_time_before(s->split, s->recent.trace.start)) {
            return 0;
        }
        s->recent.is_there = false;
    }
    return -EAGAIN;
}

static uint64_t
n_recent(const struct ef_trace_search *s)
{
    return s->recent.is_there + ef_trace_cursor_left(s->memory);
}

static void
leave(struct ef_trace_search *s)
{
    if (s->is_admitted) {
        ef_archiver_leave(s->archiver);
        s->is_admitted = false;
    }
}

/* Draws the border where memory begins now, and has the archive come after. */
static void
draw_border(struct ef_trace_search *s)
{
    struct ef_trace_store_stats stats;
    leave(s);
    ef_trace_store_stats(s->store, &stats);
    s->split = stats.newest_evicted;
    s->n_lost = ef_trace_cursor_lost(s->memory);
    s->ticket = ef_archiver_hurry(s->archiver);
    s->deadline = ef_time_add_ms(ef_time_mono(), ENTER_MS);
    s->phase = ARCHIVER;
}

static void
open_history(struct ef_trace_search *s)
{
    struct ef_trace_history_query query = {
        .filter = s->query.filter,
        .condition = s->query.condition,
        .has_id = s->query.has_id,
        .id_low = s->query.id_low,
        .id_high = s->query.id_high,
        .from = s->next,
        .end = s->query.end,
        .has_before = s->query.has_before,
        .before = s->query.before,
        .limit = s->is_counted ? 0 : s->query.limit,
        .fresh_to = s->split,
    };
    if (!s->is_counted && s->more && s->recent.is_there && n_recent(s) == s->query.limit) {
        /* Memory has as many as are asked for, and more: nothing older will do. */
        query.from = (struct ef_trace_key){s->recent.trace.start, 0};
    }
    ef_trace_history_destroy(s->history);
    s->history = ef_trace_history_create(ef_archiver_archive(s->archiver), &query);
    s->old.is_there = s->old.is_over = false;
}

/* --- Phases: each returns 0 when it is over ----------------------------------------------- */

static int
search_memory(struct ef_trace_search *s)
{
    if (fetch_recent(s)) {
        return -EAGAIN;
    }
    s->more = ef_trace_cursor_more(s->memory);
    s->phase = MERGE;
    if (s->archiver) {
        draw_border(s);
    }
    return 0;
}

static int
wait_for_archiver(struct ef_trace_search *s)
{
    if (drop_archived(s)) {
        return -EAGAIN;
    }
    s->is_admitted = ef_archiver_enter(s->archiver, s->ticket);
    if (!s->is_admitted) {
        if (ef_time_before(ef_time_mono(), s->deadline)) {
            return -EAGAIN;
        }
        s->incomplete = "the archive is busy; ask again later";
        s->phase = MERGE;
        return 0;
    }
    open_history(s);
    s->phase = s->is_counted ? MERGE : ARCHIVE;
    return 0;
}

/* The older front, or NULL if both sides are over. */
static struct front *
choose(struct ef_trace_search *s)
{
    if (!s->old.is_there) {
        return s->recent.is_there ? &s->recent : NULL;
    }
    bool is_recent = s->recent.is_there && ef_trace_key_compare(key_of(&s->recent.trace), key_of(&s->old.trace)) < 0;
    return is_recent ? &s->recent : &s->old;
}

static bool
has_lost(const struct ef_trace_search *s)
{
    return ef_trace_cursor_lost(s->memory) != s->n_lost;
}

/* Where the answer begins: what is too much of the two sides is skipped. */
static int
search_archive(struct ef_trace_search *s)
{
    if (fetch_old(s)) {
        return -EAGAIN;
    }
    if (has_lost(s)) {
        draw_border(s);
        return 0;
    }
    uint64_t n = n_recent(s) + ef_trace_history_found(s->history);
    s->to_skip = s->query.limit && n > s->query.limit ? n - s->query.limit : 0;
    s->more |= ef_trace_history_more(s->history) || s->to_skip > 0;
    const struct front *first = choose(s);
    s->next = first ? key_of(&first->trace) : s->next;
    s->is_counted = true;
    s->phase = MERGE;
    return 0;
}

static int
merge(struct ef_trace_search *s, struct ef_trace *trace)
{
    if (fetch_recent(s)) {
        return -EAGAIN;
    }
    if (s->is_counted && has_lost(s)) {
        draw_border(s);
        return -EAGAIN;
    }
    if (fetch_old(s)) {
        return -EAGAIN;
    }
    struct front *front = choose(s);
    if (!front || (s->query.limit && s->n_given == s->query.limit)) {
        return 0;
    }
    front->is_there = false;
    s->next = ef_trace_key_after(key_of(&front->trace));
    if (s->to_skip > 0) {
        s->to_skip--;
        return -EAGAIN;
    }
    s->n_given++;
    *trace = front->trace;
    return 1;
}

/* --- The seam ----------------------------------------------------------------------------- */

int
ef_trace_search_create(struct ef_trace_store *store, struct ef_archiver *archiver, const struct ef_trace_query *query,
                       struct ef_trace_search **out, struct ef_error *err)
{
    if (archiver && query->limit > EF_TRACE_HISTORY_MAX_LIMIT) {
        return ef_error_set(err, -EINVAL, "with an archive at most %d traces, or 0 for all",
                            EF_TRACE_HISTORY_MAX_LIMIT);
    }
    struct ef_trace_search *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -EBUSY, "out of memory for the answer");
    }
    s->store = store;
    s->archiver = archiver;
    s->query = *query;
    s->next.start = query->start;
    int rc = ef_trace_store_query(store, query, &s->memory, err);
    if (rc) {
        ef_trace_search_destroy(s);
        return rc;
    }
    *out = s;
    return 0;
}

void
ef_trace_search_destroy(struct ef_trace_search *s)
{
    if (s) {
        ef_trace_cursor_close(s->memory);
        ef_trace_history_destroy(s->history);
        leave(s);
        free(s);
    }
}

int
ef_trace_search_next(struct ef_trace_search *s, struct ef_trace *trace)
{
    int rc = 0;
    switch (s->phase) {
    case MEMORY:
        rc = search_memory(s);
        break;
    case ARCHIVER:
        rc = wait_for_archiver(s);
        break;
    case ARCHIVE:
        rc = search_archive(s);
        break;
    case MERGE:
        return merge(s, trace);
    }
    return rc ? rc : -EAGAIN;
}

bool
ef_trace_search_more(const struct ef_trace_search *s)
{
    return s->more;
}

/* Memory's explanation, an object, with what was read of the archive added. */
static char *
add_archive(char *memory, const struct ef_archive_effort *e)
{
    char *text, *end = strrchr(memory, '}');
    int n =
        asprintf(&text,
                 "%.*s,\"archive\":{\"segments\":%" PRIu64 ",\"row_groups\":%" PRIu64 ",\"row_groups_skipped\":%" PRIu64
                 ",\"row_groups_sifted\":%" PRIu64 ",\"traces\":%" PRIu64 ",\"traces_read\":%" PRIu64 "}}",
                 (int) (end - memory), memory, e->n_segments, e->n_groups, e->n_groups_skipped, e->n_groups_sifted,
                 e->n_rows, e->n_rows_read);
    free(memory);
    return n < 0 ? NULL : text;
}

char *
ef_trace_search_explain(const struct ef_trace_search *s)
{
    char *memory = ef_trace_cursor_explain(s->memory);
    if (!memory || !s->history) {
        return memory;
    }
    struct ef_archive_effort effort;
    ef_trace_history_effort(s->history, &effort);
    return add_archive(memory, &effort);
}

const char *
ef_trace_search_incomplete(const struct ef_trace_search *s)
{
    bool has_failed = s->history && ef_trace_history_n_failed(s->history) > 0;
    return has_failed ? "part of the archive could not be read" : s->incomplete;
}
