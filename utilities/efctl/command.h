/* SPDX-License-Identifier: Apache-2.0 */
/* A subcommand, and what all of them do the same way: options anywhere among
 * the words, --help from the same tables, one clear line for an error.
 *
 *     const struct efctl_command efctl_switches = {"switches", "", "Lists ...", NULL, true, run};
 *
 *     static int
 *     run(struct efctl_context *context, int argc, char *argv[])
 *     {
 *         int status = efctl_command_parse(&efctl_switches, context, groups, &argc, argv);
 *         if (status != EFCTL_GO_ON) return status;
 *         ... argv[0] .. argv[argc - 1] are the words that are no options ...
 *     }
 */
#ifndef EFCTL_COMMAND_H
#define EFCTL_COMMAND_H

#include "base/options.h"
#include "utilities/efctl/client.h"
#include "utilities/efctl/output.h"

/* Exit statuses; EFCTL_GO_ON is none. */
enum { EFCTL_GO_ON = -1, EFCTL_OK = 0, EFCTL_FAILED = 1, EFCTL_WRONG_USAGE = 2 };

struct efctl_context {
    struct efctl_client client;
    struct efctl_output out;
};

struct efctl_command {
    const char *name;
    const char *words; /* What may follow besides options, for --help. */
    const char *summary;
    const char *examples; /* Lines for --help, each ended, or NULL. */
    bool has_document;    /* Takes --json. */
    int (*run)(struct efctl_context *context, int argc, char *argv[]);
};

extern const struct efctl_command efctl_trace, efctl_probe, efctl_store, efctl_switch, efctl_switches, efctl_topology,
    efctl_status, efctl_daemon, efctl_pki, efctl_counters, efctl_alert, efctl_diagnose, efctl_load, efctl_token,
    efctl_webhook, efctl_audit, efctl_config, efctl_debug;

/* --controller, for a struct efctl_context. */
extern const struct ef_option efctl_controller_options[];

/* Parses a command's arguments: argv[0] is its name. `groups` (may be NULL)
 * are its own options; --controller, --help, --version and perhaps --json are added.
 * Leaves the other words in argv[0] to argv[*argc - 1]. Returns EFCTL_GO_ON, or the exit
 * status after it has printed the help or the error. */
int efctl_command_parse(const struct efctl_command *command, struct efctl_context *context,
                        const struct ef_option_group *groups, int *argc, char *argv[]);

/* As above for a command that takes options only. */
int efctl_command_parse_no_words(const struct efctl_command *command, struct efctl_context *context, int argc,
                                 char *argv[]);

/* Prints "efctl: ..." on stderr and returns the status. */
int efctl_fail(const struct ef_error *err);
int efctl_usage_error(const struct efctl_command *command, const struct ef_error *err);

/* Fetches `path`, shows it by `view` (see output.h) and returns the exit
 * status. `*document`, if not NULL, is then the caller's to json_decref(). */
int efctl_command_show(struct efctl_context *context, const char *path, efctl_view *view, const void *ctx,
                       json_t **document);

/* The path of `name` among `what`s below `collection`, such as "/v1/tokens/" and "token",
 * or -EINVAL with `err` if none of them can have that name. */
enum { EFCTL_PATH_SIZE = 128 };
int efctl_command_path(const char *collection, const char *what, const char *name, char path[EFCTL_PATH_SIZE],
                       struct ef_error *err);

/* Has the controller remove what is there, and returns the exit status. */
int efctl_command_remove(struct efctl_context *context, const char *path);

/* Checks a time that is handed on as it is; `err` begins with the option. */
int efctl_command_check_time(const char *option, const char *value, struct ef_error *err);

/* Flushes the output, once all is said: `status`, or EFCTL_FAILED when it could
 * not be written. A reader that has gone is no error. */
int efctl_finish(struct efctl_context *context, int status);

#endif
