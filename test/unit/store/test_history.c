/* SPDX-License-Identifier: Apache-2.0 */
/* Everything at once: 1 to 8 writers and readers, while indexes, filters,
 * aggregates and triggers come and go and the log is frozen now and then. The
 * model is sequential and simple: a snapshot is a prefix of each writer's records,
 * which follow from their numbers, so what any question must be answered is known
 * from the snapshot's tails alone. With memory for all records answers are equal to
 * the model's; with little memory nothing else is found, and what is missing left. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "store/aggregate.h"
#include "store/derived.h"
#include "store/filter_set.h"
#include "store/indexes.h"
#include "store/predicate.h"
#include "store/trigger.h"

enum { MAX_THREADS = 8, N_RECORDS = 4000, MAX_BATCH = 12, BATCHES_PER_ANSWER = 24 };

/* --- Records and questions ------------------------------------------------------------ */

struct record {
    struct ef_time time;
    uint32_t number, size;
    uint16_t port;
    uint8_t lane, host;
};

static const struct ef_column columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct record, time), 0},
    {"number", EF_COLUMN_U32, offsetof(struct record, number), 0},
    {"size", EF_COLUMN_U32, offsetof(struct record, size), 0},
    {"port", EF_COLUMN_U16, offsetof(struct record, port), 0},
    {"lane", EF_COLUMN_U8, offsetof(struct record, lane), 0},
    {"host", EF_COLUMN_U8, offsetof(struct record, host), 0},
};

/* Times ascend, but not strictly in order. */
static struct record
make_record(unsigned lane, uint32_t number)
{
    uint64_t r = (number + 1 + lane * UINT64_C(1000003)) * UINT64_C(0x9E3779B97F4A7C15);
    r = (r ^ r >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return (struct record){.time = {(int64_t) number * 1000 + (int64_t) (r >> 52)},
                           .number = number,
                           .size = (uint32_t) (r >> 8) % 1500,
                           .port = (uint16_t) ((r >> 30) % 8),
                           .lane = (uint8_t) lane,
                           .host = (uint8_t) (r >> 40)};
}

static bool
is_port_3(const struct record *r)
{
    return r->port == 3;
}

static bool
is_few(const struct record *r)
{
    return (r->port == 1 || r->port >= 6) && r->host < 20;
}

static bool
is_large_or_host_7(const struct record *r)
{
    return r->size >= 1400 || r->host == 7;
}

static bool
is_not(const struct record *r)
{
    return !(r->port == 2 || r->size < 500 || r->lane == 1);
}

static bool
is_any(const struct record *r)
{
    (void) r;
    return true;
}

static const struct {
    const char *text;
    bool (*matches)(const struct record *);
} questions[] = {
    {"port == 3", is_port_3},
    {"port in {1, 6..7} && host < 20", is_few},
    {"size >= 1400 || host == 7", is_large_or_host_7},
    {"!(port == 2 || size < 500 || lane == 1)", is_not},
    {"", is_any},
};

enum { N_QUESTIONS = EF_ARRAY_SIZE(questions) };

/* --- The history ---------------------------------------------------------------------- */

struct history {
    struct ef_multilog *log;
    bool is_whole; /* Nothing leaves memory. */
    unsigned n_writers, n_readers;
    atomic_uint n_writing, n_answers;
    struct ef_predicate *predicates[N_QUESTIONS];
    bool is_end[MAX_THREADS][N_RECORDS + 1]; /* A batch ends before that record. */
    struct thread {
        struct history *history;
        struct ef_multilog_writer *writer;
        pthread_t thread;
        unsigned number, seed;
        struct ef_multilog_snapshot last;
        uint8_t times[MAX_THREADS][N_RECORDS]; /* How often an answer had a record. */
    } writers[MAX_THREADS], readers[MAX_THREADS];
};

static uint32_t
draw(struct thread *t, uint32_t n)
{
    return (uint32_t) rand_r(&t->seed) % n;
}

/* What the program cannot go on with; fails in any thread. */
static void
demand(bool is, const char *what, const char *question)
{
    if (!is) {
        fprintf(stderr, "%s: '%s'\n", what, question);
        abort();
    }
}

/* Every so many batches, a writer lets a reader answer something, so that they
 * run beside each other however fast either is. */
static void *
write_all(void *thread_)
{
    struct thread *t = thread_;
    struct history *h = t->history;
    unsigned n_batches = 0, n_answers = 0;
    for (uint32_t i = 0, n; i < N_RECORDS; i += n) {
        struct record batch[MAX_BATCH];
        for (n = 0; n == 0 || !h->is_end[t->number][i + n]; n++) {
            batch[n] = make_record(t->number, i + n);
        }
        demand(!ef_multilog_append(t->writer, batch, n), "append", "");
        if (++n_batches % BATCHES_PER_ANSWER == 0) {
            struct ef_time end = ef_time_add_ms(ef_time_mono(), 1000);
            while (atomic_load(&h->n_answers) <= n_answers && ef_time_before(ef_time_mono(), end)) {
                sched_yield();
            }
            n_answers = atomic_load(&h->n_answers);
        }
    }
    ef_multilog_writer_close(t->writer);
    atomic_fetch_sub(&h->n_writing, 1);
    return NULL;
}

/* A prefix in whole batches, which has all that the reader's last one had. */
static void
check_snapshot(struct thread *t, const struct ef_multilog_snapshot *s)
{
    for (unsigned lane = 0; lane < t->history->n_writers; lane++) {
        demand(s->tails[lane] <= N_RECORDS && t->history->is_end[lane][s->tails[lane]], "part of a batch", "");
        demand(s->tails[lane] >= t->last.tails[lane], "an earlier instant", "");
    }
    t->last = *s;
}

struct model {
    struct ef_aggregate_value sizes; /* Of all matches. */
    uint64_t n_evicted;              /* So many may be missing. */
};

static bool
is_asked_for(const struct ef_multilog_query *query, unsigned question, const struct record *r)
{
    return questions[question].matches(r) && r->time.ns >= query->from.ns && r->time.ns <= query->to.ns;
}

static struct model
make_model(const struct thread *t, const struct ef_multilog_query *query, unsigned question)
{
    struct model model = {EF_AGGREGATE_VALUE_INIT, 0};
    struct ef_multilog_stats stats;
    for (unsigned lane = 0; lane < t->history->n_writers; lane++) {
        for (uint32_t i = 0; i < query->snapshot.tails[lane]; i++) {
            struct record r = make_record(lane, i);
            if (is_asked_for(query, question, &r)) {
                struct ef_aggregate_value one = {1, r.size, r.size, r.size};
                ef_aggregate_merge(&model.sizes, &one);
            }
        }
    }
    ef_multilog_stats(t->history->log, &stats);
    model.n_evicted = stats.n_evicted;
    demand(!t->history->is_whole || !model.n_evicted, "records left", "");
    return model;
}

static void
check_records(struct thread *t, const struct ef_multilog_query *query, unsigned question)
{
    struct ef_multilog_cursor *cursor;
    const char *text = questions[question].text;
    uint64_t n = 0;
    memset(t->times, 0, sizeof t->times);
    demand(!ef_multilog_query(t->history->log, query, &cursor), "query", text);
    for (; ef_multilog_next(cursor); n++) {
        struct record r, e;
        ef_multilog_record(cursor, &r);
        demand(r.lane < t->history->n_writers && r.number < query->snapshot.tails[r.lane], "not visible", text);
        e = make_record(r.lane, r.number);
        demand(r.time.ns == e.time.ns && r.size == e.size && r.port == e.port && r.host == e.host, "mixed up", text);
        demand(is_asked_for(query, question, &r), "does not match", text);
        demand(!t->times[r.lane][r.number]++, "twice", text);
    }
    struct model model = make_model(t, query, question);
    demand(n + model.n_evicted >= model.sizes.count, "records missing", text);
    demand(ef_multilog_n_missed(cursor) <= model.n_evicted, "counted as missed", text);
    ef_multilog_cursor_close(cursor);
}

static void
check_value(struct thread *t, const struct ef_multilog_query *query, unsigned question,
            const struct ef_aggregate_value *value)
{
    const char *text = questions[question].text;
    struct model model = make_model(t, query, question);
    const struct ef_aggregate_value *e = &model.sizes;
    demand(value->count <= e->count && value->count + model.n_evicted >= e->count, "count", text);
    demand(value->sum <= e->sum && value->min >= e->min && value->max <= e->max, "a value of another record", text);
    if (!model.n_evicted) {
        demand(value->sum == e->sum && value->min == e->min && value->max == e->max, "aggregate", text);
    }
}

/* --- Readers -------------------------------------------------------------------------- */

static void
ask_records(struct thread *t, struct ef_multilog_query *query, unsigned question)
{
    query->plan = (enum ef_multilog_plan) draw(t, 3);
    query->newest_first = draw(t, 2);
    query->predicate = t->history->predicates[question];
    check_records(t, query, question);
}

static void
ask_filter(struct thread *t, struct ef_multilog_query *query, unsigned question)
{
    char name[16];
    snprintf(name, sizeof name, "filter%u", question);
    struct ef_installed_filter *filter = ef_multilog_get_filter(t->history->log, name);
    if (filter) {
        query->filter = filter;
        check_records(t, query, question);
        ef_installed_filter_release(filter);
    }
}

static void
ask_aggregate(struct thread *t, struct ef_multilog_query *query, unsigned question)
{
    char name[16];
    struct ef_aggregate_value value;
    snprintf(name, sizeof name, "sizes%u", question);
    int rc = ef_multilog_get_aggregate(t->history->log, name, &query->snapshot, query->from, query->to, &value);
    demand(!rc || rc == -ENOENT, "aggregate", name);
    if (!rc) {
        check_value(t, query, question, &value);
    }
}

static void
ask_ad_hoc(struct thread *t, struct ef_multilog_query *query, unsigned question)
{
    struct ef_aggregate_value value;
    demand(!ef_multilog_aggregate(t->history->log, questions[question].text, "SUM(size)", &query->snapshot, query->from,
                                  query->to, &value, NULL),
           "ad hoc", questions[question].text);
    check_value(t, query, question, &value);
}

static void
ask(struct thread *t)
{
    static void (*const kinds[])(struct thread *, struct ef_multilog_query *, unsigned) = {ask_records, ask_filter,
                                                                                           ask_aggregate, ask_ad_hoc};
    struct ef_multilog_query query = {.from = {INT64_MIN}, .to = {INT64_MAX}};
    if (draw(t, 3) == 0) {
        query.from.ns = (int64_t) draw(t, N_RECORDS) * 1000;
        query.to.ns = query.from.ns + (int64_t) draw(t, N_RECORDS) * 500;
    }
    ef_multilog_snapshot(t->history->log, &query.snapshot);
    check_snapshot(t, &query.snapshot);
    kinds[draw(t, EF_ARRAY_SIZE(kinds))](t, &query, draw(t, N_QUESTIONS));
    atomic_fetch_add(&t->history->n_answers, 1);
}

static void *
read_all(void *thread_)
{
    struct thread *t = thread_;
    unsigned n_left = 5; /* After the writers. */
    while (n_left) {
        n_left -= !atomic_load(&t->history->n_writing);
        ask(t);
    }
    return NULL;
}

/* --- Changes -------------------------------------------------------------------------- */

/* One that is removed has its slot until the background thread has taken it off
 * all buckets, so there may be none for a new one. */
static void
change_index(struct history *h, unsigned column)
{
    struct ef_multilog_index index = {.column = columns[column].name};
    int rc = ef_multilog_add_index(h->log, &index, NULL);
    if (rc == -EEXIST) {
        rc = ef_multilog_remove_index(h->log, &index);
    }
    demand(!rc || rc == -EBUSY, "index", index.column);
}

/* A filter with an aggregate and triggers, or none. */
static void
change_filter(struct history *h, unsigned question)
{
    char filter[16], aggregate[16];
    snprintf(filter, sizeof filter, "filter%u", question);
    snprintf(aggregate, sizeof aggregate, "sizes%u", question);
    int rc = ef_multilog_add_filter(h->log, filter, questions[question].text, NULL);
    if (rc == -EEXIST) {
        demand(!ef_multilog_remove_filter(h->log, filter), "remove", filter);
        return;
    }
    if (rc == -EBUSY) { /* As above, if it is the first one. */
        return;
    }
    demand(!rc && !ef_multilog_add_aggregate(h->log, aggregate, filter, "SUM(size)", NULL), "aggregate", filter);
    demand(!ef_multilog_install_trigger(h->log, filter, aggregate, "> 100000", 1 + question % 3, NULL), "trigger",
           filter);
}

static void
freeze_a_while(struct history *h, struct thread *t)
{
    struct ef_multilog_snapshot frozen, seen;
    demand(!ef_multilog_freeze(h->log, &frozen), "freeze", "");
    for (unsigned n = 1 + draw(t, 20); n > 0; n--) {
        ef_multilog_snapshot(h->log, &seen);
        demand(!memcmp(&seen, &frozen, sizeof seen), "not frozen", "");
        sched_yield();
    }
    ef_multilog_unfreeze(h->log);
}

static void
change_something(struct history *h, struct thread *t)
{
    switch (draw(t, 4)) {
    case 0:
        change_index(h, draw(t, EF_ARRAY_SIZE(columns)));
        break;
    case 1:
        change_filter(h, draw(t, N_QUESTIONS));
        break;
    case 2:
        freeze_a_while(h, t);
        break;
    default:
        ef_multilog_flush_derived(h->log);
    }
}

/* --- Rounds --------------------------------------------------------------------------- */

static void
start(struct history *h, struct thread *t, unsigned number, void *(*run)(void *) )
{
    t->history = h;
    t->number = number;
    t->seed += number;
    if (run == write_all) {
        assert_int_equal(ef_multilog_writer_open(h->log, &t->writer), 0);
        for (uint32_t i = 0; i < N_RECORDS; i += 1 + draw(t, MAX_BATCH)) {
            h->is_end[number][i] = true;
        }
        h->is_end[number][N_RECORDS] = true;
    }
    assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
}

static void
run_round(unsigned n_writers, unsigned n_readers, bool is_whole)
{
    struct history *h = calloc(1, sizeof *h);
    struct ef_schema schema;
    struct thread changer = {.seed = n_writers * 100 + n_readers};
    assert_non_null(h);
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), NULL), 0);
    /* Buckets of 128 rows; half of the memory may become that of indexes. */
    struct ef_multilog_config config = {.schema = &schema,
                                        .memory_bytes = (is_whole ? 80 : 5) * UINT64_C(4096) * n_writers,
                                        .max_writers = n_writers,
                                        .bucket_rows = 128};
    assert_int_equal(ef_multilog_create(&config, &h->log, NULL), 0);
    h->is_whole = is_whole;
    h->n_writers = n_writers;
    h->n_readers = n_readers;
    h->n_writing = n_writers;
    for (unsigned i = 0; i < N_QUESTIONS; i++) {
        assert_int_equal(ef_predicate_compile(questions[i].text, &schema, &h->predicates[i], NULL), 0);
    }
    for (unsigned i = 0; i < n_writers; i++) {
        start(h, &h->writers[i], i, write_all);
    }
    for (unsigned i = 0; i < n_readers; i++) {
        start(h, &h->readers[i], i, read_all);
    }
    while (atomic_load(&h->n_writing)) {
        change_something(h, &changer);
    }
    for (unsigned i = 0; i < n_writers; i++) {
        pthread_join(h->writers[i].thread, NULL);
    }
    for (unsigned i = 0; i < n_readers; i++) {
        pthread_join(h->readers[i].thread, NULL);
    }
    ef_multilog_destroy(h->log);
    for (unsigned i = 0; i < N_QUESTIONS; i++) {
        ef_predicate_destroy(h->predicates[i]);
    }
    free(h);
}

static void
test_with_room(void **state)
{
    (void) state;
    for (unsigned n = 1; n <= MAX_THREADS; n++) {
        run_round(n, MAX_THREADS + 1 - n, true);
        run_round(n, n, true);
    }
}

static void
test_leaving(void **state)
{
    (void) state;
    for (unsigned n = 1; n <= MAX_THREADS; n++) {
        run_round(n, 1 + n * 5 % MAX_THREADS, false);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_room),
        cmocka_unit_test(test_leaving),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
