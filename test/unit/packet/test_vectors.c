/* SPDX-License-Identifier: Apache-2.0 */
/* Each field of each header in the captures of test/vectors is what tshark says
 * (test/vectors/fields): all layers, tunnels and quoted packets included. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "packet/copy.h"
#include "packet/headers.h"
#include "packet/packet.h"

/* --- Fields as tshark prints them ----------------------------------------------- */

enum format { DEC, HEX2, HEX4, HEX6, HEX8, IPV4_ADDRESS, IPV6_ADDRESS };

/* A number of `bits` bits that ends `shift` bits before the end of the `bytes`
 * bytes at `offset`. */
static const struct field {
    const char *name;
    enum ef_proto proto;
    enum format format;
    uint8_t offset, bytes, shift, bits;
} fields[] = {
    {"eth.type", EF_PROTO_ETH, HEX4, 12, 2, 0, 16},
    {"arp.opcode", EF_PROTO_ARP, DEC, 6, 2, 0, 16},
    {"ip.src", EF_PROTO_IPV4, IPV4_ADDRESS, 12, 4, 0, 0},
    {"ip.dst", EF_PROTO_IPV4, IPV4_ADDRESS, 16, 4, 0, 0},
    {"ip.id", EF_PROTO_IPV4, HEX4, 4, 2, 0, 16},
    {"ip.ttl", EF_PROTO_IPV4, DEC, 8, 1, 0, 8},
    {"ip.dsfield", EF_PROTO_IPV4, HEX2, 1, 1, 0, 8},
    {"ip.len", EF_PROTO_IPV4, DEC, 2, 2, 0, 16},
    {"ip.proto", EF_PROTO_IPV4, DEC, 9, 1, 0, 8},
    {"ip.frag_offset", EF_PROTO_IPV4, DEC, 6, 2, 0, 13},
    {"ipv6.src", EF_PROTO_IPV6, IPV6_ADDRESS, 8, 16, 0, 0},
    {"ipv6.dst", EF_PROTO_IPV6, IPV6_ADDRESS, 24, 16, 0, 0},
    {"ipv6.hlim", EF_PROTO_IPV6, DEC, 7, 1, 0, 8},
    {"ipv6.flow", EF_PROTO_IPV6, HEX6, 0, 4, 0, 20},
    {"ipv6.plen", EF_PROTO_IPV6, DEC, 4, 2, 0, 16},
    {"tcp.srcport", EF_PROTO_TCP, DEC, 0, 2, 0, 16},
    {"tcp.dstport", EF_PROTO_TCP, DEC, 2, 2, 0, 16},
    {"tcp.seq", EF_PROTO_TCP, DEC, 4, 4, 0, 32},
    {"tcp.ack", EF_PROTO_TCP, DEC, 8, 4, 0, 32},
    {"tcp.flags", EF_PROTO_TCP, HEX4, 12, 2, 0, 12},
    {"tcp.window_size_value", EF_PROTO_TCP, DEC, 14, 2, 0, 16},
    {"tcp.checksum", EF_PROTO_TCP, HEX4, 16, 2, 0, 16},
    {"udp.srcport", EF_PROTO_UDP, DEC, 0, 2, 0, 16},
    {"udp.dstport", EF_PROTO_UDP, DEC, 2, 2, 0, 16},
    {"udp.length", EF_PROTO_UDP, DEC, 4, 2, 0, 16},
    {"udp.checksum", EF_PROTO_UDP, HEX4, 6, 2, 0, 16},
    {"icmp.type", EF_PROTO_ICMP, DEC, 0, 1, 0, 8},
    {"icmp.code", EF_PROTO_ICMP, DEC, 1, 1, 0, 8},
    {"icmp.checksum", EF_PROTO_ICMP, HEX4, 2, 2, 0, 16},
    {"icmpv6.type", EF_PROTO_ICMPV6, DEC, 0, 1, 0, 8},
    {"icmpv6.checksum", EF_PROTO_ICMPV6, HEX4, 2, 2, 0, 16},
    {"gre.proto", EF_PROTO_GRE, HEX4, 2, 2, 0, 16},
    {"erspan.spanid", EF_PROTO_ERSPAN, DEC, 2, 2, 0, 10},
    {"vxlan.vni", EF_PROTO_VXLAN, DEC, 4, 4, 8, 24},
    {"geneve.vni", EF_PROTO_GENEVE, HEX6, 4, 4, 8, 24},
    {"infiniband.bth.opcode", EF_PROTO_BTH, DEC, 0, 1, 0, 8},
    {"infiniband.bth.psn", EF_PROTO_BTH, DEC, 8, 4, 0, 24},
    {"macc.opcode", EF_PROTO_MAC_CONTROL, HEX4, 0, 2, 0, 16},
};

static uint32_t
load(const uint8_t *h, unsigned bytes)
{
    uint32_t v = 0;
    while (bytes--) {
        v = v << 8 | *h++;
    }
    return v;
}

/* Appends one value to the text. */
static void
print_value(char *text, size_t size, enum format format, const uint8_t *h, uint32_t value)
{
    static const char *const formats[] = {
        [DEC] = "%" PRIu32,      [HEX2] = "0x%02" PRIx32, [HEX4] = "0x%04" PRIx32,
        [HEX6] = "0x%06" PRIx32, [HEX8] = "0x%08" PRIx32,
    };
    size_t used = strlen(text);
    uint8_t address[16];
    if (used) {
        text[used++] = ',';
        text[used] = '\0';
    }
    switch (format) {
    case IPV4_ADDRESS:
        ef_address_from_ipv4(address, h);
        ef_address_format(address, text + used);
        break;
    case IPV6_ADDRESS:
        memcpy(address, h, 16);
        ef_address_format(address, text + used);
        break;
    default:
        snprintf(text + used, size - used, formats[format], value);
        break;
    }
}

static void
print_field(const struct ef_packet *p, const struct field *f, char *text, size_t size)
{
    for (unsigned i = 0; i < p->n_layers; i++) {
        const struct ef_layer *layer = &p->layers[i];
        if (layer->proto == f->proto && f->offset + f->bytes <= layer->header_len) {
            const uint8_t *h = p->data + layer->offset + f->offset;
            uint32_t v = load(h, EF_MIN(f->bytes, 4u)) >> f->shift;
            print_value(text, size, f->format, h, f->bits < 32 ? v & ((1u << f->bits) - 1) : v);
        }
    }
}

/* GRE's optional fields, whose places depend on the flags. */
static void
print_gre(const struct ef_packet *p, uint16_t flag, char *text, size_t size)
{
    for (unsigned i = 0; i < p->n_layers; i++) {
        const uint8_t *gre = ef_packet_layer_data(p, i);
        if (p->layers[i].proto == EF_PROTO_GRE && ef_gre_flags(gre) & flag) {
            bool key = flag == EF_GRE_K;
            print_value(text, size, key ? HEX8 : DEC, NULL, key ? ef_gre_key(gre) : ef_gre_sequence(gre));
        }
    }
}

/* Tags that 802.1ad's EtherType announces, or those of the others. */
static void
print_vlan(const struct ef_packet *p, bool ad, char *text, size_t size)
{
    for (unsigned i = 0; i < p->n_layers; i++) {
        const uint8_t *vlan = ef_packet_layer_data(p, i);
        if (p->layers[i].proto == EF_PROTO_VLAN && (ef_load_be16(vlan - 2) == EF_ETHERTYPE_QINQ) == ad) {
            print_value(text, size, DEC, NULL, ef_vlan_id(vlan));
        }
    }
}

/* What tshark prints for the field of that name. */
static void
print_named(const struct ef_packet *p, const char *name, char *text, size_t size)
{
    text[0] = '\0';
    if (!strcmp(name, "gre.key") || !strcmp(name, "gre.sequence_number")) {
        print_gre(p, !strcmp(name, "gre.key") ? EF_GRE_K : EF_GRE_S, text, size);
        return;
    }
    if (!strcmp(name, "vlan.id") || !strcmp(name, "ieee8021ad.id")) {
        print_vlan(p, !strcmp(name, "ieee8021ad.id"), text, size);
        return;
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(fields); i++) {
        if (!strcmp(fields[i].name, name)) {
            print_field(p, &fields[i], text, size);
            return;
        }
    }
    fail_msg("no field '%s'", name);
}

/* --- The captures ------------------------------------------------------------------ */

enum { MAX_LINE = 4096, MAX_COLUMNS = 64 };

/* Splits a line at its tabs; returns the number of columns. */
static size_t
split(char *line, char *columns[MAX_COLUMNS])
{
    size_t n = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *column; n < MAX_COLUMNS && (column = strsep(&line, "\t"));) {
        columns[n++] = column;
    }
    return n;
}

static void
compare(const char *capture, int frame, const struct ef_packet *p, char *line, char *const names[], size_t n_names)
{
    char *want[MAX_COLUMNS];
    assert_int_equal(split(line, want), n_names);
    for (size_t i = 0; i < n_names; i++) {
        char got[1024];
        print_named(p, names[i], got, sizeof got);
        if (strcmp(got, want[i])) {
            fail_msg("%s, frame %d: %s is %s, tshark says %s", capture, frame, names[i], got, want[i]);
        }
    }
}

/* Compares a capture with its fields; `copies`: all frames are mirrored copies. */
static void
compare_capture(const char *folder, const char *capture, const char *extension, bool copies)
{
    char path[4096], error[PCAP_ERRBUF_SIZE], header[MAX_LINE], line[MAX_LINE], *names[MAX_COLUMNS];
    snprintf(path, sizeof path, "%s/vectors/fields/%s.tsv", EF_TEST_SRCDIR, capture);
    FILE *tsv = fopen(path, "r");
    snprintf(path, sizeof path, "%s/vectors/%s%s.%s", EF_TEST_SRCDIR, folder, capture, extension);
    pcap_t *pcap = pcap_open_offline(path, error);
    if (!tsv || !pcap) {
        fail_msg("%s: cannot be opened", path);
        return;
    }
    assert_non_null(fgets(header, sizeof header, tsv));
    size_t n_names = split(header, names);
    int frame = 0;
    struct pcap_pkthdr *hdr;
    for (const uint8_t *data; pcap_next_ex(pcap, &hdr, &data) == 1;) {
        struct ef_packet p;
        struct ef_copy copy;
        frame++;
        assert_non_null(fgets(line, sizeof line, tsv));
        /* tshark has no bound on the number of headers, and goes on where we stop. */
        if (ef_packet_parse(&p, data, hdr->caplen, hdr->len) != EF_PARSE_TOO_DEEP) {
            compare(capture, frame, &p, line, names, n_names);
        }
        assert_int_equal(!copies || ef_copy_parse(&copy, data, hdr->caplen, hdr->len) == EF_DROP_NONE, true);
    }
    assert_true(frame > 0);
    assert_null(fgets(line, sizeof line, tsv));
    fclose(tsv);
    pcap_close(pcap);
}

static void
real_traffic_is_as_tshark_says(void **state)
{
    compare_capture("", "real", "pcap", false);
}

static void
built_packets_are_as_tshark_says(void **state)
{
    compare_capture("", "made", "pcapng", false);
}

static void
copies_of_open_vswitch_are_as_tshark_says(void **state)
{
    static const char *const captures[] = {"debug",   "erspan2",      "erspan3",      "gre",
                                           "ipv6",    "sampled",      "truncated",    "truncated-erspan2",
                                           "tunnels", "vlan-erspan2", "vlan-erspan3", "vlan-gre"};
    for (size_t i = 0; i < EF_ARRAY_SIZE(captures); i++) {
        compare_capture("ovs/", captures[i], "pcap", true);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_traffic_is_as_tshark_says),
        cmocka_unit_test(built_packets_are_as_tshark_says),
        cmocka_unit_test(copies_of_open_vswitch_are_as_tshark_says),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
