/* SPDX-License-Identifier: Apache-2.0 */
/* Running other programs: ip, ovs-vsctl, ovs-ofctl, the daemons. What a program
 * says on stderr becomes the error, so that a person reads the cause and not
 * "exit status 1".
 *
 *     const char *argv[] = {"ip", "-batch", "-", NULL};
 *     rc = ef_run(argv, "netns add x\n", NULL, &err);
 *
 * Input and output pass through memory files, not pipes: a daemon that keeps
 * its stderr open cannot make us wait. One thread. */
#ifndef EF_FABRIC_RUN_COMMAND_H
#define EF_FABRIC_RUN_COMMAND_H

#include <stddef.h>

#include "base/error.h"

/* Runs argv[0] (found by PATH) with `input` as its stdin (NULL: none) and waits
 * for its end. Its stdout goes to `*output`, a text that the caller frees, or
 * is dropped if `output` is NULL. Returns 0; -EIO with `err` if it failed;
 * another negative errno if it could not be started. */
int ef_run(const char *const argv[], const char *input, char **output, struct ef_error *err);

/* Calls `job` for 0 .. n-1, each in a process of its own, at most `width` at a
 * time. A job returns 0 or a negative errno with `err`. Returns 0, or the
 * first failure (the others are then stopped), or -EINTR if the process was
 * asked to end by ef_run_catch_signals(). */
int ef_run_parallel(size_t n, size_t width, int (*job)(size_t index, void *ctx, struct ef_error *err), void *ctx,
                    struct ef_error *err);

/* From now on SIGINT, SIGTERM and SIGHUP make ef_run_parallel() and ef_run()
 * return -EINTR instead of ending the process. */
void ef_run_catch_signals(void);

/* From now on these signals do nothing: for cleaning up after one of them. */
void ef_run_ignore_signals(void);

#endif
