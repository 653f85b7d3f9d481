/* SPDX-License-Identifier: Apache-2.0 */
/* The installed filters of a multilog: their names, and the deriver that
 * evaluates all of them on each sealed bucket. See filter_set.h. */
#include <config.h>

#include "store/filter_set_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/multilog_private.h"

int
ef_filters_init(struct ef_filters *f)
{
    *f = (struct ef_filters){0};
    atomic_init(&f->slot, -1);
    return -pthread_mutex_init(&f->lock, NULL);
}

/* --- The filters as of now, for the background thread -------------------------------- */

static void
work_destroy(struct ef_filter_work *work)
{
    if (!work) {
        return;
    }
    for (unsigned i = 0; i < work->n_filters; i++) {
        ef_installed_filter_release(work->filters[i]);
    }
    ef_predicate_set_destroy(work->set);
    ef_predicate_scratch_destroy(work->scratch);
    free(work->filters);
    free(work->unique);
    free(work->aggregates);
    free(work->chunk);
    free(work->bitmaps);
    free(work);
}

/* Filters of the same text are evaluated once. */
static void
add_filter(struct ef_filter_work *work, struct ef_installed_filter *filter, const struct ef_predicate **predicates)
{
    const char *text = ef_predicate_text(filter->predicate);
    unsigned unique = 0;
    while (unique < work->n_unique && strcmp(ef_predicate_text(predicates[unique]), text)) {
        unique++;
    }
    predicates[unique] = filter->predicate;
    work->n_unique = EF_MAX(work->n_unique, unique + 1);
    atomic_fetch_add_explicit(&filter->refs, 1, memory_order_relaxed);
    work->unique[work->n_filters] = unique;
    work->filters[work->n_filters++] = filter;
}

static void
add_aggregates(struct ef_filter_work *work, const struct ef_installed_aggregate *list)
{
    for (const struct ef_installed_aggregate *a = list; a; a = a->next) {
        unsigned i = 0;
        while (work->filters[i] != a->filter) {
            i++;
        }
        work->aggregates[work->n_aggregates].id = a->id;
        work->aggregates[work->n_aggregates].unique = work->unique[i];
        work->aggregates[work->n_aggregates++].spec = a->spec;
    }
}

static int
work_prepare(struct ef_filter_work *work, const struct ef_predicate **predicates, uint32_t bucket_rows)
{
    int rc = ef_predicate_set_create(predicates, work->n_unique, &work->set);
    if (rc) {
        return rc;
    }
    work->n_words = bucket_rows / 64;
    work->scratch = ef_predicate_scratch_create(work->set);
    work->chunk = calloc((size_t) work->n_unique * EF_PREDICATE_CHUNK_WORDS + 1, sizeof *work->chunk);
    work->bitmaps = calloc((size_t) work->n_unique * work->n_words + 1, sizeof *work->bitmaps);
    return work->scratch && work->chunk && work->bitmaps ? 0 : -ENOMEM;
}

/* With the lock held. NULL for lack of memory: then nothing is kept. */
static struct ef_filter_work *
work_create(const struct ef_filters *f, uint32_t bucket_rows)
{
    size_t n_filters = 1, n_aggregates = 1;
    for (const struct ef_installed_filter *filter = f->filters; filter; filter = filter->next) {
        n_filters++;
    }
    for (const struct ef_installed_aggregate *a = f->aggregates; a; a = a->next) {
        n_aggregates++;
    }
    struct ef_filter_work *work = calloc(1, sizeof *work);
    const struct ef_predicate **predicates = calloc(n_filters, sizeof(struct ef_predicate *));
    if (work) {
        work->filters = calloc(n_filters, sizeof(struct ef_installed_filter *));
        work->unique = calloc(n_filters, sizeof *work->unique);
        work->aggregates = calloc(n_aggregates, sizeof *work->aggregates);
    }
    bool ok = work && predicates && work->filters && work->unique && work->aggregates;
    for (struct ef_installed_filter *filter = f->filters; ok && filter; filter = filter->next) {
        add_filter(work, filter, predicates);
    }
    if (ok) {
        add_aggregates(work, f->aggregates);
        ok = !work_prepare(work, predicates, bucket_rows);
    }
    free(predicates);
    if (!ok) {
        work_destroy(work);
        return NULL;
    }
    return work;
}

/* --- The deriver -------------------------------------------------------------------- */

static void
eval_bucket(struct ef_filter_work *work, const struct ef_sealed *bucket)
{
    for (uint32_t row = 0; row < bucket->id.n_rows; row += EF_PREDICATE_CHUNK_ROWS) {
        uint32_t n = EF_MIN(bucket->id.n_rows - row, (uint32_t) EF_PREDICATE_CHUNK_ROWS);
        ef_predicate_set_eval(work->set, work->scratch, NULL, bucket->columns, row, n, work->chunk);
        for (unsigned i = 0; i < work->n_unique; i++) {
            memcpy(work->bitmaps + (size_t) i * work->n_words + row / 64,
                   work->chunk + (size_t) i * EF_PREDICATE_CHUNK_WORDS, (n + 63) / 64 * sizeof *work->chunk);
        }
    }
}

static void *
seal(void *log_, const struct ef_sealed *bucket)
{
    struct ef_multilog *log = log_;
    struct ef_filters *f = &log->filters;
    pthread_mutex_lock(&f->lock);
    if (f->has_changed || !f->work) {
        work_destroy(f->work);
        f->work = work_create(f, log->bucket_rows);
        f->has_changed = false;
    }
    pthread_mutex_unlock(&f->lock);
    if (!f->work || !f->work->n_filters) {
        return NULL;
    }
    eval_bucket(f->work, bucket);
    struct ef_matches *matches = ef_matches_create(f->work, bucket);
    if (matches) {
        atomic_fetch_add_explicit(&f->kept_bytes, ef_matches_bytes(matches), memory_order_relaxed);
        atomic_fetch_add_explicit(&f->n_buckets_kept, 1, memory_order_relaxed);
    }
    return matches;
}

static void
leave(void *log_, const struct ef_sealed_id *id, void *matches)
{
    struct ef_multilog *log = log_;
    atomic_fetch_sub_explicit(&log->filters.kept_bytes, ef_matches_bytes(matches), memory_order_relaxed);
    atomic_fetch_sub_explicit(&log->filters.n_buckets_kept, 1, memory_order_relaxed);
    free(matches);
}

/* With the lock held. */
static int
attach(struct ef_multilog *log)
{
    int slot = atomic_load(&log->filters.slot);
    if (slot < 0) {
        slot = ef_multilog_attach(log, &(struct ef_deriver){.seal = seal, .leave = leave, .aux = log});
        atomic_store(&log->filters.slot, slot < 0 ? -1 : slot);
    }
    return EF_MIN(slot, 0);
}

/* --- Names -------------------------------------------------------------------------- */

static struct ef_installed_filter *
find(struct ef_filters *f, const char *name)
{
    struct ef_installed_filter *filter = f->filters;
    while (filter && strcmp(filter->name, name)) {
        filter = filter->next;
    }
    return filter;
}

static int
check_name(const char *name, struct ef_error *err)
{
    if (!*name || strlen(name) >= EF_FILTER_NAME_SIZE) {
        return ef_error_set(err, -EINVAL, "a filter's name has 1 to %d bytes", EF_FILTER_NAME_SIZE - 1);
    }
    return 0;
}

/* With the lock held; takes over the filter if it returns 0. */
static int
install(struct ef_multilog *log, struct ef_installed_filter *filter, struct ef_error *err)
{
    struct ef_filters *f = &log->filters;
    if (find(f, filter->name)) {
        return ef_error_set(err, -EEXIST, "there is a filter %s already", filter->name);
    }
    int rc = attach(log);
    if (rc) {
        return ef_error_set(err, rc, "the store cannot keep matches: %s", strerror(-rc));
    }
    struct ef_installed_filter **link = &f->filters;
    while (*link) {
        link = &(*link)->next;
    }
    filter->id = ++f->last_id;
    *link = filter;
    f->has_changed = true;
    return 0;
}

int
ef_multilog_add_filter(struct ef_multilog *log, const char *name, const char *text, struct ef_error *err)
{
    int rc = check_name(name, err);
    if (rc) {
        return rc;
    }
    struct ef_installed_filter *filter = calloc(1, sizeof *filter);
    if (!filter) {
        return -ENOMEM;
    }
    strcpy(filter->name, name);
    atomic_init(&filter->refs, 1);
    rc = ef_predicate_compile(text, &log->schema, &filter->predicate, err);
    if (!rc) {
        pthread_mutex_lock(&log->filters.lock);
        rc = install(log, filter, err);
        pthread_mutex_unlock(&log->filters.lock);
    }
    if (rc) {
        ef_installed_filter_release(filter);
    }
    return rc;
}

static void
remove_aggregates_of(struct ef_multilog *log, const struct ef_installed_filter *filter)
{
    struct ef_filters *f = &log->filters;
    for (struct ef_installed_aggregate **link = &f->aggregates; *link;) {
        struct ef_installed_aggregate *a = *link;
        if (a->filter == filter) {
            *link = a->next;
            ef_triggers_forget(&log->triggers, a->id);
            free(a);
        } else {
            link = &a->next;
        }
    }
}

int
ef_multilog_remove_filter(struct ef_multilog *log, const char *name)
{
    struct ef_filters *f = &log->filters;
    pthread_mutex_lock(&f->lock);
    struct ef_installed_filter *filter = find(f, name), **link = &f->filters;
    if (filter) {
        remove_aggregates_of(log, filter);
        while (*link != filter) {
            link = &(*link)->next;
        }
        *link = filter->next;
        f->has_changed = true;
    }
    pthread_mutex_unlock(&f->lock);
    ef_installed_filter_release(filter);
    return filter ? 0 : -ENOENT;
}

struct ef_installed_filter *
ef_multilog_get_filter(struct ef_multilog *log, const char *name)
{
    pthread_mutex_lock(&log->filters.lock);
    struct ef_installed_filter *filter = find(&log->filters, name);
    if (filter) {
        atomic_fetch_add_explicit(&filter->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&log->filters.lock);
    return filter;
}

void
ef_installed_filter_retain(struct ef_installed_filter *filter)
{
    atomic_fetch_add_explicit(&filter->refs, 1, memory_order_relaxed);
}

void
ef_installed_filter_release(struct ef_installed_filter *filter)
{
    if (filter && atomic_fetch_sub_explicit(&filter->refs, 1, memory_order_acq_rel) == 1) {
        ef_predicate_destroy(filter->predicate);
        free(filter);
    }
}

const struct ef_predicate *
ef_installed_filter_predicate(const struct ef_installed_filter *filter)
{
    return filter->predicate;
}

bool
ef_installed_filter_kept(const struct ef_installed_filter *filter, const struct ef_multilog *log,
                         const struct ef_bucket *bucket, uint32_t first_row, uint32_t n_rows, uint64_t *bits)
{
    int slot = atomic_load_explicit(&log->filters.slot, memory_order_acquire);
    const struct ef_matches *matches = slot >= 0 ? ef_bucket_derived(bucket, (unsigned) slot) : NULL;
    return matches && ef_matches_eval(matches, filter->id, first_row, n_rows, bits);
}

void
ef_installed_filter_eval(const struct ef_installed_filter *filter, const struct ef_multilog *log,
                         struct ef_bucket *bucket, uint32_t first_row, uint32_t n_rows, uint64_t *bits)
{
    if (ef_installed_filter_kept(filter, log, bucket, first_row, n_rows, bits)) {
        return;
    }
    const uint8_t *columns[EF_SCHEMA_MAX_COLUMNS];
    ef_bucket_columns(log, bucket, columns);
    ef_predicate_eval(filter->predicate, columns, first_row, n_rows, bits);
}

void
ef_multilog_filter_stats(struct ef_multilog *log, struct ef_filter_stats *stats)
{
    struct ef_filters *f = &log->filters;
    *stats = (struct ef_filter_stats){0};
    pthread_mutex_lock(&f->lock);
    for (const struct ef_installed_filter *filter = f->filters; filter; filter = filter->next) {
        stats->n_filters++;
    }
    for (const struct ef_installed_aggregate *a = f->aggregates; a; a = a->next) {
        stats->n_aggregates++;
    }
    pthread_mutex_unlock(&f->lock);
    stats->kept_bytes = atomic_load_explicit(&f->kept_bytes, memory_order_relaxed);
    stats->n_buckets_kept = atomic_load_explicit(&f->n_buckets_kept, memory_order_relaxed);
}

void
ef_filters_deinit(struct ef_filters *f)
{
    work_destroy(f->work);
    for (struct ef_installed_aggregate *a = f->aggregates, *next; a; a = next) {
        next = a->next;
        free(a);
    }
    for (struct ef_installed_filter *filter = f->filters, *next; filter; filter = next) {
        next = filter->next;
        ef_installed_filter_release(filter);
    }
    pthread_mutex_destroy(&f->lock);
}
