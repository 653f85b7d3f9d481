/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a probe, by name; see format.h. */
#include <config.h>

#include "guided-prober/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_number.h"
#include "packet/headers.h"

/* --- Values --------------------------------------------------------------- */

static int
read_number(const char *text, const char *what, uint64_t max, uint32_t *out, struct ef_error *err)
{
    uint64_t n;
    int rc = ef_parse_u64(text, what, 0, max, &n, err);
    *out = rc ? 0 : (uint32_t) n;
    return rc;
}

static int
read_text(const char *text, const char *what, char out[PROBER_TEXT], struct ef_error *err)
{
    size_t len = strlen(text);
    if (!len || len >= PROBER_TEXT) {
        return ef_error_set(err, -EINVAL, "%s: '%.60s' is no name or address", what, text);
    }
    memcpy(out, text, len + 1);
    return 0;
}

static int
hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads hexadecimal digits, two for a byte. Returns how many bytes, or -EINVAL
 * with `err`. */
static int
read_hex(const char *text, const char *what, uint8_t *out, size_t size, struct ef_error *err)
{
    size_t n = strlen(text);
    if (n % 2 || n / 2 > size) {
        return ef_error_set(err, -EINVAL, "%s: '%.40s' is not up to %zu bytes, two hexadecimal digits each", what, text,
                            size);
    }
    for (size_t i = 0; i < n / 2; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return ef_error_set(err, -EINVAL, "%s: '%.2s' is not hexadecimal", what, text + 2 * i);
        }
        out[i] = (uint8_t) (high << 4 | low);
    }
    return (int) (n / 2);
}

static int
read_bytes(const char *text, const char *what, size_t size, unsigned unit, struct prober_bytes *out,
           struct ef_error *err)
{
    int n = read_hex(text, what, out->data, size, err);
    if (n >= 0 && n % (int) unit) {
        return ef_error_set(err, -EINVAL, "%s: %d bytes are not a multiple of %u", what, n, unit);
    }
    out->len = (uint16_t) EF_MAX(n, 0);
    return EF_MIN(n, 0);
}

static int
read_mac(const char *text, const char *what, uint8_t mac[6], struct ef_error *err)
{
    char digits[13];
    bool well_formed = strlen(text) == 17;
    for (size_t i = 0; well_formed && i < 17; i++) {
        well_formed = i % 3 < 2 || text[i] == ':';
    }
    for (size_t i = 0; well_formed && i < 6; i++) {
        memcpy(digits + 2 * i, text + 3 * i, 2);
    }
    digits[12] = '\0';
    return !well_formed || read_hex(digits, what, mac, 6, NULL) != 6
               ? ef_error_set(err, -EINVAL, "%s: '%.40s' is not like 02:00:00:00:00:01", what, text)
               : 0;
}

/* The number of the word in `words` (NULL-terminated). */
static int
read_word(const char *text, const char *what, const char *const words[], struct ef_error *err)
{
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], text)) {
            return i;
        }
        used += (size_t) snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
        used = EF_MIN(used, sizeof list - 1);
    }
    return ef_error_set(err, -EINVAL, "%s: '%.40s' is none of %s", what, text, list);
}

/* --- Setters -------------------------------------------------------------- */

#define SETTER(NAME) static int set_##NAME(void *ctx, const char *value, struct ef_error *err)

#define NUMBER(NAME, OPTION, MAX, TYPE)                    \
    SETTER(NAME)                                           \
    {                                                      \
        uint32_t n;                                        \
        int rc = read_number(value, OPTION, MAX, &n, err); \
        ((struct prober_format *) ctx)->NAME = (TYPE) n;   \
        return rc;                                         \
    }

#define SWITCH(NAME, FIELD, VALUE)                     \
    SETTER(NAME)                                       \
    {                                                  \
        ((struct prober_format *) ctx)->FIELD = VALUE; \
        return 0;                                      \
    }

NUMBER(ttl, "ttl", 255, uint8_t)
NUMBER(via_ttl, "via-ttl", 255, uint8_t)
NUMBER(dscp, "dscp", 63, uint8_t)
NUMBER(ecn, "ecn", 3, uint8_t)
NUMBER(debug_dscp, "debug-dscp", 5, uint8_t)
NUMBER(ip_id, "ip-id", UINT16_MAX, uint16_t)
NUMBER(flow_label, "flow-label", 0xfffff, uint32_t)
NUMBER(src_port, "src-port", UINT16_MAX, uint16_t)
NUMBER(dst_port, "dst-port", UINT16_MAX, uint16_t)
NUMBER(tcp_seq, "tcp-seq", UINT32_MAX, uint32_t)
NUMBER(tcp_ack, "tcp-ack", UINT32_MAX, uint32_t)
NUMBER(tcp_window, "tcp-window", UINT16_MAX, uint16_t)
NUMBER(tcp_urgent, "tcp-urgent", UINT16_MAX, uint16_t)
NUMBER(icmp_code, "icmp-code", 255, uint8_t)
NUMBER(icmp_id, "icmp-id", UINT16_MAX, uint16_t)
NUMBER(icmp_seq, "icmp-seq", UINT16_MAX, uint16_t)
NUMBER(length, "length", PROBER_MAX_LENGTH, uint16_t)
SWITCH(no_debug, debug, false)
SWITCH(no_signature, signature, false)
SWITCH(same, same, true)

SETTER(dst)
{
    return read_text(value, "dst", ((struct prober_format *) ctx)->dst_text, err);
}

SETTER(src)
{
    return read_text(value, "src", ((struct prober_format *) ctx)->src_text, err);
}

SETTER(via_src)
{
    return read_text(value, "via-src", ((struct prober_format *) ctx)->via_src_text, err);
}

/* "leaf1,spine1,leaf1" */
SETTER(via)
{
    struct prober_format *f = ctx;
    f->n_via = 0;
    for (const char *p = value;; p++) {
        size_t len = strcspn(p, ",");
        char name[PROBER_TEXT];
        if (f->n_via == PROBER_MAX_VIA) {
            return ef_error_set(err, -EINVAL, "via: more than %d switches, which is what switches look through",
                                PROBER_MAX_VIA);
        }
        snprintf(name, sizeof name, "%.*s", (int) EF_MIN(len, sizeof name), p);
        int rc = read_text(name, "via", f->via_text[f->n_via], err);
        if (rc || len >= PROBER_TEXT) {
            return rc ? rc : ef_error_set(err, -EINVAL, "via: '%.60s' is no name or address", name);
        }
        f->n_via++;
        p += len;
        if (!*p) {
            return 0;
        }
    }
}

SETTER(wrap)
{
    static const char *const words[] = {[PROBER_WRAP_GRE] = "gre", [PROBER_WRAP_IPIP] = "ipip", NULL};
    int i = read_word(value, "wrap", words, err);
    ((struct prober_format *) ctx)->wrap = i < 0 ? PROBER_WRAP_GRE : (enum prober_wrap) i;
    return EF_MIN(i, 0);
}

SETTER(eth_src)
{
    struct prober_format *f = ctx;
    f->has_eth = true;
    return read_mac(value, "eth-src", f->eth_src, err);
}

SETTER(eth_dst)
{
    struct prober_format *f = ctx;
    f->has_eth = true;
    return read_mac(value, "eth-dst", f->eth_dst, err);
}

/* "5", "5.3" (with priority), "0x88a8:5.3"; the outermost first. */
SETTER(vlan)
{
    struct prober_format *f = ctx;
    char text[32];
    uint32_t tpid = EF_ETHERTYPE_VLAN, id, priority = 0;
    snprintf(text, sizeof text, "%s", value);
    char *colon = strchr(text, ':'), *id_text = colon ? colon + 1 : text, *dot = strchr(id_text, '.');
    if (colon) {
        *colon = '\0';
    }
    if (dot) {
        *dot = '\0';
    }
    if (f->n_vlans == PROBER_MAX_VLANS) {
        return ef_error_set(err, -EINVAL, "vlan: more than %d tags", PROBER_MAX_VLANS);
    }
    if (strlen(value) >= sizeof text || (colon && read_number(text, "", UINT16_MAX, &tpid, NULL)) ||
        read_number(id_text, "", 4095, &id, NULL) || (dot && read_number(dot + 1, "", 7, &priority, NULL))) {
        return ef_error_set(err, -EINVAL, "vlan: '%.40s' is not like 5, 5.3 (priority 3) or 0x88a8:5", value);
    }
    f->has_eth = true;
    f->vlans[f->n_vlans++] = tpid << 16 | priority << 13 | id;
    return 0;
}

/* A name or a number. ICMP of IPv6 packets is ICMPv6. */
SETTER(proto)
{
    struct prober_format *f = ctx;
    uint32_t n;
    if (!strcmp(value, "tcp") || !strcmp(value, "udp") || !strcmp(value, "icmp")) {
        f->proto = *value == 't' ? EF_IPPROTO_TCP : *value == 'u' ? EF_IPPROTO_UDP : EF_IPPROTO_ICMP;
        return 0;
    }
    if (read_number(value, "", 255, &n, NULL)) {
        return ef_error_set(err, -EINVAL, "proto: '%.40s' is not tcp, udp, icmp or a number up to 255", value);
    }
    f->proto = (uint8_t) n;
    return 0;
}

/* "df", "mf", an offset in bytes, or several with commas; "none". */
SETTER(fragment)
{
    struct prober_format *f = ctx;
    f->fragment = 0;
    for (const char *p = value;; p++) {
        char word[16];
        uint32_t offset = 0;
        size_t len = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int) EF_MIN(len, sizeof word), p);
        if (!strcmp(word, "df")) {
            f->fragment |= EF_IPV4_DF;
        } else if (!strcmp(word, "mf")) {
            f->fragment |= EF_IPV4_MF;
        } else if (!read_number(word, "", 65528, &offset, NULL) && offset % 8 == 0) {
            f->fragment |= (uint16_t) (offset / 8);
        } else if (strcmp(word, "none")) {
            return ef_error_set(err, -EINVAL, "fragment: '%.15s' is not df, mf, none or an offset that 8 divides",
                                word);
        }
        p += len;
        if (!*p) {
            return 0;
        }
    }
}

SETTER(ip_options)
{
    return read_bytes(value, "ip-options", PROBER_MAX_OPTIONS, 4, &((struct prober_format *) ctx)->ip_options, err);
}

SETTER(tcp_options)
{
    return read_bytes(value, "tcp-options", PROBER_MAX_OPTIONS, 4, &((struct prober_format *) ctx)->tcp_options, err);
}

SETTER(payload)
{
    return read_bytes(value, "payload", PROBER_MAX_PAYLOAD, 1, &((struct prober_format *) ctx)->payload, err);
}

/* "S", "SA", "0x12"; Wireshark's letters. */
SETTER(tcp_flags)
{
    static const char letters[] = "FSRPAUEC";
    struct prober_format *f = ctx;
    uint32_t flags = 0;
    if (*value >= '0' && *value <= '9') {
        int rc = read_number(value, "tcp-flags", 255, &flags, err);
        f->tcp_flags = (uint8_t) flags;
        return rc;
    }
    for (const char *p = value; *p; p++) {
        const char *letter = strchr(letters, *p);
        if (!letter) {
            return ef_error_set(err, -EINVAL, "tcp-flags: '%c' is none of %s", *p, letters);
        }
        flags |= 1u << (letter - letters);
    }
    f->tcp_flags = (uint8_t) flags;
    return 0;
}

SETTER(icmp_type)
{
    struct prober_format *f = ctx;
    uint32_t n;
    int rc = read_number(value, "icmp-type", 255, &n, err);
    f->icmp_type = (uint8_t) n;
    f->has_icmp_type = !rc;
    return rc;
}

SETTER(checksum)
{
    struct prober_format *f = ctx;
    uint32_t n = 0;
    f->checksum = !strcmp(value, "wrong")   ? PROBER_CHECKSUM_WRONG
                  : !strcmp(value, "right") ? PROBER_CHECKSUM_RIGHT
                                            : PROBER_CHECKSUM_GIVEN;
    if (f->checksum == PROBER_CHECKSUM_GIVEN && read_number(value, "", UINT16_MAX, &n, NULL)) {
        return ef_error_set(err, -EINVAL, "checksum: '%.40s' is not wrong, right or a number up to 0xffff", value);
    }
    f->checksum_value = (uint16_t) n;
    return 0;
}

/* "OFFSET:HEX" */
SETTER(overwrite)
{
    struct prober_format *f = ctx;
    char offset_text[16];
    const char *colon = strchr(value, ':');
    uint32_t offset = 0;
    if (f->n_overwrites == PROBER_MAX_OVERWRITES) {
        return ef_error_set(err, -EINVAL, "overwrite: more than %d", PROBER_MAX_OVERWRITES);
    }
    struct prober_overwrite *o = &f->overwrites[f->n_overwrites];
    snprintf(offset_text, sizeof offset_text, "%.*s", colon ? (int) EF_MIN(colon - value, 15) : 0, value);
    int n = colon ? read_hex(colon + 1, "overwrite", o->bytes, sizeof o->bytes, NULL) : -EINVAL;
    if (n <= 0 || read_number(offset_text, "", PROBER_MAX_LENGTH, &offset, NULL)) {
        return ef_error_set(err, -EINVAL, "overwrite: '%.40s' is not like 8:3f, an offset and up to %d bytes", value,
                            PROBER_MAX_OVERWRITE);
    }
    o->offset = (uint16_t) offset;
    o->len = (uint8_t) n;
    f->n_overwrites++;
    return 0;
}

const struct ef_option prober_format_options[] = {
    {"dst", 'd', "TARGET", "where the packet goes: name or address of a switch or host; required", set_dst},
    {"src", 's', "TARGET", "from where; default: the host whose network namespace is used", set_src},
    {"via", 0, "S1,S2...", "lead it over these switches, first to last, at most 6", set_via},
    {"wrap", 0, "NAME", "for that, put it into gre (default) or ipip", set_wrap},
    {"via-src", 0, "TARGET", "source of the packets around it (default: as --src)", set_via_src},
    {"via-ttl", 0, "N", "TTL of the outermost (default: 16 more for each around another)", set_via_ttl},
    {"proto", 'p', "NAME", "tcp, udp (default), icmp or a number", set_proto},
    {"src-port", 0, "N", "of TCP or UDP (default 33434)", set_src_port},
    {"dst-port", 0, "N", "of TCP or UDP (default 33434)", set_dst_port},
    {"tcp-flags", 0, "FLAGS", "letters of FSRPAUEC, or a number (default S)", set_tcp_flags},
    {"tcp-seq", 0, "N", "sequence number of the first probe (default 1)", set_tcp_seq},
    {"tcp-ack", 0, "N", "acknowledgement number (default 0)", set_tcp_ack},
    {"tcp-window", 0, "N", "default 65535", set_tcp_window},
    {"tcp-urgent", 0, "N", "urgent pointer (default 0)", set_tcp_urgent},
    {"tcp-options", 0, "HEX", "bytes of options, a multiple of 4", set_tcp_options},
    {"icmp-type", 0, "N", "default: echo request", set_icmp_type},
    {"icmp-code", 0, "N", "default 0", set_icmp_code},
    {"icmp-id", 0, "N", "default 1", set_icmp_id},
    {"icmp-seq", 0, "N", "of the first probe (default 1)", set_icmp_seq},
    {"checksum", 0, "VALUE",
     "of TCP, UDP or ICMP: wrong (default, so that no application gets it),\nright, or a number", set_checksum},
    {"ttl", 0, "N", "TTL or hop limit (default 64)", set_ttl},
    {"dscp", 0, "N", "beside the debug bit (default 0)", set_dscp},
    {"ecn", 0, "N", "default 0", set_ecn},
    {"debug-dscp", 0, "BIT", "which bit of the DSCP is the debug bit, 0 to 5 (default 1)", set_debug_dscp},
    {"no-debug", 0, NULL, "without the debug bit: not traced by it", set_no_debug},
    {"ip-id", 0, "N", "IPv4 id of the first probe (default: by chance)", set_ip_id},
    {"fragment", 0, "FLAGS", "of IPv4: df (default), mf, none, an offset in bytes, or several", set_fragment},
    {"flow-label", 0, "N", "of IPv6 (default 1)", set_flow_label},
    {"ip-options", 0, "HEX", "bytes of IPv4 options, a multiple of 4", set_ip_options},
    {"eth-src", 0, "MAC", "send a frame with this source", set_eth_src},
    {"eth-dst", 0, "MAC", "and this destination", set_eth_dst},
    {"vlan", 0, "ID[.PRIO]", "with this tag, or 0x88a8:ID[.PRIO]; a second is inside of it", set_vlan},
    {"length", 'l', "N", "of the packet from its IP header on (default: as long as needed)", set_length},
    {"payload", 0, "HEX", "bytes behind the signature", set_payload},
    {"no-signature", 0, NULL, "without the bytes by which a probe is known", set_no_signature},
    {"same", 0, NULL, "keep IPv4 id, TCP and ICMP sequence as they are from probe to probe", set_same},
    {"overwrite", 0, "OFFSET:HEX", "put these bytes over the finished packet, from its IP header on;\nup to 8 times",
     set_overwrite},
    {0},
};

/* --- The whole ------------------------------------------------------------ */

void
prober_format_init(struct prober_format *f)
{
    *f = (struct prober_format){
        .proto = EF_IPPROTO_UDP,
        .src_port = 33434,
        .dst_port = 33434,
        .tcp_flags = EF_TCP_SYN,
        .tcp_seq = 1,
        .tcp_window = UINT16_MAX,
        .icmp_id = 1,
        .icmp_seq = 1,
        .ttl = 64,
        .debug = true,
        .debug_dscp = 1,
        .fragment = EF_IPV4_DF,
        .flow_label = 1,
        .signature = true,
        .eth_src = {0x02, 0, 0, 0, 0, 0x01},
        .eth_dst = {0x02, 0, 0, 0, 0, 0x02},
    };
}

static int
unknown_field(const char *name, struct ef_error *err)
{
    const char *names[64] = {NULL};
    for (size_t i = 0; prober_format_options[i].name && i < EF_ARRAY_SIZE(names) - 1; i++) {
        names[i] = prober_format_options[i].name;
    }
    const char *near = ef_nearest_word(name, names);
    return near ? ef_error_set(err, -EINVAL, "no field '%.40s'; did you mean %s?", name, near)
                : ef_error_set(err, -EINVAL, "no field '%.40s'", name);
}

int
prober_format_set(struct prober_format *f, const char *name, const char *value, struct ef_error *err)
{
    char dashed[40];
    snprintf(dashed, sizeof dashed, "%s", name);
    for (char *p = dashed; *p; p++) {
        *p = *p == '_' ? '-' : *p;
    }
    for (const struct ef_option *o = prober_format_options; o->name; o++) {
        if (strcmp(o->name, dashed)) {
            continue;
        }
        if (o->argument) {
            return o->set(f, value, err);
        }
        if (!strcmp(value, "false")) {
            return 0;
        }
        return !strcmp(value, "true") ? o->set(f, NULL, err)
                                      : ef_error_set(err, -EINVAL, "%s: '%.40s' is not true or false", dashed, value);
    }
    return unknown_field(dashed, err);
}
