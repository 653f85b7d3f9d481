/* SPDX-License-Identifier: Apache-2.0 */
/* efctl token: who may ask the controller for what. */
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

struct token_options {
    const char *role, *expires;
    char end[EF_TIME_TEXT_SIZE];
};

static int
set_role(void *ctx, const char *value, struct ef_error *err)
{
    ((struct token_options *) ctx)->role = value;
    return 0;
}

/* From now on, unlike other times: a token ends in the future. */
static int
set_expires(void *ctx, const char *value, struct ef_error *err)
{
    struct token_options *o = ctx;
    struct ef_error why = EF_ERROR_INIT;
    struct ef_time now = ef_time_real(), end;
    int64_t ns;
    if (!ef_duration_parse(value, &ns, &why) && ns > 0) {
        o->expires = ef_time_format(ef_time_add_ns(now, ns), o->end);
        return 0;
    }
    if (ef_time_parse(value, now, &end, &why)) {
        return ef_error_set(err, -EINVAL, "--expires: neither a duration such as 720h nor a time");
    }
    o->expires = ef_time_format(end, o->end);
    return 0;
}

static const struct ef_option options[] = {
    {"role", 'r', "ROLE",
     "viewer (looks), operator (asks for counters, debug sessions, probes, diagnoses)\nor admin (changes who and what "
     "there is); required to add",
     set_role},
    {"expires", 0, "TIME", "when it ends: a duration such as 720h, or a time (default: never)", set_expires},
    {0},
};

void
efctl_tokens_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"NAME", "ROLE", "CREATED", "EXPIRES", NULL};
    const json_t *tokens = efctl_get_array(document, "tokens"), *entry;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    if (!json_array_size(tokens)) {
        efctl_output_text(out, EFCTL_PLAIN, "There is no token; add one: efctl token add NAME --role ROLE");
        efctl_output_newline(out);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(tokens, i, entry)
    {
        const char *created = efctl_get_string(entry, "created", NULL), *end = efctl_get_string(entry, "expires", NULL);
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(entry, "name", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "role", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", created ? efctl_format_time(created, 0, buf) : "-");
        efctl_table_cell(table, EFCTL_PLAIN, "%s", end ? efctl_format_time(end, 0, buf) : "never");
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

void
efctl_new_token_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    efctl_output_printf(out, EFCTL_BOLD, "%s", efctl_get_string(document, "token", "?"));
    efctl_output_newline(out);
}

static int
add(struct efctl_context *context, const struct token_options *o, const char *name)
{
    struct efctl_failure failure;
    struct ef_error err = EF_ERROR_INIT;
    json_t *document = json_pack("{s:s, s:s}", "name", name, "role", o->role), *answer = NULL;
    if (document && o->expires) {
        json_object_set_new(document, "expires", json_string(o->expires));
    }
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (!body) {
        ef_error_set(&err, -EINVAL, "the name and the role should be UTF-8");
        return efctl_fail(&err);
    }
    int rc = efctl_client_send_json(&context->client, "POST", "/v1/tokens", body, &answer, &failure);
    free(body);
    if (rc) {
        return efctl_fail(&failure.error);
    }
    efctl_output_document(&context->out, answer, efctl_new_token_view, NULL);
    json_decref(answer);
    fputs("Keep it secret; it is not shown again. efctl takes it from the environment: EFCTL_TOKEN\n", stderr);
    return EFCTL_OK;
}

static int
revoke(struct efctl_context *context, const char *name)
{
    char path[EFCTL_PATH_SIZE];
    struct ef_error err = EF_ERROR_INIT;
    return efctl_command_path("/v1/tokens/", "token", name, path, &err) ? efctl_fail(&err)
                                                                        : efctl_command_remove(context, path);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct ef_error err = EF_ERROR_INIT;
    struct token_options o = {0};
    const struct ef_option_group groups[] = {{"Options", options, &o}, {0}};
    int status = efctl_command_parse(&efctl_token, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (!argc || (argc == 1 && !strcmp(argv[0], "list"))) {
        return efctl_command_show(context, "/v1/tokens", efctl_tokens_view, NULL, NULL);
    }
    if (argc == 2 && !strcmp(argv[0], "add") && o.role) {
        return add(context, &o, argv[1]);
    }
    if (argc == 2 && !strcmp(argv[0], "revoke")) {
        return revoke(context, argv[1]);
    }
    ef_error_set(&err, -EINVAL, "after token comes nothing, list, add NAME --role ROLE, or revoke NAME");
    return efctl_usage_error(&efctl_token, &err);
}

const struct efctl_command efctl_token = {
    "token",
    "[list | add NAME --role ROLE | revoke NAME]",
    "Lets others ask the controller: lists, adds and revokes tokens",
    "  efctl token add grafana --role viewer --expires 8760h\n"
    "  efctl token; efctl token revoke grafana\n",
    true,
    run,
};
