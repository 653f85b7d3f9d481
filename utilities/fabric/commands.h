/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of ef-fabric. main.c finds one by name and gives it the
 * words after its name; each parses its own options. */
#ifndef EF_FABRIC_COMMANDS_H
#define EF_FABRIC_COMMANDS_H

#include <jansson.h>

#include "base/error.h"
#include "base/options.h"

#define EF_EXIT_FAILURE 1 /* At run time. */
#define EF_EXIT_USAGE 2   /* The command line is wrong. */

/* Options that may stand before and after the subcommand. */
struct ef_fabric_options {
    const char *name; /* Of the fabric; NULL: not given. */
};

#define EF_DEFAULT_FABRIC "demo"

struct ef_fabric_command {
    const char *name, *usage, *help;
    const struct ef_option *options; /* Beside the common ones; may be NULL. */
    void *ctx;                       /* Passed to their `set`. */
    int min_words, max_words;        /* Words that are no options; -1: any number. */
    /* Returns an exit code; a failure is in `err`. */
    int (*run)(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err);
};

extern const struct ef_fabric_command ef_command_up, ef_command_down, ef_command_exec, ef_command_topology,
    ef_command_status, ef_command_path, ef_command_flows, ef_command_fault, ef_command_traffic;

/* The fabric's name that is meant. */
const char *ef_fabric_name_of(const struct ef_fabric_options *common);

/* Prints a JSON document to stdout and drops the reference. */
void ef_print_json(json_t *json);

#endif
