/* SPDX-License-Identifier: Apache-2.0 */
/* efctl webhook: who is told of alerts. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

enum { MAX_KINDS = 16, MAX_LINE = 2048 };

struct webhook_options {
    const char *name, *secret_file, *kinds[MAX_KINDS];
    size_t n_kinds;
};

static int
set_name(void *ctx, const char *value, struct ef_error *err)
{
    ((struct webhook_options *) ctx)->name = value;
    return 0;
}

static int
set_secret_file(void *ctx, const char *value, struct ef_error *err)
{
    ((struct webhook_options *) ctx)->secret_file = value;
    return 0;
}

static int
add_kind(void *ctx, const char *value, struct ef_error *err)
{
    struct webhook_options *o = ctx;
    if (o->n_kinds == MAX_KINDS) {
        return ef_error_set(err, -EINVAL, "more than %d kinds", MAX_KINDS);
    }
    o->kinds[o->n_kinds++] = value;
    return 0;
}

static const struct ef_option options[] = {
    {"name", 0, "NAME", "add: what it is called (default: a name by chance)", set_name},
    {"kind", 'k', "KIND", "add: only alerts of this kind, such as drop or link; may be repeated (default: all)",
     add_kind},
    {"secret-file", 0, "FILE", "add: its first line is the secret that signs what is sent; - is standard input",
     set_secret_file},
    {0},
};

/* --- The list ------------------------------------------------------------------- */

void
efctl_webhooks_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"NAME",   "SERVER", "KINDS",    "SIGNED", "SENT",
                                       "FAILED", "MISSED", "LAST TRY", NULL};
    const json_t *webhooks = efctl_get_array(document, "webhooks"), *entry;
    size_t i;
    if (!json_array_size(webhooks)) {
        efctl_output_text(out, EFCTL_PLAIN, "Nobody is told of alerts; add one: efctl webhook add URL");
        efctl_output_newline(out);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(webhooks, i, entry)
    {
        char *kinds = efctl_get_text(entry, "kinds");
        const char *error = efctl_get_string(entry, "error", NULL);
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(entry, "name", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "url", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", *kinds ? kinds : "all");
        efctl_table_cell(table, EFCTL_PLAIN, "%s", json_is_true(json_object_get(entry, "signed")) ? "yes" : "no");
        efctl_table_cell(table, EFCTL_PLAIN, "%" PRId64, efctl_get_int(entry, "sent", 0));
        efctl_table_cell(table, EFCTL_PLAIN, "%" PRId64, efctl_get_int(entry, "failed", 0));
        efctl_table_cell(table, EFCTL_PLAIN, "%" PRId64, efctl_get_int(entry, "missed", 0));
        efctl_table_cell(table, error ? EFCTL_WARN : EFCTL_PLAIN, "%s", error ? error : "-");
        efctl_table_end_row(table);
        free(kinds);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

/* --- Changes -------------------------------------------------------------------- */

/* The first line of `file`, "-" being standard input. */
static int
read_line(const char *file, char line[MAX_LINE], struct ef_error *err)
{
    FILE *f = strcmp(file, "-") ? fopen(file, "re") : stdin;
    if (!f) {
        return ef_error_set(err, -errno, "%s: %s", file, strerror(errno));
    }
    bool is_there = fgets(line, MAX_LINE, f);
    if (f != stdin) {
        fclose(f);
    }
    line[is_there ? strcspn(line, "\r\n") : 0] = '\0';
    return *line ? 0 : ef_error_set(err, -EINVAL, "%s: its first line is empty", file);
}

static json_t *
order_of(const struct webhook_options *o, const char *url, const char *secret)
{
    json_t *order = json_pack("{s:s, s:s*, s:s*}", "url", url, "name", o->name, "secret", secret);
    json_t *kinds = json_array();
    for (size_t i = 0; i < o->n_kinds; i++) {
        json_array_append_new(kinds, json_string(o->kinds[i]));
    }
    if (order && o->n_kinds) {
        json_object_set(order, "kinds", kinds);
    }
    json_decref(kinds);
    return order;
}

static int
add(struct efctl_context *context, const struct webhook_options *o, const char *url)
{
    char line[MAX_LINE], secret[MAX_LINE] = "";
    struct efctl_failure failure;
    struct ef_error err = EF_ERROR_INIT;
    json_t *answer = NULL;
    bool reads_url = !strcmp(url, "-");
    if ((reads_url && read_line(url, line, &err)) || (o->secret_file && read_line(o->secret_file, secret, &err))) {
        return efctl_fail(&err);
    }
    json_t *order = order_of(o, reads_url ? line : url, *secret ? secret : NULL);
    char *body = order ? json_dumps(order, JSON_COMPACT) : NULL;
    json_decref(order);
    if (!body) {
        ef_error_set(&err, -EINVAL, "the words should be UTF-8");
        return efctl_fail(&err);
    }
    int rc = efctl_client_send_json(&context->client, "POST", "/v1/webhooks", body, &answer, &failure);
    free(body);
    if (rc) {
        return efctl_fail(&failure.error);
    }
    efctl_output_printf(&context->out, EFCTL_PLAIN, "%s is told of alerts, as %s", efctl_get_string(answer, "url", "?"),
                        efctl_get_string(answer, "name", "?"));
    efctl_output_newline(&context->out);
    json_decref(answer);
    return EFCTL_OK;
}

static int
remove_one(struct efctl_context *context, const char *name)
{
    char path[EFCTL_PATH_SIZE];
    struct ef_error err = EF_ERROR_INIT;
    return efctl_command_path("/v1/webhooks/", "webhook", name, path, &err) ? efctl_fail(&err)
                                                                            : efctl_command_remove(context, path);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct ef_error err = EF_ERROR_INIT;
    struct webhook_options o = {0};
    const struct ef_option_group groups[] = {{"Options", options, &o}, {0}};
    int status = efctl_command_parse(&efctl_webhook, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (!argc || (argc == 1 && !strcmp(argv[0], "list"))) {
        return efctl_command_show(context, "/v1/webhooks", efctl_webhooks_view, NULL, NULL);
    }
    if (argc == 2 && !strcmp(argv[0], "add")) {
        return add(context, &o, argv[1]);
    }
    if (argc == 2 && !strcmp(argv[0], "remove")) {
        return remove_one(context, argv[1]);
    }
    ef_error_set(&err, -EINVAL, "after webhook comes nothing, list, add URL, or remove NAME");
    return efctl_usage_error(&efctl_webhook, &err);
}

const struct efctl_command efctl_webhook = {
    "webhook",
    "[list | add URL | remove NAME]",
    "Has other programs told of alerts: lists, adds and removes webhooks",
    "  efctl webhook add http://10.1.0.9:9000/everflow --kind drop --kind link --secret-file key\n"
    "  efctl webhook; efctl webhook remove hook-1a2b3c4d\n"
    "A URL's path is often a secret: it is not shown again. With - as the URL it is read from standard input.\n",
    true,
    run,
};
