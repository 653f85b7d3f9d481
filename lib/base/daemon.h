/* SPDX-License-Identifier: Apache-2.0 */
/* What every daemon does the same way: the options --detach, --pidfile,
 * --log-file, --log-level and --control, and going to the background only
 * after it is ready, so that its starter sees each start-up error and a zero
 * exit status means "it runs".
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

#include "base/error.h"
#include "base/options.h"

struct ef_daemon {
    const char *program;
    bool detach;
    const char *pidfile, *log_file;
    const char *control; /* Path of the control socket, or NULL. */
    int ready_fd;        /* To the waiting parent; internal. */
    int pidfile_fd;      /* Locked while we run; internal. */
};

extern const struct ef_option ef_daemon_option_table[];
#define EF_DAEMON_GROUP(daemon)                            \
    {                                                      \
        "Daemon options", ef_daemon_option_table, (daemon) \
    }

/* Opens the log, locks the pidfile and, if asked, forks: the parent waits
 * until the child is ready or dead, and exits 0 or 1. Returns 0 or a negative
 * errno with `err` (-EBUSY: the pidfile belongs to a running process). */
int ef_daemon_begin(struct ef_daemon *daemon, struct ef_error *err);

/* Writes the pidfile, lets go of the terminal and releases the parent. */
int ef_daemon_ready(struct ef_daemon *daemon, struct ef_error *err);

void ef_daemon_end(struct ef_daemon *daemon);

#endif
