/* SPDX-License-Identifier: Apache-2.0 */
/* efctl debug: debug sessions as text. */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

/* A rate that may be anything, as a whole number. */
static char *
format_rate(const json_t *load, const char *key, char *buf)
{
    double value;
    if (!efctl_get_number(load, key, &value) || !(value >= 0 && value < 1e15)) {
        return strcpy(buf, "-");
    }
    return efctl_format_count((int64_t) llround(value), buf);
}

static enum efctl_style
style_of_state(const char *state)
{
    return !strcmp(state, "active") ? EFCTL_GOOD : !strcmp(state, "paused") ? EFCTL_BAD : EFCTL_PLAIN;
}

static void
print_load(struct efctl_output *out, const char *what, const json_t *load)
{
    char copies[EFCTL_TEXT_SIZE], bits[EFCTL_TEXT_SIZE];
    efctl_output_printf(out, EFCTL_PLAIN, "%-10s %s copies/s, %s bits/s", what,
                        format_rate(load, "copies_per_s", copies), format_rate(load, "bits_per_s", bits));
    efctl_output_newline(out);
}

static void
add_session(struct efctl_table *table, const json_t *session)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *state = efctl_get_string(session, "state", "?"), *filter = efctl_get_string(session, "filter", "");
    const char *end = efctl_get_string(session, "end", NULL), *note = efctl_get_string(session, "note", NULL);
    char *servers = efctl_get_text(session, "servers");
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(session, "id", "?"));
    efctl_table_cell(table, style_of_state(state), "%s", state);
    efctl_table_cell(table, EFCTL_PLAIN, "%s", end ? efctl_format_time(end, 0, buf) : "-");
    efctl_table_cell(table, EFCTL_PLAIN, "1/%lld", (long long) efctl_get_int(session, "sample", 1));
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s",
                           format_rate(efctl_get_object(session, "load"), "copies_per_s", buf));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", servers);
    efctl_table_cell(table, *filter ? EFCTL_PLAIN : EFCTL_DIM, "%s", *filter ? filter : "(all)");
    efctl_table_end_row(table);
    if (note) {
        efctl_table_cell(table, EFCTL_WARN, "  %s", note);
        efctl_table_end_line(table);
    }
    free(servers);
}

void
efctl_debug_sessions_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"ID", "STATE", "END", "SAMPLE", "COPIES/S", "SERVERS", "FILTER", NULL};
    const json_t *sessions = efctl_get_array(document, "sessions"), *session;
    size_t i;
    print_load(out, "capacity:", efctl_get_object(document, "capacity"));
    print_load(out, "used:", efctl_get_object(document, "used"));
    if (efctl_get_object(document, "measured")) {
        print_load(out, "measured:", efctl_get_object(document, "measured"));
    }
    efctl_output_newline(out);
    if (!json_array_size(sessions)) {
        efctl_output_text(out, EFCTL_PLAIN, "There is no debug session; begin one: efctl debug enable SERVER");
        efctl_output_newline(out);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(sessions, i, session)
    {
        add_session(table, session);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static void
print_field(struct efctl_output *out, const char *name, const char *text)
{
    efctl_output_printf(out, EFCTL_DIM, "%-10s", name);
    efctl_output_printf(out, EFCTL_PLAIN, " %s", text);
    efctl_output_newline(out);
}

static void
print_time(struct efctl_output *out, const char *name, const json_t *session)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *time = efctl_get_string(session, name, NULL);
    print_field(out, name, time ? efctl_format_time(time, 0, buf) : "-");
}

void
efctl_debug_session_view(struct efctl_output *out, const json_t *session, const void *ctx)
{
    const char *state = efctl_get_string(session, "state", "?"), *filter = efctl_get_string(session, "filter", "");
    const char *note = efctl_get_string(session, "note", NULL), *error = efctl_get_string(session, "error", NULL);
    char *servers = efctl_get_text(session, "servers"), *matches = efctl_get_text(session, "matches");
    char sample[40];
    efctl_output_printf(out, EFCTL_BOLD, "%s", efctl_get_string(session, "id", "?"));
    efctl_output_printf(out, style_of_state(state), " %s", state);
    efctl_output_printf(out, EFCTL_PLAIN, ", marks %s", efctl_get_string(session, "marks", "?"));
    efctl_output_newline(out);
    print_field(out, "servers", servers);
    print_field(out, "filter", *filter ? filter : "(all)");
    print_field(out, "matches", matches);
    print_time(out, "start", session);
    print_time(out, "end", session);
    snprintf(sample, sizeof sample, "1/%lld", (long long) efctl_get_int(session, "sample", 1));
    print_field(out, "sample", sample);
    print_load(out, "expected", efctl_get_object(session, "expected"));
    print_load(out, "load", efctl_get_object(session, "load"));
    if (note || error) {
        print_field(out, error ? "error" : "note", error ? error : note);
    }
    free(matches);
    free(servers);
}
