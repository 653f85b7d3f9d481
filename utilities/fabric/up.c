/* SPDX-License-Identifier: Apache-2.0 */
/* Building a fabric; see up.h. One `ip -batch` makes all namespaces and links;
 * then every node is set up by a process of its own, several at a time. */
#include <config.h>

#include "utilities/fabric/up.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utilities/fabric/netns.h"
#include "utilities/fabric/ovs.h"
#include "utilities/fabric/plan.h"
#include "utilities/fabric/run_command.h"
#include "utilities/fabric/state.h"

struct build {
    const struct ef_topology *topology;
    const char *prefix;
    bool ipv6; /* The kernel has it. */
};

static int
write_setting(const struct ef_setting *setting, bool ipv6, struct ef_error *err)
{
    char path[PATH_MAX];
    if (!ipv6 && !strncmp(setting->path, "ipv6/", 5)) {
        return 0;
    }
    snprintf(path, sizeof path, "/proc/sys/net/%s", setting->path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t len = (ssize_t) strlen(setting->value);
    int rc = fd < 0 || write(fd, setting->value, (size_t) len) != len ? -errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    return rc ? ef_error_set(err, rc, "cannot write %s: %s", path, strerror(-rc)) : 0;
}

static int
write_settings(const struct ef_setting *settings, bool ipv6, struct ef_error *err)
{
    int rc = 0;
    for (; !rc && settings->path; settings++) {
        rc = write_setting(settings, ipv6, err);
    }
    return rc;
}

/* Runs an `ip -batch` text and frees it. */
static int
run_ip(char *batch, struct ef_error *err)
{
    const char *argv[] = {"ip", "-batch", "-", NULL};
    int rc = ef_run(argv, batch, NULL, err);
    free(batch);
    return rc;
}

static int
set_up_host(const struct build *b, const struct ef_topology_host *host, struct ef_error *err)
{
    int rc = write_settings(ef_plan_host_settings, b->ipv6, err);
    if (!rc) {
        rc = ef_link_offloads_off(EF_HOST_INTERFACE, err);
    }
    return rc ? rc : run_ip(ef_plan_host(b->topology, host, b->ipv6), err);
}

static int
set_up_switch(const struct build *b, const struct ef_topology_switch *sw, struct ef_error *err)
{
    char folder[EF_STATE_PATH_SIZE];
    int rc = write_settings(ef_plan_switch_settings, b->ipv6, err);
    for (size_t i = 0; !rc && i < sw->n_ports; i++) {
        rc = ef_link_offloads_off(sw->ports[i].name, err);
    }
    if (!rc) {
        rc = run_ip(ef_plan_ports(sw, b->ipv6), err);
    }
    if (!rc && mkdir(ef_state_path(b->topology->name, sw->name, NULL, folder), 0755)) {
        rc = ef_error_set(err, -errno, "cannot make %s: %s", folder, strerror(errno));
    }
    if (!rc) {
        ef_ovs_set_environment(b->topology->name, sw->name);
        rc = ef_ovs_start(b->prefix, b->topology, sw, err);
    }
    return rc ? rc : run_ip(ef_plan_cpu(sw, b->ipv6), err);
}

/* A job of ef_run_parallel(): switches first, since they take longest. */
static int
set_up_node(size_t index, void *build, struct ef_error *err)
{
    const struct build *b = build;
    const struct ef_topology *t = b->topology;
    bool is_switch = index < t->n_switches;
    const char *name = is_switch ? t->switches[index].name : t->hosts[index - t->n_switches].name;
    char netns[EF_NETNS_NAME_SIZE];
    int rc = ef_netns_enter(ef_topology_netns(t, name, netns), err);
    if (!rc) {
        rc = is_switch ? set_up_switch(b, &t->switches[index], err)
                       : set_up_host(b, &t->hosts[index - t->n_switches], err);
    }
    return rc ? ef_error_prefix(err, rc, "%s", name) : 0;
}

static int
check_namespace(const struct ef_topology *t, const char *node, struct ef_error *err)
{
    char netns[EF_NETNS_NAME_SIZE];
    if (ef_netns_exists(ef_topology_netns(t, node, netns))) {
        return ef_error_set(err, -EEXIST,
                            "network namespace %s exists already; remove it with `ef-fabric --name %s down`, or "
                            "choose another --name",
                            netns, t->name);
    }
    return 0;
}

static int
check_namespaces(const struct ef_topology *t, struct ef_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < t->n_switches; i++) {
        rc = check_namespace(t, t->switches[i].name, err);
    }
    for (size_t i = 0; !rc && i < t->n_hosts; i++) {
        rc = check_namespace(t, t->hosts[i].name, err);
    }
    return rc;
}

/* While `ip` works it holds the fabric's lock as well: should we be killed, a
 * `down` that follows does not start before `ip` has ended. */
static int
make_links(const struct ef_topology *t, int lock, struct ef_error *err)
{
    ef_netns_prepare_mount(EF_STATE_NETNS_MARKER);
    fcntl(lock, F_SETFD, 0);
    int rc = run_ip(ef_plan_links(t), err);
    fcntl(lock, F_SETFD, FD_CLOEXEC);
    if (rc && strstr(err->text, "Unknown device type")) {
        return ef_error_set(err, rc, "this kernel has no veth links; load the module with `modprobe veth`");
    }
    return rc;
}

static int
build(const struct build *b, int lock, struct ef_error *err)
{
    const struct ef_topology *t = b->topology;
    int rc = ef_ovs_remember(b->prefix, t->name, err);
    if (!rc) {
        rc = ef_state_save(t, err);
    }
    if (!rc) {
        rc = make_links(t, lock, err);
    }
    return rc ? rc : ef_run_parallel(t->n_switches + t->n_hosts, 8, set_up_node, (void *) b, err);
}

int
ef_fabric_up(const struct ef_topology *t, const char *prefix, struct ef_error *err)
{
    struct build b = {t, prefix, !access("/proc/sys/net/ipv6", F_OK)};
    bool found;
    int rc = ef_ovs_check(prefix, err);
    if (rc) {
        return rc;
    }
    ef_run_catch_signals();
    int lock = ef_state_create(t->name, err);
    if (lock < 0) {
        return lock;
    }
    rc = check_namespaces(t, err);
    if (rc) {
        ef_state_remove(t->name, NULL); /* Nothing else was made yet. */
        ef_state_remove_root();
    } else {
        rc = build(&b, lock, err);
    }
    close(lock);
    if (rc && rc != -EEXIST) {
        struct ef_error down_err = EF_ERROR_INIT;
        ef_run_ignore_signals();
        if (ef_fabric_down(t->name, &found, &down_err)) {
            return ef_error_prefix(err, rc, "not removed either (%.200s)", down_err.text);
        }
    }
    return rc;
}
