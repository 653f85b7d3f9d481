/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts, drawn; see views.h. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

enum { TIME_DIGITS = 3 };

static enum efctl_style
style_of(const json_t *alert)
{
    const char *severity = efctl_get_string(alert, "severity", "");
    return !strcmp(efctl_get_string(alert, "state", ""), "resolved") ? EFCTL_DIM
           : !strcmp(severity, "critical")                           ? EFCTL_BAD
           : !strcmp(severity, "warning")                            ? EFCTL_WARN
                                                                     : EFCTL_PLAIN;
}

static void
add_row(struct efctl_table *table, const json_t *alert, int64_t now_ns)
{
    char buf[EFCTL_TEXT_SIZE];
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(alert, "id", "?"));
    efctl_table_cell(table, style_of(alert), "%s", efctl_get_string(alert, "severity", "?"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(alert, "state", "?"));
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(alert, "count", 0), buf));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_format_age(efctl_get_string(alert, "last", "-"), now_ns, buf));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(alert, "summary", ""));
    efctl_table_end_row(table);
}

void
efctl_alerts_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"ALERT", "SEVERITY", "STATE", ">TIMES", "LAST", "WHAT", NULL};
    const json_t *alerts = efctl_get_array(document, "alerts"), *alert;
    const struct ef_time *now = ctx;
    size_t i;
    if (!json_array_size(alerts)) {
        efctl_output_text(out, EFCTL_GOOD, "No alerts");
        efctl_output_newline(out);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(alerts, i, alert)
    {
        add_row(table, alert, now->ns);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static void
view_time(struct efctl_output *out, const json_t *alert, const char *key, const char *label, const char *detail)
{
    const char *time = efctl_get_string(alert, key, NULL);
    char buf[EFCTL_TEXT_SIZE];
    if (time) {
        efctl_output_printf(out, EFCTL_PLAIN, "  %-13s %s", label, efctl_format_time(time, TIME_DIGITS, buf));
        efctl_output_printf(out, EFCTL_PLAIN, "%s%s", *detail ? "  " : "", detail);
        efctl_output_newline(out);
    }
}

static void
view_evidence(struct efctl_output *out, const json_t *evidence)
{
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *) evidence, key, value)
    {
        char *text = efctl_get_text(evidence, key);
        if (text && *text) {
            efctl_output_printf(out, EFCTL_PLAIN, "  %-13s %s", key, text);
            efctl_output_newline(out);
        }
        free(text);
    }
}

void
efctl_alert_view(struct efctl_output *out, const json_t *alert, const void *ctx)
{
    char buf[EFCTL_TEXT_SIZE];
    efctl_output_printf(out, EFCTL_BOLD, "alert %s", efctl_get_string(alert, "id", "?"));
    efctl_output_text(out, EFCTL_PLAIN, ": ");
    efctl_output_text(out, style_of(alert), efctl_get_string(alert, "severity", "?"));
    efctl_output_printf(out, EFCTL_PLAIN, ", %s, %s %s", efctl_get_string(alert, "state", "?"),
                        efctl_get_string(alert, "kind", "?"), efctl_get_string(alert, "subject", "?"));
    efctl_output_newline(out);
    efctl_output_text(out, EFCTL_BOLD, efctl_get_string(alert, "summary", ""));
    efctl_output_newline(out);
    view_time(out, alert, "first", "first", "");
    view_time(out, alert, "last", "last", "");
    view_time(out, alert, "acknowledged", "acknowledged", efctl_get_string(alert, "acknowledged_by", ""));
    view_time(out, alert, "resolved", "resolved", efctl_get_string(alert, "resolved_why", ""));
    efctl_output_printf(out, EFCTL_PLAIN, "  %-13s %s", "times",
                        efctl_format_count(efctl_get_int(alert, "count", 0), buf));
    efctl_output_newline(out);
    view_evidence(out, efctl_get_object(alert, "evidence"));
}
