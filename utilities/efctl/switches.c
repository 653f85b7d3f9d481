/* SPDX-License-Identifier: Apache-2.0 */
/* efctl switches: which switches send copies, how many of these arrive, and
 * what keeps the other switches from it. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

static enum efctl_style
style_of_state(const char *state)
{
    return !strcmp(state, "configured") ? EFCTL_GOOD : !strcmp(state, "connecting") ? EFCTL_WARN : EFCTL_BAD;
}

/* A value of OVSDB: a scalar, or an array as its set. "-" if there is none. */
static void
add_value(struct efctl_table *table, const json_t *object, const char *key)
{
    char *text = efctl_get_text(object, key);
    efctl_table_cell(table, *text ? EFCTL_PLAIN : EFCTL_DIM, "%s", *text ? text : "-");
    free(text);
}

/* The number of copies; OVSDB's maps may carry numbers as strings. */
static void
add_copies(struct efctl_table *table, const json_t *statistics)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *text = efctl_get_string(statistics, "copies", NULL);
    int64_t copies = text ? strtoll(text, NULL, 10) : efctl_get_int(statistics, "copies", -1);
    if (copies < 0) {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    } else {
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(copies, buf));
    }
}

/* Of the copies that it numbered; "-" where no reshuffler got any. */
static void
add_collected(struct efctl_table *table, const json_t *collected, const char *key, enum efctl_style style)
{
    char buf[EFCTL_TEXT_SIZE];
    int64_t n = efctl_get_int(collected, key, 0);
    if (efctl_has_number(collected, key)) {
        efctl_table_cell_right(table, n ? style : EFCTL_PLAIN, "%s", efctl_format_count(n, buf));
    } else {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    }
}

static void
add_since(struct efctl_table *table, const json_t *entry, const struct ef_time *now)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *since = efctl_get_string(entry, "since", NULL);
    efctl_table_cell(table, EFCTL_PLAIN, "%s", since ? efctl_format_age(since, now->ns, buf) : "-");
}

static void
add_row(struct efctl_table *table, const json_t *entry, const struct ef_time *now)
{
    const json_t *config = efctl_get_object(entry, "config");
    const char *state = efctl_get_string(entry, "state", "unknown");
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(entry, "name", "?"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "address", "-"));
    efctl_table_cell(table, style_of_state(state), "%s", state);
    add_value(table, config, "encap");
    add_copies(table, efctl_get_object(entry, "statistics"));
    add_collected(table, efctl_get_object(entry, "collected"), "received", EFCTL_PLAIN);
    add_collected(table, efctl_get_object(entry, "collected"), "lost", EFCTL_WARN);
    add_since(table, entry, now);
    add_value(table, config, "classes");
    efctl_table_end_row(table);
}

static void
view_errors(struct efctl_output *out, const json_t *switches)
{
    size_t i;
    const json_t *entry;
    bool any = false;
    json_array_foreach(switches, i, entry)
    {
        const char *error = efctl_get_string(entry, "error", "");
        if (*error) {
            if (!any) {
                efctl_output_newline(out);
            }
            efctl_output_text(out, EFCTL_BOLD, efctl_get_string(entry, "name", "?"));
            efctl_output_printf(out, EFCTL_PLAIN, ": %s", error);
            efctl_output_newline(out);
            any = true;
        }
    }
}

void
efctl_switches_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"SWITCH",    "ADDRESS", "STATE", "ENCAP",   ">COPIES",
                                       ">RECEIVED", ">LOST",   "SINCE", "CLASSES", NULL};
    const json_t *switches = efctl_get_array(document, "switches");
    size_t i;
    const json_t *entry;
    if (!json_array_size(switches)) {
        efctl_output_text(out, EFCTL_PLAIN, "The controller's topology has no switch: see efctl topology");
        efctl_output_newline(out);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(switches, i, entry)
    {
        add_row(table, entry, ctx);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
    view_errors(out, switches);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    int status = efctl_command_parse_no_words(&efctl_switches, context, argc, argv);
    struct ef_time now = ef_time_real();
    return status != EFCTL_GO_ON ? status
                                 : efctl_command_show(context, "/v1/switches", efctl_switches_view, &now, NULL);
}

const struct efctl_command efctl_switches = {
    "switches",
    "",
    "Lists the switches: whether they are configured to send copies, how many they sent and how many of these arrived",
    "  efctl switches\n"
    "  efctl switches --json | jq -r '.switches[] | select(.state != \"configured\") | .name'\n",
    true,
    run,
};
