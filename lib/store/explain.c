/* SPDX-License-Identifier: Apache-2.0 */
/* Explains queries: see explain.h. One document is made of what the planner
 * counted; the text says what the document has. */
#include <config.h>

#include "store/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "store/cursor.h"

/* --- The document ------------------------------------------------------------------- */

static const char *
index_name(const struct ef_planner *p, unsigned index)
{
    return p->log->schema.columns[p->held[index]->column].name;
}

static const char *
test_name(const struct ef_planner *p, const struct ef_plan_test *test)
{
    unsigned column = test->term ? test->term->column : (unsigned) p->log->schema.variable;
    return p->log->schema.columns[column].name;
}

static json_t *
describe_tests(const struct ef_planner *p, unsigned conjunction)
{
    json_t *tests = json_array();
    unsigned i = 0;
    for (int t; (t = ef_planner_next_test(p, conjunction, &i)) >= 0;) {
        json_array_append_new(tests, json_string(test_name(p, &p->tests[t])));
    }
    return tests;
}

static json_t *
describe_indexes(const struct ef_planner *p, const struct ef_plan_conjunction *stats)
{
    json_t *indexes = json_array();
    for (unsigned i = 0; i < p->n_held; i++) {
        if (stats->chosen[i] || stats->intersected[i]) {
            json_array_append_new(indexes, json_pack("{s:s, s:I, s:I}", "index", index_name(p, i), "shortest",
                                                     (json_int_t) stats->chosen[i], "intersected",
                                                     (json_int_t) stats->intersected[i]));
        }
    }
    return indexes;
}

static json_t *
describe_conjunctions(const struct ef_planner *p)
{
    json_t *conjunctions = json_array();
    for (int i = 0; i < p->n_conjunctions; i++) {
        const struct ef_plan_conjunction *stats = &p->conjunctions[i];
        json_array_append_new(conjunctions,
                              json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "tests", describe_tests(p, (unsigned) i),
                                        "buckets", (json_int_t) stats->n_buckets, "empty", (json_int_t) stats->n_empty,
                                        "estimated", (json_int_t) stats->n_estimated, "candidates",
                                        (json_int_t) stats->n_candidates, "matches", (json_int_t) stats->n_matches,
                                        "indexes", describe_indexes(p, stats)));
    }
    return conjunctions;
}

/* NULL for lack of memory. */
static json_t *
describe(const struct ef_planner *p)
{
    const struct ef_plan_stats *stats = &p->stats;
    const char *filter = p->query->predicate ? ef_predicate_text(p->query->predicate) : "";
    return json_pack("{s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:I, s:b, s:o, s:I}", "filter", filter, "buckets", "all",
                     (json_int_t) stats->n_buckets, "outside_window", (json_int_t) stats->n_outside_window,
                     "outside_zones", (json_int_t) stats->n_outside_zones, "by_index",
                     (json_int_t) (stats->n_looked_at - stats->n_scanned - stats->n_by_filter), "by_filter",
                     (json_int_t) stats->n_by_filter, "scanned", (json_int_t) stats->n_scanned, "rows_scanned",
                     (json_int_t) stats->n_rows_scanned, "too_long", p->n_conjunctions == -E2BIG, "conjunctions",
                     describe_conjunctions(p), "records", (json_int_t) stats->n_matches);
}

/* --- The text ----------------------------------------------------------------------- */

static long long
number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void
print_conjunction(FILE *f, size_t i, const json_t *conjunction)
{
    const json_t *tests = json_object_get(conjunction, "tests"), *indexes = json_object_get(conjunction, "indexes");
    fprintf(f, "conjunction %zu: ", i + 1);
    for (size_t k = 0; k < json_array_size(tests); k++) {
        fprintf(f, "%s%s", k ? ", " : "", json_string_value(json_array_get(tests, k)));
    }
    fprintf(f, "; %lld rows estimated, %lld candidates, %lld matches, nothing in %lld buckets\n",
            number(conjunction, "estimated"), number(conjunction, "candidates"), number(conjunction, "matches"),
            number(conjunction, "empty"));
    for (size_t k = 0; k < json_array_size(indexes); k++) {
        const json_t *index = json_array_get(indexes, k);
        fprintf(f, "    index %s: the shortest in %lld buckets, intersected with in %lld\n",
                json_string_value(json_object_get(index, "index")), number(index, "shortest"),
                number(index, "intersected"));
    }
}

static char *
to_text(const json_t *document)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        return NULL;
    }
    const json_t *buckets = json_object_get(document, "buckets");
    const json_t *conjunctions = json_object_get(document, "conjunctions");
    fprintf(f, "filter: %s\n", json_string_value(json_object_get(document, "filter")));
    fprintf(f,
            "buckets: %lld, of them %lld outside the window, %lld outside the zones, %lld by index, %lld by "
            "the filter's own matches, %lld scanned (%lld rows)\n",
            number(buckets, "all"), number(buckets, "outside_window"), number(buckets, "outside_zones"),
            number(buckets, "by_index"), number(buckets, "by_filter"), number(buckets, "scanned"),
            number(document, "rows_scanned"));
    if (json_is_true(json_object_get(document, "too_long"))) {
        fprintf(f, "too many conjunctions: scanned\n");
    }
    for (size_t i = 0; i < json_array_size(conjunctions); i++) {
        print_conjunction(f, i, json_array_get(conjunctions, i));
    }
    fprintf(f, "result: %lld records\n", number(document, "records"));
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}

int
ef_multilog_cursor_explain(const struct ef_multilog_cursor *c, enum ef_explain_format format, char **text)
{
    json_t *document = describe(&c->planner);
    *text = NULL;
    if (document) {
        *text = format == EF_EXPLAIN_JSON ? json_dumps(document, JSON_COMPACT) : to_text(document);
    }
    json_decref(document);
    return *text ? 0 : -ENOMEM;
}

int
ef_multilog_explain(struct ef_multilog *log, const struct ef_multilog_query *query, enum ef_explain_format format,
                    char **text)
{
    struct ef_multilog_cursor *c;
    uint64_t n_matches;
    int rc = ef_multilog_query(log, query, &c);
    if (rc) {
        return rc;
    }
    c->planner.is_explained = true;
    while (ef_cursor_next_bucket(c, &n_matches)) {
    }
    rc = ef_multilog_cursor_explain(c, format, text);
    ef_multilog_cursor_close(c);
    return rc;
}
