/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options as tables: parsing, --help and "did you mean" from one
 * description. A program has one or more groups, each with its own context:
 *
 *     static const struct ef_option options[] = {
 *         {"workers", 'w', "N", "worker threads (default 2)", set_workers},
 *         {"verbose", 'v', NULL, "say more", set_verbose},
 *         {0},
 *     };
 *     struct ef_option_group groups[] = {{"Options", options, &conf}, EF_DAEMON_GROUP(&daemon), {0}};
 *     int first = ef_options_parse(groups, argc, argv, &err);
 */
#ifndef EF_BASE_OPTIONS_H
#define EF_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct ef_option {
    const char *name;     /* Long name, without dashes. */
    char letter;          /* Short name, or 0. */
    const char *argument; /* What stands for the value in --help, or NULL for a switch. */
    const char *help;     /* One line, or several separated by '\n'. */
    /* Called for each occurrence; `value` is NULL for a switch. Returns 0 or a
     * negative errno with `err`. */
    int (*set)(void *ctx, const char *value, struct ef_error *err);
    bool is_file; /* The value names a file of options, which are read there and then; see options_file.h. */
};

struct ef_option_group {
    const char *title;
    const struct ef_option *options; /* Ends with an entry without a name. */
    void *ctx;                       /* Passed to `set`. */
};

#define EF_OPTIONS_HELP (-1000)    /* --help or -h was given. */
#define EF_OPTIONS_VERSION (-1001) /* --version was given. */

/* Parses options up to the first word that is none (or after "--"). `groups`
 * ends with an entry without options. Returns the index of that word in
 * `argv` (argc if there is none), EF_OPTIONS_HELP, EF_OPTIONS_VERSION, or a
 * negative errno with `err`, which names the option and, for an unknown one,
 * the nearest that exists. Options may also be written "--name=value". */
int ef_options_parse(const struct ef_option_group *groups, int argc, char *const argv[], struct ef_error *err);

/* Does what "--NAME=VALUE" does, or "--NAME" if `value` is NULL; `name` has `len`
 * bytes. `value` must live as long as what the option sets. Returns 0 or a
 * negative errno with `err`. */
int ef_options_apply(const struct ef_option_group *groups, const char *name, size_t len, const char *value,
                     struct ef_error *err);

/* Writes the option part of --help to `out`. */
void ef_options_print(const struct ef_option_group *groups, FILE *out);

/* The entry of `names` (NULL-terminated) nearest to `word`, or NULL if none is
 * near enough to be what was meant. */
const char *ef_nearest_word(const char *word, const char *const names[]);

#endif
