/* SPDX-License-Identifier: Apache-2.0 */
/* Flows as traces say them and as probes take them; see probe_flow.h. */
#include <config.h>

#include "controller/probe_flow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "controller/document.h"
#include "packet/probe_signature.h"

enum {
    ETHERNET_LEN = 14,
    IPV4_LEN = 20,
    IPV6_LEN = 40,
    TCP_LEN = 20,
    UDP_LEN = 8,
    ICMP = 1,
    ICMPV6 = 58,
    MAX_LENGTH = 9000
};

bool
probe_flow_has_ports(const struct probe_flow *f)
{
    return f->proto == PROBE_FLOW_TCP || f->proto == PROBE_FLOW_UDP;
}

int
probe_flow_of_trace(struct probe_flow *f, const json_t *trace)
{
    const json_t *packet = json_object_get(trace, "packet");
    const char *src = json_string_value(json_object_get(packet, "src")),
               *dst = json_string_value(json_object_get(packet, "dst")),
               *flags = json_string_value(json_object_get(packet, "tcp_flags"));
    *f = (struct probe_flow){
        .proto = (int) json_integer_value(json_object_get(packet, "proto")),
        .src_port = (int) json_integer_value(json_object_get(packet, "srcport")),
        .dst_port = (int) json_integer_value(json_object_get(packet, "dstport")),
    };
    int length = (int) json_integer_value(json_object_get(packet, "length")) - ETHERNET_LEN;
    f->length = EF_MIN(length, PROBE_FLOW_MAX);
    if (!src || !dst || strlen(src) >= sizeof f->src || strlen(dst) >= sizeof f->dst) {
        return -EINVAL;
    }
    snprintf(f->src, sizeof f->src, "%s", src);
    snprintf(f->dst, sizeof f->dst, "%s", dst);
    snprintf(f->flags, sizeof f->flags, "%s", flags ? flags : "");
    return 0;
}

static int
proto_of(const char *text)
{
    int n = -1;
    char rest;
    return !strcmp(text, "tcp")                                         ? PROBE_FLOW_TCP
           : !strcmp(text, "udp")                                       ? PROBE_FLOW_UDP
           : !strcmp(text, "icmp")                                      ? ICMP
           : sscanf(text, "%d%c", &n, &rest) == 1 && n >= 0 && n <= 255 ? n
                                                                        : -1;
}

int
probe_flow_read(struct probe_flow *f, const json_t *options, struct ef_error *err)
{
    struct doc_place root = {.value = (json_t *) options};
    const char *src, *dst, *proto;
    int64_t src_port, dst_port, length;
    if (doc_string(&root, "src", NULL, &src, err) || doc_string(&root, "dst", NULL, &dst, err) ||
        doc_string(&root, "proto", "tcp", &proto, err) ||
        doc_integer(&root, "src_port", 1, 65535, 33434, &src_port, err) ||
        doc_integer(&root, "dst_port", 1, 65535, 80, &dst_port, err) ||
        doc_integer(&root, "length", 0, MAX_LENGTH, 0, &length, err)) {
        return -EINVAL;
    }
    *f = (struct probe_flow){
        .proto = proto_of(proto), .src_port = (int) src_port, .dst_port = (int) dst_port, .length = (int) length};
    if (f->proto < 0) {
        return ef_error_set(err, -EINVAL, "proto: '%.40s' is not tcp, udp, icmp or a number up to 255", proto);
    }
    if (strlen(src) >= sizeof f->src || strlen(dst) >= sizeof f->dst) {
        return ef_error_set(err, -EINVAL, "src, dst: no name or address is that long");
    }
    snprintf(f->src, sizeof f->src, "%s", src);
    snprintf(f->dst, sizeof f->dst, "%s", dst);
    return 0;
}

const char *
probe_flow_proto_name(int proto, char buf[16])
{
    snprintf(buf, 16, "protocol %d", proto);
    return proto == PROBE_FLOW_TCP            ? "TCP"
           : proto == PROBE_FLOW_UDP          ? "UDP"
           : proto == ICMP || proto == ICMPV6 ? "ICMP"
                                              : buf;
}

/* ICMP is taken for that of the IP version. */
static void
set_proto(json_t *packet, int proto)
{
    char number[16];
    snprintf(number, sizeof number, "%d", proto);
    json_object_set_new(packet, "proto",
                        json_string(proto == PROBE_FLOW_TCP            ? "tcp"
                                    : proto == PROBE_FLOW_UDP          ? "udp"
                                    : proto == ICMP || proto == ICMPV6 ? "icmp"
                                                                       : number));
}

int
probe_flow_shortest(const struct probe_flow *f)
{
    int header = f->proto == PROBE_FLOW_TCP                                             ? TCP_LEN
                 : f->proto == PROBE_FLOW_UDP || f->proto == ICMP || f->proto == ICMPV6 ? UDP_LEN
                                                                                        : 0;
    return (strchr(f->dst, ':') ? IPV6_LEN : IPV4_LEN) + header + EF_PROBE_SIGNATURE_LEN;
}

json_t *
probe_flow_packet(const struct probe_flow *f, const char *const via[], size_t n_via)
{
    json_t *packet = json_pack("{s:s}", "dst", f->dst), *list = json_array();
    if (*f->src) {
        json_object_set_new(packet, "src", json_string(f->src));
    }
    set_proto(packet, f->proto);
    if (probe_flow_has_ports(f)) {
        json_object_set_new(packet, "src_port", json_integer(f->src_port));
        json_object_set_new(packet, "dst_port", json_integer(f->dst_port));
    }
    if (f->proto == PROBE_FLOW_TCP && *f->flags) {
        json_object_set_new(packet, "tcp_flags", json_string(f->flags));
    }
    if (f->length > probe_flow_shortest(f)) {
        json_object_set_new(packet, "length", json_integer(f->length));
    }
    if (f->ttl) {
        json_object_set_new(packet, "ttl", json_integer(f->ttl));
    }
    for (size_t i = 0; i < n_via; i++) {
        json_array_append_new(list, json_string(via[i]));
    }
    if (n_via) {
        json_object_set(packet, "via", list);
    }
    json_decref(list);
    return packet;
}

char *
probe_flow_text(const struct probe_flow *f, char buf[PROBE_FLOW_TEXT])
{
    char name[16];
    bool is_6 = strchr(f->src, ':');
    if (probe_flow_has_ports(f)) {
        snprintf(buf, PROBE_FLOW_TEXT, "%s%s%s:%d > %s%s%s:%d %s", is_6 ? "[" : "", f->src, is_6 ? "]" : "",
                 f->src_port, is_6 ? "[" : "", f->dst, is_6 ? "]" : "", f->dst_port,
                 probe_flow_proto_name(f->proto, name));
    } else {
        snprintf(buf, PROBE_FLOW_TEXT, "%s > %s %s", f->src, f->dst, probe_flow_proto_name(f->proto, name));
    }
    return buf;
}
