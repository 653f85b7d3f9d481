/* SPDX-License-Identifier: Apache-2.0 */
/* Probes byte by byte; see explain.h. */
#include <config.h>

#include "guided-prober/explain.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "packet/build.h"
#include "packet/headers.h"
#include "packet/packet.h"
#include "packet/probe_signature.h"

enum { LINE_BYTES = 16 };

enum form { NUMBER, HEX, MAC, IPV4, IPV6, LENGTH_AND_VERSION, TOS, IPV6_FIRST, FRAGMENT, TCP_FIRST, TCP_FLAGS, TCI };

struct field {
    uint8_t offset, len, form; /* From the header's start; enum form. */
    const char *name;
};

static const struct field eth[] = {{0, 6, MAC, "destination"}, {6, 6, MAC, "source"}, {12, 2, HEX, "type"}, {0}};
static const struct field vlan[] = {{0, 2, TCI, "tag"}, {2, 2, HEX, "type"}, {0}};
static const struct field ipv4[] = {{0, 1, LENGTH_AND_VERSION, ""},
                                    {1, 1, TOS, ""},
                                    {2, 2, NUMBER, "total length"},
                                    {4, 2, NUMBER, "id"},
                                    {6, 2, FRAGMENT, "fragment"},
                                    {8, 1, NUMBER, "TTL"},
                                    {9, 1, NUMBER, "protocol"},
                                    {10, 2, HEX, "header checksum"},
                                    {12, 4, IPV4, "source"},
                                    {16, 4, IPV4, "destination"},
                                    {0}};
static const struct field ipv6[] = {{0, 4, IPV6_FIRST, ""},
                                    {4, 2, NUMBER, "payload length"},
                                    {6, 1, NUMBER, "next header"},
                                    {7, 1, NUMBER, "hop limit"},
                                    {8, 16, IPV6, "source"},
                                    {24, 16, IPV6, "destination"},
                                    {0}};
static const struct field tcp[] = {{0, 2, NUMBER, "source port"},
                                   {2, 2, NUMBER, "destination port"},
                                   {4, 4, NUMBER, "sequence number"},
                                   {8, 4, NUMBER, "acknowledgement number"},
                                   {12, 1, TCP_FIRST, ""},
                                   {13, 1, TCP_FLAGS, "flags"},
                                   {14, 2, NUMBER, "window"},
                                   {16, 2, HEX, "checksum"},
                                   {18, 2, NUMBER, "urgent pointer"},
                                   {0}};
static const struct field udp[] = {{0, 2, NUMBER, "source port"},
                                   {2, 2, NUMBER, "destination port"},
                                   {4, 2, NUMBER, "length"},
                                   {6, 2, HEX, "checksum"},
                                   {0}};
static const struct field icmp[] = {{0, 1, NUMBER, "type"},
                                    {1, 1, NUMBER, "code"},
                                    {2, 2, HEX, "checksum"},
                                    {4, 2, NUMBER, "id"},
                                    {6, 2, NUMBER, "sequence number"},
                                    {0}};
static const struct field gre[] = {{0, 2, HEX, "flags and version"}, {2, 2, HEX, "payload type"}, {0}};

static const struct {
    const char *name;
    const struct field *fields;
} headers[EF_N_PROTOS] = {
    [EF_PROTO_ETH] = {"Ethernet", eth}, [EF_PROTO_VLAN] = {"VLAN tag", vlan}, [EF_PROTO_IPV4] = {"IPv4", ipv4},
    [EF_PROTO_IPV6] = {"IPv6", ipv6},   [EF_PROTO_TCP] = {"TCP", tcp},        [EF_PROTO_UDP] = {"UDP", udp},
    [EF_PROTO_ICMP] = {"ICMP", icmp},   [EF_PROTO_ICMPV6] = {"ICMPv6", icmp}, [EF_PROTO_GRE] = {"GRE", gre},
};

/* Offset and bytes, up to a line of them. */
static void
print_bytes(const uint8_t *bytes, uint32_t offset, uint32_t len, FILE *out)
{
    fprintf(out, "  %04x ", offset);
    for (uint32_t i = 0; i < LINE_BYTES; i++) {
        if (i < len) {
            fprintf(out, " %02x", bytes[i]);
        } else if (i < 8) {
            fprintf(out, "   ");
        }
    }
    fprintf(out, "  ");
}

static uint32_t
number_at(const uint8_t *p, unsigned len)
{
    return len == 1 ? p[0] : len == 2 ? ef_load_be16(p) : ef_load_be32(p);
}

static void
print_address(const uint8_t *p, int family, FILE *out)
{
    char text[INET6_ADDRSTRLEN];
    fprintf(out, " %s", inet_ntop(family, p, text, sizeof text));
}

static void
print_tcp_flags(uint8_t flags, FILE *out)
{
    static const char letters[] = "FSRPAUEC";
    fputc(' ', out);
    for (int i = 0; i < 8; i++) {
        if (flags >> i & 1) {
            fputc(letters[i], out);
        }
    }
}

static void
print_value(const struct field *f, const uint8_t *p, FILE *out)
{
    uint32_t n = f->len <= 4 ? number_at(p, f->len) : 0;
    switch ((enum form) f->form) {
    case NUMBER:
        fprintf(out, " %u", n);
        break;
    case HEX:
        fprintf(out, " 0x%0*x", 2 * f->len, n);
        break;
    case MAC:
        fprintf(out, " %02x:%02x:%02x:%02x:%02x:%02x", p[0], p[1], p[2], p[3], p[4], p[5]);
        break;
    case IPV4:
        print_address(p, AF_INET, out);
        break;
    case IPV6:
        print_address(p, AF_INET6, out);
        break;
    case LENGTH_AND_VERSION:
        fprintf(out, "version %u, header of %u bytes", n >> 4, (n & 15) * 4);
        break;
    case TOS:
        fprintf(out, "DSCP %u, ECN %u", n >> 2, n & 3);
        break;
    case IPV6_FIRST:
        fprintf(out, "version %u, DSCP %u, ECN %u, flow label %u", n >> 28, n >> 22 & 63, n >> 20 & 3, n & 0xfffff);
        break;
    case FRAGMENT:
        fprintf(out, "%s%s, offset %u", n & EF_IPV4_DF ? " DF" : "", n & EF_IPV4_MF ? " MF" : "",
                (n & EF_IPV4_OFFSET) * 8);
        break;
    case TCP_FIRST:
        fprintf(out, "header of %u bytes", (n >> 4) * 4);
        break;
    case TCP_FLAGS:
        print_tcp_flags((uint8_t) n, out);
        break;
    case TCI:
        fprintf(out, " %u, priority %u", n & 4095, n >> 13);
        break;
    }
}

static void
print_rest(const uint8_t *frame, uint32_t offset, uint32_t end, const char *what, FILE *out)
{
    for (; offset < end; offset += LINE_BYTES) {
        print_bytes(frame + offset, offset, EF_MIN(end - offset, (uint32_t) LINE_BYTES), out);
        fprintf(out, "%s\n", what);
    }
}

static void
print_header(const struct ef_packet *p, unsigned i, FILE *out)
{
    const struct ef_layer *layer = &p->layers[i];
    const uint8_t *h = p->data + layer->offset;
    const char *name = headers[layer->proto].name;
    uint32_t done = layer->offset;
    fprintf(out, "%s, %u bytes\n", name ? name : "header", layer->header_len);
    for (const struct field *f = headers[layer->proto].fields; f && f->name; f++) {
        if (f->offset + f->len > layer->header_len) {
            break;
        }
        print_bytes(h + f->offset, layer->offset + f->offset, f->len, out);
        fputs(f->name, out);
        print_value(f, h + f->offset, out);
        fputc('\n', out);
        done = layer->offset + f->offset + f->len;
    }
    print_rest(p->data, done, (uint32_t) layer->offset + layer->header_len, "options", out);
}

static void
print_payload(const struct ef_packet *p, uint32_t offset, FILE *out)
{
    struct ef_probe_signature s;
    char time[EF_TIME_TEXT_SIZE];
    if (offset >= p->len) {
        return;
    }
    fprintf(out, "payload, %u bytes\n", p->len - offset);
    if (!ef_probe_signature_read(p->data + offset, p->len - offset, &s)) {
        print_bytes(p->data + offset, offset, 8, out);
        fprintf(out, "signature, format %u\n", p->data[offset + 7]);
        print_bytes(p->data + offset + 8, offset + 8, 8, out);
        fprintf(out, "probe id %016" PRIx64 "\n", s.probe_id);
        print_bytes(p->data + offset + 16, offset + 16, 8, out);
        fprintf(out, "sequence %" PRIu64 "\n", s.sequence);
        print_bytes(p->data + offset + 24, offset + 24, 8, out);
        fprintf(out, "sent %s\n", ef_time_format(s.sent, time));
        offset += EF_PROBE_SIGNATURE_LEN;
    }
    print_rest(p->data, offset, p->len, "", out);
}

/* Whether the innermost packet's transport checksum is right, which the kernel of
 * the host that gets it asks, too. */
static void
print_checksum_verdict(const struct ef_packet *p, FILE *out)
{
    if (p->inner_ip == EF_NO_LAYER || p->inner_l4 == EF_NO_LAYER) {
        return;
    }
    const uint8_t *ip = ef_packet_layer_data(p, p->inner_ip), *l4 = ef_packet_layer_data(p, p->inner_l4);
    uint32_t len = p->len - p->layers[p->inner_l4].offset, sum = 0;
    uint8_t proto = p->layers[p->inner_l4].proto;
    if (ef_ip_version(ip) == 6) {
        uint8_t number = proto == EF_PROTO_TCP ? EF_IPPROTO_TCP : proto == EF_PROTO_UDP ? EF_IPPROTO_UDP : 58;
        sum = ef_checksum_add(number + len, ip + 8, 32);
    } else if (proto != EF_PROTO_ICMP) {
        sum = ef_checksum_add(ip[9] + len, ip + 12, 8);
    }
    bool right = !ef_checksum_fold(ef_checksum_add(sum, l4, len));
    fprintf(out, "The checksum is %s.\n",
            right ? "right: a server gets this packet" : "wrong: no server gets this packet");
}

void
prober_explain(const uint8_t *frame, uint32_t len, uint32_t start, FILE *out)
{
    struct ef_packet p;
    char summary[256];
    ef_packet_parse(&p, frame, len, len);
    fprintf(out, "%s\n%u bytes on the wire, the first of them at %04x\n",
            ef_packet_summary(&p, summary, sizeof summary), len - start, start);
    uint32_t end = start;
    unsigned n = p.inner_l4 != EF_NO_LAYER ? p.inner_l4 + 1u : p.n_layers; /* The signature is behind it. */
    for (unsigned i = start ? 1 : 0; i < n; i++) {
        print_header(&p, i, out);
        end = (uint32_t) p.layers[i].offset + p.layers[i].header_len;
    }
    print_payload(&p, end, out);
    print_checksum_verdict(&p, out);
}
