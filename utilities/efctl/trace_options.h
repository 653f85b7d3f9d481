/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say which traces are asked for, the same for all commands
 * that ask:
 *
 *     struct efctl_trace_options which = {.query.limit = 10};
 *     const struct ef_option_group groups[] = {{"Which traces", efctl_trace_option_table, &which}, {0}};
 *     ... efctl_command_parse() ...
 *     if (efctl_trace_options_finish(&which, &err)) return efctl_usage_error(command, &err);
 *     which.query.filter = filter = efctl_join_words(argc, argv);
 */
#ifndef EFCTL_TRACE_OPTIONS_H
#define EFCTL_TRACE_OPTIONS_H

#include "base/options.h"
#include "utilities/efctl/trace_view.h"

struct efctl_trace_options {
    struct efctl_trace_query query;
    const char *last;
    char start[64]; /* "-5m" of --last 5m. */
};

extern const struct ef_option efctl_trace_option_table[];

/* Once all options are parsed. Returns 0, or -EINVAL with `err` for those that
 * contradict each other. */
int efctl_trace_options_finish(struct efctl_trace_options *options, struct ef_error *err);

/* Joins the words of a filter that was written without quotes. The caller
 * frees it; NULL if there is none. */
char *efctl_join_words(int n, char *const words[]);

#endif
