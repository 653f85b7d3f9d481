/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a copy's outer headers: the counterpart of copy.c, for tests, tools
 * and benchmarks. (Switches write theirs in ovs-patches.) */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "packet/build.h"
#include "packet/copy.h"
#include "packet/headers.h"
#include "packet/switch_drop.h"

/* What a copy's headers are made of. */
struct plan {
    uint16_t gre_type, gre_flags;
    uint32_t after_gre_len; /* ERSPAN or vendor header. */
    uint32_t max_port;
};

static bool
has_platform(const struct ef_copy *copy)
{
    return copy->has_port || copy->has_switch_time;
}

static int
make_plan(const struct ef_copy *copy, struct plan *plan)
{
    *plan = (struct plan){.gre_flags = copy->has_sequence ? EF_GRE_S : 0};
    switch (copy->encapsulation) {
    case EF_ENCAP_GRE:
        plan->gre_type = EF_ETHERTYPE_TEB;
        plan->gre_flags |= copy->has_port || copy->egress || copy->switch_drop ? EF_GRE_K : 0;
        plan->max_port = 0xffff;
        return 0;
    case EF_ENCAP_ERSPAN1:
        plan->gre_type = EF_ETHERTYPE_ERSPAN;
        return copy->has_sequence ? -EINVAL : 0; /* S would make it type II. */
    case EF_ENCAP_ERSPAN2:
        plan->gre_type = EF_ETHERTYPE_ERSPAN;
        plan->after_gre_len = EF_ERSPAN2_LEN;
        plan->max_port = 0xfffff;
        return copy->has_sequence ? 0 : -EINVAL;
    case EF_ENCAP_ERSPAN3:
        plan->gre_type = EF_ETHERTYPE_ERSPAN3;
        plan->after_gre_len = EF_ERSPAN3_LEN + (has_platform(copy) ? EF_ERSPAN3_PLATFORM_LEN : 0);
        plan->max_port = 0xffff;
        return 0;
    case EF_ENCAP_VENDOR_8949:
        plan->gre_type = EF_ETHERTYPE_VENDOR_8949;
        plan->after_gre_len = 22;
        return 0;
    default:
        return -EINVAL;
    }
}

static void
put_ipv4(const struct ef_copy *copy, uint8_t *ip, uint32_t total_len)
{
    ip[0] = 0x45;
    ef_store_be16(ip + 2, (uint16_t) total_len);
    ef_store_be16(ip + 6, EF_IPV4_DF);
    ip[8] = 64;
    ip[9] = EF_IPPROTO_GRE;
    memcpy(ip + 12, copy->switch_address + 12, 4);
    memcpy(ip + 16, copy->target_address + 12, 4);
    ef_store_be16(ip + 10, ef_checksum_fold(ef_checksum_add(0, ip, EF_IPV4_LEN)));
}

static void
put_ipv6(const struct ef_copy *copy, uint8_t *ip, uint32_t total_len)
{
    ip[0] = 0x60;
    ef_store_be16(ip + 4, (uint16_t) (total_len - EF_IPV6_LEN));
    ip[6] = EF_IPPROTO_GRE;
    ip[7] = 64;
    memcpy(ip + 8, copy->switch_address, 16);
    memcpy(ip + 24, copy->target_address, 16);
}

/* Writes the GRE header; returns what follows it. */
static uint8_t *
put_gre(const struct ef_copy *copy, const struct plan *plan, uint8_t *gre)
{
    ef_store_be16(gre, plan->gre_flags);
    ef_store_be16(gre + 2, plan->gre_type);
    uint8_t *at = gre + EF_GRE_LEN;
    if (plan->gre_flags & EF_GRE_K) {
        uint32_t mark = copy->switch_drop ? EF_GRE_KEY_DROP + copy->switch_drop
                        : copy->egress    ? EF_GRE_KEY_EGRESS
                                          : EF_GRE_KEY_MAGIC;
        ef_store_be32(at, mark << 16 | copy->port);
        at += 4;
    }
    if (plan->gre_flags & EF_GRE_S) {
        ef_store_be32(at, copy->sequence);
        at += 4;
    }
    return at;
}

/* The first word that types II and III share. */
static uint32_t
erspan_word(const struct ef_copy *copy, uint32_t version)
{
    return version << 28 | (copy->truncated ? 1u << 10 : 0) | (copy->session & 0x3ffu);
}

static void
put_erspan2(const struct ef_copy *copy, uint8_t *erspan)
{
    ef_store_be32(erspan, erspan_word(copy, 1));
    uint32_t reserved = copy->switch_drop ? EF_ERSPAN2_DROP + copy->switch_drop : copy->egress ? EF_ERSPAN2_EGRESS : 0;
    ef_store_be32(erspan + 4, reserved << 20 | (copy->has_port ? copy->port : 0));
}

static void
put_erspan3(const struct ef_copy *copy, uint8_t *erspan)
{
    uint32_t platform = has_platform(copy) ? 1 : 0;
    ef_store_be32(erspan, erspan_word(copy, 2));
    ef_store_be32(erspan + 4, copy->has_switch_time ? (uint32_t) (copy->switch_time.ns % EF_NS_PER_S) : 0);
    uint32_t sgt = copy->switch_drop ? EF_ERSPAN3_DROP + copy->switch_drop : 0;
    /* P: a frame follows; D; granularity 2, IEEE 1588; O: so does the sub-header. */
    ef_store_be32(erspan + 8, sgt << 16 | 1u << 15 | (uint32_t) copy->egress << 3 | 2u << 1 | platform);
    if (platform) {
        ef_store_be32(erspan + 12, 5u << 26 | (copy->has_port ? copy->port : 0));
        ef_store_be32(erspan + 16, copy->has_switch_time ? (uint32_t) (copy->switch_time.ns / EF_NS_PER_S) : 0);
    }
}

/* Fields that the headers cannot carry. */
static bool
is_out_of_range(const struct ef_copy *copy, const struct plan *plan, uint32_t total_len)
{
    bool bad_port = copy->has_port && (copy->port > plan->max_port || !copy->port);
    bool bad_time =
        copy->has_switch_time && (copy->encapsulation != EF_ENCAP_ERSPAN3 || copy->switch_time.ns < EF_NS_PER_S ||
                                  copy->switch_time.ns / EF_NS_PER_S > UINT32_MAX);
    bool mixed = ef_address_is_ipv4(copy->switch_address) != ef_address_is_ipv4(copy->target_address);
    bool bad_drop = copy->switch_drop > EF_SWITCH_DROP_MAX || (copy->switch_drop && !plan->max_port);
    /* Only type III has room for both. */
    bool bad_egress =
        copy->egress && (!plan->max_port || (copy->switch_drop && copy->encapsulation != EF_ENCAP_ERSPAN3));
    return bad_port || bad_time || bad_drop || bad_egress || mixed || total_len > UINT16_MAX || copy->session > 0x3ff;
}

int
ef_copy_build_headers(const struct ef_copy *copy, uint8_t *buf, uint32_t size)
{
    struct plan plan;
    bool ipv4 = ef_address_is_ipv4(copy->switch_address);
    if (copy->original_len > UINT16_MAX || make_plan(copy, &plan) < 0) {
        return -EINVAL;
    }
    uint32_t ip_len = ipv4 ? EF_IPV4_LEN : EF_IPV6_LEN;
    uint32_t len = EF_ETH_LEN + ip_len + ef_gre_header_len(plan.gre_flags) + plan.after_gre_len;
    uint32_t total_len = len - EF_ETH_LEN + copy->original_len;
    if (is_out_of_range(copy, &plan, total_len)) {
        return -EINVAL;
    }
    if (len > size) {
        return -ENOSPC;
    }
    memset(buf, 0, len);
    ef_store_be16(buf + 12, ipv4 ? EF_ETHERTYPE_IPV4 : EF_ETHERTYPE_IPV6);
    (ipv4 ? put_ipv4 : put_ipv6)(copy, buf + EF_ETH_LEN, total_len);
    uint8_t *after_gre = put_gre(copy, &plan, buf + EF_ETH_LEN + ip_len);
    if (copy->encapsulation == EF_ENCAP_ERSPAN2) {
        put_erspan2(copy, after_gre);
    } else if (copy->encapsulation == EF_ENCAP_ERSPAN3) {
        put_erspan3(copy, after_gre);
    }
    return (int) len;
}
