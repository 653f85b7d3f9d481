/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenFlow program of one switch; see flows.h. */
#include <config.h>

#include "utilities/fabric/flows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "utilities/fabric/memory.h"
#include "utilities/fabric/routes.h"

/* Group N sends to one of `ports`; its number is its index here plus 1. */
struct group_list {
    const struct ef_route **groups;
    size_t n;
};

struct writer {
    FILE *out;
    const struct ef_topology *topology;
    const struct ef_topology_switch *sw;
    char mac[EF_MAC_TEXT_SIZE]; /* The switch's own. */
    struct group_list list;
};

/* --- Table 0: what the CPU handles ------------------------------------------ */

/* Hosts know their gateway by a static neighbour entry; whoever is plugged in
 * later may still ask for it. */
static void
write_arp(const struct writer *w)
{
    char gateway[EF_ADDRESS_TEXT_SIZE];
    if (w->sw->subnet.len) {
        ef_address_format(ef_prefix_gateway(w->sw->subnet), gateway);
        fprintf(w->out,
                "flow add table=0,priority=500,arp,arp_op=1,arp_tpa=%s,actions="
                "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:%s->eth_src,set_field:2->arp_op,"
                "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],set_field:%s->arp_sha,"
                "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:%s->arp_spa,in_port\n",
                gateway, w->mac, w->mac, gateway);
    }
    fprintf(w->out, "flow add table=0,priority=490,arp,actions=drop\n");
}

static void
write_to_cpu(const struct writer *w, uint32_t address)
{
    char text[EF_ADDRESS6_TEXT_SIZE];
    fprintf(w->out, "flow add table=0,priority=400,ip,nw_dst=%s,actions=set_field:%s->eth_dst,LOCAL\n",
            ef_address_format(address, text), w->mac);
    fprintf(w->out, "flow add table=0,priority=400,ipv6,ipv6_dst=%s,actions=set_field:%s->eth_dst,LOCAL\n",
            ef_address6_format(address, text), w->mac);
}

static void
write_cpu_table(const struct writer *w)
{
    static const char *const families[] = {"ip", "ipv6"};
    write_arp(w);
    /* Multicast, broadcast and link-local traffic does not leave its link. */
    fprintf(w->out, "flow add table=0,priority=480,ip,nw_dst=224.0.0.0/3,actions=drop\n"
                    "flow add table=0,priority=480,ipv6,ipv6_dst=ff00::/8,actions=drop\n"
                    "flow add table=0,priority=480,ipv6,ipv6_dst=fe80::/10,actions=drop\n");
    write_to_cpu(w, w->sw->loopback);
    if (w->sw->subnet.len) {
        write_to_cpu(w, ef_prefix_gateway(w->sw->subnet));
    }
    fprintf(w->out, "flow add table=0,priority=300,in_port=LOCAL,actions=goto_table:1\n");
    for (size_t i = 0; i < EF_ARRAY_SIZE(families); i++) {
        for (int ttl = 0; ttl <= 1; ttl++) {
            fprintf(w->out, "flow add table=0,priority=200,%s,nw_ttl=%d,actions=set_field:%s->eth_dst,LOCAL\n",
                    families[i], ttl, w->mac);
        }
        /* Without an input port a packet may go back where it came from, as a guided
         * probe over a link and back does; OpenFlow would drop it. */
        fprintf(w->out, "flow add table=0,priority=100,%s,actions=load:0->NXM_OF_IN_PORT[],dec_ttl,goto_table:1\n",
                families[i]);
    }
    fprintf(w->out, "flow add table=0,priority=0,actions=drop\n");
}

/* --- Table 1: routes -------------------------------------------------------- */

static bool
same_ports(const struct ef_route *a, const struct ef_route *b)
{
    return a->n_ports == b->n_ports && !memcmp(a->ports, b->ports, a->n_ports * sizeof *a->ports);
}

static size_t
group_of(struct group_list *list, const struct ef_route *route)
{
    for (size_t i = 0; i < list->n; i++) {
        if (same_ports(list->groups[i], route)) {
            return i + 1;
        }
    }
    list->groups = ef_xgrow(list->groups, list->n, sizeof(const struct ef_route *));
    list->groups[list->n++] = route;
    return list->n;
}

static void
format_next_hop_mac(const struct writer *w, int number, char text[EF_MAC_TEXT_SIZE])
{
    const struct ef_topology_port *port = ef_topology_port(w->sw, number);
    ef_mac_format(ef_topology_switch(w->topology, port->peer)->mac, text);
}

static void
write_group(const struct writer *w, size_t id, const struct ef_route *route)
{
    uint64_t seed = ef_hash64(w->sw->name, strlen(w->sw->name));
    fprintf(w->out,
            "group add group_id=%zu,type=select,selection_method=hash,selection_method_param=%" PRIu64
            ",fields(ip_src,ip_dst,ipv6_src,ipv6_dst,ip_proto,tcp_src,tcp_dst,udp_src,udp_dst)",
            id, seed);
    for (size_t i = 0; i < route->n_ports; i++) {
        char mac[EF_MAC_TEXT_SIZE];
        format_next_hop_mac(w, route->ports[i], mac);
        fprintf(w->out, ",bucket=bucket_id:%zu,watch_port:%d,actions=set_field:%s->eth_dst,output:%d", i,
                route->ports[i], mac, route->ports[i]);
    }
    fprintf(w->out, "\n");
}

/* What is done with a packet of the route, after its source MAC was set. */
static void
format_action(struct writer *w, const struct ef_route *route, char *text, size_t size)
{
    char mac[EF_MAC_TEXT_SIZE];
    if (!route->host && route->n_ports > 1) {
        snprintf(text, size, "group:%zu", group_of(&w->list, route));
        return;
    }
    if (route->host) {
        ef_mac_format(route->host->mac, mac);
    } else {
        format_next_hop_mac(w, route->ports[0], mac);
    }
    snprintf(text, size, "set_field:%s->eth_dst,output:%d", mac, route->ports[0]);
}

static void
write_route(struct writer *w, const struct ef_route *route)
{
    char prefix[EF_ADDRESS6_TEXT_SIZE], action[64];
    format_action(w, route, action, sizeof action);
    fprintf(w->out, "flow add table=1,priority=%d,ip,nw_dst=%s,actions=set_field:%s->eth_src,%s\n",
            100 + route->prefix.len, ef_prefix_format(route->prefix, prefix), w->mac, action);
    fprintf(w->out, "flow add table=1,priority=%d,ipv6,ipv6_dst=%s,actions=set_field:%s->eth_src,%s\n",
            100 + route->prefix.len, ef_prefix6_format(route->prefix, prefix), w->mac, action);
}

char *
ef_flows_of_switch(const struct ef_topology *t, const struct ef_topology_switch *sw)
{
    struct writer w = {.topology = t, .sw = sw};
    struct ef_routes routes;
    char *flows = NULL, *rest = NULL;
    size_t size;
    ef_mac_format(sw->mac, w.mac);
    ef_routes_init(&routes, t, sw);

    /* Groups come before the flows that use them, but are found with them. */
    w.out = open_memstream(&rest, &size);
    write_cpu_table(&w);
    for (size_t i = 0; i < routes.n_routes; i++) {
        write_route(&w, &routes.routes[i]);
    }
    fprintf(w.out, "flow add table=1,priority=0,actions=drop\n");
    fclose(w.out);

    w.out = open_memstream(&flows, &size);
    for (size_t i = 0; i < w.list.n; i++) {
        write_group(&w, i + 1, w.list.groups[i]);
    }
    fputs(rest, w.out);
    fclose(w.out);

    free(rest);
    free(w.list.groups);
    ef_routes_deinit(&routes);
    return flows;
}
