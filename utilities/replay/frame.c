/* SPDX-License-Identifier: Apache-2.0 */
/* Frames; see frame.h. */
#include <config.h>

#include "utilities/replay/frame.h"

#include <errno.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/util.h"
#include "packet/build.h"

enum {
    LEAST_ORIGINAL = EF_ETH_LEN + EF_IPV4_LEN + EF_TCP_LEN,
    MOST_OUTER = 128,        /* Outer headers of a copy, and of a muxed packet. */
    DEBUG_TOS = 1 << 1 << 2, /* DSCP bit 1, which is the default of switches and analyzers. */
};

/* The packet is `packet_bytes` long without the header that a load balancer
 * adds. */
static int
build_original(struct replay_frame_maker *maker, const struct replay_workload *w, bool encapsulated)
{
    struct ef_build b;
    ef_build_start(&b, maker->original[encapsulated], REPLAY_MAX_FRAME - MOST_OUTER);
    ef_build_eth(&b);
    if (encapsulated) {
        ef_build_ipv4(&b, "10.254.0.1", "10.254.0.2");
    }
    maker->ip_at[encapsulated] = (uint32_t) (ef_build_ipv4(&b, "10.0.0.0", "172.16.0.0") - b.buf);
    ef_build_tcp(&b, 1024, 80, EF_TCP_ACK);
    ef_build_payload(&b, NULL, w->packet_bytes - LEAST_ORIGINAL);
    int len = ef_build_finish(&b);
    maker->original_len[encapsulated] = (uint32_t) EF_MAX(len, 0);
    return len < 0 ? len : 0;
}

int
replay_frame_maker_init(struct replay_frame_maker *maker, const struct replay_workload *w, struct ef_error *err)
{
    const int most = REPLAY_MAX_FRAME - 2 * MOST_OUTER;
    if (w->packet_bytes < LEAST_ORIGINAL || w->packet_bytes > (uint32_t) most) {
        return ef_error_set(err, -EINVAL, "packets are %d to %d bytes long", LEAST_ORIGINAL, most);
    }
    if (w->truncate && w->truncate < LEAST_ORIGINAL + EF_IPV4_LEN) {
        return ef_error_set(err, -EINVAL, "copies cut to less than %d bytes say nothing", LEAST_ORIGINAL + EF_IPV4_LEN);
    }
    int rc = build_original(maker, w, false);
    rc = rc ? rc : build_original(maker, w, true);
    return rc ? ef_error_set(err, rc, "cannot build the packets") : 0;
}

static void
patch_ipv4_checksum(uint8_t *ip)
{
    ef_store_be16(ip + 10, 0);
    ef_store_be16(ip + 10, ef_checksum_fold(ef_checksum_add(0, ip, EF_IPV4_LEN)));
}

/* Over the pseudo-header, the header and a payload of zeros. */
static void
patch_tcp_checksum(const uint8_t *ip, uint8_t *tcp, uint32_t tcp_len)
{
    uint8_t rest[4] = {0, EF_IPPROTO_TCP, (uint8_t) (tcp_len >> 8), (uint8_t) tcp_len};
    ef_store_be16(tcp + 16, 0);
    uint32_t sum = ef_checksum_add(0, ip + 12, 8);
    sum = ef_checksum_add(sum, rest, sizeof rest);
    ef_store_be16(tcp + 16, ef_checksum_fold(ef_checksum_add(sum, tcp, EF_TCP_LEN)));
}

static void
patch_packet(uint8_t *ip, const struct replay_workload *w, const struct replay_arrival *a)
{
    uint8_t *tcp = ip + EF_IPV4_LEN;
    ip[1] = a->debug ? DEBUG_TOS : 0;
    ef_store_be16(ip + 4, (uint16_t) a->packet);
    ip[8] = a->ttl;
    ef_store_be32(ip + 12, replay_flow_src(a->flow));
    ef_store_be32(ip + 16, replay_flow_dst(w, a->flow));
    patch_ipv4_checksum(ip);
    ef_store_be16(tcp, (uint16_t) (1024 + a->flow % 64000));
    ef_store_be32(tcp + 4, (uint32_t) a->packet);
    patch_tcp_checksum(ip, tcp, w->packet_bytes - EF_ETH_LEN - EF_IPV4_LEN);
}

static void
patch_outer(uint8_t *ip, const struct replay_arrival *a)
{
    ip[1] = a->debug ? DEBUG_TOS : 0;
    ip[8] = a->outer_ttl;
    patch_ipv4_checksum(ip);
}

static void
describe(const struct replay_workload *w, const struct replay_arrival *a, uint32_t original_len, struct ef_copy *copy)
{
    bool has_sequence = w->encapsulation != EF_ENCAP_ERSPAN1;
    bool has_port = w->encapsulation != EF_ENCAP_ERSPAN1 && w->encapsulation != EF_ENCAP_VENDOR_8949;
    *copy = (struct ef_copy){
        .switch_address = {[10] = 0xff, 0xff},
        .encapsulation = w->encapsulation,
        .has_sequence = has_sequence,
        .has_port = has_port,
        .port = has_port ? 1 : 0,
        .has_switch_time = w->encapsulation == EF_ENCAP_ERSPAN3,
        .switch_time = a->mirrored,
        .sequence = a->sequence,
        .truncated = w->truncate && w->truncate < original_len,
    };
    copy->original_len = copy->truncated ? w->truncate : original_len;
    memcpy(copy->target_address, w->target, 16);
    ef_store_be32(copy->switch_address + 12, replay_switch_ipv4(w, a->switch_number));
}

uint32_t
replay_frame_make(struct replay_frame_maker *maker, const struct replay_workload *w, const struct replay_arrival *a,
                  uint8_t *frame)
{
    uint8_t *original = maker->original[a->encapsulated];
    struct ef_copy copy;
    patch_packet(original + maker->ip_at[a->encapsulated], w, a);
    if (a->encapsulated) {
        patch_outer(original + EF_ETH_LEN, a);
    }
    describe(w, a, maker->original_len[a->encapsulated], &copy);
    int len = ef_copy_build_headers(&copy, frame, REPLAY_MAX_FRAME);
    if (len < 0) {
        return 0; /* A time before 1970 or after 2106, which ERSPAN cannot say. */
    }
    memcpy(frame + len, original, copy.original_len);
    return (uint32_t) len + copy.original_len;
}
