/* SPDX-License-Identifier: Apache-2.0 */
/* The indexes of the buckets: see indexes.h for users and bucket_index.h for the
 * rest of lib/store. Building, and what counts memory, is in the one thread that
 * calls derivers. */
#include <config.h>

#include "store/bucket_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/index_memory.h"

struct ef_indexes {
    struct ef_multilog *log;
    pthread_mutex_t mutex;
    struct ef_index_definition *definitions[EF_MULTILOG_MAX_INDEXES];
    _Atomic int zone_slot;            /* -1: not yet. */
    struct ef_index_scratch *scratch; /* The derivers' thread's own, so is: */
    struct ef_index_memory memory;
};

/* --- Building --------------------------------------------------------------------- */

/* The keys of all rows; false for lack of memory. */
static bool
collect_keys(struct ef_index_definition *d, const struct ef_sealed *sealed, struct ef_index_input *in)
{
    struct ef_multilog_keys *keys = &d->keys;
    keys->type = in->type;
    keys->width = in->width;
    keys->n = 0;
    keys->is_out_of_memory = false;
    for (keys->row = 0; keys->row < in->n_rows; keys->row++) {
        uint32_t len;
        const void *data = ef_bucket_variable(d->indexes->log, sealed->bucket, keys->row, &len);
        d->extract(data, len, keys);
    }
    in->values = keys->values;
    in->rows = keys->rows ? keys->rows : &keys->row; /* Without any key: only not NULL. */
    in->n = keys->n;
    return !keys->is_out_of_memory;
}

static struct ef_index *
build_index(struct ef_index_definition *d, const struct ef_sealed *sealed)
{
    struct ef_indexes *ix = d->indexes;
    struct ef_index_input in = {.type = d->type,
                                .width = d->width,
                                .values = sealed->columns[d->column],
                                .n = sealed->id.n_rows,
                                .n_rows = sealed->id.n_rows};
    if (d->extract && !collect_keys(d, sealed, &in)) {
        return NULL;
    }
    uint64_t most = ef_index_max_bytes(in.n, in.width, d->extract != NULL);
    if (!ef_index_memory_reserve(&ix->memory, most)) {
        return NULL;
    }
    struct ef_index *index = ef_index_build(&in, ix->scratch);
    ef_index_memory_release(&ix->memory, index ? most - index->bytes : most);
    return index;
}

static uint64_t
cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t) ts.tv_sec * EF_NS_PER_S + (uint64_t) ts.tv_nsec;
}

static void *
build(void *definition, const struct ef_sealed *sealed)
{
    struct ef_index_definition *d = definition;
    uint64_t start = cpu_ns();
    struct ef_index *index = build_index(d, sealed);
    atomic_fetch_add_explicit(&d->builder_ns, cpu_ns() - start, memory_order_relaxed);
    if (index) {
        atomic_fetch_add_explicit(&d->n_buckets, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&d->n_records, sealed->id.n_rows, memory_order_relaxed);
        atomic_fetch_add_explicit(&d->n_bytes, index->bytes, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&d->n_without, 1, memory_order_relaxed);
    }
    return index;
}

static void
leave(void *definition, const struct ef_sealed_id *id, void *index_)
{
    struct ef_index_definition *d = definition;
    struct ef_index *index = index_;
    atomic_fetch_sub_explicit(&d->n_buckets, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&d->n_records, id->n_rows, memory_order_relaxed);
    atomic_fetch_sub_explicit(&d->n_bytes, index->bytes, memory_order_relaxed);
    ef_index_memory_release(&d->indexes->memory, index->bytes);
    ef_index_destroy(index);
}

static void
destroy_definition(void *definition)
{
    struct ef_index_definition *d = definition;
    ef_keys_deinit(&d->keys);
    free(d);
}

/* --- Zones ------------------------------------------------------------------------ */

static EF_ALWAYS_INLINE void
find_zone(const uint8_t *values, enum ef_column_type type, uint32_t width, uint32_t n, uint64_t *min, uint64_t *max)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = ef_index_number(type, width, values + (size_t) i * width);
        least = EF_MIN(least, number);
        most = EF_MAX(most, number);
    }
    *min = least;
    *max = most;
}

static void *
make_zones(void *indexes, const struct ef_sealed *sealed)
{
    (void) indexes;
    struct ef_zones *zones = calloc(1, sizeof *zones);
    for (unsigned i = 0; zones && i < sealed->schema->n_columns; i++) {
        const struct ef_column *column = &sealed->schema->columns[i];
        const uint8_t *values = sealed->columns[i];
        uint64_t *min = &zones->columns[i].min, *max = &zones->columns[i].max;
        if (!ef_column_is_number(column)) {
            continue;
        }
        switch (column->width) { /* Constants make the loops tight. */
        case 1:
            find_zone(values, EF_COLUMN_U8, 1, sealed->id.n_rows, min, max);
            break;
        case 2:
            find_zone(values, EF_COLUMN_U16, 2, sealed->id.n_rows, min, max);
            break;
        case 4:
            find_zone(values, EF_COLUMN_U32, 4, sealed->id.n_rows, min, max);
            break;
        default:
            find_zone(values, column->type, 8, sealed->id.n_rows, min, max);
        }
    }
    return zones;
}

static void
free_zones(void *indexes, const struct ef_sealed_id *id, void *zones)
{
    (void) indexes;
    (void) id;
    free(zones);
}

const struct ef_zones *
ef_indexes_zones(struct ef_multilog *log, const struct ef_bucket *bucket)
{
    int slot = atomic_load_explicit(&log->indexes->zone_slot, memory_order_relaxed);
    return slot >= 0 ? ef_bucket_derived(bucket, (unsigned) slot) : NULL;
}

/* --- For the log ------------------------------------------------------------------ */

int
ef_indexes_create(struct ef_multilog *log, struct ef_indexes **out)
{
    struct ef_indexes *ix = calloc(1, sizeof *ix);
    if (!ix) {
        return -ENOMEM;
    }
    ix->log = log;
    ix->zone_slot = -1;
    ix->scratch = ef_index_scratch_create();
    if (!ix->scratch || ef_index_memory_init(&ix->memory, log)) {
        ef_index_scratch_destroy(ix->scratch);
        free(ix);
        return -ENOMEM;
    }
    pthread_mutex_init(&ix->mutex, NULL);
    *out = ix;
    return 0;
}

/* The definitions went with their derivers. */
void
ef_indexes_destroy(struct ef_indexes *ix)
{
    if (ix) {
        ef_index_memory_deinit(&ix->memory);
        ef_index_scratch_destroy(ix->scratch);
        pthread_mutex_destroy(&ix->mutex);
        free(ix);
    }
}

unsigned
ef_indexes_hold(struct ef_multilog *log, struct ef_index_definition *held[EF_MULTILOG_MAX_INDEXES])
{
    struct ef_indexes *ix = log->indexes;
    unsigned n = 0;
    pthread_mutex_lock(&ix->mutex);
    for (unsigned i = 0; i < EF_MULTILOG_MAX_INDEXES; i++) {
        if (ix->definitions[i]) {
            ix->definitions[i]->n_holders++;
            held[n++] = ix->definitions[i];
        }
    }
    pthread_mutex_unlock(&ix->mutex);
    return n;
}

/* With the mutex held. A definition that nobody needs any more ends with its
 * deriver. */
static void
detach_if_unused(struct ef_multilog *log, const struct ef_index_definition *d)
{
    if (d->is_removed && !d->n_holders) {
        ef_multilog_detach(log, d->slot);
    }
}

void
ef_indexes_let_go(struct ef_multilog *log, struct ef_index_definition *const *held, unsigned n)
{
    pthread_mutex_lock(&log->indexes->mutex);
    for (unsigned i = 0; i < n; i++) {
        held[i]->n_holders--;
        detach_if_unused(log, held[i]);
    }
    pthread_mutex_unlock(&log->indexes->mutex);
}

/* --- For users -------------------------------------------------------------------- */

/* What `index` asks for. */
static int
define(const struct ef_multilog *log, const struct ef_multilog_index *index, struct ef_index_definition *d,
       struct ef_error *err)
{
    int column = ef_schema_find(&log->schema, index->column);
    if (column < 0) {
        return ef_error_set(err, -EINVAL, "no column %s to index", index->column);
    }
    bool is_variable = log->schema.columns[column].type == EF_COLUMN_VARIABLE;
    if (is_variable != (index->extract != NULL)) {
        return ef_error_set(err, -EINVAL, "column %s: an index of the variable column, and only it, has an extractor",
                            index->column);
    }
    d->indexes = log->indexes;
    d->column = (unsigned) column;
    d->extract = index->extract;
    d->type = is_variable ? index->key_type : log->schema.columns[column].type;
    d->width = is_variable ? ef_key_width(index->key_type, index->key_width) : log->schema.columns[column].width;
    if (!d->width) {
        return ef_error_set(err, -EINVAL, "column %s: no such type or width of keys", index->column);
    }
    return 0;
}

/* With the mutex held: where it is, or NULL. `wanted` NULL: a free place. */
static struct ef_index_definition **
find(struct ef_indexes *ix, const struct ef_index_definition *wanted)
{
    for (unsigned i = 0; i < EF_MULTILOG_MAX_INDEXES; i++) {
        const struct ef_index_definition *d = ix->definitions[i];
        if (wanted ? d && d->column == wanted->column && d->extract == wanted->extract : !d) {
            return &ix->definitions[i];
        }
    }
    return NULL;
}

/* With the mutex held. */
static int
attach_zones(struct ef_multilog *log)
{
    struct ef_indexes *ix = log->indexes;
    struct ef_deriver deriver = {.seal = make_zones, .leave = free_zones, .aux = ix};
    if (ix->zone_slot >= 0) {
        return 0;
    }
    int slot = ef_multilog_attach(log, &deriver);
    if (slot >= 0) {
        atomic_store_explicit(&ix->zone_slot, slot, memory_order_relaxed);
    }
    return EF_MIN(slot, 0);
}

/* With the mutex held; takes `d` over if it succeeds. The deriver may run before
 * attach returns, but needs no slot; who reads it holds the mutex first. */
static int
add(struct ef_multilog *log, struct ef_index_definition *d, struct ef_error *err)
{
    struct ef_indexes *ix = log->indexes;
    const char *name = log->schema.columns[d->column].name;
    if (find(ix, d)) {
        return ef_error_set(err, -EEXIST, "column %s has this index", name);
    }
    struct ef_index_definition **place = find(ix, NULL);
    if (!place) {
        return ef_error_set(err, -ENOSPC, "column %s: there are %d indexes; remove one", name, EF_MULTILOG_MAX_INDEXES);
    }
    struct ef_deriver deriver = {.seal = build, .leave = leave, .gone = destroy_definition, .aux = d};
    int slot = attach_zones(log);
    slot = slot ? slot : ef_multilog_attach(log, &deriver);
    if (slot < 0) {
        return ef_error_set(err, slot, "column %s: the index cannot be attached: %s", name, strerror(-slot));
    }
    d->slot = (unsigned) slot;
    *place = d;
    return 0;
}

int
ef_multilog_add_index(struct ef_multilog *log, const struct ef_multilog_index *index, struct ef_error *err)
{
    struct ef_index_definition *d = calloc(1, sizeof *d);
    if (!d) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = define(log, index, d, err);
    if (!rc) {
        pthread_mutex_lock(&log->indexes->mutex);
        rc = add(log, d, err);
        pthread_mutex_unlock(&log->indexes->mutex);
    }
    if (rc) {
        free(d);
    }
    return rc;
}

int
ef_multilog_remove_index(struct ef_multilog *log, const struct ef_multilog_index *index)
{
    struct ef_indexes *ix = log->indexes;
    struct ef_index_definition wanted;
    if (define(log, index, &wanted, NULL)) {
        return -ENOENT;
    }
    pthread_mutex_lock(&ix->mutex);
    struct ef_index_definition **place = find(ix, &wanted);
    if (place) {
        (*place)->is_removed = true;
        detach_if_unused(log, *place);
        *place = NULL;
    }
    pthread_mutex_unlock(&ix->mutex);
    return place ? 0 : -ENOENT;
}

unsigned
ef_multilog_index_stats(struct ef_multilog *log, struct ef_multilog_index_stats *stats, unsigned max)
{
    struct ef_index_definition *held[EF_MULTILOG_MAX_INDEXES];
    unsigned n = ef_indexes_hold(log, held);
    for (unsigned i = 0; i < EF_MIN(n, max); i++) {
        stats[i] = (struct ef_multilog_index_stats){
            .column = held[i]->column,
            .is_multi_valued = held[i]->extract != NULL,
            .n_buckets = atomic_load_explicit(&held[i]->n_buckets, memory_order_relaxed),
            .n_records = atomic_load_explicit(&held[i]->n_records, memory_order_relaxed),
            .memory_bytes = atomic_load_explicit(&held[i]->n_bytes, memory_order_relaxed),
            .n_without = atomic_load_explicit(&held[i]->n_without, memory_order_relaxed),
            .builder_ns = atomic_load_explicit(&held[i]->builder_ns, memory_order_relaxed),
        };
    }
    ef_indexes_let_go(log, held, n);
    return n;
}
