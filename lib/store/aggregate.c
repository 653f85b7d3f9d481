/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates: see aggregate.h. */
#include <config.h>

#include "store/aggregate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "store/filter_set_private.h"
#include "store/multilog_private.h"

/* --- Functions ---------------------------------------------------------------------- */

static const char *const names[] = {"COUNT", "SUM", "MIN", "MAX", "AVG"};

static int
check_column(struct ef_aggregate_spec *spec, const struct ef_schema *schema, const char *name, int len,
             struct ef_error *err)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", len, name);
    int column = ef_schema_find(schema, word);
    if (column < 0) {
        return ef_error_set(err, -EINVAL, "there is no column '%s' to aggregate", word);
    }
    const struct ef_column *type = &schema->columns[column];
    bool can_sum = type->type <= EF_COLUMN_U64, can_order = ef_column_is_number(type);
    bool is_order = spec->function == EF_AGGREGATE_MIN || spec->function == EF_AGGREGATE_MAX;
    if (spec->function != EF_AGGREGATE_COUNT && !can_sum && !(is_order && can_order)) {
        return ef_error_set(err, -EINVAL, "%s does not apply to column %s", names[spec->function], word);
    }
    spec->column = (unsigned) column;
    return 0;
}

int
ef_aggregate_spec_parse(const char *text, const struct ef_schema *schema, struct ef_aggregate_spec *spec,
                        struct ef_error *err)
{
    size_t len = strcspn(text, "(");
    for (unsigned i = 0; i < EF_ARRAY_SIZE(names); i++) {
        if (strlen(names[i]) != len || strncasecmp(names[i], text, len)) {
            continue;
        }
        *spec = (struct ef_aggregate_spec){.function = (enum ef_aggregate_function) i};
        const char *name = text + len + (text[len] == '('), *end = name + strcspn(name, ")");
        if ((text[len] == '(') != (*end == ')') || (*end && end[1])) {
            break;
        }
        bool has_column = end > name;
        if (!has_column && i != EF_AGGREGATE_COUNT) {
            break;
        }
        return has_column ? check_column(spec, schema, name, (int) (end - name), err) : 0;
    }
    return ef_error_set(err, -EINVAL, "'%.80s' is no aggregate; write COUNT, or SUM, MIN, MAX or AVG as in SUM(column)",
                        text);
}

static EF_ALWAYS_INLINE void
add_value(struct ef_aggregate_value *value, uint64_t number)
{
    value->count++;
    value->sum += number;
    value->min = EF_MIN(value->min, number);
    value->max = EF_MAX(value->max, number);
}

/* The rows to add, row 0 at all of the pointers. */
struct rows {
    const uint64_t *bits;
    uint32_t n_words;
    bool is_in_window; /* All of them. */
    struct ef_time from, to;
    const uint8_t *times, *values;
};

/* ef_column_value() of a number, for a type that the compiler knows. */
static EF_ALWAYS_INLINE uint64_t
number_at(enum ef_column_type type, const uint8_t *p)
{
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (type) {
    case EF_COLUMN_U8:
        return *p;
    case EF_COLUMN_U16:
        memcpy(&u16, p, sizeof u16);
        return u16;
    case EF_COLUMN_U32:
        memcpy(&u32, p, sizeof u32);
        return u32;
    case EF_COLUMN_U64:
        memcpy(&u64, p, sizeof u64);
        return u64;
    case EF_COLUMN_TIME:
        memcpy(&u64, p, sizeof u64);
        return ef_value_of_time((int64_t) u64);
    default:
        return 0; /* Only counted. */
    }
}

static EF_ALWAYS_INLINE void
add_rows(struct ef_aggregate_value *value, const struct rows *rows, enum ef_column_type type, uint32_t width)
{
    struct ef_aggregate_value sum = *value;
    for (uint32_t word = 0; word < rows->n_words; word++) {
        for (uint64_t left = rows->bits[word]; left; left &= left - 1) {
            size_t row = word * 64 + (size_t) __builtin_ctzll(left);
            int64_t ns = 0;
            if (!rows->is_in_window) {
                memcpy(&ns, rows->times + row * sizeof ns, sizeof ns);
            }
            if (rows->is_in_window || (ns >= rows->from.ns && ns <= rows->to.ns)) {
                add_value(&sum, number_at(type, rows->values + row * width));
            }
        }
    }
    *value = sum;
}

void
ef_aggregate_add_rows(struct ef_aggregate_value *value, const struct ef_schema *schema, unsigned column,
                      const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows, const uint64_t *bits,
                      struct ef_time from, struct ef_time to)
{
    const struct ef_column *type = &schema->columns[column];
    struct rows rows = {
        .bits = bits,
        .n_words = (n_rows + 63) / 64,
        .is_in_window = from.ns == INT64_MIN && to.ns == INT64_MAX,
        .from = from,
        .to = to,
        .times = columns[0] + (size_t) first_row * sizeof(int64_t),
        .values = columns[column] + (size_t) first_row * type->width,
    };
    switch (type->type) {
    case EF_COLUMN_U8:
        add_rows(value, &rows, EF_COLUMN_U8, 1);
        break;
    case EF_COLUMN_U16:
        add_rows(value, &rows, EF_COLUMN_U16, 2);
        break;
    case EF_COLUMN_U32:
    case EF_COLUMN_IPV4:
        add_rows(value, &rows, EF_COLUMN_U32, 4);
        break;
    case EF_COLUMN_U64:
        add_rows(value, &rows, EF_COLUMN_U64, 8);
        break;
    case EF_COLUMN_TIME:
        add_rows(value, &rows, EF_COLUMN_TIME, 8);
        break;
    default:
        add_rows(value, &rows, type->type, type->width);
    }
}

/* The numbers of a chunk add up to less than 2^64 where they have 32 bits. */
static EF_ALWAYS_INLINE void
add_all(struct ef_aggregate_value *value, const uint8_t *values, uint32_t n, enum ef_column_type type, uint32_t width)
{
    uint64_t sum = 0, min = value->min, max = value->max;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = number_at(type, values + (size_t) i * width);
        if (width == sizeof number) {
            value->sum += number;
        } else {
            sum += number;
        }
        min = EF_MIN(min, number);
        max = EF_MAX(max, number);
    }
    value->count += n;
    value->sum += sum;
    value->min = min;
    value->max = max;
}

void
ef_aggregate_add_all(struct ef_aggregate_value *value, const struct ef_schema *schema, unsigned column,
                     const uint8_t *const *columns, uint32_t first_row, uint32_t n_rows)
{
    const struct ef_column *type = &schema->columns[column];
    const uint8_t *values = columns[column] + (size_t) first_row * type->width;
    switch (type->type) {
    case EF_COLUMN_U8:
        add_all(value, values, n_rows, EF_COLUMN_U8, 1);
        break;
    case EF_COLUMN_U16:
        add_all(value, values, n_rows, EF_COLUMN_U16, 2);
        break;
    case EF_COLUMN_U32:
    case EF_COLUMN_IPV4:
        add_all(value, values, n_rows, EF_COLUMN_U32, 4);
        break;
    case EF_COLUMN_U64:
        add_all(value, values, n_rows, EF_COLUMN_U64, 8);
        break;
    case EF_COLUMN_TIME:
        add_all(value, values, n_rows, EF_COLUMN_TIME, 8);
        break;
    default:
        value->count += n_rows; /* Nothing but the count has a meaning. */
    }
}

void
ef_aggregate_merge(struct ef_aggregate_value *into, const struct ef_aggregate_value *from)
{
    into->count += from->count;
    into->sum += from->sum;
    into->min = EF_MIN(into->min, from->min);
    into->max = EF_MAX(into->max, from->max);
}

/* --- Reading ------------------------------------------------------------------------ */

struct question {
    struct ef_multilog *log;
    const struct ef_multilog_snapshot *snapshot;
    struct ef_time from, to;
    struct ef_aggregate_spec spec;
    uint64_t id; /* Of the aggregate. */
    const struct ef_installed_filter *filter;
    struct ef_aggregate_value *value;
};

static void
add_visible_rows(const struct question *q, struct ef_bucket *bucket, uint32_t n_rows)
{
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    ef_bucket_columns(q->log, bucket, columns);
    for (uint32_t row = 0; row < n_rows; row += EF_PREDICATE_CHUNK_ROWS) {
        uint64_t bits[EF_PREDICATE_CHUNK_WORDS];
        uint32_t n = EF_MIN(n_rows - row, (uint32_t) EF_PREDICATE_CHUNK_ROWS);
        ef_installed_filter_eval(q->filter, q->log, bucket, row, n, bits);
        ef_aggregate_add_rows(q->value, &q->log->schema, q->spec.column, columns, row, n, bits, q->from, q->to);
    }
}

/* The summary counts if all of the bucket is asked for. The number of rows is
 * final where there are matches: it was stored before the bucket was handled. */
static const struct ef_aggregate_value *
summary_of(const struct question *q, const struct ef_bucket *bucket, uint64_t tail)
{
    int slot = atomic_load_explicit(&q->log->filters.slot, memory_order_acquire);
    const struct ef_matches *matches = q->id && slot >= 0 ? ef_bucket_derived(bucket, (unsigned) slot) : NULL;
    if (!matches || tail - bucket->first_record < atomic_load_explicit(&bucket->n_rows, memory_order_acquire) ||
        atomic_load_explicit(&bucket->min_ns, memory_order_relaxed) < q->from.ns ||
        atomic_load_explicit(&bucket->max_ns, memory_order_relaxed) > q->to.ns) {
        return NULL;
    }
    return ef_matches_summary(matches, q->id);
}

static void
add_bucket(const struct question *q, struct ef_bucket *bucket, uint64_t tail)
{
    if (bucket->first_record >= tail || atomic_load_explicit(&bucket->max_ns, memory_order_relaxed) < q->from.ns ||
        atomic_load_explicit(&bucket->min_ns, memory_order_relaxed) > q->to.ns) {
        return;
    }
    const struct ef_aggregate_value *summary = summary_of(q, bucket, tail);
    if (summary) {
        ef_aggregate_merge(q->value, summary);
        return;
    }
    uint32_t n_rows = atomic_load_explicit(&bucket->n_rows, memory_order_acquire);
    add_visible_rows(q, bucket, (uint32_t) EF_MIN(tail - bucket->first_record, n_rows));
}

static void
answer(const struct question *q)
{
    *q->value = EF_AGGREGATE_VALUE_INIT;
    for (unsigned i = 0; i < q->log->n_lanes; i++) {
        struct ef_multilog_writer *lane = &q->log->lanes[i];
        uint64_t end = atomic_load_explicit(&lane->n_begun, memory_order_acquire);
        for (uint64_t s = atomic_load_explicit(&lane->first, memory_order_acquire); s < end; s++) {
            struct ef_bucket *bucket = ef_lane_bucket(lane, s);
            if (ef_bucket_pin(&q->log->pool, bucket, ef_bucket_id(lane, s))) {
                add_bucket(q, bucket, q->snapshot->tails[i]);
                ef_bucket_drop(&q->log->pool, bucket);
            }
        }
    }
}

/* --- Installed ---------------------------------------------------------------------- */

/* The link to the aggregate of that name, or to the list's end. */
static struct ef_installed_aggregate **
find(struct ef_filters *f, const char *name)
{
    struct ef_installed_aggregate **link = &f->aggregates;
    while (*link && strcmp((*link)->name, name)) {
        link = &(*link)->next;
    }
    return link;
}

/* With the lock held. */
static int
install(struct ef_filters *f, const char *name, const char *filter_name, const struct ef_aggregate_spec *spec,
        struct ef_error *err)
{
    struct ef_installed_filter *filter = f->filters;
    while (filter && strcmp(filter->name, filter_name)) {
        filter = filter->next;
    }
    struct ef_installed_aggregate **link = find(f, name);
    if (!filter) {
        return ef_error_set(err, -ENOENT, "there is no filter %.80s", filter_name);
    }
    if (*link) {
        return ef_error_set(err, -EEXIST, "there is an aggregate %s already", name);
    }
    struct ef_installed_aggregate *aggregate = calloc(1, sizeof *aggregate);
    if (!aggregate) {
        return -ENOMEM;
    }
    strcpy(aggregate->name, name);
    aggregate->id = ++f->last_id;
    aggregate->filter = filter;
    aggregate->spec = *spec;
    *link = aggregate;
    f->has_changed = true;
    return 0;
}

int
ef_multilog_add_aggregate(struct ef_multilog *log, const char *name, const char *filter, const char *text,
                          struct ef_error *err)
{
    struct ef_aggregate_spec spec;
    if (!*name || strlen(name) >= EF_FILTER_NAME_SIZE) {
        return ef_error_set(err, -EINVAL, "an aggregate's name has 1 to %d bytes", EF_FILTER_NAME_SIZE - 1);
    }
    int rc = ef_aggregate_spec_parse(text, &log->schema, &spec, err);
    if (!rc) {
        pthread_mutex_lock(&log->filters.lock);
        rc = install(&log->filters, name, filter, &spec, err);
        pthread_mutex_unlock(&log->filters.lock);
    }
    return rc;
}

int
ef_multilog_remove_aggregate(struct ef_multilog *log, const char *name)
{
    pthread_mutex_lock(&log->filters.lock);
    struct ef_installed_aggregate **link = find(&log->filters, name), *aggregate = *link;
    if (aggregate) {
        *link = aggregate->next;
        ef_triggers_forget(&log->triggers, aggregate->id);
        log->filters.has_changed = true;
    }
    pthread_mutex_unlock(&log->filters.lock);
    free(aggregate);
    return aggregate ? 0 : -ENOENT;
}

int
ef_multilog_get_aggregate(struct ef_multilog *log, const char *name, const struct ef_multilog_snapshot *snapshot,
                          struct ef_time from, struct ef_time to, struct ef_aggregate_value *value)
{
    struct question q = {.log = log, .snapshot = snapshot, .from = from, .to = to, .value = value};
    struct ef_installed_filter *filter = NULL;
    pthread_mutex_lock(&log->filters.lock);
    const struct ef_installed_aggregate *aggregate = *find(&log->filters, name);
    if (aggregate) {
        q.id = aggregate->id;
        q.spec = aggregate->spec;
        q.filter = filter = aggregate->filter;
        atomic_fetch_add_explicit(&filter->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&log->filters.lock);
    if (!filter) {
        return -ENOENT;
    }
    answer(&q);
    ef_installed_filter_release(filter);
    return 0;
}
