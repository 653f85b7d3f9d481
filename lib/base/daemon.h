/* SPDX-License-Identifier: Apache-2.0 */
/* What every daemon does the same way: the options --conf, --check-config,
 * --user, --detach, --pidfile, --log-file, --log-level, --control and
 * --max-connections; as many files as the system allows; giving up root; and going to the background only after it is
 * ready, so that its starter sees each start-up error and a zero exit status means "it runs".
 *
 *     struct ef_daemon daemon = {.program = "ef-analyzer"};
 *     ... ef_options_parse(groups with EF_DAEMON_GROUP(&daemon)) ...
 *     if (ef_daemon_begin(&daemon, &err)) fail;     // forks if --detach
 *     ... open sockets, start threads ...
 *     if (ef_daemon_ready(&daemon, &err)) fail;     // pidfile; parent exits 0
 *     ... run ...
 *     ef_daemon_end(&daemon);                       // removes the pidfile
 *
 * Start no thread before ef_daemon_begin(). */
#ifndef EF_BASE_DAEMON_H
#define EF_BASE_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"

struct ef_daemon {
    const char *program;
    const int *capabilities; /* What it needs when --user has it give up root; ends with -1. NULL: none. */
    bool detach;
    bool check_only;  /* --check-config: the program says that its options are in order, and ends. */
    const char *user; /* Whom to become, or NULL. */
    const char *pidfile, *log_file;
    const char *control;      /* Path of the control socket, or NULL. */
    uint64_t max_connections; /* Of HTTP clients at once; 0: the server's default. */
    int ready_fd;             /* To the waiting parent; internal. */
    int pidfile_fd;           /* Locked while we run; internal. */
};

extern const struct ef_option ef_daemon_option_table[];
#define EF_DAEMON_GROUP(daemon)                            \
    {                                                      \
        "Daemon options", ef_daemon_option_table, (daemon) \
    }

/* Opens the log, locks the pidfile, forks if asked (the parent waits until the
 * child is ready or dead, and exits 0 or 1), and becomes the user. Returns 0 or a
 * negative errno with `err` (-EBUSY: the pidfile belongs to a running process). */
int ef_daemon_begin(struct ef_daemon *daemon, struct ef_error *err);

/* Says on stdout that the configuration is in order; returns 0, the exit status. */
int ef_daemon_say_checked(const struct ef_daemon *daemon);

/* Writes the pidfile, lets go of the terminal, releases the parent and tells the
 * service manager. */
int ef_daemon_ready(struct ef_daemon *daemon, struct ef_error *err);

void ef_daemon_end(struct ef_daemon *daemon);

#endif
