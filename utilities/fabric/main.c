/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric: an emulated fabric of Open vSwitch routers on one machine. This
 * file finds the subcommand and parses its words; see ef-fabric(8). */
#include <config.h>

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "utilities/fabric/commands.h"
#include "utilities/fabric/memory.h"
#include "utilities/fabric/topology.h"

static const struct ef_fabric_command *const commands[] = {
    &ef_command_up,   &ef_command_down,  &ef_command_exec,  &ef_command_status,  &ef_command_topology,
    &ef_command_path, &ef_command_flows, &ef_command_fault, &ef_command_traffic,
};

static int
set_name(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_fabric_options *) ctx)->name = value;
    return ef_fabric_name_check(value, err);
}

static const struct ef_option common_options[] = {
    {"name", 'n', "NAME", "the fabric (default \"" EF_DEFAULT_FABRIC "\")", set_name},
    {0},
};
static const struct ef_option no_options[] = {{0}};

const char *
ef_fabric_name_of(const struct ef_fabric_options *common)
{
    return common->name ? common->name : EF_DEFAULT_FABRIC;
}

void
ef_print_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(json);
}

static int
fail(const struct ef_error *err, int code)
{
    fflush(stdout);
    fprintf(stderr, "ef-fabric: %s\n", err->text);
    return code;
}

static int
print_help(struct ef_fabric_options *common)
{
    struct ef_option_group groups[] = {{"Options", common_options, common}, {0}};
    printf("ef-fabric: an emulated fabric of Open vSwitch routers on one machine\n"
           "usage: ef-fabric [--name NAME] COMMAND [ARGUMENT...]\n\nCommands:\n");
    for (size_t i = 0; i < EF_ARRAY_SIZE(commands); i++) {
        printf("  %-10s %s\n", commands[i]->name, commands[i]->help);
    }
    printf("\n`ef-fabric COMMAND --help` says more about one.\n");
    ef_options_print(groups, stdout);
    return 0;
}

static int
print_command_help(const struct ef_fabric_command *command, const struct ef_option_group *groups)
{
    printf("usage: ef-fabric [--name NAME] %s %s\n\n%s\n", command->name, command->usage, command->help);
    ef_options_print(groups, stdout);
    return 0;
}

static int
print_version(void)
{
    printf("ef-fabric (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
    return 0;
}

static const struct ef_fabric_command *
find_command(const char *name, struct ef_error *err)
{
    const char *names[EF_ARRAY_SIZE(commands) + 1] = {NULL};
    for (size_t i = 0; i < EF_ARRAY_SIZE(commands); i++) {
        names[i] = commands[i]->name;
        if (!strcmp(names[i], name)) {
            return commands[i];
        }
    }
    const char *near = ef_nearest_word(name, names);
    ef_error_set(err, -EINVAL,
                 near ? "unknown command '%.40s'; did you mean '%s'?"
                      : "unknown command '%.40s'; "
                        "see --help",
                 name, near);
    return NULL;
}

/* Options and other words may be mixed, except that a command which takes any
 * number of words (exec) takes all that follow its first one. */
static int
run_command(const struct ef_fabric_command *command, int argc, char **argv, struct ef_fabric_options *common)
{
    struct ef_option_group groups[] = {{"Options", command->options ? command->options : no_options, command->ctx},
                                       {"Common options", common_options, common},
                                       {0}};
    char **words = ef_xzalloc(((size_t) argc + 1) * sizeof *words);
    struct ef_error err = EF_ERROR_INIT;
    int n = 0, code;
    for (int i = 0; i < argc;) {
        int used = ef_options_parse(command->options ? groups : groups + 1, argc - i, argv + i, &err);
        if (used < 0) {
            code = used == EF_OPTIONS_HELP      ? print_command_help(command, command->options ? groups : groups + 1)
                   : used == EF_OPTIONS_VERSION ? print_version()
                                                : fail(&err, EF_EXIT_USAGE);
            goto out;
        }
        i += used;
        while (i < argc && (n == 0 || command->max_words < 0 || argv[i][0] != '-')) {
            words[n++] = argv[i++];
        }
        i--; /* The parser skips the word before. */
        if (i + 1 >= argc) {
            break;
        }
    }
    if (n < command->min_words || (command->max_words >= 0 && n > command->max_words)) {
        ef_error_set(&err, -EINVAL, "%s; usage: ef-fabric %s %s",
                     n < command->min_words ? "too few arguments" : "too many arguments", command->name,
                     command->usage);
        code = fail(&err, EF_EXIT_USAGE);
    } else {
        code = command->run(common, n, words, &err);
        if (code && err.text[0]) {
            fail(&err, code);
        }
    }
out:
    free(words);
    return code;
}

int
main(int argc, char *argv[])
{
    struct ef_fabric_options common = {0};
    struct ef_option_group groups[] = {{"Options", common_options, &common}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    int i = ef_options_parse(groups, argc, argv, &err);
    if (i == EF_OPTIONS_HELP) {
        return print_help(&common);
    }
    if (i == EF_OPTIONS_VERSION) {
        return print_version();
    }
    if (i < 0) {
        return fail(&err, EF_EXIT_USAGE);
    }
    if (i >= argc) {
        ef_error_set(&err, -EINVAL,
                     "say what to do: up, down, exec, status, topology, path, flows, fault, traffic; see --help");
        return fail(&err, EF_EXIT_USAGE);
    }
    const struct ef_fabric_command *command = find_command(argv[i], &err);
    return command ? run_command(command, argc - i, argv + i, &common) : fail(&err, EF_EXIT_USAGE);
}
