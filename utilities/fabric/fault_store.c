/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of a running fabric: adding, clearing, listing; see fault.h. */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utilities/fabric/fault.h"
#include "utilities/fabric/state.h"

#define FOLDER "faults"

static char *
path_of(const struct ef_topology *t, uint32_t id, char path[EF_STATE_PATH_SIZE])
{
    char file[16];
    snprintf(file, sizeof file, "%u.json", id);
    return ef_state_path(t->name, FOLDER, file, path);
}

char *
ef_fault_pidfile(const struct ef_topology *t, const struct ef_fault *fault, char path[EF_STATE_PATH_SIZE])
{
    char file[16];
    snprintf(file, sizeof file, "%u.pid", fault->id);
    return ef_state_path(t->name, FOLDER, file, path);
}

/* The numbers that are taken: a file is there, whatever is in it. */
static size_t
taken_ids(const struct ef_topology *t, bool taken[EF_MAX_FAULTS + 1])
{
    char path[EF_STATE_PATH_SIZE];
    size_t n = 0;
    memset(taken, 0, (EF_MAX_FAULTS + 1) * sizeof *taken);
    for (uint32_t id = 1; id <= EF_MAX_FAULTS; id++) {
        taken[id] = !access(path_of(t, id, path), F_OK);
        n += taken[id];
    }
    return n;
}

static int
save(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    char folder[EF_STATE_PATH_SIZE], path[EF_STATE_PATH_SIZE], temporary[EF_STATE_PATH_SIZE];
    if (mkdir(ef_state_path(t->name, FOLDER, NULL, folder), 0755) && errno != EEXIST) {
        return ef_error_set(err, -errno, "cannot make %s: %s", folder, strerror(errno));
    }
    ef_state_path(t->name, FOLDER, "new", temporary);
    path_of(t, fault->id, path);
    json_t *json = ef_fault_to_json(t, fault);
    int rc = json_dump_file(json, temporary, JSON_INDENT(1)) || rename(temporary, path) ? -EIO : 0;
    json_decref(json);
    return rc ? ef_error_set(err, rc, "cannot write %s: %s", path, strerror(errno)) : 0;
}

static int
load(const struct ef_topology *t, uint32_t id, struct ef_fault *fault, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE];
    json_t *json = json_load_file(path_of(t, id, path), 0, NULL);
    int rc = json ? ef_fault_from_json(t, json, fault) : -EINVAL;
    json_decref(json);
    return rc ? ef_error_set(err, rc, "%s is not a fault; remove the fabric with `ef-fabric --name %s down`", path,
                             t->name)
              : 0;
}

static int
undo(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE];
    int rc = fault->kind->stop(t, fault, err);
    if (!rc) {
        unlink(path_of(t, fault->id, path));
    }
    return rc;
}

int
ef_faults_add(const struct ef_topology *t, struct ef_fault *fault, struct ef_error *err)
{
    bool taken[EF_MAX_FAULTS + 1];
    uint32_t id = EF_MAX_FAULTS;
    taken_ids(t, taken);
    if (taken[id]) {
        return ef_error_set(err, -ENOSPC, "no more numbers for faults; clear some with `ef-fabric fault clear`");
    }
    while (id > 1 && !taken[id - 1]) { /* One more than the greatest: faults act in their order. */
        id--;
    }
    fault->id = id;
    fault->since = ef_time_real();
    int rc = save(t, fault, err);
    if (!rc) {
        rc = fault->kind->start(t, fault, err);
        if (rc) {
            undo(t, fault, NULL);
        }
    }
    return rc;
}

int
ef_faults_clear(const struct ef_topology *t, uint32_t id, struct ef_error *err)
{
    bool taken[EF_MAX_FAULTS + 1];
    int rc = 0;
    taken_ids(t, taken);
    if (id && (id > EF_MAX_FAULTS || !taken[id])) {
        return ef_error_set(err, -ENOENT, "there is no fault %u; see `ef-fabric fault list`", id);
    }
    for (uint32_t i = EF_MAX_FAULTS; !rc && i >= 1; i--) { /* The latest first. */
        struct ef_fault fault;
        if (taken[i] && (!id || id == i)) {
            rc = load(t, i, &fault, err);
            if (!rc) {
                rc = undo(t, &fault, err);
            }
        }
    }
    return rc;
}

/* --- Listing ---------------------------------------------------------------- */

/* CLOCK_MONOTONIC as real time. */
static struct ef_time
real_time_of(uint64_t mono_ns)
{
    return ef_time_add_ns(ef_time_real(), (int64_t) mono_ns - ef_time_mono().ns);
}

static void
add_counters(const struct ef_topology *t, const struct ef_fault *fault, json_t *json)
{
    struct ef_fault_counters counters = {0};
    char first[EF_TIME_TEXT_SIZE];
    if (fault->kind->count) {
        fault->kind->count(t, fault, &counters);
        json_object_set_new(json, "matched", json_integer((json_int_t) counters.matched));
        json_object_set_new(json, "hit", json_integer((json_int_t) counters.hit));
        json_object_set_new(json, "first_hit",
                            counters.first_hit ? json_string(ef_time_format(real_time_of(counters.first_hit), first))
                                               : json_null());
    }
}

json_t *
ef_faults_to_json(const struct ef_topology *t)
{
    bool taken[EF_MAX_FAULTS + 1];
    json_t *list = json_array();
    taken_ids(t, taken);
    for (uint32_t id = 1; id <= EF_MAX_FAULTS; id++) {
        struct ef_fault fault;
        if (taken[id] && !load(t, id, &fault, NULL)) {
            json_t *json = ef_fault_to_json(t, &fault);
            add_counters(t, &fault, json);
            json_array_append_new(list, json);
        }
    }
    return list;
}
