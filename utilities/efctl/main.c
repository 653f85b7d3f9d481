/* SPDX-License-Identifier: Apache-2.0 */
/* efctl: what operators type. A table of subcommands; each has its own file. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/command.h"

static const struct efctl_command *const commands[] = {
    &efctl_trace,  &efctl_probe,  &efctl_store, &efctl_switch,   &efctl_switches, &efctl_topology,
    &efctl_status, &efctl_daemon, &efctl_pki,   &efctl_counters, &efctl_alert,    &efctl_diagnose,
    &efctl_load,   &efctl_token,  &efctl_audit, &efctl_config,   &efctl_webhook,  &efctl_debug,
};

static void
print_help(const struct ef_option_group *groups)
{
    printf("usage: efctl [--controller URL] COMMAND [OPTIONS]\n\n"
           "See any packet at every switch it crosses.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < EF_ARRAY_SIZE(commands); i++) {
        printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    }
    printf("  %-9s %s\n", "help", "This text, or that of a command: efctl help trace");
    ef_options_print(groups, stdout);
    printf("\nExamples:\n"
           "  efctl status\n"
           "  efctl trace 'ip.addr == 10.1.0.2 && tcp.flags.syn == 1' --last 5m\n"
           "  efctl trace --condition trace.loop\n"
           "\nExit status: 0 all is well, 1 something failed or is down, 2 wrong usage.\n");
}

static const struct efctl_command *
find_command(const char *name)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(commands); i++) {
        if (!strcmp(commands[i]->name, name)) {
            return commands[i];
        }
    }
    return NULL;
}

static int
fail_usage(const char *fmt, const char *word, const char *near)
{
    struct ef_error err;
    ef_error_set(&err, -EINVAL, fmt, word, near);
    efctl_fail(&err);
    return EFCTL_WRONG_USAGE;
}

static int
unknown_command(const char *word)
{
    const char *names[EF_ARRAY_SIZE(commands) + 2] = {"help"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(commands); i++) {
        names[i + 1] = commands[i]->name;
    }
    const char *near = ef_nearest_word(word, names);
    return near ? fail_usage("unknown command '%.40s'; did you mean %s?", word, near)
                : fail_usage("unknown command '%.40s'; see efctl --help%s", word, "");
}

/* efctl help [COMMAND] */
static int
help(struct efctl_context *context, const struct ef_option_group *groups, int argc, char *argv[])
{
    if (argc < 2) {
        print_help(groups);
        return EFCTL_OK;
    }
    const struct efctl_command *command = find_command(argv[1]);
    char name[] = "", option[] = "--help";
    return command ? command->run(context, 2, (char *[]){name, option, NULL}) : unknown_command(argv[1]);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    const struct ef_option_group groups[] = {
        {"Options", efctl_controller_options, context}, EF_TLS_GROUP(&context->client.tls), {0}};
    struct ef_error err = EF_ERROR_INIT;
    int first = ef_options_parse(groups, argc, argv, &err);
    if (first == EF_OPTIONS_HELP) {
        print_help(groups);
        return EFCTL_OK;
    }
    if (first == EF_OPTIONS_VERSION) {
        printf("efctl (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
        return EFCTL_OK;
    }
    if (first < 0) {
        return fail_usage("%s; see efctl --help%s", err.text, "");
    }
    if (first == argc) {
        return fail_usage("no command; see efctl --help%s%s", "", "");
    }
    if (!strcmp(argv[first], "help")) {
        return help(context, groups, argc - first, argv + first);
    }
    const struct efctl_command *command = find_command(argv[first]);
    return command ? command->run(context, argc - first, argv + first) : unknown_command(argv[first]);
}

/* A variable of the environment; NULL if it is not there or empty. */
static const char *
variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int
main(int argc, char *argv[])
{
    const char *url = variable("EFCTL_CONTROLLER");
    struct efctl_context context = {
        .client.url = url ? url : "http://127.0.0.1:8780",
        .client.token = variable("EFCTL_TOKEN"),
        .client.tls = {variable("EFCTL_TLS_CERT"), variable("EFCTL_TLS_KEY"), variable("EFCTL_TLS_CA")},
    };
    /* A reader that goes away ends the output, see efctl_finish(). */
    signal(SIGPIPE, SIG_IGN);
    efctl_output_init(&context.out, stdout);
    return efctl_finish(&context, run(&context, argc, argv));
}
