/* SPDX-License-Identifier: Apache-2.0 */
/* efctl status: whether all parts work; the exit status says it to scripts. */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "base/drop_reason.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

static bool
is_up(const json_t *daemon)
{
    return !strcmp(efctl_get_string(daemon, "state", ""), "up");
}

static bool
has_failed_source(const json_t *daemon)
{
    size_t i;
    const json_t *source;
    json_array_foreach(efctl_get_array(daemon, "sources"), i, source)
    {
        if (json_is_string(json_object_get(source, "error"))) {
            return true;
        }
    }
    return false;
}

/* True if a daemon of the array does not do its work. */
static bool
any_is_bad(const json_t *daemons)
{
    size_t i;
    const json_t *daemon;
    json_array_foreach(daemons, i, daemon)
    {
        if (!is_up(daemon) || has_failed_source(daemon)) {
            return true;
        }
    }
    return false;
}

static size_t
count_up(const json_t *daemons)
{
    size_t i, n = 0;
    const json_t *daemon;
    json_array_foreach(daemons, i, daemon)
    {
        n += is_up(daemon);
    }
    return n;
}

static bool
switches_are_bad(const json_t *status)
{
    const json_t *switches = efctl_get_object(status, "switches");
    return efctl_get_int(switches, "configured", 0) < efctl_get_int(switches, "total", 0);
}

bool
efctl_status_is_bad(const json_t *status)
{
    return switches_are_bad(status) || any_is_bad(efctl_get_array(status, "analyzers")) ||
           any_is_bad(efctl_get_array(status, "reshufflers"));
}

static void
add_label(struct efctl_table *table, const char *label)
{
    efctl_table_cell(table, EFCTL_BOLD, "%s", label);
}

static void
add_summary(struct efctl_table *table, const json_t *status, const char *url)
{
    char buf[EFCTL_TEXT_SIZE];
    const json_t *switches = efctl_get_object(status, "switches");
    add_label(table, "controller");
    efctl_table_cell(table, EFCTL_PLAIN, "%s", url);
    efctl_table_append(table, EFCTL_PLAIN, ", version %s, up %s", efctl_get_string(status, "version", "?"),
                       efctl_format_uptime(efctl_get_int(status, "uptime_s", 0), buf));
    efctl_table_end_row(table);
    add_label(table, "switches");
    efctl_table_cell(table, switches_are_bad(status) ? EFCTL_BAD : EFCTL_GOOD, "%" PRId64 " of %" PRId64 " configured",
                     efctl_get_int(switches, "configured", 0), efctl_get_int(switches, "total", 0));
    if (switches_are_bad(status)) {
        efctl_table_append(table, EFCTL_PLAIN, "; see efctl switches");
    }
    efctl_table_end_row(table);
}

static void
add_up_of_total(struct efctl_table *table, const char *label, const json_t *daemons)
{
    size_t up = count_up(daemons), total = json_array_size(daemons);
    add_label(table, label);
    efctl_table_cell(table, up < total ? EFCTL_BAD : total ? EFCTL_GOOD : EFCTL_WARN, "%zu of %zu up", up, total);
    efctl_table_end_row(table);
}

static void
add_name_and_state(struct efctl_table *table, const json_t *daemon)
{
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(daemon, "name", "?"));
    efctl_table_cell(table, is_up(daemon) ? EFCTL_GOOD : EFCTL_BAD, "%s", efctl_get_string(daemon, "state", "unknown"));
}

static void
add_count(struct efctl_table *table, const json_t *daemon, const char *key)
{
    char buf[EFCTL_TEXT_SIZE];
    if (efctl_has_number(daemon, key)) {
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(daemon, key, 0), buf));
    } else {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    }
}

static int64_t
sum_of_drops(const json_t *daemon)
{
    int64_t sum = 0;
    const char *reason;
    const json_t *count;
    json_object_foreach((json_t *) efctl_get_object(daemon, "drops"), reason, count)
    {
        if (__builtin_add_overflow(sum, json_integer_value(count), &sum)) {
            sum = INT64_MAX;
        }
    }
    return sum;
}

static void
add_drops(struct efctl_table *table, const json_t *daemon)
{
    char buf[EFCTL_TEXT_SIZE];
    int64_t sum = sum_of_drops(daemon);
    if (efctl_get_object(daemon, "drops")) {
        efctl_table_cell_right(table, sum ? EFCTL_WARN : EFCTL_PLAIN, "%s", efctl_format_count(sum, buf));
    } else {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    }
}

static void
add_memory(struct efctl_table *table, const json_t *daemon)
{
    char used[EFCTL_TEXT_SIZE], limit[EFCTL_TEXT_SIZE];
    if (!efctl_has_number(daemon, "resident_bytes")) {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
        return;
    }
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s of %s",
                           efctl_format_bytes(efctl_get_int(daemon, "resident_bytes", 0), used),
                           efctl_format_bytes(efctl_get_int(daemon, "memory_limit_bytes", 0), limit));
}

static void
add_analyzers(struct efctl_table *table, const json_t *daemons)
{
    static const char *const head[] = {"ANALYZER", "STATE",    ">OPEN",   ">STORED", ">LOOPS",
                                       ">COPIES",  ">DROPPED", ">MEMORY", NULL};
    size_t i;
    const json_t *daemon;
    efctl_table_head(table, head);
    json_array_foreach(daemons, i, daemon)
    {
        add_name_and_state(table, daemon);
        add_count(table, daemon, "traces_open");
        add_count(table, daemon, "traces_stored");
        add_count(table, daemon, "loops");
        add_count(table, daemon, "copies_received");
        add_drops(table, daemon);
        add_memory(table, daemon);
        efctl_table_end_row(table);
    }
}

static void
add_reshufflers(struct efctl_table *table, const json_t *daemons)
{
    static const char *const head[] = {"RESHUFFLER", "STATE", ">COPIES IN", ">COPIES OUT", ">DROPPED", NULL};
    size_t i;
    const json_t *daemon;
    efctl_table_head(table, head);
    json_array_foreach(daemons, i, daemon)
    {
        add_name_and_state(table, daemon);
        add_count(table, daemon, "copies_received");
        add_count(table, daemon, "copies_sent");
        add_drops(table, daemon);
        efctl_table_end_row(table);
    }
}

/* The sentence of a drop reason; a newer daemon may have others. */
static const char *
explain_reason(const char *name)
{
    for (int reason = 0; reason < EF_N_DROP_REASONS; reason++) {
        if (!strcmp(name, ef_drop_reason_name(reason))) {
            return ef_drop_reason_text(reason);
        }
    }
    return name;
}

static void
view_trouble(struct efctl_output *out, const json_t *daemon)
{
    const char *name = efctl_get_string(daemon, "name", "?"), *error = efctl_get_string(daemon, "error", ""), *reason;
    const json_t *count;
    char buf[EFCTL_TEXT_SIZE];
    if (*error) {
        efctl_output_printf(out, EFCTL_BAD, "%s: %s", name, error);
        efctl_output_newline(out);
    }
    json_object_foreach((json_t *) efctl_get_object(daemon, "drops"), reason, count)
    {
        if (json_integer_value(count) > 0) {
            efctl_output_printf(out, EFCTL_WARN, "%s dropped %s cop%s: %s", name,
                                efctl_format_count(json_integer_value(count), buf),
                                json_integer_value(count) == 1 ? "y" : "ies", explain_reason(reason));
            efctl_output_newline(out);
        }
    }
}

/* A source that has failed brings no more copies. */
static void
view_failed_sources(struct efctl_output *out, const json_t *daemon)
{
    size_t i;
    const json_t *source;
    json_array_foreach(efctl_get_array(daemon, "sources"), i, source)
    {
        const char *error = efctl_get_string(source, "error", NULL);
        if (error) {
            efctl_output_printf(out, EFCTL_BAD, "%s receives nothing from %s: %s",
                                efctl_get_string(daemon, "name", "?"), efctl_get_string(source, "source", "?"), error);
            efctl_output_newline(out);
        }
    }
}

/* A reshuffler's analyzers that it does not send copies to. */
static bool
is_left_out(const json_t *analyzer)
{
    return strcmp(efctl_get_string(analyzer, "state", "up"), "up") != 0;
}

static bool
leaves_any_out(const json_t *daemon)
{
    size_t i;
    const json_t *analyzer;
    json_array_foreach(efctl_get_array(daemon, "analyzers"), i, analyzer)
    {
        if (is_left_out(analyzer)) {
            return true;
        }
    }
    return false;
}

static void
view_left_out(struct efctl_output *out, const json_t *daemon)
{
    size_t i;
    const json_t *analyzer;
    json_array_foreach(efctl_get_array(daemon, "analyzers"), i, analyzer)
    {
        if (is_left_out(analyzer)) {
            const char *error = efctl_get_string(efctl_get_object(analyzer, "health"), "error", NULL);
            efctl_output_printf(out, EFCTL_BAD, "%s sends no copies to %s, which is %s%s%s",
                                efctl_get_string(daemon, "name", "?"), efctl_get_string(analyzer, "name", "?"),
                                efctl_get_string(analyzer, "state", "?"), error ? ": " : "", error ? error : "");
            efctl_output_newline(out);
        }
    }
}

static bool
is_congested(const json_t *daemon)
{
    return json_is_true(json_object_get(daemon, "congested"));
}

static bool
is_troubled(const json_t *daemon)
{
    return sum_of_drops(daemon) || *efctl_get_string(daemon, "error", "") || has_failed_source(daemon) ||
           leaves_any_out(daemon) || is_congested(daemon);
}

/* A line for each thing that is wrong; before the first of `*any`, an empty one. */
static void
view_troubles(struct efctl_output *out, const json_t *daemons, bool *any)
{
    size_t i;
    const json_t *daemon;
    json_array_foreach(daemons, i, daemon)
    {
        if (!*any && is_troubled(daemon)) {
            efctl_output_newline(out);
            *any = true;
        }
        view_trouble(out, daemon);
        view_failed_sources(out, daemon);
        view_left_out(out, daemon);
        if (is_congested(daemon)) {
            efctl_output_printf(out, EFCTL_BAD, "%s is congested: copies come faster than it can pass them on",
                                efctl_get_string(daemon, "name", "?"));
            efctl_output_newline(out);
        }
    }
}

static void
view_table(struct efctl_output *out, const json_t *daemons, void (*add)(struct efctl_table *, const json_t *))
{
    if (json_array_size(daemons)) {
        struct efctl_table *table = efctl_table_create(0);
        efctl_output_newline(out);
        add(table, daemons);
        efctl_table_print(table, out);
        efctl_table_destroy(table);
    }
}

void
efctl_status_view(struct efctl_output *out, const json_t *status, const void *ctx)
{
    const json_t *analyzers = efctl_get_array(status, "analyzers"),
                 *reshufflers = efctl_get_array(status, "reshufflers");
    struct efctl_table *summary = efctl_table_create(0);
    add_summary(summary, status, ctx);
    add_up_of_total(summary, "analyzers", analyzers);
    add_up_of_total(summary, "reshufflers", reshufflers);
    efctl_table_print(summary, out);
    efctl_table_destroy(summary);
    view_table(out, analyzers, add_analyzers);
    view_table(out, reshufflers, add_reshufflers);
    bool any = false;
    view_troubles(out, analyzers, &any);
    view_troubles(out, reshufflers, &any);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    int status = efctl_command_parse_no_words(&efctl_status, context, argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    json_t *document = NULL;
    status = efctl_command_show(context, "/v1/status", efctl_status_view, context->client.url, &document);
    if (status == EFCTL_OK && efctl_status_is_bad(document)) {
        status = EFCTL_FAILED;
    }
    json_decref(document);
    return status;
}

const struct efctl_command efctl_status = {
    "status",
    "",
    "Shows whether all parts work; exits with 1 if something is down",
    "  efctl status\n"
    "  efctl status >/dev/null || echo 'look at it'\n"
    "  watch efctl status\n",
    true,
    run,
};
