/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe looks like and which way it goes, as it was asked for: every
 * field by its name, from a command line or an order:
 *
 *     struct prober_format f;
 *     prober_format_init(&f);
 *     prober_format_set(&f, "proto", "udp", &err);  ...
 *     if (prober_format_resolve(&f, targets, "ef-demo-h1", &err)) refuse;
 *     prober_craft_init(&craft, &f, ...);
 *
 * The table prober_format_options says which fields there are; it is the
 * program's --help too. A plain value; nothing is allocated. Thread-safety:
 * none. */
#ifndef PROBER_FORMAT_H
#define PROBER_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "guided-prober/targets.h"

enum {
    PROBER_MAX_VIA = 6, /* What switches look through: wire-format, section 6. */
    PROBER_MAX_VLANS = 2,
    PROBER_MAX_OPTIONS = 40,  /* Bytes of IPv4 or TCP options. */
    PROBER_MAX_PAYLOAD = 512, /* Bytes given by hand. */
    PROBER_MAX_OVERWRITES = 8,
    PROBER_MAX_OVERWRITE = 16,
    PROBER_MAX_LENGTH = 65000, /* Of the innermost IP packet; leaves room for those around it. */
    PROBER_TEXT = 64,
};

enum prober_wrap { PROBER_WRAP_GRE, PROBER_WRAP_IPIP };
enum prober_checksum { PROBER_CHECKSUM_WRONG, PROBER_CHECKSUM_RIGHT, PROBER_CHECKSUM_GIVEN };

struct prober_bytes {
    uint16_t len;
    uint8_t data[PROBER_MAX_PAYLOAD];
};

struct prober_overwrite {
    uint16_t offset;
    uint8_t len, bytes[PROBER_MAX_OVERWRITE];
};

struct prober_format {
    /* The way. */
    char dst_text[PROBER_TEXT], src_text[PROBER_TEXT], via_src_text[PROBER_TEXT];
    char via_text[PROBER_MAX_VIA][PROBER_TEXT];
    unsigned n_via;
    enum prober_wrap wrap;
    uint8_t via_ttl; /* Of the outermost; 0: by itself. */

    /* Filled by prober_format_resolve(). */
    uint8_t src[16], dst[16], via_src[16], via[PROBER_MAX_VIA][16];

    /* Ethernet and VLANs. */
    bool has_eth;
    uint8_t eth_src[6], eth_dst[6];
    unsigned n_vlans;
    uint32_t vlans[PROBER_MAX_VLANS]; /* TPID << 16 | TCI. */

    /* The innermost IP header. */
    bool ipv6;
    uint8_t ttl, dscp, ecn, proto;
    bool debug;
    uint8_t debug_dscp; /* Number of the bit. */
    uint16_t ip_id;
    uint16_t fragment; /* Flags and offset as in the IPv4 header. */
    uint32_t flow_label;
    struct prober_bytes ip_options;

    /* Its transport header. */
    uint16_t src_port, dst_port;
    uint32_t tcp_seq, tcp_ack;
    uint8_t tcp_flags;
    uint16_t tcp_window, tcp_urgent;
    struct prober_bytes tcp_options;
    bool has_icmp_type;
    uint8_t icmp_type, icmp_code;
    uint16_t icmp_id, icmp_seq;
    enum prober_checksum checksum;
    uint16_t checksum_value;

    /* Behind it. */
    bool signature;
    struct prober_bytes payload;
    uint16_t length; /* Of the innermost IP packet; 0: as long as needed. */
    bool same;       /* Nothing but the signature changes from probe to probe. */
    unsigned n_overwrites;
    struct prober_overwrite overwrites[PROBER_MAX_OVERWRITES];
};

/* The fields; the context of an entry's `set` is a struct prober_format. */
extern const struct ef_option prober_format_options[];

void prober_format_init(struct prober_format *format);

/* Sets the field `name` ("dst-port" or "dst_port"); a switch takes "true" and
 * "false". Returns 0 or -EINVAL with `err`. */
int prober_format_set(struct prober_format *format, const char *name, const char *value, struct ef_error *err);

/* Turns names into addresses, allowed ones only, and checks what fields together
 * say. The source is by default the address of the host whose network namespace
 * `netns` (may be NULL) is. Returns 0, or -EINVAL or -EACCES with `err`. */
int prober_format_resolve(struct prober_format *format, const struct prober_targets *targets, const char *netns,
                          struct ef_error *err);

#endif
