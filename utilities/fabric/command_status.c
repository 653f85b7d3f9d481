/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric status: what runs of a fabric, compared with its topology. */
#include <config.h>

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "utilities/fabric/commands.h"
#include "utilities/fabric/netns.h"
#include "utilities/fabric/ovs.h"
#include "utilities/fabric/process.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/unixctl.h"

static bool as_json;

static int
set_json(void *ctx, const char *value, struct ef_error *err)
{
    as_json = true;
    return 0;
}

static const struct ef_option status_option_table[] = {
    {"json", 'j', NULL, "as a JSON document", set_json},
    {0},
};

/* Whether everything that was looked at is as it should be. */
struct check {
    const struct ef_topology *topology;
    bool good;
};

static json_t *
process_status(struct check *check, const struct ef_topology_switch *sw, const char *pidfile)
{
    char path[EF_STATE_PATH_SIZE];
    pid_t pid = ef_pidfile_owner(ef_state_path(check->topology->name, sw->name, pidfile, path));
    check->good &= pid > 0;
    return json_pack("{s:b, s:o}", "running", pid > 0, "pid", pid ? json_integer(pid) : json_null());
}

/* True if the bridge is there and its daemon answers. */
static bool
bridge_answers(const struct ef_topology *t, const struct ef_topology_switch *sw)
{
    static const char *const params[] = {NULL};
    struct ef_unixctl *u;
    char *answer = NULL;
    bool found = false;
    if (!ef_unixctl_open(t->name, sw->name, &u, NULL)) {
        found = !ef_unixctl_call(u, "ofproto/list", params, &answer, NULL) && strstr(answer, EF_BRIDGE);
        free(answer);
        ef_unixctl_close(u);
    }
    return found;
}

/* The link `interface` of namespace `netns`, without staying there. */
static struct ef_link
link_in(const char *netns, const char *interface)
{
    struct ef_link link = {0};
    int here = ef_netns_here();
    if (here >= 0 && !ef_netns_enter(netns, NULL)) {
        link = ef_link_get(interface);
    }
    ef_netns_return(here);
    return link;
}

static json_t *
link_status(struct check *check, const char *netns, const char *interface)
{
    struct ef_link link = link_in(netns, interface);
    check->good &= link.up;
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "link",
                     link.up       ? "up"
                     : link.exists ? "down"
                                   : "missing",
                     "rx_packets", (json_int_t) link.rx_packets, "tx_packets", (json_int_t) link.tx_packets,
                     "rx_dropped", (json_int_t) link.rx_dropped, "tx_dropped", (json_int_t) link.tx_dropped);
}

static json_t *
switch_status(struct check *check, const struct ef_topology_switch *sw)
{
    char netns[EF_NETNS_NAME_SIZE];
    struct check own = {check->topology, true};
    ef_topology_netns(check->topology, sw->name, netns);
    json_t *ports = json_array();
    json_t *server = process_status(&own, sw, EF_OVSDB_PIDFILE);
    json_t *daemon = process_status(&own, sw, EF_VSWITCHD_PIDFILE);
    bool bridge = bridge_answers(check->topology, sw);
    own.good &= bridge;
    for (size_t i = 0; i < sw->n_ports; i++) {
        json_t *port = link_status(&own, netns, sw->ports[i].name);
        json_object_set_new(port, "number", json_integer(sw->ports[i].number));
        json_object_set_new(port, "name", json_string(sw->ports[i].name));
        json_array_append_new(ports, port);
    }
    check->good &= own.good;
    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:o}", "name", sw->name, "state", own.good ? "up" : "degraded",
                     "ovsdb_server", server, "ovs_vswitchd", daemon, "bridge", bridge, "ports", ports);
}

static json_t *
host_status(struct check *check, const struct ef_topology_host *host)
{
    char netns[EF_NETNS_NAME_SIZE], address[EF_ADDRESS_TEXT_SIZE];
    ef_topology_netns(check->topology, host->name, netns);
    json_t *json = link_status(check, netns, EF_HOST_INTERFACE);
    json_object_set_new(json, "name", json_string(host->name));
    json_object_set_new(json, "role", json_string(ef_host_role_name(host->role)));
    json_object_set_new(json, "address", json_string(ef_address_format(host->address, address)));
    return json;
}

static json_t *
fabric_status(struct check *check)
{
    const struct ef_topology *t = check->topology;
    char path[EF_STATE_PATH_SIZE], since[EF_TIME_TEXT_SIZE] = "";
    struct stat st;
    json_t *switches = json_array(), *hosts = json_array();
    for (size_t i = 0; i < t->n_switches; i++) {
        json_array_append_new(switches, switch_status(check, &t->switches[i]));
    }
    for (size_t i = 0; i < t->n_hosts; i++) {
        json_array_append_new(hosts, host_status(check, &t->hosts[i]));
    }
    if (!stat(ef_state_path(t->name, NULL, "topology.json", path), &st)) {
        ef_time_format((struct ef_time){st.st_mtim.tv_sec * EF_NS_PER_S + st.st_mtim.tv_nsec}, since);
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", t->name, "state", check->good ? "up" : "degraded", "since",
                     since, "switches", switches, "hosts", hosts);
}

static const char *
text_of(json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static const char *
pid_text(json_t *process, char *text, size_t size)
{
    if (json_is_true(json_object_get(process, "running"))) {
        snprintf(text, size, "%d", (int) json_integer_value(json_object_get(process, "pid")));
    } else {
        snprintf(text, size, "DEAD");
    }
    return text;
}

static void
print_status(json_t *status)
{
    json_t *json, *port;
    size_t i, j;
    char server[16], daemon[16];
    printf("fabric '%s' is %s, since %s\n\n%-12s %-9s %-13s %-13s %-7s PORTS\n", text_of(status, "name"),
           text_of(status, "state"), text_of(status, "since"), "SWITCH", "STATE", "OVSDB-SERVER", "OVS-VSWITCHD",
           "BRIDGE");
    json_array_foreach(json_object_get(status, "switches"), i, json)
    {
        printf("%-12s %-9s %-13s %-13s %-7s", text_of(json, "name"), text_of(json, "state"),
               pid_text(json_object_get(json, "ovsdb_server"), server, sizeof server),
               pid_text(json_object_get(json, "ovs_vswitchd"), daemon, sizeof daemon),
               json_is_true(json_object_get(json, "bridge")) ? "up" : "MISSING");
        json_array_foreach(json_object_get(json, "ports"), j, port)
        {
            const char *link = text_of(port, "link");
            printf(" %s%s%s", text_of(port, "name"), strcmp(link, "up") ? "=" : "", strcmp(link, "up") ? link : "");
        }
        printf("\n");
    }
    printf("\n%-12s %-10s %-16s LINK\n", "HOST", "ROLE", "ADDRESS");
    json_array_foreach(json_object_get(status, "hosts"), i, json)
    {
        printf("%-12s %-10s %-16s %s\n", text_of(json, "name"), text_of(json, "role"), text_of(json, "address"),
               text_of(json, "link"));
    }
}

static int
run_status(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    struct ef_topology *t;
    if (geteuid()) {
        ef_error_set(err, -EPERM, "needs root (network namespaces); run it with sudo");
        return EF_EXIT_FAILURE;
    }
    if (ef_state_load(ef_fabric_name_of(common), &t, err)) {
        return EF_EXIT_FAILURE;
    }
    struct check check = {t, true};
    json_t *status = fabric_status(&check);
    if (as_json) {
        ef_print_json(json_incref(status));
    } else {
        print_status(status);
    }
    json_decref(status);
    ef_topology_destroy(t);
    return check.good ? 0 : EF_EXIT_FAILURE;
}

const struct ef_fabric_command ef_command_status = {
    .name = "status",
    .usage = "[--json]",
    .help = "show what runs; exit status 1 if something does not",
    .options = status_option_table,
    .run = run_status,
};
