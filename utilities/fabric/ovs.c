/* SPDX-License-Identifier: Apache-2.0 */
/* One switch: database server, bridge, switch daemon, flows; see ovs.h. */
#include <config.h>

#include "utilities/fabric/ovs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "utilities/fabric/flows.h"
#include "utilities/fabric/memory.h"
#include "utilities/fabric/plan.h"
#include "utilities/fabric/run_command.h"
#include "utilities/fabric/state.h"

const char *
ef_ovs_prefix(const char *option)
{
    const char *environment = getenv("EF_OVS_PREFIX");
    return option ? option : environment && *environment ? environment : EF_DEFAULT_OVS_PREFIX;
}

int
ef_ovs_check(const char *prefix, struct ef_error *err)
{
    static const char *const needed[] = {"sbin/ovs-vswitchd", "sbin/ovsdb-server", "bin/ovs-vsctl", "bin/ovs-ofctl",
                                         "bin/ovsdb-tool"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(needed); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", prefix, needed[i]);
        if (access(path, X_OK)) {
            return ef_error_set(err, -ENOENT,
                                "no Open vSwitch at %.200s (%s is missing); build it with `make ovs`, or say where it "
                                "is with --ovs PREFIX",
                                prefix, needed[i]);
        }
    }
    return 0;
}

int
ef_ovs_remember(const char *prefix, const char *name, struct ef_error *err)
{
    char link[EF_STATE_PATH_SIZE], *absolute = realpath(prefix, NULL);
    int rc = !absolute || symlink(absolute, ef_state_path(name, NULL, "ovs", link)) ? -errno : 0;
    free(absolute);
    return rc ? ef_error_set(err, rc, "cannot link to %.200s: %s", prefix, strerror(-rc)) : 0;
}

void
ef_ovs_set_environment(const char *name, const char *sw)
{
    static const char *const folders[] = {"OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"};
    char folder[EF_STATE_PATH_SIZE], prefix[EF_STATE_PATH_SIZE];
    ef_state_path(name, sw, NULL, folder);
    ef_state_path(name, NULL, "ovs", prefix);
    for (size_t i = 0; i < EF_ARRAY_SIZE(folders); i++) {
        setenv(folders[i], folder, 1);
    }
    const char *old = getenv("PATH");
    char *path = ef_xasprintf("%s/bin:%s/sbin:%s", prefix, prefix, old ? old : "/usr/sbin:/usr/bin:/sbin:/bin");
    setenv("PATH", path, 1);
    free(path);
}

/* The paths of one switch's files, made once. */
struct files {
    char folder[EF_STATE_PATH_SIZE], database[EF_STATE_PATH_SIZE], socket[EF_STATE_PATH_SIZE + 8];
    char *schema;
};

static int
start_database(const struct files *f, struct ef_error *err)
{
    char *remote = ef_xasprintf("--remote=p%s", f->socket);
    const char *create[] = {"ovsdb-tool", "create", f->database, f->schema, NULL};
    const char *serve[] = {
        "ovsdb-server", f->database,   remote,       "--remote=db:Open_vSwitch,Open_vSwitch,manager_options",
        "--detach",     "--pidfile",   "--log-file", "-vconsole:err",
        "-vsyslog:off", "-vfile:info", NULL};
    int rc = ef_run(create, NULL, NULL, err);
    if (!rc) {
        rc = ef_run(serve, NULL, NULL, err);
    }
    free(remote);
    return rc;
}

static int
configure(const struct files *f, const struct ef_topology_switch *sw, struct ef_error *err)
{
    char db[sizeof f->socket + 8];
    snprintf(db, sizeof db, "--db=%s", f->socket);
    char **argv = ef_plan_vsctl(sw, "ovs-vsctl", db);
    int rc = ef_run((const char *const *) argv, NULL, NULL, err);
    ef_plan_free_arguments(argv);
    return rc;
}

/* Returns when the daemon has made the bridge: --detach waits for that. */
static int
start_daemon(const struct files *f, struct ef_error *err)
{
    const char *argv[] = {"ovs-vswitchd",     f->socket,       "--detach",     "--pidfile",   "--log-file",
                          "--disable-system", "-vconsole:err", "-vsyslog:off", "-vfile:info", NULL};
    return ef_run(argv, NULL, NULL, err);
}

static int
install_flows(const struct ef_topology *t, const struct ef_topology_switch *sw, struct ef_error *err)
{
    const char *argv[] = {"ovs-ofctl", "-O", EF_FLOWS_VERSION, "bundle", EF_BRIDGE, "-", NULL};
    char *flows = ef_flows_of_switch(t, sw);
    int rc = ef_run(argv, flows, NULL, err);
    free(flows);
    return rc;
}

static void
name_files(const struct ef_topology *t, const struct ef_topology_switch *sw, struct files *f)
{
    ef_state_path(t->name, sw->name, NULL, f->folder);
    ef_state_path(t->name, sw->name, "conf.db", f->database);
    strcpy(f->socket, "unix:");
    ef_state_path(t->name, sw->name, "db.sock", f->socket + strlen(f->socket));
    f->schema = NULL;
}

int
ef_ovs_start(const char *prefix, const struct ef_topology *t, const struct ef_topology_switch *sw, struct ef_error *err)
{
    struct files f;
    name_files(t, sw, &f);
    f.schema = ef_xasprintf("%s/share/openvswitch/vswitch.ovsschema", prefix);
    int rc = start_database(&f, err);
    if (!rc) {
        rc = configure(&f, sw, err);
    }
    if (!rc) {
        rc = start_daemon(&f, err);
    }
    if (!rc) {
        rc = install_flows(t, sw, err);
    }
    free(f.schema);
    return rc;
}

int
ef_ovs_restart_daemon(const struct ef_topology *t, const struct ef_topology_switch *sw, struct ef_error *err)
{
    struct files f;
    name_files(t, sw, &f);
    int rc = start_daemon(&f, err);
    return rc ? rc : install_flows(t, sw, err);
}
