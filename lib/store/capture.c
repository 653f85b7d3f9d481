/* SPDX-License-Identifier: Apache-2.0 */
/* The capture filter; see capture.h. */
#include <config.h>

#include "store/capture.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "store/multilog_private.h"

struct ef_capture {
    struct ef_predicate *predicate;
    uint64_t threshold; /* A random number below it: taken. */
    bool all;           /* Of those that match. */
};

void
ef_capture_destroy(struct ef_capture *capture)
{
    if (capture) {
        ef_predicate_destroy(capture->predicate);
        free(capture);
    }
}

/* --- Changing it -------------------------------------------------------------------- */

static void
replace(struct ef_multilog *log, struct ef_capture *capture)
{
    struct ef_capture *old = atomic_exchange(&log->capture, capture);
    for (unsigned i = 0; old && i < log->n_lanes; i++) {
        while (atomic_load(&log->lanes[i].capture) == old) {
            sched_yield(); /* An append, no longer. */
        }
    }
    ef_capture_destroy(old);
}

int
ef_multilog_setup_packet_capture(struct ef_multilog *log, const char *filter, double sample_ratio, struct ef_error *err)
{
    if (!(sample_ratio > 0 && sample_ratio <= 1)) {
        return ef_error_set(err, -EINVAL, "a sample ratio of %g; give one above 0, at most 1", sample_ratio);
    }
    struct ef_capture *capture = calloc(1, sizeof *capture);
    if (!capture) {
        return -ENOMEM;
    }
    int rc = ef_predicate_compile(filter, &log->schema, &capture->predicate, err);
    if (rc) {
        ef_capture_destroy(capture);
        return rc;
    }
    capture->all = sample_ratio == 1;
    capture->threshold = capture->all ? UINT64_MAX : (uint64_t) ldexp(sample_ratio, 64);
    if (capture->all && ef_predicate_is_always(capture->predicate)) {
        ef_capture_destroy(capture);
        capture = NULL;
    }
    replace(log, capture);
    return 0;
}

/* --- Using it ----------------------------------------------------------------------- */

static const struct ef_capture *
enter(struct ef_multilog_writer *lane)
{
    struct ef_capture *capture = atomic_load_explicit(&lane->log->capture, memory_order_relaxed);
    while (capture) {
        atomic_store(&lane->capture, capture);
        struct ef_capture *now = atomic_load(&lane->log->capture);
        if (now == capture) {
            return capture;
        }
        capture = now;
    }
    atomic_store_explicit(&lane->capture, NULL, memory_order_release);
    return NULL;
}

/* Xorshift (Marsaglia 2003): even, fast, one state per writer. */
static uint64_t
draw(struct ef_multilog_writer *lane)
{
    uint64_t x = lane->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return lane->random = x;
}

static void
move_variable(struct ef_multilog_writer *lane, uint32_t from, uint32_t to, uint32_t start)
{
    struct ef_multilog *log = lane->log;
    uint8_t *parts = (uint8_t *) lane->open + log->variable_at;
    uint8_t *ends = ef_bucket_column(log, lane->open, (unsigned) log->schema.variable);
    uint32_t end;
    memcpy(&end, ends + (size_t) from * sizeof end, sizeof end);
    memmove(parts + lane->variable_used, parts + start, end - start);
    lane->variable_used += end - start;
    memcpy(ends + (size_t) to * sizeof end, &lane->variable_used, sizeof end);
}

/* `start`: where the row's variable part begins. */
static void
move_row(struct ef_multilog_writer *lane, uint32_t from, uint32_t to, uint32_t start)
{
    const struct ef_multilog *log = lane->log;
    for (unsigned i = 0; i < log->schema.n_columns; i++) {
        uint32_t width = log->schema.columns[i].width;
        uint8_t *values = ef_bucket_column(log, lane->open, i);
        if ((int) i == log->schema.variable) {
            move_variable(lane, from, to, start);
        } else if (from != to) {
            memcpy(values + (size_t) to * width, values + (size_t) from * width, width);
        }
    }
}

/* Where the variable part of a row ends, before rows are moved over it. */
static uint32_t
variable_end(const struct ef_multilog_writer *lane, uint32_t row)
{
    const struct ef_multilog *log = lane->log;
    uint32_t end = 0;
    if (log->schema.variable >= 0) {
        memcpy(&end, ef_bucket_column(log, lane->open, (unsigned) log->schema.variable) + (size_t) row * sizeof end,
               sizeof end);
    }
    return end;
}

/* Rows move only towards the front, behind all that were kept: what is still to
 * be judged is where it was. */
static uint32_t
keep(struct ef_multilog_writer *lane, const struct ef_capture *capture, uint32_t n, uint32_t variable_start)
{
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    uint64_t bits[EF_PREDICATE_CHUNK_WORDS];
    uint32_t n_kept = 0, start = variable_start;
    ef_bucket_columns(lane->log, lane->open, columns);
    lane->variable_used = variable_start;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t in_chunk = i % EF_PREDICATE_CHUNK_ROWS, end = variable_end(lane, lane->row + i);
        if (!in_chunk) {
            uint32_t n_rows = EF_MIN(n - i, (uint32_t) EF_PREDICATE_CHUNK_ROWS);
            ef_predicate_eval(capture->predicate, columns, lane->row + i, n_rows, bits);
        }
        if ((bits[in_chunk / 64] >> in_chunk % 64 & 1) && (capture->all || draw(lane) < capture->threshold)) {
            move_row(lane, lane->row + i, lane->row + n_kept++, start);
        }
        start = end;
    }
    return n_kept;
}

uint32_t
ef_capture_rows(struct ef_multilog_writer *lane, uint32_t n, uint32_t variable_start)
{
    const struct ef_capture *capture = enter(lane);
    uint32_t n_kept = n;
    if (capture) {
        n_kept = keep(lane, capture, n, variable_start);
        ef_counter_add(&lane->n_not_captured, n - n_kept);
        atomic_store_explicit(&lane->capture, NULL, memory_order_release);
    }
    return n_kept;
}
