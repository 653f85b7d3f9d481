/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses, drawn; see views.h. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

static double
seconds_since(const char *start, const char *time)
{
    struct ef_time a = {0}, b = {0};
    bool are_times = !ef_time_parse(start, a, &a, NULL) && !ef_time_parse(time, b, &b, NULL);
    return are_times ? (double) ef_time_diff_ns(b, a) / 1e9 : 0;
}

void
efctl_diagnosis_progress(struct efctl_output *out, const json_t *diagnosis, size_t first)
{
    const char *created = efctl_get_string(diagnosis, "created", "");
    const json_t *progress = efctl_get_array(diagnosis, "progress");
    for (size_t i = first; i < json_array_size(progress); i++) {
        const json_t *entry = json_array_get(progress, i);
        efctl_output_printf(out, EFCTL_DIM, "%7.1f s  ", seconds_since(created, efctl_get_string(entry, "time", "")));
        efctl_output_text(out, EFCTL_PLAIN, efctl_get_string(entry, "text", ""));
        efctl_output_newline(out);
    }
}

bool
efctl_diagnosis_is_over(const json_t *diagnosis)
{
    return strcmp(efctl_get_string(diagnosis, "state", ""), "running");
}

bool
efctl_diagnosis_found(const json_t *diagnosis)
{
    const json_t *verdict = efctl_get_object(diagnosis, "verdict");
    return verdict && strcmp(efctl_get_string(verdict, "kind", "none"), "none");
}

static void
view_fact(struct efctl_output *out, const char *label, const char *value)
{
    if (value) {
        efctl_output_printf(out, EFCTL_PLAIN, "  %-11s %s", label, value);
        efctl_output_newline(out);
    }
}

static void
view_link(struct efctl_output *out, const json_t *link)
{
    int64_t from = efctl_get_int(link, "from_port", 0), to = efctl_get_int(link, "to_port", 0);
    if (!link) {
        return;
    }
    efctl_output_printf(out, EFCTL_PLAIN, "  %-11s %s", "link", efctl_get_string(link, "from", "?"));
    if (from) {
        efctl_output_printf(out, EFCTL_PLAIN, " port %d", (int) from);
    }
    efctl_output_printf(out, EFCTL_PLAIN, " > %s", efctl_get_string(link, "to", "?"));
    if (to) {
        efctl_output_printf(out, EFCTL_PLAIN, " port %d", (int) to);
    }
    efctl_output_newline(out);
}

static void
view_verdict(struct efctl_output *out, const json_t *diagnosis)
{
    const json_t *verdict = efctl_get_object(diagnosis, "verdict"),
                 *persistent = json_object_get(verdict, "persistent");
    double confidence;
    efctl_output_text(out, efctl_diagnosis_found(diagnosis) ? EFCTL_BAD : EFCTL_GOOD,
                      efctl_get_string(verdict, "summary", "?"));
    efctl_output_newline(out);
    view_fact(out, "device", efctl_get_string(verdict, "device", NULL));
    view_link(out, efctl_get_object(verdict, "link"));
    view_fact(out, "packets", efctl_get_string(verdict, "class", NULL));
    view_fact(out, "lasting", json_is_boolean(persistent) ? json_is_true(persistent) ? "yes" : "no" : NULL);
    if (efctl_get_number(verdict, "confidence", &confidence)) {
        efctl_output_printf(out, EFCTL_PLAIN, "  %-11s %.0f %%", "confidence", 100 * confidence);
        efctl_output_newline(out);
    }
}

/* Lists of ids; what else there is, is in the JSON. */
static void
view_evidence(struct efctl_output *out, const json_t *evidence)
{
    static const char *const keys[] = {"traces", "probes"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(keys); i++) {
        const json_t *list = efctl_get_array(evidence, keys[i]);
        const char *first = json_string_value(json_array_get(list, 0));
        if (first) {
            efctl_output_printf(out, EFCTL_PLAIN, "  %-11s %s", keys[i], first);
            if (json_array_size(list) > 1) {
                efctl_output_printf(out, EFCTL_PLAIN, " and %zu more", json_array_size(list) - 1);
            }
            efctl_output_newline(out);
        }
    }
}

void
efctl_diagnosis_end(struct efctl_output *out, const json_t *diagnosis)
{
    const char *error = efctl_get_string(diagnosis, "error", NULL);
    efctl_output_printf(out, EFCTL_BOLD, "%s %s", efctl_get_string(diagnosis, "app", "?"),
                        efctl_get_string(diagnosis, "id", "?"));
    efctl_output_printf(out, error ? EFCTL_WARN : EFCTL_PLAIN, ": %s%s%s", efctl_get_string(diagnosis, "state", "?"),
                        error ? ": " : "", error ? error : "");
    efctl_output_newline(out);
    if (efctl_get_object(diagnosis, "verdict")) {
        view_verdict(out, diagnosis);
        view_evidence(out, efctl_get_object(diagnosis, "evidence"));
    }
}

void
efctl_diagnosis_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    efctl_diagnosis_progress(out, document, 0);
    efctl_diagnosis_end(out, document);
}

void
efctl_diagnoses_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"DIAGNOSIS", "APP", "BY", "STATE", "STARTED", "VERDICT", NULL};
    const json_t *list = efctl_get_array(document, "diagnoses"), *diagnosis;
    const struct ef_time *now = ctx;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    if (!json_array_size(list)) {
        efctl_output_text(out, EFCTL_PLAIN, "Nothing was diagnosed: see efctl help diagnose");
        efctl_output_newline(out);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(list, i, diagnosis)
    {
        const char *error = efctl_get_string(diagnosis, "error", "");
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(diagnosis, "id", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(diagnosis, "app", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(diagnosis, "origin", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(diagnosis, "state", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s",
                         efctl_format_age(efctl_get_string(diagnosis, "created", "-"), now->ns, buf));
        efctl_table_cell(table, efctl_diagnosis_found(diagnosis) ? EFCTL_BAD : EFCTL_PLAIN, "%s",
                         efctl_get_string(efctl_get_object(diagnosis, "verdict"), "summary", error));
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}
