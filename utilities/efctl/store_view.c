/* SPDX-License-Identifier: Apache-2.0 */
/* The stores of the analyzers, and traces as lines; see store_view.h. */
#include <config.h>

#include "utilities/efctl/store_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/trace_view.h"

static bool
is_up(const json_t *analyzer)
{
    return !strcmp(efctl_get_string(analyzer, "state", ""), "up");
}

bool
efctl_store_is_bad(const json_t *status)
{
    size_t i;
    const json_t *analyzer;
    bool is_bad = false;
    json_array_foreach(efctl_get_array(status, "analyzers"), i, analyzer)
    {
        is_bad |= !is_up(analyzer) || efctl_get_string(efctl_get_object(analyzer, "archive"), "alarm", NULL);
    }
    return is_bad;
}

/* --- Cells ---------------------------------------------------------------------------- */

static void
add_name(struct efctl_table *table, const json_t *analyzer)
{
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(analyzer, "name", "?"));
}

static void
add_count(struct efctl_table *table, const json_t *object, const char *key, enum efctl_style style)
{
    char buf[EFCTL_TEXT_SIZE];
    int64_t n = efctl_get_int(object, key, 0);
    if (efctl_has_number(object, key)) {
        efctl_table_cell_right(table, n ? style : EFCTL_PLAIN, "%s", efctl_format_count(n, buf));
    } else {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    }
}

static void
add_bytes(struct efctl_table *table, const json_t *object, const char *key)
{
    char buf[EFCTL_TEXT_SIZE];
    if (efctl_has_number(object, key)) {
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_bytes(efctl_get_int(object, key, 0), buf));
    } else {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    }
}

static void
add_bytes_each(struct efctl_table *table, int64_t bytes, int64_t n)
{
    if (n > 0) {
        efctl_table_cell_right(table, EFCTL_PLAIN, "%.1f", (double) bytes / (double) n);
    } else {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    }
}

static void
add_age(struct efctl_table *table, const json_t *object, const char *key, const struct ef_time *now)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *time = efctl_get_string(object, key, NULL);
    efctl_table_cell(table, time ? EFCTL_PLAIN : EFCTL_DIM, "%s", time ? efctl_format_age(time, now->ns, buf) : "-");
}

/* --- The tables of status ---------------------------------------------------------------- */

static void
view_memory(struct efctl_output *out, const json_t *analyzers, const struct ef_time *now)
{
    static const char *const head[] = {"IN MEMORY", ">TRACES", ">USED", ">OF", ">LEFT", ">REFUSED", "OLDEST", NULL};
    struct efctl_table *table = efctl_table_create(0);
    size_t i;
    const json_t *a;
    efctl_table_head(table, head);
    json_array_foreach(analyzers, i, a)
    {
        const json_t *memory = efctl_get_object(a, "memory");
        add_name(table, a);
        add_count(table, a, "traces_stored", EFCTL_PLAIN);
        add_bytes(table, memory, "closed_traces_used");
        add_bytes(table, memory, "closed_traces");
        add_count(table, a, "traces_evicted", EFCTL_PLAIN);
        add_count(table, a, "traces_refused", EFCTL_BAD);
        add_age(table, a, "oldest", now);
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static bool
add_indexes(struct efctl_table *table, const json_t *analyzer)
{
    const json_t *indexes = efctl_get_array(analyzer, "indexes"), *index;
    size_t i;
    json_array_foreach(indexes, i, index)
    {
        double seconds = 0;
        efctl_get_number(index, "processor_s", &seconds);
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(index, "name", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(analyzer, "name", "?"));
        add_count(table, index, "traces", EFCTL_PLAIN);
        add_bytes(table, index, "bytes");
        add_bytes_each(table, efctl_get_int(index, "bytes", 0), efctl_get_int(index, "traces", 0));
        efctl_table_cell_right(table, EFCTL_PLAIN, "%.3f s", seconds);
        add_count(table, index, "buckets_without", EFCTL_WARN);
        efctl_table_end_row(table);
    }
    return json_array_size(indexes) > 0;
}

static void
view_indexes(struct efctl_output *out, const json_t *analyzers)
{
    static const char *const head[] = {"INDEX",       "ANALYZER",   ">TRACES",     ">MEMORY",
                                       ">BYTES EACH", ">PROCESSOR", ">WITHOUT IT", NULL};
    struct efctl_table *table = efctl_table_create(0);
    size_t i;
    const json_t *a;
    bool any = false;
    efctl_table_head(table, head);
    json_array_foreach(analyzers, i, a)
    {
        any |= add_indexes(table, a);
    }
    if (any) {
        efctl_output_newline(out);
        efctl_table_print(table, out);
    }
    efctl_table_destroy(table);
}

/* How far the traces have come on their way to the disk. */
static void
view_tails(struct efctl_output *out, const json_t *analyzers)
{
    static const char *const head[] = {"TAILS", ">READ", ">TAKEN", ">WRITTEN", ">SYNCED", ">SEALED", NULL};
    static const char *const keys[] = {"read", "taken", "written", "synced", "sealed"};
    struct efctl_table *table = efctl_table_create(0);
    size_t i;
    const json_t *a;
    bool any = false;
    efctl_table_head(table, head);
    json_array_foreach(analyzers, i, a)
    {
        const json_t *tails = efctl_get_object(a, "tails");
        any |= tails != NULL;
        if (!tails) {
            continue;
        }
        add_name(table, a);
        for (size_t k = 0; k < EF_ARRAY_SIZE(keys); k++) {
            add_count(table, tails, keys[k], EFCTL_PLAIN);
        }
        efctl_table_end_row(table);
    }
    if (any) {
        efctl_output_newline(out);
        efctl_table_print(table, out);
    }
    efctl_table_destroy(table);
}

static void
add_archive(struct efctl_table *table, const json_t *analyzer, const json_t *archive, const struct ef_time *now)
{
    const char *alarm = efctl_get_string(archive, "alarm", NULL);
    add_name(table, analyzer);
    efctl_table_cell(table, alarm ? EFCTL_BAD : EFCTL_GOOD, "%s", alarm ? "alarm" : "ok");
    add_count(table, archive, "traces_sealed", EFCTL_PLAIN);
    add_count(table, archive, "segments", EFCTL_PLAIN);
    add_count(table, archive, "unsealed", EFCTL_PLAIN);
    add_bytes(table, archive, "bytes");
    add_count(table, archive, "traces_missed", EFCTL_BAD);
    add_count(table, archive, "traces_dropped", EFCTL_BAD);
    add_count(table, archive, "traces_expired", EFCTL_PLAIN);
    add_age(table, archive, "oldest", now);
    efctl_table_end_row(table);
}

static void
view_archives(struct efctl_output *out, const json_t *analyzers, const struct ef_time *now)
{
    static const char *const head[] = {"ARCHIVE", "STATE",    ">SEALED",  ">SEGMENTS", ">UNSEALED", ">DISK",
                                       ">MISSED", ">DROPPED", ">EXPIRED", "OLDEST",    NULL};
    struct efctl_table *table = efctl_table_create(0);
    size_t i, n = 0;
    const json_t *a;
    efctl_table_head(table, head);
    json_array_foreach(analyzers, i, a)
    {
        const json_t *archive = efctl_get_object(a, "archive");
        if (archive) {
            add_archive(table, a, archive, now);
            n++;
        }
    }
    efctl_output_newline(out);
    if (n) {
        efctl_table_print(table, out);
    } else {
        efctl_output_text(out, EFCTL_PLAIN, "No analyzer has an archive: see --archive in ef-analyzer(8)");
        efctl_output_newline(out);
    }
    efctl_table_destroy(table);
}

/* --- What is wrong, in words --------------------------------------------------------------- */

static void
say(struct efctl_output *out, const json_t *analyzer, const char *text)
{
    efctl_output_text(out, EFCTL_BOLD, efctl_get_string(analyzer, "name", "?"));
    efctl_output_printf(out, EFCTL_PLAIN, ": %s", text);
    efctl_output_newline(out);
}

/* A sentence with the number, if it is not 0. */
static void
say_count(struct efctl_output *out, const json_t *analyzer, const char *key, const char *what)
{
    char count[EFCTL_TEXT_SIZE], text[200];
    int64_t n = efctl_get_int(efctl_get_object(analyzer, "archive"), key, 0);
    if (n > 0) {
        snprintf(text, sizeof text, "%s %s", efctl_format_count(n, count), what);
        say(out, analyzer, text);
    }
}

static void
view_troubles(struct efctl_output *out, const json_t *analyzers)
{
    size_t i;
    const json_t *a;
    json_array_foreach(analyzers, i, a)
    {
        const char *alarm = efctl_get_string(efctl_get_object(a, "archive"), "alarm", NULL);
        if (!is_up(a)) {
            say(out, a, efctl_get_string(a, "error", "does not answer"));
        }
        if (alarm) {
            char text[200];
            snprintf(text, sizeof text, "the archive's disk: %s", alarm);
            say(out, a, text);
        }
        say_count(out, a, "traces_missed", "traces left memory before they were archived: give it more --memory");
        say_count(out, a, "traces_dropped", "traces were refused by the archive's disk");
        say_count(out, a, "broken_files", "broken file(s) of the archive were set aside as *.broken");
        say_count(out, a, "torn_bytes", "bytes at the end of spool files were torn by a crash, and cut");
    }
}

void
efctl_store_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    const json_t *analyzers = efctl_get_array(document, "analyzers");
    if (!json_array_size(analyzers)) {
        efctl_output_text(out, EFCTL_PLAIN, "The controller's configuration names no analyzer");
        efctl_output_newline(out);
        return;
    }
    view_memory(out, analyzers, ctx);
    view_indexes(out, analyzers);
    view_tails(out, analyzers);
    view_archives(out, analyzers, ctx);
    view_troubles(out, analyzers);
}

/* --- Traces as lines ------------------------------------------------------------------------- */

static void
add_trace(struct efctl_table *table, const json_t *trace)
{
    char buf[EFCTL_TEXT_SIZE];
    double us = 0;
    const char *verdict = efctl_get_bool(trace, "loop") ? "loop" : efctl_get_string(trace, "fate", "-");
    bool is_bad = !strcmp(verdict, "loop") || !strcmp(verdict, "dropped");
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_format_time(efctl_get_string(trace, "start", "?"), 6, buf));
    efctl_table_cell(table, EFCTL_DIM, "%s", efctl_get_string(trace, "id", "?"));
    add_count(table, trace, "n_hops", EFCTL_PLAIN);
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s",
                           efctl_get_number(trace, "latency_us", &us) ? efctl_format_duration_us(us, buf) : "-");
    efctl_table_cell(table, is_bad ? EFCTL_BAD : EFCTL_PLAIN, "%s", verdict);
    efctl_table_cell(table, EFCTL_PLAIN, "%s",
                     efctl_get_string(efctl_get_object(trace, "packet"), "summary", "(no packet)"));
    efctl_table_end_row(table);
}

void
efctl_store_traces_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"START", "ID", ">HOPS", ">LATENCY", "VERDICT", "PACKET", NULL};
    const struct efctl_trace_query *query = ctx;
    const json_t *traces = efctl_get_array(document, "traces"), *trace;
    size_t i;
    if (json_array_size(traces)) {
        struct efctl_table *table = efctl_table_create(0);
        efctl_table_head(table, head);
        json_array_foreach(traces, i, trace)
        {
            add_trace(table, trace);
        }
        efctl_table_print(table, out);
        efctl_table_destroy(table);
    } else {
        efctl_output_text(out, EFCTL_PLAIN, "No trace matches");
        efctl_output_newline(out);
    }
    if (efctl_get_bool(document, "more")) {
        efctl_output_printf(out, EFCTL_DIM, "These are the newest %" PRIu64 "; for all: --limit 0", query->limit);
        efctl_output_newline(out);
    }
    efctl_trace_incomplete(out, efctl_get_array(document, "incomplete"));
}
