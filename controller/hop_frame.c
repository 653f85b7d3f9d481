/* SPDX-License-Identifier: Apache-2.0 */
/* The frame as a switch saw it; see hop_frame.h. */
#include <config.h>

#include "controller/hop_frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/byteorder.h"
#include "packet/packet.h"

static int
hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

int
hop_frame_decode(const char *hex, uint8_t *bytes, size_t size)
{
    size_t n = 0;
    for (; hex[0] && n < size; hex += 2) {
        int high = hex_value(hex[0]), low = high < 0 ? -1 : hex_value(hex[1]);
        if (low < 0) {
            return -EINVAL;
        }
        bytes[n++] = (uint8_t) (high << 4 | low);
    }
    return (int) n;
}

/* A number that `hop` has under `key`, within [0, max]; otherwise -1. */
static int
small_number(const json_t *hop, const char *key, int max)
{
    const json_t *value = json_object_get(hop, key);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    return number >= 0 && number <= max ? (int) number : -1;
}

static void
patch_source_mac(uint8_t *frame, size_t len, const char *text)
{
    unsigned m[6];
    int used = 0;
    if (text && len >= 12 &&
        sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5], &used) == 6 &&
        !text[used]) {
        for (int i = 0; i < 6; i++) {
            frame[6 + i] = (uint8_t) m[i];
        }
    }
}

static uint16_t
ip_checksum(const uint8_t *header, size_t len)
{
    uint32_t sum = 0;
    for (size_t i = 0; i + 1 < len; i += 2) {
        sum += ef_load_be16(header + i);
    }
    sum = (sum >> 16) + (sum & 0xffff);
    sum += sum >> 16;
    return (uint16_t) ~sum;
}

/* `tos` and `ttl` below 0 stay as they are. */
static void
patch_ipv4(uint8_t *header, size_t len, int tos, int ttl)
{
    size_t header_len = (size_t) (header[0] & 15) * 4;
    if (tos >= 0) {
        header[1] = (uint8_t) tos;
    }
    if (ttl >= 0) {
        header[8] = (uint8_t) ttl;
    }
    if (header_len >= 20 && header_len <= len) {
        ef_store_be16(header + 10, 0);
        ef_store_be16(header + 10, ip_checksum(header, header_len));
    }
}

static void
patch_ipv6(uint8_t *header, int tos, int ttl)
{
    if (tos >= 0) {
        header[0] = (uint8_t) ((header[0] & 0xf0) | tos >> 4);
        header[1] = (uint8_t) ((header[1] & 0x0f) | (tos & 15) << 4);
    }
    if (ttl >= 0) {
        header[7] = (uint8_t) ttl;
    }
}

void
hop_frame_patch(uint8_t *frame, size_t len, const json_t *hop)
{
    struct ef_packet p;
    int dscp = small_number(hop, "dscp", 63), ecn = small_number(hop, "ecn", 3), ttl = small_number(hop, "ttl", 255);
    int tos = dscp < 0 || ecn < 0 ? -1 : dscp << 2 | ecn;
    patch_source_mac(frame, len, json_string_value(json_object_get(hop, "src_mac")));
    ef_packet_parse(&p, frame, (uint32_t) len, (uint32_t) len);
    if (p.inner_ip == EF_NO_LAYER) {
        return;
    }
    /* A hop's TTL and DSCP are those of the innermost packet. */
    const struct ef_layer *ip = &p.layers[p.inner_ip];
    if (ip->proto == EF_PROTO_IPV4 && len - ip->offset >= 20) {
        patch_ipv4(frame + ip->offset, len - ip->offset, tos, ttl);
    } else if (ip->proto == EF_PROTO_IPV6 && len - ip->offset >= 40) {
        patch_ipv6(frame + ip->offset, tos, ttl);
    }
}
