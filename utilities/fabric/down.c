/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a fabric, or what is left of one; see up.h. Nothing is believed that
 * can be looked up: namespaces are found by the prefix that belongs to the
 * fabric, processes by the namespace they are in or the pidfile they hold. */
#include <config.h>

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "utilities/fabric/memory.h"
#include "utilities/fabric/netns.h"
#include "utilities/fabric/process.h"
#include "utilities/fabric/run_command.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/up.h"

#define GRACE_MS 3000
#define MAX_ROUNDS 20

struct names {
    char **list;
    size_t n;
};

static void
add_name(const char *name, void *names_)
{
    struct names *names = names_;
    names->list = ef_xgrow(names->list, names->n, sizeof *names->list);
    names->list[names->n++] = ef_xasprintf("%s", name);
}

static void
free_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        free(names->list[i]);
    }
    free(names->list);
}

/* Adds the owners of the pidfiles in the fabric's folder: daemons that work for
 * the fabric without being in one of its namespaces. */
static size_t
add_pidfile_owners(const char *name, pid_t **pids, size_t n)
{
    char folder[EF_STATE_PATH_SIZE];
    char *const roots[] = {ef_state_path(name, NULL, NULL, folder), NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    FTSENT *entry;
    while (tree && (entry = fts_read(tree))) {
        const char *suffix = strrchr(entry->fts_name, '.');
        pid_t pid = suffix && !strcmp(suffix, ".pid") ? ef_pidfile_owner(entry->fts_path) : 0;
        if (pid && pid != getpid()) {
            *pids = ef_xgrow(*pids, n, sizeof **pids);
            (*pids)[n++] = pid;
        }
    }
    if (tree) {
        fts_close(tree);
    }
    return n;
}

/* In rounds, since a process that we stop may have been starting another. */
static int
stop_processes(const char *name, const char *prefix, bool *found, struct ef_error *err)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        pid_t *pids;
        size_t n = ef_netns_processes(prefix, &pids);
        n = add_pidfile_owners(name, &pids, n);
        ef_processes_stop(pids, n, GRACE_MS);
        free(pids);
        if (!n) {
            return 0;
        }
        *found = true;
    }
    return ef_error_set(err, -EBUSY, "processes of fabric '%s' do not end", name);
}

static int
remove_namespace(size_t index, void *names, struct ef_error *err)
{
    return ef_netns_remove(((struct names *) names)->list[index], err);
}

static int
remove_namespaces(const char *prefix, bool *found, struct ef_error *err)
{
    struct names names = {0};
    ef_netns_list(prefix, add_name, &names);
    *found |= names.n > 0;
    int rc = ef_run_parallel(names.n, 8, remove_namespace, &names, err);
    free_names(&names);
    return rc;
}

int
ef_fabric_down(const char *name, bool *found, struct ef_error *err)
{
    char *prefix = ef_xasprintf("ef-%s-", name);
    int rc, lock = ef_state_lock(name, err);
    *found = lock >= 0;
    if (lock < 0 && lock != -ENOENT) {
        rc = lock;
    } else if (ef_netns_contains_us(prefix)) {
        rc = ef_error_set(err, -EBUSY, "cannot remove fabric '%s' from inside it; leave its namespace first", name);
    } else {
        rc = stop_processes(name, prefix, found, err);
        if (!rc) {
            rc = remove_namespaces(prefix, found, err);
        }
        if (!rc) {
            rc = ef_state_remove(name, err);
        }
        ef_state_remove_root();
    }
    if (lock >= 0) {
        close(lock);
    }
    free(prefix);
    return rc;
}
