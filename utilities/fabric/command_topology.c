/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric topology, flows: what was built, and what a switch was told. */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "utilities/fabric/commands.h"
#include "utilities/fabric/flows.h"
#include "utilities/fabric/state.h"

static bool as_json;

static int
set_json(void *ctx, const char *value, struct ef_error *err)
{
    as_json = true;
    return 0;
}

static const struct ef_option topology_option_table[] = {
    {"json", 'j', NULL, "the topology document, as the controller reads it", set_json},
    {0},
};

static void
print_switch(const struct ef_topology_switch *sw)
{
    char loopback[EF_ADDRESS_TEXT_SIZE], subnet[EF_ADDRESS_TEXT_SIZE] = "-";
    if (sw->subnet.len) {
        ef_prefix_format(sw->subnet, subnet);
    }
    printf("%-12s %-8s %-16s %-18s", sw->name, sw->role, ef_address_format(sw->loopback, loopback), subnet);
    for (size_t i = 0; i < sw->n_ports; i++) {
        printf(" %d:%s", sw->ports[i].number, sw->ports[i].name);
    }
    printf("\n");
}

static void
print_topology(const struct ef_topology *t)
{
    char text[EF_ADDRESS_TEXT_SIZE], mac[EF_MAC_TEXT_SIZE];
    printf("%-12s %-8s %-16s %-18s PORTS\n", "SWITCH", "ROLE", "LOOPBACK", "SUBNET");
    for (size_t i = 0; i < t->n_switches; i++) {
        print_switch(&t->switches[i]);
    }
    printf("\n%-12s %-10s %-16s %-18s AT\n", "HOST", "ROLE", "ADDRESS", "MAC");
    for (size_t i = 0; i < t->n_hosts; i++) {
        const struct ef_topology_host *host = &t->hosts[i];
        printf("%-12s %-10s %-16s %-18s %s port %d\n", host->name, ef_host_role_name(host->role),
               ef_address_format(host->address, text), ef_mac_format(host->mac, mac), host->switch_name, host->port);
    }
    printf("\nVIP of the reshufflers: %s\n", ef_address_format(t->vip, text));
}

static int
run_topology(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    struct ef_topology *t;
    if (ef_state_load(ef_fabric_name_of(common), &t, err)) {
        return EF_EXIT_FAILURE;
    }
    if (as_json) {
        ef_print_json(ef_topology_to_json(t));
    } else {
        print_topology(t);
    }
    ef_topology_destroy(t);
    return 0;
}

const struct ef_fabric_command ef_command_topology = {
    .name = "topology",
    .usage = "[--json]",
    .help = "show switches, ports, hosts and addresses",
    .options = topology_option_table,
    .run = run_topology,
};

static int
run_flows(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    struct ef_topology *t;
    if (ef_state_load(ef_fabric_name_of(common), &t, err)) {
        return EF_EXIT_FAILURE;
    }
    const struct ef_topology_switch *sw = ef_topology_switch(t, words[0]);
    if (sw) {
        char *flows = ef_flows_of_switch(t, sw);
        fputs(flows, stdout);
        free(flows);
    } else {
        ef_error_set(err, -ENOENT, "fabric '%s' has no switch '%.40s'; see `ef-fabric topology`", t->name, words[0]);
    }
    ef_topology_destroy(t);
    return sw ? 0 : EF_EXIT_FAILURE;
}

const struct ef_fabric_command ef_command_flows = {
    .name = "flows",
    .usage = "SWITCH",
    .help = "show the OpenFlow groups and flows that a switch was given",
    .min_words = 1,
    .max_words = 1,
    .run = run_flows,
};
