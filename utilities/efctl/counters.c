/* SPDX-License-Identifier: Apache-2.0 */
/* efctl counters: how many traced packets match filters that the operator adds
 * and removes while everything runs. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

static void
add_counts(struct efctl_table *table, const json_t *entry)
{
    char buf[EFCTL_TEXT_SIZE];
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(entry, "packets", 0), buf));
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_bytes(efctl_get_int(entry, "bytes", 0), buf));
}

void
efctl_incomplete_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(efctl_get_array(document, "incomplete"), i, entry)
    {
        efctl_output_printf(out, EFCTL_WARN, "without %s: %s", efctl_get_string(entry, "analyzer", "?"),
                            efctl_get_string(entry, "error", "?"));
        efctl_output_newline(out);
    }
}

void
efctl_counters_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"NAME", ">PACKETS", ">BYTES", "SINCE", "FILTER", NULL};
    const struct ef_time *now = ctx;
    const json_t *counters = efctl_get_array(document, "counters"), *entry;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    if (!json_array_size(counters)) {
        efctl_output_text(out, EFCTL_PLAIN, "There is no counter; add one: efctl counters add NAME FILTER");
        efctl_output_newline(out);
        efctl_incomplete_view(out, document, NULL);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(counters, i, entry)
    {
        const char *added = efctl_get_string(entry, "added", NULL);
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(entry, "name", "?"));
        add_counts(table, entry);
        efctl_table_cell(table, EFCTL_PLAIN, "%s", added ? efctl_format_age(added, now->ns, buf) : "-");
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "filter", ""));
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
    efctl_incomplete_view(out, document, NULL);
}

void
efctl_counter_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"FROM", ">PACKETS", ">BYTES", NULL};
    const json_t *entry;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(efctl_get_array(document, "values"), i, entry)
    {
        const char *start = efctl_get_string(entry, "start", NULL);
        efctl_table_cell(table, EFCTL_PLAIN, "%s", start ? efctl_format_time(start, 0, buf) : "-");
        add_counts(table, entry);
        efctl_table_end_row(table);
    }
    efctl_table_cell(table, EFCTL_BOLD, "all");
    add_counts(table, document);
    efctl_table_end_row(table);
    efctl_table_print(table, out);
    efctl_table_destroy(table);
    efctl_incomplete_view(out, document, NULL);
}

/* Changes something; says nothing if all analyzers took it. */
static int
change(struct efctl_context *context, const char *method, const char *path, const char *body)
{
    struct efctl_failure failure;
    json_t *answer;
    if (efctl_client_send_json(&context->client, method, path, body, &answer, &failure)) {
        return efctl_fail(&failure.error);
    }
    bool is_whole = !json_array_size(efctl_get_array(answer, "incomplete"));
    efctl_incomplete_view(&context->out, answer, NULL);
    json_decref(answer);
    return is_whole ? EFCTL_OK : EFCTL_FAILED;
}

static int
add(struct efctl_context *context, const char *name, const char *filter)
{
    json_t *document = json_pack("{s:s, s:s}", "name", name, "filter", filter);
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (!body) {
        struct ef_error err = EF_ERROR_INIT;
        ef_error_set(&err, -EINVAL, "the name and the filter should be UTF-8");
        return efctl_fail(&err);
    }
    int status = change(context, "POST", "/v1/counters", body);
    free(body);
    return status;
}

/* The path of a counter; false if its name cannot be one. */
static bool
make_path(const char *name, char *path, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return *name && !name[strspn(name, allowed)] && (size_t) snprintf(path, size, "/v1/counters/%s", name) < size;
}

static int
about_one(struct efctl_context *context, bool removes, const char *name)
{
    char path[128];
    struct ef_error err = EF_ERROR_INIT;
    if (!make_path(name, path, sizeof path)) {
        ef_error_set(&err, -EINVAL, "no counter can be called '%.60s'", name);
        return efctl_fail(&err);
    }
    return removes ? change(context, "DELETE", path, NULL)
                   : efctl_command_show(context, path, efctl_counter_view, NULL, NULL);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real();
    int status = efctl_command_parse(&efctl_counters, context, NULL, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (!argc) {
        return efctl_command_show(context, "/v1/counters", efctl_counters_view, &now, NULL);
    }
    if (argc == 3 && !strcmp(argv[0], "add")) {
        return add(context, argv[1], argv[2]);
    }
    if (argc == 2 && (!strcmp(argv[0], "remove") || !strcmp(argv[0], "show"))) {
        return about_one(context, !strcmp(argv[0], "remove"), argv[1]);
    }
    ef_error_set(&err, -EINVAL, "after counters comes nothing, add NAME FILTER, show NAME, or remove NAME");
    return efctl_usage_error(&efctl_counters, &err);
}

const struct efctl_command efctl_counters = {
    "counters",
    "[add NAME FILTER | show NAME | remove NAME]",
    "Counts traced packets that match filters; lists the counters, or one's values over time",
    "  efctl counters add web 'tcp.dstport == 80'\n"
    "  efctl counters add web-drops 'tcp.dstport == 80 && trace.drop'\n"
    "  efctl counters; efctl counters show web\n",
    true,
    run,
};
