/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that carry a number; see numbered_frame.h. */
#include <config.h>

#include "tools/numbered_frame.h"

#include <string.h>

#include "base/byteorder.h"
#include "base/hash.h"
#include "base/util.h"

enum { ETH_BYTES = 14, ADDRESSES_BYTES = 12, NUMBER_BYTES = 8, ETHERTYPE_LOCAL = 0x88b5, MARKER_BYTES = 60 };

#define FRAME_MAGIC 0xef5e71a1u
#define MARKER_MAGIC 0xef5e7a6fu

static const char syndromes[] = "\x60\x00\x00\x02" /* NAK */
                                "\x2a\x00\x00\x02" /* RNR NAK */
                                "\x1f\x00\x00\x02" /* ACK */;

static int
special_tcp(struct crafter *c)
{
    bool from = craft_draw(c, 2);
    ef_build_tcp(&c->b, from ? 179 : 40000, from ? 40000 : 179, EF_TCP_ACK | EF_TCP_PSH);
    ef_build_payload(&c->b, NULL, 19);
    return ef_build_finish(&c->b);
}

static int
special_roce(struct crafter *c)
{
    bool congestion = craft_draw(c, 4) == 0;
    ef_build_udp(&c->b, 49152, EF_PORT_ROCE);
    ef_build_bth(&c->b, congestion ? 0x81 : 0x11, 7, craft_draw(c, 1 << 24));
    ef_build_payload(&c->b, congestion ? NULL : syndromes + 4 * craft_draw(c, 3), congestion ? 16 : 4);
    ef_build_payload(&c->b, NULL, 4);
    return ef_build_finish(&c->b);
}

/* What craft_packet() seldom or never makes: BGP, RoCEv2's answers; with any IP ID. */
static int
special_packet(struct crafter *c)
{
    ef_build_start(&c->b, c->frame, sizeof c->frame);
    ef_build_eth(&c->b);
    if (craft_draw(c, 4) == 0) {
        ef_build_ipv6(&c->b, "2001:db8::1", "2001:db8::2");
    } else {
        ef_store_be16(ef_build_ipv4(&c->b, "10.1.0.2", "10.4.0.3") + 4, (uint16_t) craft_draw(c, 65536));
    }
    return craft_draw(c, 3) == 0 ? special_tcp(c) : special_roce(c);
}

static uint32_t
damage(struct crafter *c, uint8_t *frame, uint32_t len)
{
    if (len <= ETH_BYTES || craft_draw(c, 2)) {
        uint32_t end = ETH_BYTES + craft_draw(c, len);
        return EF_MIN(len, end);
    }
    for (uint32_t n = 1 + craft_draw(c, 4); n > 0; n--) {
        frame[ADDRESSES_BYTES + craft_draw(c, len - ADDRESSES_BYTES)] ^= (uint8_t) (1 + craft_draw(c, 255));
    }
    return len;
}

static uint32_t
append_number(uint8_t *frame, uint32_t len, uint32_t magic, uint32_t number)
{
    ef_store_be32(frame + len, magic);
    ef_store_be32(frame + len + 4, number);
    return len + NUMBER_BYTES;
}

uint32_t
numbered_frame_make(struct crafter *c, uint32_t number, uint8_t frame[NUMBERED_MAX_FRAME])
{
    int len = craft_draw(c, 8) ? craft_packet(c) : special_packet(c);
    uint32_t n = (uint32_t) EF_MAX(len, ETH_BYTES);
    memcpy(frame, c->frame, n);
    if (craft_draw(c, 10) == 0) {
        n = damage(c, frame, n);
    }
    return append_number(frame, n, FRAME_MAGIC, number);
}

uint32_t
numbered_marker_make(uint32_t number, uint8_t frame[NUMBERED_MAX_FRAME])
{
    static const uint8_t addresses[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    memset(frame, 0, MARKER_BYTES);
    memcpy(frame, addresses, sizeof addresses);
    ef_store_be16(frame + ADDRESSES_BYTES, ETHERTYPE_LOCAL);
    return append_number(frame, MARKER_BYTES, MARKER_MAGIC, number);
}

enum numbered_kind
numbered_frame_of(const uint8_t *frame, uint32_t len, uint32_t *number)
{
    if (len < ETH_BYTES + NUMBER_BYTES) {
        return NUMBERED_FOREIGN;
    }
    const uint8_t *end = frame + len;
    uint32_t magic = ef_load_be32(end - NUMBER_BYTES);
    *number = ef_load_be32(end - 4);
    return magic == FRAME_MAGIC ? NUMBERED_FRAME : magic == MARKER_MAGIC ? NUMBERED_MARKER : NUMBERED_FOREIGN;
}

static bool
is_tag(const uint8_t *ethertype)
{
    return ef_load_be16(ethertype) == EF_ETHERTYPE_VLAN || ef_load_be16(ethertype) == EF_ETHERTYPE_QINQ;
}

uint64_t
numbered_frame_invariant(const uint8_t *frame, uint32_t len)
{
    uint8_t data[NUMBERED_MAX_FRAME];
    uint32_t ip = ETH_BYTES;
    len = EF_MIN(len, (uint32_t) sizeof data);
    memcpy(data, frame, len);
    memset(data, 0, EF_MIN(len, (uint32_t) ADDRESSES_BYTES));
    data[ETH_BYTES] &= is_tag(data + ADDRESSES_BYTES) ? (uint8_t) ~0x10 : 0xff;
    while (ip + 4 <= len && is_tag(data + ip - 2)) {
        ip += 4;
    }
    if (ip + 20 <= len && ef_load_be16(data + ip - 2) == EF_ETHERTYPE_IPV4) {
        data[ip + 8] = data[ip + 10] = data[ip + 11] = 0;
    } else if (ip + 40 <= len && ef_load_be16(data + ip - 2) == EF_ETHERTYPE_IPV6) {
        data[ip + 7] = 0;
    }
    return ef_hash64(data, len);
}
