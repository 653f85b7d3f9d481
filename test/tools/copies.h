/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrored copies made up for tests and benchmarks: packet `packet` of flow
 * `flow` as switch `switch_number` saw it. Flows are of all kinds: TCP and UDP
 * over IPv4 and IPv6, VXLAN, and one without IP; the switches' copies of one
 * packet differ in TTL and Ethernet addresses, as behind routers. */
#ifndef EF_TEST_TOOLS_COPIES_H
#define EF_TEST_TOOLS_COPIES_H

#include <stdio.h>
#include <string.h>

#include "packet/build.h"
#include "packet/copy.h"

enum { TEST_COPY_MAX_BYTES = 512, TEST_N_ENCAPSULATIONS = EF_ENCAP_VENDOR_8949 + 1 };

struct test_copy {
    enum ef_encapsulation encapsulation;
    unsigned switch_number, flow, packet; /* switch_number 0..200: 10.255.0.N or fd00:ff::N */
    const char *vip;
};

static inline void
test_copy_build_ip(struct ef_build *b, unsigned flow, unsigned ttl, unsigned id)
{
    char src[48], dst[48];
    const char *format = flow % 4 == 1 ? "fd00:%u::%x" : "10.%u.0.%u";
    snprintf(src, sizeof src, format, 1 + flow % 7, 1 + flow % 200);
    snprintf(dst, sizeof dst, format, 10 + flow % 3, 1 + flow % 100);
    if (flow % 4 == 1) {
        ef_build_ipv6(b, src, dst)[7] = (uint8_t) ttl;
    } else {
        uint8_t *ip = ef_build_ipv4(b, src, dst);
        ip[8] = (uint8_t) ttl;
        ef_store_be16(ip + 4, (uint16_t) id);
    }
}

/* The original; returns its length. */
static inline int
test_original_build(const struct test_copy *c, uint8_t *buf, uint32_t size)
{
    struct ef_build b;
    uint16_t port = (uint16_t) (30000 + c->flow);
    ef_build_start(&b, buf, size);
    ef_build_eth(&b)[5] = (uint8_t) c->switch_number;
    if (c->flow % 16 == 15) {
        char sender[24];
        snprintf(sender, sizeof sender, "10.9.%u.%u", c->flow >> 8 & 255, c->flow & 255);
        ef_build_arp(&b, 1, sender, "10.9.0.1");
        return ef_build_finish(&b);
    }
    if (c->flow % 16 == 6) {
        ef_build_ipv4(&b, "10.200.0.1", "10.200.0.2");
        ef_build_udp(&b, (uint16_t) (50000 + c->switch_number), 4789);
        ef_build_vxlan(&b, 7);
        ef_build_eth(&b);
    }
    test_copy_build_ip(&b, c->flow, 64 - c->switch_number % 32, c->packet);
    if (c->flow % 4 == 2) {
        ef_build_udp(&b, port, 9);
    } else {
        ef_store_be32(ef_build_tcp(&b, port, 80, EF_TCP_ACK) + 4, c->packet);
    }
    ef_build_payload(&b, NULL, 8 + c->packet % 32);
    return ef_build_finish(&b);
}

/* The whole frame; returns its length, or a negative errno. */
static inline int
test_copy_build(const struct test_copy *c, uint8_t frame[TEST_COPY_MAX_BYTES])
{
    uint8_t original[TEST_COPY_MAX_BYTES / 2];
    char from[32];
    int original_len = test_original_build(c, original, sizeof original);
    struct ef_copy copy = {
        .encapsulation = (uint8_t) c->encapsulation,
        .has_sequence = c->encapsulation != EF_ENCAP_ERSPAN1,
        .sequence = c->packet,
        .has_port = c->encapsulation == EF_ENCAP_ERSPAN3,
        .port = 1 + c->switch_number,
        .original_len = (uint32_t) original_len,
    };
    snprintf(from, sizeof from, strchr(c->vip, ':') ? "fd00:ff::%x" : "10.255.0.%u", 1 + c->switch_number);
    if (original_len < 0 || ef_address_parse(from, copy.switch_address) ||
        ef_address_parse(c->vip, copy.target_address)) {
        return -1;
    }
    int headers_len = ef_copy_build_headers(&copy, frame, TEST_COPY_MAX_BYTES / 2);
    if (headers_len < 0) {
        return headers_len;
    }
    memcpy(frame + headers_len, original, (size_t) original_len);
    return headers_len + original_len;
}

#endif
