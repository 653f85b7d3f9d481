/* SPDX-License-Identifier: Apache-2.0 */
/* A running fabric on disk; see state.h. */
#include <config.h>

#include "utilities/fabric/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "utilities/fabric/netns.h"

#define LOCK_WAIT_S 60

char *
ef_state_path(const char *name, const char *node, const char *file, char path[EF_STATE_PATH_SIZE])
{
    snprintf(path, EF_STATE_PATH_SIZE, EF_STATE_ROOT "/%s%s%s%s%s", name, node ? "/" : "", node ? node : "",
             file ? "/" : "", file ? file : "");
    return path;
}

int
ef_state_create(const char *name, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE];
    ef_state_path(name, NULL, NULL, path);
    if (mkdir(EF_STATE_ROOT, 0755) && errno != EEXIST) {
        return ef_error_set(err, -errno, "cannot make %s: %s", EF_STATE_ROOT, strerror(errno));
    }
    if (mkdir(path, 0755)) {
        return errno == EEXIST
                   ? ef_error_set(err, -EEXIST,
                                  "fabric '%s' exists already; remove it with `ef-fabric --name %s down`, or choose "
                                  "another --name",
                                  name, name)
                   : ef_error_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
    }
    return ef_state_lock(name, err);
}

/* The folder may be removed, or even made anew, while we wait for its lock:
 * then what we locked is not what the path names any more. */
static bool
is_still_named(int fd, const char *path)
{
    struct stat locked, named;
    return !fstat(fd, &locked) && !stat(path, &named) && locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

/* Locks `fd` as soon as it is free, within LOCK_WAIT_S. */
static int
wait_for_lock(int fd, const char *name, struct ef_error *err)
{
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), LOCK_WAIT_S * 1000);
    const struct timespec pause = {.tv_nsec = 20 * EF_NS_PER_MS};
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK) {
            return ef_error_set(err, -errno, "cannot lock fabric '%s': %s", name, strerror(errno));
        }
        if (ef_time_before(deadline, ef_time_mono())) {
            return ef_error_set(err, -EBUSY,
                                "another ef-fabric is at work on fabric '%s' since more than %d s; end that first",
                                name, LOCK_WAIT_S);
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

int
ef_state_lock(const char *name, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE];
    ef_state_path(name, NULL, NULL, path);
    for (;;) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            return errno == ENOENT ? -ENOENT : ef_error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
        }
        int rc = wait_for_lock(fd, name, err);
        if (rc) {
            close(fd);
            return rc;
        }
        if (is_still_named(fd, path)) {
            return fd;
        }
        close(fd);
    }
}

bool
ef_state_exists(const char *name)
{
    char path[EF_STATE_PATH_SIZE];
    return !access(ef_state_path(name, NULL, NULL, path), F_OK);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path) && errno != ENOENT;
}

int
ef_state_remove(const char *name, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE];
    ef_state_path(name, NULL, NULL, path);
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT) {
        return ef_error_set(err, -errno, "cannot remove %s: %s", path, strerror(errno));
    }
    return 0;
}

static void
count_one(const char *name, void *count)
{
    ++*(int *) count;
}

void
ef_state_remove_root(void)
{
    int n = 0;
    ef_state_list(count_one, &n);
    if (!n) {
        ef_netns_undo_mount(EF_STATE_NETNS_MARKER);
        unlink(EF_STATE_NETNS_MARKER);
        rmdir(EF_STATE_ROOT);
    }
}

void
ef_state_list(void (*each)(const char *name, void *ctx), void *ctx)
{
    DIR *dir = opendir(EF_STATE_ROOT);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!ef_fabric_name_check(entry->d_name, NULL)) {
            each(entry->d_name, ctx);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

int
ef_state_load(const char *name, struct ef_topology **topology, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE];
    if (!ef_state_exists(name)) {
        return ef_error_set(err, -ENOENT, "there is no fabric '%s'; start it with `ef-fabric --name %s up`", name,
                            name);
    }
    int rc = ef_topology_read(ef_state_path(name, NULL, "topology.json", path), name, topology, err);
    return rc ? ef_error_prefix(err, rc, "fabric '%s' is half made (remove it with `ef-fabric --name %s down`)", name,
                                name)
              : 0;
}

int
ef_state_save(const struct ef_topology *t, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE], final[EF_STATE_PATH_SIZE];
    ef_state_path(t->name, NULL, "topology.json.new", path);
    ef_state_path(t->name, NULL, "topology.json", final);
    json_t *json = ef_topology_to_json(t);
    int rc = json_dump_file(json, path, JSON_INDENT(1)) || rename(path, final) ? -EIO : 0;
    json_decref(json);
    return rc ? ef_error_set(err, rc, "cannot write %s: %s", final, strerror(errno)) : 0;
}
