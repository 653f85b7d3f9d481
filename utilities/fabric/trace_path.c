/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a packet by ofproto/trace; see trace_path.h. */
#include <config.h>

#include "utilities/fabric/trace_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/memory.h"
#include "utilities/fabric/unixctl.h"

struct ef_tracer {
    const struct ef_topology *topology;
    struct ef_unixctl **switches; /* As in the topology; NULL: not asked yet. */
};

struct ef_tracer *
ef_tracer_create(const struct ef_topology *t)
{
    struct ef_tracer *tracer = ef_xzalloc(sizeof *tracer);
    tracer->topology = t;
    tracer->switches = ef_xzalloc(t->n_switches * sizeof(struct ef_unixctl *));
    return tracer;
}

void
ef_tracer_destroy(struct ef_tracer *tracer)
{
    if (tracer) {
        for (size_t i = 0; i < tracer->topology->n_switches; i++) {
            ef_unixctl_close(tracer->switches[i]);
        }
        free(tracer->switches);
        free(tracer);
    }
}

const char *
ef_path_end_name(enum ef_path_end end)
{
    static const char *const names[] = {"delivered", "cpu", "dropped", "endless"};
    return names[end];
}

/* The last action outside parentheses that is a bare name, as in
 * "set(eth(src=..)),set(ipv4(ttl=63)),spine1". */
int
ef_trace_answer_output(const char *answer, char name[IFNAMSIZ])
{
    const char *start = strstr(answer, "\nDatapath actions: "), *next;
    while (start && (next = strstr(start + 1, "\nDatapath actions: "))) {
        start = next; /* The last of several: after a recirculation. */
    }
    if (!start) {
        return -EPROTO;
    }
    start += strlen("\nDatapath actions: ");
    const char *action = start;
    int depth = 0;
    name[0] = '\0';
    for (const char *c = start;; c++) {
        depth += (*c == '(') - (*c == ')');
        if ((*c == ',' && !depth) || !*c || *c == '\n') {
            size_t len = (size_t) (c - action);
            if (len < IFNAMSIZ && !memchr(action, '(', len)) {
                snprintf(name, IFNAMSIZ, "%.*s", (int) len, action);
            }
            action = c + 1;
        }
        if (!*c || *c == '\n') {
            break;
        }
    }
    if (!strcmp(name, "drop")) {
        name[0] = '\0';
    }
    return 0;
}

static void
format_flow(const struct ef_packet_key *packet, const struct ef_path_hop *hop, struct ef_mac source, char *text,
            size_t size)
{
    char src[EF_ADDRESS_TEXT_SIZE], dst[EF_ADDRESS_TEXT_SIZE], from_mac[EF_MAC_TEXT_SIZE], to_mac[EF_MAC_TEXT_SIZE];
    char in_port[16] = "LOCAL", ports[40] = "";
    if (hop->in_port) {
        snprintf(in_port, sizeof in_port, "%d", hop->in_port);
    }
    if (packet->proto == 6 || packet->proto == 17) {
        snprintf(ports, sizeof ports, ",tp_src=%u,tp_dst=%u", packet->sport, packet->dport);
    }
    snprintf(text, size, "in_port=%s,dl_src=%s,dl_dst=%s,dl_type=0x0800,nw_src=%s,nw_dst=%s,nw_proto=%u,nw_ttl=%d%s",
             in_port, ef_mac_format(source, from_mac), ef_mac_format(hop->sw->mac, to_mac),
             ef_address_format(packet->src, src), ef_address_format(packet->dst, dst), packet->proto, hop->ttl, ports);
}

static int
ask(struct ef_tracer *tracer, const struct ef_topology_switch *sw, const char *flow, char name[IFNAMSIZ],
    struct ef_error *err)
{
    struct ef_unixctl **u = &tracer->switches[sw - tracer->topology->switches];
    const char *params[] = {"--names", EF_BRIDGE, flow, NULL};
    char *answer;
    int rc = *u ? 0 : ef_unixctl_open(tracer->topology->name, sw->name, u, err);
    if (!rc) {
        rc = ef_unixctl_call(*u, "ofproto/trace", params, &answer, err);
    }
    if (rc) {
        return rc;
    }
    rc = ef_trace_answer_output(answer, name);
    free(answer);
    return rc ? ef_error_set(err, rc, "switch %s: ofproto/trace gave an answer without datapath actions", sw->name) : 0;
}

static int
port_number(const struct ef_topology_switch *sw, const char *name)
{
    for (size_t i = 0; i < sw->n_ports; i++) {
        if (!strcmp(sw->ports[i].name, name)) {
            return sw->ports[i].number;
        }
    }
    return 0;
}

/* Where the packet enters: the host's switch and port, or a switch's own CPU. */
static int
first_hop(const struct ef_topology *t, const struct ef_packet_key *packet, struct ef_path_hop *hop,
          struct ef_mac *source, struct ef_error *err)
{
    const struct ef_topology_host *host = ef_topology_host(t, packet->from);
    const struct ef_topology_switch *sw = ef_topology_switch(t, host ? host->switch_name : packet->from);
    if (!sw) {
        return ef_error_set(err, -ENOENT, "fabric '%s' has no host or switch '%.40s'", t->name, packet->from);
    }
    *hop = (struct ef_path_hop){.sw = sw, .in_port = host ? host->port : 0, .ttl = packet->ttl};
    *source = host ? host->mac : sw->mac;
    return 0;
}

/* After `hop` sent the packet to port `name`: ends the path, or says that it
 * goes on at `next`. */
static bool
goes_on(const struct ef_topology *t, struct ef_path *path, struct ef_path_hop *hop, const char *name,
        struct ef_path_hop *next)
{
    path->to = hop->sw->name;
    if (!name[0]) {
        path->end = EF_PATH_DROPPED;
        return false;
    }
    if (!strcmp(name, EF_BRIDGE)) {
        path->end = EF_PATH_CPU;
        return false;
    }
    hop->out_port = port_number(hop->sw, name);
    const struct ef_topology_port *port = ef_topology_port(hop->sw, hop->out_port);
    const struct ef_topology_switch *peer = port ? ef_topology_switch(t, port->peer) : NULL;
    if (!peer) {
        path->end = port ? EF_PATH_DELIVERED : EF_PATH_DROPPED;
        path->to = port ? port->peer : hop->sw->name;
        return false;
    }
    /* A switch's own packets keep their TTL where they start. */
    *next = (struct ef_path_hop){.sw = peer, .in_port = port->peer_port, .ttl = hop->ttl - (hop->in_port != 0)};
    return true;
}

int
ef_tracer_trace(struct ef_tracer *tracer, const struct ef_packet_key *packet, struct ef_path *path,
                struct ef_error *err)
{
    const struct ef_topology *t = tracer->topology;
    struct ef_path_hop next;
    struct ef_mac source;
    int rc = first_hop(t, packet, &next, &source, err);
    if (rc) {
        return rc;
    }
    path->n_hops = 0;
    while (path->n_hops < EF_PATH_MAX_HOPS) {
        struct ef_path_hop *hop = &path->hops[path->n_hops++];
        char flow[256], name[IFNAMSIZ];
        *hop = next;
        format_flow(packet, hop, source, flow, sizeof flow);
        rc = ask(tracer, hop->sw, flow, name, err);
        if (rc || !goes_on(t, path, hop, name, &next)) {
            return rc;
        }
        source = hop->sw->mac;
    }
    path->end = EF_PATH_ENDLESS;
    path->to = NULL;
    return 0;
}
