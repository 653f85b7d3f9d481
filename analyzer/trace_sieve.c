/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of the archive cannot be answers; see trace_sieve.h. */
#include <config.h>

#include "analyzer/trace_sieve.h"

#include <string.h>

#include "base/byteorder.h"
#include "base/util.h"
#include "packet/headers.h"
#include "store/archive/byte_buffer.h"

enum { MAX_SOURCES = 6, N_FLAGS = 6 };

/* From which columns of the archive each column in memory follows. */
static const struct {
    const char *column;
    struct source {
        const char *name;
        bool of_hops;
    } sources[MAX_SOURCES];
    bool is_plain; /* The column is the first source; 0 for null. */
} origins[] = {
    {"id", {{"id", false}}, true},
    {"src", {{"src", false}}, true},
    {"dst", {{"dst", false}}, true},
    {"srcport", {{"srcport", false}}, true},
    {"dstport", {{"dstport", false}}, true},
    {"tcp_flags", {{"tcp_flags", false}}, true},
    {"protocol", {{"proto", false}, {"srcport", false}, {"tcp_flags", false}, {"icmp_type", false}}, false},
    {"flags",
     {{"loop", false}, {"debug", false}, {"fate", false}, {"mux_hop", false}, {"nested", false}, {"flags", true}},
     false},
    {"hops", {{"depth", true}}, false},
    {"latency_ns", {{"after_ns", true}, {"delay_ns", true}, {"switch_clock", false}}, false},
};

static unsigned
column_of(const struct source *source)
{
    for (unsigned i = 0; i < ef_trace_schema.n_columns; i++) {
        const struct ef_row_column *c = &ef_trace_schema.columns[i];
        if (c->list == source->of_hops && !strcmp(c->name, source->name)) {
            return i;
        }
    }
    abort(); /* The table above is wrong. */
}

/* The place in `origins` of the column in memory, or -1. */
static int
origin_of(const struct ef_trace_sieve *s, unsigned column)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(origins); i++) {
        if (!strcmp(origins[i].column, s->schema.columns[column].name)) {
            return (int) i;
        }
    }
    return -1;
}

/* --- Rows ---------------------------------------------------------------------------- */

/* As of a trace: with the first hop at `arrival`, 0. */
static int64_t
latency_of(const struct ef_trace_row *row)
{
    const struct ef_hop_row *hops = row->hops.elements;
    uint64_t arrival = (uint64_t) row->start.ns, first = 0, time = 0;
    for (uint32_t i = 0; i < row->hops.n; i++) {
        arrival += (uint64_t) hops[i].after_ns;
        time = !row->switch_clock ? arrival : hops[i].has_clock ? arrival - (uint64_t) hops[i].delay_ns : 0;
        first = i ? first : time;
    }
    return (int64_t) (time - first);
}

static uint8_t
protocol_of(const struct ef_trace_row *row)
{
    return row->has_tcp                                     ? EF_IPPROTO_TCP
           : row->has_ports                                 ? EF_IPPROTO_UDP
           : row->has_icmp && row->proto == EF_IPPROTO_ICMP ? EF_IPPROTO_ICMP
           : row->has_icmp                                  ? EF_IPPROTO_ICMPV6
                                                            : 0;
}

static uint8_t
flags_of(bool debug, bool mux, bool drop, bool loop, bool nested, bool corrupt)
{
    return (uint8_t) ((debug ? EF_TRACE_FLAG_DEBUG : 0) | (mux ? EF_TRACE_FLAG_MUX : 0) |
                      (drop ? EF_TRACE_FLAG_DROP : 0) | (loop ? EF_TRACE_FLAG_LOOP : 0) |
                      (nested ? EF_TRACE_FLAG_NESTED : 0) | (corrupt ? EF_TRACE_FLAG_CORRUPT : 0));
}

static bool
is_corrupt(const struct ef_trace_row *row)
{
    const struct ef_hop_row *hops = row->hops.elements;
    uint8_t all = 0;
    for (uint32_t i = 0; i < row->hops.n; i++) {
        all |= hops[i].flags;
    }
    return all & EF_HOP_CORRUPT;
}

void
ef_trace_columns_of_row(const struct ef_trace_row *row, struct ef_trace_columns *c)
{
    int64_t latency_ns = latency_of(row);
    *c = (struct ef_trace_columns){
        .start = row->start,
        .id = row->id,
        .latency_ns = latency_ns > 0 ? (uint64_t) latency_ns : 0,
        .srcport = row->has_ports ? row->srcport : 0,
        .dstport = row->has_ports ? row->dstport : 0,
        .tcp_flags = row->has_tcp ? row->tcp_flags : 0,
        .protocol = protocol_of(row),
        .hops = (uint8_t) EF_MIN(row->hops.n, (uint32_t) UINT8_MAX),
        .flags =
            flags_of(row->debug, row->mux_hop, row->fate == EF_FATE_DROPPED, row->loop, row->nested, is_corrupt(row)),
    };
    if (row->has_ip) {
        memcpy(c->src, row->src, sizeof c->src);
        memcpy(c->dst, row->dst, sizeof c->dst);
    }
}

static bool
is_through(const struct ef_trace_row *row, const struct ef_multilog_key_test *key)
{
    const struct ef_hop_row *hops = row->hops.elements;
    for (uint32_t i = 0; i < row->hops.n; i++) {
        if (memcmp(hops[i].switch_address, key->low, 16) >= 0 && memcmp(hops[i].switch_address, key->high, 16) <= 0) {
            return true;
        }
    }
    return false;
}

static bool
is_through_all(const struct ef_trace_question *q, const struct ef_trace_row *row)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < q->n_keys; i++) {
        ok = is_through(row, &q->keys[i]);
    }
    return ok;
}

/* Rows as columns: some rows of the set, from number `*next` on, which it moves.
 * `at` says which they are. */
static uint32_t
gather(struct ef_trace_sieve *s, const struct ef_row_set *rows, uint32_t *next, uint32_t *at)
{
    uint32_t n = 0;
    for (; *next < rows->n_rows && n < EF_PREDICATE_CHUNK_ROWS; ++*next) {
        struct ef_trace_columns row;
        if (!rows->rows[*next]) {
            continue;
        }
        ef_trace_columns_of_row(rows->rows[*next], &row);
        for (unsigned i = 0; i < EF_TRACE_COLUMN_TRACE; i++) {
            const struct ef_column *c = &s->schema.columns[i];
            memcpy(s->values[i] + (size_t) n * c->width, (const uint8_t *) &row + c->offset, c->width);
        }
        at[n++] = *next;
    }
    return n;
}

static void
sift(void *ctx, struct ef_row_set *rows)
{
    struct ef_trace_sieve *s = ctx;
    const struct ef_trace_question *q = &s->question;
    uint64_t bits[EF_PREDICATE_CHUNK_WORDS];
    uint32_t at[EF_PREDICATE_CHUNK_ROWS], n;
    for (uint32_t next = 0; q->predicate && (n = gather(s, rows, &next, at)) > 0;) {
        ef_predicate_eval(q->predicate, (const uint8_t *const *) s->values, 0, n, bits);
        for (uint32_t i = 0; i < n; i++) {
            rows->rows[at[i]] = bits[i / 64] >> i % 64 & 1 ? rows->rows[at[i]] : NULL;
        }
    }
    for (uint32_t i = 0; q->n_keys && i < rows->n_rows; i++) {
        rows->rows[i] = rows->rows[i] && is_through_all(q, rows->rows[i]) ? rows->rows[i] : NULL;
    }
}

/* --- Row groups ------------------------------------------------------------------------ */

/* A row group's values of a column, as ef_column_value() has them. */
struct span {
    ef_u128 min, max;
    bool has_zero; /* Also 0, for null. */
};

static bool
read_span(const struct ef_parquet_reader *reader, unsigned group, const struct source *source, struct span *span)
{
    unsigned column = column_of(source);
    uint8_t min[64], max[64];
    if (!ef_parquet_reader_bounds(reader, group, column, min, max)) {
        return false;
    }
    if (ef_trace_schema.columns[column].type == EF_ROW_FIXED) {
        span->min = (ef_u128) ef_load_be64(min) << 64 | ef_load_be64(min + 8);
        span->max = (ef_u128) ef_load_be64(max) << 64 | ef_load_be64(max + 8);
    } else {
        span->min = ef_load_le64(min);
        span->max = ef_load_le64(max);
    }
    span->has_zero = ef_parquet_reader_may_be_null(reader, group, column);
    return true;
}

static bool
is_in_ranges(const struct ef_term *term, ef_u128 low, ef_u128 high)
{
    for (uint32_t i = 0; i < term->n_ranges; i++) {
        if (term->ranges[i].low <= high && term->ranges[i].high >= low) {
            return true;
        }
    }
    return false;
}

/* True if a column in the group may have `value` or another of those like it: any
 * but 0 for `true`. */
static bool
may_be(const struct ef_parquet_reader *reader, unsigned group, const char *name, bool is_set, ef_u128 value)
{
    struct span span;
    if (!read_span(reader, group, &(struct source){name, false}, &span)) {
        return true;
    }
    bool has_it = span.min <= value && value <= span.max, has_others = span.min != value || span.max != value;
    return is_set ? has_it : has_others;
}

/* True if a hop in the group may be corrupt. */
static bool
may_be_corrupt(const struct ef_parquet_reader *reader, unsigned group)
{
    struct span span;
    return !read_span(reader, group, &(struct source){"flags", true}, &span) || span.max >= EF_HOP_CORRUPT;
}

/* Some combination of what the columns can be is in the ranges of `flags`. */
static bool
are_flags_possible(const struct ef_parquet_reader *reader, unsigned group, const struct ef_term *term)
{
    bool can[2][N_FLAGS];
    for (int set = 0; set < 2; set++) {
        can[set][0] = may_be(reader, group, "debug", set, 1);
        can[set][1] = may_be(reader, group, "mux_hop", !set, 0);
        can[set][2] = may_be(reader, group, "fate", set, EF_FATE_DROPPED);
        can[set][3] = may_be(reader, group, "loop", set, 1);
        can[set][4] = may_be(reader, group, "nested", set, 1);
        can[set][5] = !set || may_be_corrupt(reader, group);
    }
    for (unsigned value = 0; value < EF_TRACE_FLAGS_END; value++) {
        bool ok = is_in_ranges(term, value, value);
        for (unsigned bit = 0; ok && bit < N_FLAGS; bit++) {
            ok = can[value >> bit & 1][bit];
        }
        if (ok) {
            return true;
        }
    }
    return false;
}

static bool
is_possible(const struct ef_trace_sieve *s, const struct ef_parquet_reader *reader, unsigned group,
            const struct ef_term *term)
{
    int origin = origin_of(s, term->column);
    struct span span;
    if (origin < 0 || term->right_column >= 0 || ~term->mask) {
        return true;
    }
    if (!strcmp(origins[origin].column, "flags")) {
        return are_flags_possible(reader, group, term);
    }
    return !origins[origin].is_plain || !read_span(reader, group, &origins[origin].sources[0], &span) ||
           is_in_ranges(term, span.min, span.max) || (span.has_zero && is_in_ranges(term, 0, 0));
}

static bool
can_match(void *ctx, const struct ef_parquet_reader *reader, unsigned group)
{
    const struct ef_trace_sieve *s = ctx;
    const struct ef_predicate *p = s->question.predicate;
    int n = p ? ef_predicate_n_conjunctions(p) : -1;
    for (int i = 0; i < n; i++) {
        unsigned n_terms;
        const uint16_t *terms = ef_predicate_conjunction(p, (unsigned) i, &n_terms);
        bool ok = true;
        for (unsigned k = 0; ok && k < n_terms; k++) {
            ok = is_possible(s, reader, group, ef_predicate_term(p, terms[k]));
        }
        if (ok) {
            return true;
        }
    }
    return n < 0; /* Nothing is asked, or too much. */
}

/* --- The seam ---------------------------------------------------------------------------- */

/* Notes which columns of the archive the question needs. */
static void
choose_columns(struct ef_trace_sieve *s)
{
    const struct ef_predicate *p = s->question.predicate;
    for (unsigned t = 0; p && t < ef_predicate_n_terms(p); t++) {
        const struct ef_term *term = ef_predicate_term(p, t);
        int origin = origin_of(s, term->column);
        for (unsigned i = 0; origin >= 0 && i < MAX_SOURCES && origins[origin].sources[i].name; i++) {
            s->columns[column_of(&origins[origin].sources[i])] = true;
        }
    }
    if (s->question.n_keys) {
        s->columns[column_of(&(struct source){"switch", true})] = true;
    }
}

void
ef_trace_sieve_init(struct ef_trace_sieve *s, const struct ef_trace_query *query)
{
    struct ef_error err = EF_ERROR_INIT;
    memset(s, 0, sizeof *s);
    if (ef_schema_init(&s->schema, ef_trace_columns_list, ef_trace_columns_n, sizeof(struct ef_trace_columns), &err) ||
        ef_trace_question_init(&s->question, &s->schema, query)) {
        abort(); /* The table is right, so memory is out. */
    }
    for (unsigned i = 0; i < EF_TRACE_COLUMN_TRACE; i++) {
        s->values[i] = ef_must_realloc(NULL, (size_t) s->schema.columns[i].width * EF_PREDICATE_CHUNK_ROWS);
    }
    choose_columns(s);
    s->archive = (struct ef_archive_sieve){.columns = s->columns, .sift = sift, .can_match = can_match, .ctx = s};
}

void
ef_trace_sieve_deinit(struct ef_trace_sieve *s)
{
    for (unsigned i = 0; i < EF_TRACE_COLUMN_TRACE; i++) {
        free(s->values[i]);
    }
    ef_trace_question_deinit(&s->question);
}
