/* SPDX-License-Identifier: Apache-2.0 */
/* What is told to the kernel and Open vSwitch; see plan.h. */
#include <config.h>

#include "utilities/fabric/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/memory.h"
#include "utilities/fabric/netns.h"

/* --- Namespaces and links --------------------------------------------------- */

static void
write_host_link(FILE *out, const struct ef_topology *t, const struct ef_topology_switch *sw,
                const struct ef_topology_port *port)
{
    const struct ef_topology_host *host = ef_topology_host(t, port->peer);
    char here[EF_NETNS_NAME_SIZE], there[EF_NETNS_NAME_SIZE], mac[EF_MAC_TEXT_SIZE];
    int mtu = host->role == EF_HOST_PLAIN ? EF_HOST_MTU : EF_FABRIC_MTU;
    fprintf(out,
            "link add name %s netns %s mtu %d group %d type veth peer name " EF_HOST_INTERFACE
            " netns %s address %s mtu %d group %d\n",
            port->name, ef_topology_netns(t, sw->name, here), mtu, EF_LINK_GROUP,
            ef_topology_netns(t, host->name, there), ef_mac_format(host->mac, mac), mtu, EF_LINK_GROUP);
}

static void
write_switch_link(FILE *out, const struct ef_topology *t, const struct ef_topology_switch *sw,
                  const struct ef_topology_port *port)
{
    const struct ef_topology_switch *peer = ef_topology_switch(t, port->peer);
    char here[EF_NETNS_NAME_SIZE], there[EF_NETNS_NAME_SIZE];
    if (sw < peer) { /* Once for both ends. */
        fprintf(out, "link add name %s netns %s mtu %d group %d type veth peer name %s netns %s mtu %d group %d\n",
                port->name, ef_topology_netns(t, sw->name, here), EF_FABRIC_MTU, EF_LINK_GROUP,
                ef_topology_port(peer, port->peer_port)->name, ef_topology_netns(t, peer->name, there), EF_FABRIC_MTU,
                EF_LINK_GROUP);
    }
}

char *
ef_plan_links(const struct ef_topology *t)
{
    char *text, netns[EF_NETNS_NAME_SIZE];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < t->n_switches; i++) {
        fprintf(out, "netns add %s\n", ef_topology_netns(t, t->switches[i].name, netns));
    }
    for (size_t i = 0; i < t->n_hosts; i++) {
        fprintf(out, "netns add %s\n", ef_topology_netns(t, t->hosts[i].name, netns));
    }
    for (size_t i = 0; i < t->n_switches; i++) {
        const struct ef_topology_switch *sw = &t->switches[i];
        for (size_t j = 0; j < sw->n_ports; j++) {
            if (ef_topology_port_is_to_host(t, &sw->ports[j])) {
                write_host_link(out, t, sw, &sw->ports[j]);
            } else {
                write_switch_link(out, t, sw, &sw->ports[j]);
            }
        }
    }
    fclose(out);
    return text;
}

/* --- Addresses and routes --------------------------------------------------- */

/* Address `own` on `interface`, everything else through `gateway` by a static
 * neighbour entry, so that no ARP or neighbour discovery is needed. */
static void
write_addresses(FILE *out, const char *interface, uint32_t own, uint32_t gateway, struct ef_mac gateway_mac,
                const char *mtu, bool ipv6)
{
    char a[EF_ADDRESS6_TEXT_SIZE], g[EF_ADDRESS6_TEXT_SIZE], mac[EF_MAC_TEXT_SIZE];
    ef_mac_format(gateway_mac, mac);
    ef_address_format(own, a);
    ef_address_format(gateway, g);
    fprintf(out, "addr add %s/32 dev %s\n", a, interface);
    fprintf(out, "neigh add %s lladdr %s dev %s nud permanent\n", g, mac, interface);
    fprintf(out, "route add default via %s dev %s onlink src %s %s\n", g, interface, a, mtu);
    if (ipv6) {
        ef_address6_format(own, a);
        ef_address6_format(gateway, g);
        fprintf(out, "addr add %s/128 dev %s nodad\n", a, interface);
        fprintf(out, "neigh add %s lladdr %s dev %s nud permanent\n", g, mac, interface);
        fprintf(out, "route add default via %s dev %s onlink src %s %s\n", g, interface, a, mtu);
    }
}

/* The MTU is that of the fabric's hosts, also where a link takes more. Copies that a
 * reshuffler sends on are longer; a collector's TCP must still suit the hosts. */
#define HOST_ROUTE_MTU "mtu 1500"
#define COLLECTOR_ROUTE_MTU "mtu 1700 advmss 1440"

/* A collector's kernel must not answer copies with "protocol unreachable": GRE
 * is dropped before it is looked at. Packet sockets, which the collectors read,
 * are served earlier. (A number, since a small machine has no /etc/protocols.) */
static void
write_gre_drop(FILE *out)
{
    fprintf(out, "rule add pref 10 iif " EF_HOST_INTERFACE " ipproto 47 blackhole\n"
                 "rule add pref 20 lookup local\n"
                 "rule del pref 0\n");
}

char *
ef_plan_host(const struct ef_topology *t, const struct ef_topology_host *host, bool ipv6)
{
    const struct ef_topology_switch *sw = ef_topology_switch(t, host->switch_name);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "link set dev lo up\n");
    if (ipv6) {
        fprintf(out, "link set dev " EF_HOST_INTERFACE " addrgenmode none\n");
    }
    fprintf(out, "link set dev " EF_HOST_INTERFACE " up\n");
    write_addresses(out, EF_HOST_INTERFACE, host->address, ef_prefix_gateway(sw->subnet), sw->mac,
                    host->role == EF_HOST_PLAIN ? HOST_ROUTE_MTU : COLLECTOR_ROUTE_MTU, ipv6);
    if (host->role != EF_HOST_PLAIN) {
        write_gre_drop(out);
    }
    fclose(out);
    return text;
}

/* The namespace's kernel sees what arrives at the ports as well; it ignores it,
 * since no port has the switch's MAC address, and must not answer ARP there. */
char *
ef_plan_ports(const struct ef_topology_switch *sw, bool ipv6)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "link set dev lo up\n");
    for (size_t i = 0; i < sw->n_ports; i++) {
        if (ipv6) {
            fprintf(out, "link set dev %s addrgenmode none\n", sw->ports[i].name);
        }
        fprintf(out, "link set dev %s arp off up\n", sw->ports[i].name);
    }
    fclose(out);
    return text;
}

char *
ef_plan_cpu(const struct ef_topology_switch *sw, bool ipv6)
{
    char *text, address[EF_ADDRESS6_TEXT_SIZE];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (ipv6) {
        fprintf(out, "link set dev " EF_BRIDGE " addrgenmode none\n");
    }
    fprintf(out, "link set dev " EF_BRIDGE " up\n");
    write_addresses(out, EF_BRIDGE, sw->loopback, EF_CPU_GATEWAY, ef_mac_of(EF_CPU_GATEWAY), HOST_ROUTE_MTU, ipv6);
    if (sw->subnet.len) {
        uint32_t gateway = ef_prefix_gateway(sw->subnet);
        fprintf(out, "addr add %s/32 dev " EF_BRIDGE "\n", ef_address_format(gateway, address));
        if (ipv6) {
            fprintf(out, "addr add %s/128 dev " EF_BRIDGE " nodad\n", ef_address6_format(gateway, address));
        }
    }
    fclose(out);
    return text;
}

/* Forwarding is on so that the kernel answers packets whose TTL has expired
 * (10 answers a second to one address: real switches limit this, too). */
const struct ef_setting ef_plan_switch_settings[] = {
    {"ipv4/ip_forward", "1"},
    {"ipv4/conf/all/rp_filter", "0"},
    {"ipv4/conf/default/rp_filter", "0"},
    {"ipv4/conf/all/send_redirects", "0"},
    {"ipv4/conf/default/send_redirects", "0"},
    {"ipv4/conf/all/accept_redirects", "0"},
    {"ipv4/icmp_ratelimit", "100"},
    {"ipv6/conf/all/forwarding", "1"},
    {"ipv6/conf/default/accept_ra", "0"},
    {"ipv6/conf/default/accept_dad", "0"},
    {"ipv6/icmp/ratelimit", "100"},
    {NULL, NULL},
};

const struct ef_setting ef_plan_host_settings[] = {
    {"ipv4/conf/all/rp_filter", "0"},
    {"ipv4/conf/default/rp_filter", "0"},
    {"ipv6/conf/default/accept_ra", "0"},
    {"ipv6/conf/default/accept_dad", "0"},
    {NULL, NULL},
};

/* --- Open vSwitch ----------------------------------------------------------- */

struct arguments {
    char **list;
    size_t n;
};

static void
add(struct arguments *a, const char *text)
{
    a->list = ef_xgrow(a->list, a->n, sizeof *a->list);
    a->list[a->n++] = ef_xasprintf("%s", text);
}

static void
add_words(struct arguments *a, const char *words)
{
    char *copy = ef_xasprintf("%s", words), *save;
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        add(a, word);
    }
    free(copy);
}

static void
add_port(struct arguments *a, const struct ef_topology_port *port)
{
    char *words = ef_xasprintf("-- add-port " EF_BRIDGE " %s -- set Interface %s ofport_request=%d "
                               "external_ids:peer=%s",
                               port->name, port->name, port->number, port->peer);
    add_words(a, words);
    free(words);
}

char **
ef_plan_vsctl(const struct ef_topology_switch *sw, const char *program, const char *db)
{
    struct arguments a = {0};
    char mac[EF_MAC_TEXT_SIZE], *words;
    add(&a, program);
    add(&a, db);
    /* One thread each is enough here, and many switches share the machine. */
    words = ef_xasprintf("--no-wait -- init -- set Open_vSwitch . external_ids:system-id=%s "
                         "other_config:n-handler-threads=1 other_config:n-revalidator-threads=1 "
                         "-- add-br " EF_BRIDGE " -- set Bridge " EF_BRIDGE
                         " datapath_type=netdev fail_mode=secure other_config:disable-in-band=true",
                         sw->name);
    add_words(&a, words);
    free(words);
    char *hwaddr = ef_xasprintf("other_config:hwaddr=\"%s\"", ef_mac_format(sw->mac, mac));
    char *dpid = ef_xasprintf("other_config:datapath-id=%016" PRIx64, (uint64_t) sw->loopback);
    add(&a, hwaddr);
    add(&a, dpid);
    free(hwaddr);
    free(dpid);
    for (size_t i = 0; i < sw->n_ports; i++) {
        add_port(&a, &sw->ports[i]);
    }
    a.list = ef_xgrow(a.list, a.n, sizeof *a.list);
    return a.list;
}

void
ef_plan_free_arguments(char **arguments)
{
    for (char **a = arguments; *a; a++) {
        free(*a);
    }
    free(arguments);
}
