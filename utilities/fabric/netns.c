/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces by name; see netns.h. */
#include <config.h>

#include "utilities/fabric/netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utilities/fabric/memory.h"
#include "utilities/fabric/run_command.h"

#define NETNS_DIR "/run/netns"

static char *
netns_path(const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, NETNS_DIR "/%s", name);
    return path;
}

bool
ef_netns_exists(const char *name)
{
    char path[PATH_MAX];
    return !access(netns_path(name, path), F_OK);
}

int
ef_netns_enter(const char *name, struct ef_error *err)
{
    char path[PATH_MAX];
    int fd = open(netns_path(name, path), O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || setns(fd, CLONE_NEWNET) ? -errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    return rc ? ef_error_set(err, rc, "cannot enter network namespace %s: %s", name, strerror(-rc)) : 0;
}

int
ef_netns_here(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

void
ef_netns_return(int here)
{
    if (here >= 0) {
        if (setns(here, CLONE_NEWNET)) {
            abort(); /* Nothing that follows would do what it says. */
        }
        close(here);
    }
}

void
ef_netns_list(const char *prefix, void (*each)(const char *name, void *ctx), void *ctx)
{
    DIR *dir = opendir(NETNS_DIR);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            each(entry->d_name, ctx);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* --- Processes -------------------------------------------------------------- */

struct netns_set {
    struct netns_id {
        dev_t dev;
        ino_t ino;
    } * ids;
    size_t n;
};

static bool
identify(const char *path, struct netns_id *id)
{
    struct stat st;
    if (stat(path, &st)) {
        return false;
    }
    *id = (struct netns_id){st.st_dev, st.st_ino};
    return true;
}

static void
add_to_set(const char *name, void *set_)
{
    struct netns_set *set = set_;
    char path[PATH_MAX];
    struct netns_id id;
    if (identify(netns_path(name, path), &id)) {
        set->ids = ef_xgrow(set->ids, set->n, sizeof *set->ids);
        set->ids[set->n++] = id;
    }
}

static bool
process_is_in(const char *pid, const struct netns_set *set)
{
    char path[64];
    struct netns_id id;
    snprintf(path, sizeof path, "/proc/%.20s/ns/net", pid);
    if (!identify(path, &id)) {
        return false;
    }
    for (size_t i = 0; i < set->n; i++) {
        if (set->ids[i].dev == id.dev && set->ids[i].ino == id.ino) {
            return true;
        }
    }
    return false;
}

size_t
ef_netns_processes(const char *prefix, pid_t **pids)
{
    struct netns_set set = {0};
    size_t n = 0;
    *pids = NULL;
    ef_netns_list(prefix, add_to_set, &set);
    DIR *proc = set.n ? opendir("/proc") : NULL;
    struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        pid_t pid = (pid_t) strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != getpid() && process_is_in(entry->d_name, &set)) {
            *pids = ef_xgrow(*pids, n, sizeof **pids);
            (*pids)[n++] = pid;
        }
    }
    if (proc) {
        closedir(proc);
    }
    free(set.ids);
    return n;
}

bool
ef_netns_contains_us(const char *prefix)
{
    struct netns_set set = {0};
    ef_netns_list(prefix, add_to_set, &set);
    bool contains = process_is_in("self", &set);
    free(set.ids);
    return contains;
}

/* --- Removal ---------------------------------------------------------------- */

/* A process that holds a socket of the namespace would keep its links alive.
 * A namespace that cannot be entered (only its file is left) has none. */
static void
remove_links(const char *name)
{
    char group[16];
    const char *const argv[] = {"ip", "-n", name, "link", "del", "group", group, NULL};
    snprintf(group, sizeof group, "%d", EF_LINK_GROUP);
    ef_run(argv, NULL, NULL, NULL);
}

int
ef_netns_remove(const char *name, struct ef_error *err)
{
    char path[PATH_MAX];
    netns_path(name, path);
    remove_links(name);
    while (!umount2(path, MNT_DETACH)) {
        /* Mounted more than once if `ip netns` was interrupted and repeated. */
    }
    if (unlink(path) && errno != ENOENT) {
        return ef_error_set(err, -errno, "cannot remove network namespace %s: %s", name, strerror(errno));
    }
    return 0;
}

static bool
is_mount_point(const char *path)
{
    char line[4096], point[1024];
    bool found = false;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    while (mounts && !found && fgets(line, sizeof line, mounts)) {
        found = sscanf(line, "%*s %1023s", point) == 1 && !strcmp(point, path);
    }
    if (mounts) {
        fclose(mounts);
    }
    return found;
}

void
ef_netns_prepare_mount(const char *marker)
{
    if (!is_mount_point(NETNS_DIR)) {
        int fd = open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0) {
            close(fd);
        }
    }
}

void
ef_netns_undo_mount(const char *marker)
{
    DIR *dir = opendir(NETNS_DIR);
    int entries = 0;
    while (dir && readdir(dir)) {
        entries++;
    }
    if (dir) {
        closedir(dir);
    }
    if (entries <= 2 && !access(marker, F_OK)) { /* "." and "..". */
        umount2(NETNS_DIR, 0);
        rmdir(NETNS_DIR);
    }
}
