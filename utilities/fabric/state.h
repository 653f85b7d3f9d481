/* SPDX-License-Identifier: Apache-2.0 */
/* What a running fabric has on disk: /run/everflow/NAME/topology.json and a
 * folder per switch with its database, sockets, pidfiles and logs. The folder
 * is what makes a name taken: `up` creates it first and `down` removes it last,
 * so whatever happens in between can be found and removed.
 *
 * Its lock is held by the one `up` or `down` that is at work on the fabric,
 * and falls when that process dies. */
#ifndef EF_FABRIC_STATE_H
#define EF_FABRIC_STATE_H

#include <stdbool.h>

#include "base/error.h"
#include "utilities/fabric/topology.h"

#define EF_STATE_ROOT "/run/everflow"
#define EF_STATE_NETNS_MARKER EF_STATE_ROOT "/.netns" /* See ef_netns_prepare_mount(). */
#define EF_STATE_PATH_SIZE 104                        /* What fits in a Unix socket's address. */

/* The path of `file` in the folder of `node` of fabric `name`; `node` or
 * `file` may be NULL. Returns `path`. */
char *ef_state_path(const char *name, const char *node, const char *file, char path[EF_STATE_PATH_SIZE]);

/* Makes the folder of a new fabric, locked. Returns the lock (a descriptor to
 * close), -EEXIST if the name is taken, or another negative errno with `err`. */
int ef_state_create(const char *name, struct ef_error *err);

/* Locks the folder of an existing fabric, waiting up to a minute for whoever is
 * at work on it. Returns the lock, -ENOENT (without `err`) if there is none, or
 * another negative errno with `err`. */
int ef_state_lock(const char *name, struct ef_error *err);

/* True if the fabric has a folder. */
bool ef_state_exists(const char *name);

/* Removes the folder. Returns 0 (also if there is none) or a negative errno
 * with `err`. */
int ef_state_remove(const char *name, struct ef_error *err);

/* Removes EF_STATE_ROOT; does nothing while a fabric is in it. */
void ef_state_remove_root(void);

/* Calls `each` with the name of every fabric that has a folder. */
void ef_state_list(void (*each)(const char *name, void *ctx), void *ctx);

/* The topology of a running fabric; the caller destroys it. -ENOENT with `err`
 * if there is no such fabric. */
int ef_state_load(const char *name, struct ef_topology **topology, struct ef_error *err);

/* Writes topology.json (complete or not at all). */
int ef_state_save(const struct ef_topology *topology, struct ef_error *err);

#endif
