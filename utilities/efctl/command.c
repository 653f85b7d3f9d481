/* SPDX-License-Identifier: Apache-2.0 */
/* What all subcommands do the same way; see command.h. */
#include <config.h>

#include "utilities/efctl/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

static int
set_controller(void *ctx, const char *value, struct ef_error *err)
{
    struct efctl_context *context = ctx;
    context->client.url = value;
    return 0;
}

static int
set_json(void *ctx, const char *value, struct ef_error *err)
{
    struct efctl_context *context = ctx;
    context->out.json = true;
    return 0;
}

static const struct ef_option json_options[] = {
    {"json", 0, NULL, "print the controller's JSON document", set_json},
    {0},
};

const struct ef_option efctl_controller_options[] = {
    {"controller", 'c', "URL", "the controller (default http://127.0.0.1:8780,\nor EFCTL_CONTROLLER)", set_controller},
    {0},
};

static int
print_help(const struct efctl_command *command, const struct ef_option_group *groups)
{
    printf("usage: efctl %s [OPTIONS]%s%s\n\n%s.\n", command->name, *command->words ? " " : "", command->words,
           command->summary);
    ef_options_print(groups, stdout);
    if (command->examples) {
        printf("\nExamples:\n%s", command->examples);
    }
    return EFCTL_OK;
}

static int
print_version(void)
{
    printf("efctl (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
    return EFCTL_OK;
}

enum { MAX_GROUPS = 6 }; /* With the one that ends the list. */

/* The command's own `groups`, then those of all commands, into `all`. */
static void
join_groups(struct ef_option_group all[MAX_GROUPS], const struct efctl_command *command,
            const struct ef_option_group *groups, struct efctl_context *context)
{
    size_t n = 0;
    for (; groups && groups->options && n + 4 < MAX_GROUPS; groups++) {
        all[n++] = *groups;
    }
    if (command->has_document) {
        all[n++] = (struct ef_option_group){"Output", json_options, context};
    }
    all[n++] = (struct ef_option_group){"Controller", efctl_controller_options, context};
    all[n++] = (struct ef_option_group) EF_TLS_GROUP(&context->client.tls);
    all[n] = (struct ef_option_group){0};
}

int
efctl_command_parse(const struct efctl_command *command, struct efctl_context *context,
                    const struct ef_option_group *groups, int *argc, char *argv[])
{
    struct ef_option_group all[MAX_GROUPS];
    struct ef_error err = EF_ERROR_INIT;
    join_groups(all, command, groups, context);
    int n_words = 0;
    bool only_words = false; /* After "--". */
    for (int i = 0, next; i < *argc; i = next) {
        /* argv[i] is the command's name or a word already taken. */
        int skip = only_words ? 1 : ef_options_parse(all, *argc - i, argv + i, &err);
        if (skip == EF_OPTIONS_HELP) {
            return print_help(command, all);
        }
        if (skip == EF_OPTIONS_VERSION) {
            return print_version();
        }
        if (skip < 0) {
            return efctl_usage_error(command, &err);
        }
        next = i + skip;
        only_words = only_words || (skip > 1 && !strcmp(argv[next - 1], "--"));
        if (next < *argc) {
            argv[n_words++] = argv[next];
        }
    }
    *argc = n_words;
    return EFCTL_GO_ON;
}

int
efctl_command_parse_no_words(const struct efctl_command *command, struct efctl_context *context, int argc, char *argv[])
{
    int status = efctl_command_parse(command, context, NULL, &argc, argv);
    if (status == EFCTL_GO_ON && argc) {
        struct ef_error err;
        ef_error_set(&err, -EINVAL, "'%.60s' is not expected here", argv[0]);
        return efctl_usage_error(command, &err);
    }
    return status;
}

/* To stderr; the text may hold what a controller sent. */
static void
complain(const char *text, const char *hint, const char *name)
{
    struct efctl_output out;
    efctl_output_init(&out, stderr);
    efctl_output_printf(&out, EFCTL_PLAIN, "efctl: %s%s%s", text, hint, name);
    efctl_output_newline(&out);
}

int
efctl_fail(const struct ef_error *err)
{
    complain(err->text, "", "");
    return EFCTL_FAILED;
}

int
efctl_usage_error(const struct efctl_command *command, const struct ef_error *err)
{
    bool has_hint = strstr(err->text, "see --help") || strstr(err->text, "did you mean");
    complain(err->text, has_hint ? "" : "; see efctl help ", has_hint ? "" : command->name);
    return EFCTL_WRONG_USAGE;
}

int
efctl_command_show(struct efctl_context *context, const char *path, efctl_view *view, const void *ctx,
                   json_t **document)
{
    struct efctl_failure failure;
    json_t *answer;
    if (efctl_client_get_json(&context->client, path, &answer, &failure)) {
        return efctl_fail(&failure.error);
    }
    efctl_output_document(&context->out, answer, view, ctx);
    if (document) {
        *document = json_incref(answer);
    }
    json_decref(answer);
    return EFCTL_OK;
}

int
efctl_command_path(const char *collection, const char *what, const char *name, char path[EFCTL_PATH_SIZE],
                   struct ef_error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:";
    bool is_name = *name && !name[strspn(name, allowed)] &&
                   snprintf(path, EFCTL_PATH_SIZE, "%s%s", collection, name) < EFCTL_PATH_SIZE;
    return is_name ? 0 : ef_error_set(err, -EINVAL, "no %s can be called '%.60s'", what, name);
}

int
efctl_command_remove(struct efctl_context *context, const char *path)
{
    struct efctl_failure failure;
    json_t *answer;
    if (efctl_client_send_json(&context->client, "DELETE", path, NULL, &answer, &failure)) {
        return efctl_fail(&failure.error);
    }
    json_decref(answer);
    return EFCTL_OK;
}

int
efctl_command_check_time(const char *option, const char *value, struct ef_error *err)
{
    struct ef_time time;
    int rc = ef_time_parse(value, ef_time_real(), &time, err);
    return rc ? ef_error_prefix(err, rc, "%s", option) : 0;
}

int
efctl_finish(struct efctl_context *context, int status)
{
    struct ef_error err;
    int rc = efctl_output_flush(&context->out, &err);
    return !rc || rc == -EPIPE || status != EFCTL_OK ? status : efctl_fail(&err);
}
