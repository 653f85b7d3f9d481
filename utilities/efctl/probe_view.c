/* SPDX-License-Identifier: Apache-2.0 */
/* Orders for probes and what became of them, drawn; see views.h. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

static enum efctl_style
style_of_state(const char *state)
{
    return !strcmp(state, "done")                                   ? EFCTL_GOOD
           : !strcmp(state, "refused") || !strcmp(state, "expired") ? EFCTL_BAD
                                                                    : EFCTL_WARN;
}

static void
view_head(struct efctl_output *out, const json_t *order)
{
    const char *state = efctl_get_string(order, "state", "?"), *error = efctl_get_string(order, "error", NULL);
    int64_t failed = efctl_get_int(order, "failed", 0);
    efctl_output_printf(out, EFCTL_BOLD, "probes %s", efctl_get_string(order, "id", "?"));
    efctl_output_printf(out, EFCTL_PLAIN, " by %s: ", efctl_get_string(order, "prober", "?"));
    efctl_output_text(out, style_of_state(state), state);
    efctl_output_printf(out, EFCTL_PLAIN, ", %" PRId64 " of %" PRId64 " sent", efctl_get_int(order, "sent", 0),
                        efctl_get_int(order, "count", 0));
    if (failed) {
        efctl_output_printf(out, EFCTL_BAD, ", %" PRId64 " failed", failed);
    }
    if (error) {
        efctl_output_printf(out, EFCTL_BAD, ": %s", error);
    }
    efctl_output_newline(out);
}

static void
view_fates(struct efctl_output *out, const json_t *results)
{
    const json_t *fates = efctl_get_object(results, "fates"), *n;
    const char *fate;
    double loss;
    efctl_output_printf(out, EFCTL_PLAIN, "%" PRId64 " traced", efctl_get_int(results, "traced", 0));
    json_object_foreach((json_t *) fates, fate, n)
    {
        efctl_output_printf(out, !strcmp(fate, "dropped") || !strcmp(fate, "loop") ? EFCTL_BAD : EFCTL_PLAIN,
                            ", %" JSON_INTEGER_FORMAT " %s", json_integer_value(n), fate);
    }
    if (efctl_get_int(results, "untraced", 0)) {
        efctl_output_printf(out, EFCTL_WARN, ", %" PRId64 " not traced (yet)", efctl_get_int(results, "untraced", 0));
    }
    if (efctl_get_number(results, "loss", &loss)) {
        efctl_output_printf(out, loss > 0 ? EFCTL_BAD : EFCTL_PLAIN, "; loss %.3g %%", 100 * loss);
    }
    efctl_output_newline(out);
}

static void
add_switches(struct efctl_table *table, const json_t *switches)
{
    size_t i;
    const json_t *name;
    efctl_table_cell(table, EFCTL_PLAIN, "%s", json_array_size(switches) ? "" : "others");
    json_array_foreach(switches, i, name)
    {
        const char *text = json_string_value(name);
        efctl_table_append(table, EFCTL_PLAIN, "%s%s", i ? " > " : "", text ? text : "?");
    }
}

static void
view_ways(struct efctl_output *out, const json_t *results)
{
    static const char *const head[] = {">PROBES", "WAY", NULL};
    const json_t *ways = efctl_get_array(results, "ways"), *way;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    if (!json_array_size(ways)) {
        return;
    }
    efctl_output_newline(out);
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(ways, i, way)
    {
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(way, "probes", 0), buf));
        add_switches(table, efctl_get_array(way, "switches"));
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static void
view_round_trips(struct efctl_output *out, const json_t *results)
{
    static const char *const head[] = {"LINK AND BACK", ">PROBES", ">FLOOR", ">+-",   ">LEAST",
                                       ">HALF",         ">90 %",   ">99 %",  ">MOST", NULL};
    static const char *const keys[] = {"floor_us", "noise_us", "min_us", "p50_us", "p90_us", "p99_us", "max_us"};
    const json_t *links = efctl_get_array(results, "round_trips"), *link;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    if (!json_array_size(links)) {
        return;
    }
    efctl_output_newline(out);
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(links, i, link)
    {
        efctl_table_cell(table, EFCTL_BOLD, "%s > %s", efctl_get_string(link, "from", "?"),
                         efctl_get_string(link, "to", "?"));
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(link, "n", 0), buf));
        for (size_t k = 0; k < EF_ARRAY_SIZE(keys); k++) {
            double us;
            bool has = efctl_get_number(link, keys[k], &us);
            efctl_table_cell_right(table, EFCTL_PLAIN, "%s", has ? efctl_format_duration_us(us, buf) : "-");
        }
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static void
view_incomplete(struct efctl_output *out, const json_t *results)
{
    const json_t *list = efctl_get_array(results, "incomplete"), *entry;
    size_t i;
    json_array_foreach(list, i, entry)
    {
        efctl_output_printf(out, EFCTL_BAD, "not complete: %s: %s", efctl_get_string(entry, "analyzer", "?"),
                            efctl_get_string(entry, "error", "?"));
        efctl_output_newline(out);
    }
}

void
efctl_probe_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    const json_t *results = efctl_get_object(document, "results");
    view_head(out, document);
    if (results) {
        view_fates(out, results);
        view_ways(out, results);
        view_round_trips(out, results);
        view_incomplete(out, results);
    }
}

void
efctl_probes_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"PROBES", "PROBER", "STATE", ">SENT", ">COUNT", "ORDERED", NULL};
    const json_t *orders = efctl_get_array(document, "probes"), *order;
    const struct ef_time *now = ctx;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    if (!json_array_size(orders)) {
        efctl_output_text(out, EFCTL_PLAIN, "No probes were ordered: see efctl help probe");
        efctl_output_newline(out);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(orders, i, order)
    {
        const char *state = efctl_get_string(order, "state", "?");
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(order, "id", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(order, "prober", "-"));
        efctl_table_cell(table, style_of_state(state), "%s", state);
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(order, "sent", 0), buf));
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(order, "count", 0), buf));
        efctl_table_cell(table, EFCTL_PLAIN, "%s",
                         efctl_format_age(efctl_get_string(order, "created", "-"), now->ns, buf));
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

bool
efctl_probe_is_over(const json_t *order)
{
    const char *state = efctl_get_string(order, "state", "");
    return strcmp(state, "queued") && strcmp(state, "running");
}

bool
efctl_probe_is_bad(const json_t *order)
{
    const json_t *results = efctl_get_object(order, "results"), *fates = efctl_get_object(results, "fates");
    return style_of_state(efctl_get_string(order, "state", "")) == EFCTL_BAD || efctl_get_int(order, "failed", 0) > 0 ||
           efctl_get_int(fates, "dropped", 0) > 0 || efctl_get_int(fates, "loop", 0) > 0;
}
