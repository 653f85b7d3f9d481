/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that we did not wait for: who owns a pidfile, and ending them. */
#ifndef EF_FABRIC_PROCESS_H
#define EF_FABRIC_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

/* The process that holds the lock of the pidfile at `path` (ours lock with
 * flock, those of Open vSwitch with fcntl), or 0: a pidfile that nobody holds
 * is a remainder, and its number may belong to anybody by now. */
pid_t ef_pidfile_owner(const char *path);

/* Asks the processes to end and kills those that have not after `grace_ms`.
 * Returns when they are gone. */
void ef_processes_stop(const pid_t *pids, size_t n, int grace_ms);

#endif
