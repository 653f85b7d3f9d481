/* SPDX-License-Identifier: Apache-2.0 */
/* efctl counters: how many traced packets match filters that the operator adds
 * and removes while everything runs. */
#include <config.h>

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "net/http_query.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

struct counter_options {
    const char *group_by, *step, *start, *end;
};

static int
set_group_by(void *ctx, const char *value, struct ef_error *err)
{
    ((struct counter_options *) ctx)->group_by = value;
    return 0; /* The analyzers say what is none. */
}

static int
set_step(void *ctx, const char *value, struct ef_error *err)
{
    int64_t ns;
    ((struct counter_options *) ctx)->step = value;
    return ef_duration_parse(value, &ns, err);
}

static int
set_start(void *ctx, const char *value, struct ef_error *err)
{
    ((struct counter_options *) ctx)->start = value;
    return efctl_command_check_time("--start", value, err);
}

static int
set_end(void *ctx, const char *value, struct ef_error *err)
{
    ((struct counter_options *) ctx)->end = value;
    return efctl_command_check_time("--end", value, err);
}

static const struct ef_option option_table[] = {
    {"group-by", 0, "BY", "add: broken down by switch, port, src/LENGTH or\ndst/LENGTH (a prefix, src/24)",
     set_group_by},
    {"step", 0, "DURATION", "show: values of so long each, a multiple of 10s (1m);\nthose of the groups, too",
     set_step},
    {"start", 0, "TIME", "show: from TIME on (2026-11-21T02:30:00Z, or an age: -5m)", set_start},
    {"end", 0, "TIME", "show: up to TIME", set_end},
    {0},
};

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
    static const char *const head[] = {"NAME", ">PACKETS", ">BYTES", "SINCE", "GROUPS", "FILTER", NULL};
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
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "group_by", "-"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "filter", ""));
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
    efctl_incomplete_view(out, document, NULL);
}

/* What a group is of: with the switch's name, if the controller knows it. */
static void
add_group(struct efctl_table *table, const json_t *group)
{
    const char *name = efctl_get_string(group, "name", NULL);
    if (!name) {
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(group, "group", "?"));
    } else if (!efctl_get_string(group, "direction", NULL)) {
        efctl_table_cell(table, EFCTL_BOLD, "%s", name);
    } else if (efctl_get_int(group, "port", -1) < 0) {
        efctl_table_cell(table, EFCTL_BOLD, "%s port unknown", name);
    } else {
        efctl_table_cell(table, EFCTL_BOLD, "%s port %lld %s", name, (long long) efctl_get_int(group, "port", 0),
                         efctl_get_string(group, "direction", ""));
    }
}

static void
add_start(struct efctl_table *table, const json_t *value)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *start = efctl_get_string(value, "start", NULL);
    efctl_table_cell(table, EFCTL_PLAIN, "%s", start ? efctl_format_time(start, 0, buf) : "-");
}

static void
add_values(struct efctl_table *table, const json_t *counter, const json_t *group)
{
    const json_t *value;
    size_t i;
    json_array_foreach(efctl_get_array(group ? group : counter, "values"), i, value)
    {
        if (group) {
            add_group(table, group);
        }
        add_start(table, value);
        add_counts(table, value);
        efctl_table_end_row(table);
    }
}

static void
add_sum(struct efctl_table *table, const json_t *counter)
{
    efctl_table_cell(table, EFCTL_BOLD, "all");
    add_counts(table, counter);
    efctl_table_end_row(table);
}

static void
print_values(struct efctl_output *out, const json_t *counter)
{
    static const char *const head[] = {"FROM", ">PACKETS", ">BYTES", NULL};
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    add_values(table, counter, NULL);
    add_sum(table, counter);
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

/* A packet may be in several groups, or in the counter alone: "all" is no sum of the rows above. */
static void
print_groups(struct efctl_output *out, const json_t *counter)
{
    static const char *const head[] = {"GROUP", ">PACKETS", ">BYTES", NULL};
    const json_t *group;
    size_t i;
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(efctl_get_array(counter, "groups"), i, group)
    {
        add_group(table, group);
        add_counts(table, group);
        efctl_table_end_row(table);
    }
    add_sum(table, counter);
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static void
print_group_values(struct efctl_output *out, const json_t *counter)
{
    static const char *const head[] = {"GROUP", "FROM", ">PACKETS", ">BYTES", NULL};
    const json_t *group;
    size_t i;
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(efctl_get_array(counter, "groups"), i, group)
    {
        add_values(table, counter, group);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

void
efctl_counter_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    const bool *with_values = ctx;
    bool is_grouped = json_is_array(json_object_get(document, "groups"));
    if (!is_grouped) {
        print_values(out, document);
    } else {
        print_groups(out, document);
    }
    if (is_grouped && with_values && *with_values) {
        efctl_output_newline(out);
        print_group_values(out, document);
    }
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
add(struct efctl_context *context, const char *name, const char *filter, const char *group_by)
{
    json_t *document = json_pack("{s:s, s:s, s:s*}", "name", name, "filter", filter, "group_by", group_by);
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (!body) {
        struct ef_error err = EF_ERROR_INIT;
        ef_error_set(&err, -EINVAL, "the name, the filter and --group-by should be UTF-8");
        return efctl_fail(&err);
    }
    int status = change(context, "POST", "/v1/counters", body);
    free(body);
    return status;
}

/* The values of a counter; the caller frees the path. */
static char *
make_question(const char *path, const struct counter_options *o)
{
    struct evbuffer *url = evbuffer_new();
    char *text = NULL;
    if (url) {
        evbuffer_add_printf(url, "%s", path);
        ef_http_query_append(url, "start", o->start);
        ef_http_query_append(url, "end", o->end);
        ef_http_query_append(url, "step", o->step);
        evbuffer_add(url, "", 1);
        text = strdup((const char *) evbuffer_pullup(url, -1));
        evbuffer_free(url);
    }
    if (!text) {
        abort(); /* Control path. */
    }
    return text;
}

static int
about_one(struct efctl_context *context, bool removes, const char *name, const struct counter_options *options)
{
    char path[EFCTL_PATH_SIZE];
    struct ef_error err = EF_ERROR_INIT;
    if (efctl_command_path("/v1/counters/", "counter", name, path, &err)) {
        return efctl_fail(&err);
    }
    if (removes) {
        return change(context, "DELETE", path, NULL);
    }
    char *question = make_question(path, options);
    bool with_values = options->step;
    int status = efctl_command_show(context, question, efctl_counter_view, &with_values, NULL);
    free(question);
    return status;
}

/* Options are of the one word that they mean something to. */
static int
check(const struct counter_options *o, const char *word, struct ef_error *err)
{
    if (o->group_by && strcmp(word, "add")) {
        return ef_error_set(err, -EINVAL, "--group-by goes with add");
    }
    return (o->step || o->start || o->end) && strcmp(word, "show")
               ? ef_error_set(err, -EINVAL, "--step, --start and --end go with show")
               : 0;
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct counter_options options = {0};
    const struct ef_option_group groups[] = {{"Counters", option_table, &options}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real();
    int status = efctl_command_parse(&efctl_counters, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (check(&options, argc ? argv[0] : "", &err)) {
        return efctl_usage_error(&efctl_counters, &err);
    }
    if (!argc) {
        return efctl_command_show(context, "/v1/counters", efctl_counters_view, &now, NULL);
    }
    if (argc == 3 && !strcmp(argv[0], "add")) {
        return add(context, argv[1], argv[2], options.group_by);
    }
    if (argc == 2 && (!strcmp(argv[0], "remove") || !strcmp(argv[0], "show"))) {
        return about_one(context, !strcmp(argv[0], "remove"), argv[1], &options);
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
    "  efctl counters add resets 'tcp.flags.reset == 1' --group-by switch\n"
    "  efctl counters; efctl counters show web\n"
    "  efctl counters show resets --step 1m\n",
    true,
    run,
};
