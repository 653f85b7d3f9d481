/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/store/derived: every sealed bucket is handled once and in order,
 * late derivers get what is there, required ones hold memory, and what a reader
 * holds stays after detach; then all of it at once. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/multilog.h"
#include "store/multilog_private.h"

struct record {
    struct ef_time time;
    uint64_t number;
};

static const struct ef_column columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct record, time)},
    {"number", EF_COLUMN_U64, offsetof(struct record, number)},
};

enum { ROWS = 64 };

static struct ef_multilog *
create(unsigned n_writers, unsigned n_buckets)
{
    struct ef_schema schema;
    struct ef_multilog *log;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_schema_init(&schema, columns, EF_ARRAY_SIZE(columns), sizeof(struct record), &err), 0);
    struct ef_multilog_config config = {
        .schema = &schema, .memory_bytes = n_buckets * 4096, .max_writers = n_writers, .bucket_rows = ROWS};
    assert_int_equal(ef_multilog_create(&config, &log, &err), 0);
    return log;
}

static int
append(struct ef_multilog_writer *writer, uint64_t first, uint32_t n)
{
    struct record batch[ROWS];
    for (uint32_t i = 0; i < n; i++) {
        batch[i] = (struct record){{(int64_t) (first + i)}, first + i};
    }
    return ef_multilog_append(writer, batch, n);
}

/* Sums each bucket's numbers. Callbacks count what is wrong instead of failing,
 * since they run in another thread. */
struct summer {
    uint64_t next[EF_MULTILOG_MAX_WRITERS]; /* Sequence expected of each lane, at least. */
    _Atomic uint64_t n_sealed, n_left, n_wrong, n_rows;
    atomic_bool is_gone;
    _Atomic(pthread_mutex_t *) gate; /* Held by the test to stop the thread within a call. */
};

static void *
seal(void *summer_, const struct ef_sealed *bucket)
{
    struct summer *summer = summer_;
    pthread_mutex_t *gate = atomic_load(&summer->gate);
    if (gate) {
        pthread_mutex_lock(gate);
        pthread_mutex_unlock(gate);
    }
    uint64_t *sum = calloc(1, sizeof *sum);
    for (uint32_t i = 0; i < bucket->id.n_rows; i++) {
        uint64_t number;
        memcpy(&number, bucket->columns[1] + (size_t) i * sizeof number, sizeof number);
        *sum += number;
        summer->n_wrong += number != bucket->id.first_record + i;
    }
    summer->n_wrong += bucket->id.sequence < summer->next[bucket->id.lane];
    summer->next[bucket->id.lane] = bucket->id.sequence + 1;
    summer->n_wrong += bucket->id.min.ns != (int64_t) bucket->id.first_record;
    summer->n_wrong += bucket->id.max.ns != (int64_t) (bucket->id.first_record + bucket->id.n_rows - 1);
    summer->n_rows += bucket->id.n_rows;
    summer->n_sealed++;
    return sum;
}

static void
leave(void *summer_, const struct ef_sealed_id *id, void *sum_)
{
    struct summer *summer = summer_;
    uint64_t *sum = sum_, n = id->n_rows;
    summer->n_wrong += *sum != n * id->first_record + n * (n - 1) / 2;
    *sum = 0;
    free(sum);
    summer->n_left++;
}

static void
gone(void *summer_)
{
    struct summer *summer = summer_;
    summer->n_wrong += atomic_load(&summer->is_gone) || summer->n_left != summer->n_sealed;
    atomic_store(&summer->is_gone, true);
}

static unsigned
attach(struct ef_multilog *log, struct summer *summer, bool required)
{
    struct ef_deriver deriver = {.required = required, .seal = seal, .leave = leave, .gone = gone, .aux = summer};
    int slot;
    while ((slot = ef_multilog_attach(log, &deriver)) == -EBUSY) {
        ef_multilog_flush_derived(log); /* Some slot is about to become free. */
    }
    assert_true(slot >= 0);
    return (unsigned) slot;
}

static void
test_in_order_and_late(void **state)
{
    struct ef_multilog *log = create(1, 8);
    struct ef_multilog_writer *writer;
    static struct summer early, late;
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    unsigned slot = attach(log, &early, false);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(append(writer, i * ROWS, ROWS), 0);
        ef_multilog_flush_derived(log);
        assert_int_equal(early.n_sealed, i); /* The last one is open. */
    }
    unsigned late_slot = attach(log, &late, false);
    ef_multilog_seal(writer);
    ef_multilog_flush_derived(log);
    assert_int_equal(early.n_sealed, 5);
    assert_int_equal(late.n_sealed, 5);
    struct ef_bucket *bucket = ef_lane_bucket(writer, 2);
    assert_true(ef_bucket_pin(&log->pool, bucket, ef_bucket_id(writer, 2)));
    const uint64_t *sum = ef_bucket_derived(bucket, slot);
    ef_multilog_detach(log, slot);
    ef_multilog_flush_derived(log);
    assert_int_equal(early.n_left, 4); /* All but ours. */
    assert_false(early.is_gone);
    assert_int_equal(*sum, ROWS * 2 * ROWS + ROWS * (ROWS - 1) / 2);
    assert_null(ef_bucket_derived(bucket, slot));
    assert_non_null(ef_bucket_derived(bucket, late_slot));
    ef_bucket_drop(&log->pool, bucket);
    while (!atomic_load(&early.is_gone)) {
        ef_multilog_flush_derived(log);
    }
    for (unsigned i = 5; i < 30; i++) { /* Old ones leave. */
        assert_int_equal(append(writer, i * ROWS, ROWS), 0);
    }
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
    assert_true(late.is_gone);
    assert_int_equal(early.n_wrong, 0);
    assert_int_equal(late.n_wrong, 0);
    assert_int_equal(late.n_left, late.n_sealed);
}

static void
test_required(void **state)
{
    struct ef_multilog *log = create(1, 4);
    struct ef_multilog_writer *writer;
    static struct summer summer;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&summer.gate, &gate);
    assert_int_equal(ef_multilog_writer_open(log, &writer), 0);
    attach(log, &summer, true);
    pthread_mutex_lock(&gate);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(append(writer, i * ROWS, ROWS), 0);
    }
    assert_int_equal(append(writer, 4 * ROWS, 1), -ENOBUFS);
    struct ef_multilog_stats stats;
    ef_multilog_stats(log, &stats);
    assert_int_equal(stats.n_refused, 1);
    assert_int_equal(stats.n_evicted, 0);
    pthread_mutex_unlock(&gate);
    ef_multilog_flush_derived(log);
    for (unsigned i = 4; i < 100; i++) {
        int rc;
        while ((rc = append(writer, i * ROWS, ROWS)) == -ENOBUFS) {
            ef_multilog_flush_derived(log);
        }
        assert_int_equal(rc, 0);
    }
    ef_multilog_writer_close(writer);
    ef_multilog_destroy(log);
    assert_int_equal(summer.n_rows, 100 * ROWS);
    assert_int_equal(summer.n_wrong, 0);
}

static void
test_slots(void **state)
{
    struct ef_multilog *log = create(1, 4);
    static struct summer summers[EF_MAX_DERIVERS];
    for (unsigned i = 0; i < EF_MAX_DERIVERS; i++) {
        assert_int_equal(attach(log, &summers[i], false), i);
    }
    struct ef_deriver deriver = {.seal = seal};
    assert_int_equal(ef_multilog_attach(log, &deriver), -EBUSY);
    ef_multilog_detach(log, 7);
    ef_multilog_flush_derived(log);
    assert_true(summers[7].is_gone);
    static struct summer again;
    assert_int_equal(attach(log, &again, false), 7);
    ef_multilog_destroy(log);
    assert_true(again.is_gone);
}

/* --- All at once ---------------------------------------------------------------------- */

enum { N_WRITERS = 3, N_BATCHES = 4000 };

struct writing {
    struct ef_multilog_writer *writer;
    pthread_t thread;
    atomic_int *n_writing;
};

static void *
write_all(void *writing_)
{
    struct writing *writing = writing_;
    for (unsigned i = 0; i < N_BATCHES; i++) {
        if (append(writing->writer, i * 16, 16)) {
            abort();
        }
    }
    atomic_fetch_sub(writing->n_writing, 1);
    return NULL;
}

/* Looks at some bucket as a query does. */
static void
read_some(struct ef_multilog *log, unsigned slot, unsigned lane_number)
{
    struct ef_multilog_writer *lane = &log->lanes[lane_number];
    uint64_t sequence = atomic_load(&lane->first) + 2;
    if (sequence >= atomic_load(&lane->n_sealed)) {
        return;
    }
    struct ef_bucket *bucket = ef_lane_bucket(lane, sequence);
    if (ef_bucket_pin(&log->pool, bucket, ef_bucket_id(lane, sequence))) {
        const uint64_t *sum = ef_bucket_derived(bucket, slot);
        uint64_t n = atomic_load(&bucket->n_rows);
        if (sum) {
            assert_int_equal(*sum, n * bucket->first_record + n * (n - 1) / 2);
        }
        ef_bucket_drop(&log->pool, bucket);
    }
}

static void
test_all_at_once(void **state)
{
    struct ef_multilog *log = create(N_WRITERS, 30);
    struct writing writings[N_WRITERS];
    static struct summer summers[40];
    atomic_int n_writing = N_WRITERS;
    for (unsigned i = 0; i < N_WRITERS; i++) {
        writings[i].n_writing = &n_writing;
        assert_int_equal(ef_multilog_writer_open(log, &writings[i].writer), 0);
        assert_int_equal(pthread_create(&writings[i].thread, NULL, write_all, &writings[i]), 0);
    }
    for (unsigned round = 0; round < EF_ARRAY_SIZE(summers) || atomic_load(&n_writing); round++) {
        if (round >= EF_ARRAY_SIZE(summers)) {
            read_some(log, 0, round % N_WRITERS);
            continue;
        }
        unsigned slot = attach(log, &summers[round], false);
        for (unsigned i = 0; i < 50; i++) {
            read_some(log, slot, i % N_WRITERS);
        }
        if (round % 2) {
            ef_multilog_detach(log, slot);
        }
    }
    for (unsigned i = 0; i < N_WRITERS; i++) {
        pthread_join(writings[i].thread, NULL);
        ef_multilog_writer_close(writings[i].writer);
    }
    ef_multilog_destroy(log);
    for (unsigned i = 0; i < EF_ARRAY_SIZE(summers); i++) {
        assert_true(summers[i].is_gone);
        assert_int_equal(summers[i].n_wrong, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order_and_late),
        cmocka_unit_test(test_required),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_all_at_once),
    };
    return cmocka_run_group_tests_name("derived", tests, NULL, NULL);
}
