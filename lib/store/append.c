/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to a multilog: rows become columns, buckets begin, the oldest
 * leave, the tail is published; see multilog_private.h. */
#include <config.h>

#include "store/multilog_private.h"

#include <errno.h>
#include <string.h>

/* --- Buckets --------------------------------------------------------------------- */

void
ef_lane_seal(struct ef_multilog_writer *lane)
{
    if (lane->open) {
        atomic_store_explicit(&lane->open->n_rows, lane->row, memory_order_release);
        atomic_fetch_add(&lane->n_sealed, 1); /* Before asking: who attaches then sees it, or we see him. */
        lane->open = NULL;
        if (atomic_load(&lane->log->derivers.is_attached)) {
            sem_post(&lane->log->derivers.wake);
        }
    }
}

/* The lane whose oldest sealed bucket is the oldest of all, or NULL. A bucket
 * may leave under our eyes; taking it then fails, and we look again. */
static struct ef_multilog_writer *
oldest_lane(struct ef_multilog *log, uint64_t *first)
{
    struct ef_multilog_writer *oldest = NULL;
    int64_t oldest_ns = 0;
    for (unsigned i = 0; i < log->n_lanes; i++) {
        struct ef_multilog_writer *lane = &log->lanes[i];
        uint64_t sequence = atomic_load_explicit(&lane->first, memory_order_acquire);
        if (sequence >= atomic_load_explicit(&lane->n_sealed, memory_order_acquire)) {
            continue;
        }
        struct ef_bucket *bucket = ef_lane_bucket(lane, sequence);
        uint32_t required = atomic_load_explicit(&log->derivers.required, memory_order_relaxed);
        if (required & ~atomic_load_explicit(&bucket->done, memory_order_acquire)) {
            continue;
        }
        int64_t newest_ns = atomic_load_explicit(&bucket->max_ns, memory_order_relaxed);
        if (!oldest || newest_ns < oldest_ns) {
            oldest = lane;
            oldest_ns = newest_ns;
            *first = sequence;
        }
    }
    return oldest;
}

/* Before it leaves, so that who finds a record gone finds this told. */
static void
note_evicted(struct ef_multilog *log, int64_t newest_ns)
{
    int64_t known_ns = atomic_load(&log->newest_evicted_ns);
    while (newest_ns > known_ns && !atomic_compare_exchange_weak(&log->newest_evicted_ns, &known_ns, newest_ns)) {
    }
}

bool
ef_multilog_evict_oldest(struct ef_multilog *log)
{
    uint64_t first;
    struct ef_multilog_writer *lane;
    while ((lane = oldest_lane(log, &first))) {
        struct ef_bucket *bucket = ef_lane_bucket(lane, first);
        int64_t newest_ns = atomic_load_explicit(&bucket->max_ns, memory_order_acquire);
        if (atomic_load(&lane->first) != first) {
            continue; /* It was evicted, and its memory may be another's. */
        }
        note_evicted(log, newest_ns);
        if (atomic_compare_exchange_strong_explicit(&lane->first, &first, first + 1, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            uint32_t n_rows = atomic_load_explicit(&bucket->n_rows, memory_order_acquire);
            atomic_fetch_add_explicit(&log->n_evicted, n_rows, memory_order_relaxed);
            ef_bucket_drop(&log->pool, bucket);
            return true;
        }
    }
    return false;
}

/* Begins the lane's next bucket. Memory comes first: nothing is promised before
 * it is there. */
static int
begin_bucket(struct ef_multilog_writer *lane)
{
    struct ef_multilog *log = lane->log;
    struct ef_bucket *bucket;
    while (!(bucket = ef_bucket_take(&log->pool))) {
        if (!ef_multilog_evict_oldest(log)) {
            return -ENOBUFS;
        }
    }
    ef_derived_bury(log, bucket);
    uint64_t sequence = atomic_load_explicit(&lane->n_begun, memory_order_relaxed);
    atomic_store_explicit(&bucket->done, 0, memory_order_relaxed);
    atomic_store_explicit(&bucket->n_rows, log->bucket_rows, memory_order_relaxed);
    atomic_store_explicit(&bucket->id, ef_bucket_id(lane, sequence), memory_order_relaxed);
    atomic_store_explicit(&bucket->min_ns, INT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&bucket->max_ns, INT64_MIN, memory_order_relaxed);
    bucket->first_record = atomic_load_explicit(&lane->tail, memory_order_relaxed);
    atomic_store_explicit(&bucket->refs, 1, memory_order_release);
    atomic_store_explicit(&lane->buckets[sequence % log->pool.n_buckets], ef_bucket_number(&log->pool, bucket),
                          memory_order_release);
    atomic_store_explicit(&lane->n_begun, sequence + 1, memory_order_release);
    lane->open = bucket;
    lane->row = 0;
    lane->variable_used = 0;
    return 0;
}

static bool
fits(const struct ef_multilog_writer *lane, uint32_t n, uint64_t variable_bytes)
{
    const struct ef_multilog *log = lane->log;
    return lane->open && n <= log->bucket_rows - lane->row &&
           variable_bytes <= log->bucket_variable_bytes - lane->variable_used;
}

/* --- Rows to columns -------------------------------------------------------------- */

static EF_ALWAYS_INLINE void
copy_fixed(uint8_t *to, const uint8_t *from, uint32_t stride, uint32_t width, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        memcpy(to + (size_t) i * width, from + (size_t) i * stride, width);
    }
}

/* Values of 16 to 16 * n_parts bytes: the last part overlaps the one before it,
 * so that each is of constant size. */
static EF_ALWAYS_INLINE void
copy_parts(uint8_t *to, const uint8_t *from, uint32_t stride, uint32_t width, unsigned n_parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, to += width, from += stride) {
        for (unsigned part = 0; part + 1 < n_parts; part++) {
            memcpy(to + (size_t) part * 16, from + (size_t) part * 16, 16);
        }
        memcpy(to + width - 16, from + width - 16, 16);
    }
}

static void
copy_wide(uint8_t *to, const uint8_t *from, uint32_t stride, uint32_t width, uint32_t n)
{
    if (width < 16 || width > 64) {
        copy_fixed(to, from, stride, width, n);
    } else if (width <= 32) {
        copy_parts(to, from, stride, width, 2, n);
    } else if (width <= 48) {
        copy_parts(to, from, stride, width, 3, n);
    } else {
        copy_parts(to, from, stride, width, 4, n);
    }
}

/* A copy of constant size is a load and a store; a call of memcpy() is ten. */
static void
copy_column(uint8_t *to, const uint8_t *from, uint32_t stride, uint32_t width, uint32_t n)
{
    switch (width) {
    case 1:
        copy_fixed(to, from, stride, 1, n);
        break;
    case 2:
        copy_fixed(to, from, stride, 2, n);
        break;
    case 4:
        copy_fixed(to, from, stride, 4, n);
        break;
    case 6:
        copy_fixed(to, from, stride, 6, n);
        break;
    case 8:
        copy_fixed(to, from, stride, 8, n);
        break;
    case 16:
        copy_fixed(to, from, stride, 16, n);
        break;
    default:
        copy_wide(to, from, stride, width, n);
    }
}

static struct ef_bytes
variable_part(const struct ef_schema *schema, const uint8_t *record)
{
    struct ef_bytes part;
    memcpy(&part, record + schema->columns[schema->variable].offset, sizeof part);
    return part;
}

static uint64_t
variable_bytes(const struct ef_schema *schema, const uint8_t *records, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; schema->variable >= 0 && i < n; i++) {
        sum += variable_part(schema, records + (size_t) i * schema->record_bytes).len;
    }
    return sum;
}

static void
copy_variable(struct ef_multilog_writer *lane, const uint8_t *records, uint32_t n)
{
    const struct ef_multilog *log = lane->log;
    uint8_t *parts = (uint8_t *) lane->open + log->variable_at;
    uint8_t *ends = ef_bucket_column(log, lane->open, (unsigned) log->schema.variable);
    for (uint32_t i = 0; i < n; i++) {
        struct ef_bytes part = variable_part(&log->schema, records + (size_t) i * log->schema.record_bytes);
        if (part.len && part.data != parts + lane->variable_used) { /* See ef_multilog_room(). */
            memcpy(parts + lane->variable_used, part.data, part.len);
        }
        lane->variable_used += part.len;
        memcpy(ends + (size_t) (lane->row + i) * sizeof(uint32_t), &lane->variable_used, sizeof(uint32_t));
    }
}

static void
widen_times(struct ef_bucket *bucket, const uint8_t *times, uint32_t n)
{
    int64_t min_ns = atomic_load_explicit(&bucket->min_ns, memory_order_relaxed);
    int64_t max_ns = atomic_load_explicit(&bucket->max_ns, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        int64_t ns;
        memcpy(&ns, times + (size_t) i * sizeof ns, sizeof ns);
        min_ns = EF_MIN(min_ns, ns);
        max_ns = EF_MAX(max_ns, ns);
    }
    atomic_store_explicit(&bucket->min_ns, min_ns, memory_order_relaxed);
    atomic_store_explicit(&bucket->max_ns, max_ns, memory_order_relaxed);
}

/* Returns how many rows were kept. */
static uint32_t
write_rows(struct ef_multilog_writer *lane, const uint8_t *records, uint32_t n)
{
    const struct ef_multilog *log = lane->log;
    const struct ef_schema *schema = &log->schema;
    uint32_t variable_start = lane->variable_used;
    for (unsigned i = 0; i < schema->n_columns; i++) {
        const struct ef_column *column = &schema->columns[i];
        if (column->type == EF_COLUMN_VARIABLE) {
            copy_variable(lane, records, n);
        } else {
            copy_column(ef_bucket_column(log, lane->open, i) + (size_t) lane->row * column->width,
                        records + column->offset, schema->record_bytes, column->width, n);
        }
    }
    if (EF_UNLIKELY(atomic_load_explicit(&log->capture, memory_order_relaxed))) {
        n = ef_capture_rows(lane, n, variable_start);
    }
    widen_times(lane->open, ef_bucket_column(log, lane->open, 0) + (size_t) lane->row * sizeof(int64_t), n);
    lane->row += n;
    return n;
}

/* --- Publishing ------------------------------------------------------------------- */

/* The first publication in an epoch marks the tail before it, where the
 * snapshot that began the epoch ends. The load of the epoch and the store of
 * the tail are sequentially consistent; doc/store.md says why they must be. */
static void
publish(struct ef_multilog_writer *lane, uint32_t n)
{
    uint64_t epoch = atomic_load(&lane->log->epoch);
    uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);
    if (epoch != lane->epoch) {
        atomic_store_explicit(&lane->mark_tail, tail, memory_order_relaxed);
        atomic_store_explicit(&lane->mark_epoch, epoch, memory_order_release);
        lane->epoch = epoch;
    }
    atomic_store(&lane->tail, tail + n);
    if (EF_UNLIKELY(atomic_load(&lane->log->is_monitor_waiting)) &&
        atomic_exchange(&lane->log->is_monitor_waiting, false)) {
        ef_monitor_wake(lane->log);
    }
}

/* Has the lane an open bucket with so much room; 0 or -ENOBUFS. */
static int
make_room(struct ef_multilog_writer *lane, uint32_t n_records, uint64_t n_bytes)
{
    if (fits(lane, n_records, n_bytes)) {
        return 0;
    }
    ef_lane_seal(lane);
    return begin_bucket(lane);
}

uint8_t *
ef_multilog_room(struct ef_multilog_writer *lane, uint32_t n_records, uint32_t n_bytes)
{
    const struct ef_multilog *log = lane->log;
    if (log->schema.variable < 0 || n_records > log->bucket_rows || n_bytes > log->bucket_variable_bytes ||
        make_room(lane, n_records, n_bytes)) {
        return NULL;
    }
    return (uint8_t *) lane->open + log->variable_at + lane->variable_used;
}

int
ef_multilog_append(struct ef_multilog_writer *lane, const void *records, uint32_t n_records)
{
    const struct ef_multilog *log = lane->log;
    uint64_t n_variable = variable_bytes(&log->schema, records, n_records);
    if (n_records > log->bucket_rows || n_variable > log->bucket_variable_bytes) {
        return -EMSGSIZE;
    }
    if (!n_records) {
        return 0;
    }
    if (make_room(lane, n_records, n_variable)) {
        ef_counter_add(&lane->n_refused, n_records);
        return -ENOBUFS;
    }
    uint32_t n_kept = write_rows(lane, records, n_records);
    if (n_kept) {
        publish(lane, n_kept);
    }
    return 0;
}
