/* SPDX-License-Identifier: Apache-2.0 */
/* A silent fault: runs at the egress of a switch's port, after everything that
 * the switch does and counts. Loaded by fault_bpf.c, once per fault and port,
 * with parameters of its own; several on one port run one after the other.
 *
 * A packet that is dropped here was sent, for all that the sender can see:
 * TC_ACT_STOLEN is success, where TC_ACT_SHOT would be an error of the send
 * call, and the link's counters come later. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "utilities/fabric/fault_params.h"

const volatile struct ef_fault_params params;
struct ef_fault_counters counters;

/* What a match looks at. */
struct key {
    __u32 family, source, destination, protocol, source_port, destination_port, dscp;
    __u32 end; /* Of the IP packet, from the frame's start. */
};

static __always_inline void
parse_ports(struct __sk_buff *skb, __u32 offset, struct key *key)
{
    __be16 ports[2];
    if ((key->protocol == 6 || key->protocol == 17) && !bpf_skb_load_bytes(skb, offset, ports, sizeof ports)) {
        key->source_port = bpf_ntohs(ports[0]);
        key->destination_port = bpf_ntohs(ports[1]);
    }
}

static __always_inline void
parse_ipv4(struct __sk_buff *skb, struct key *key)
{
    __u8 ip[20];
    if (bpf_skb_load_bytes(skb, ETH_HLEN, ip, sizeof ip)) {
        return;
    }
    key->family = EF_FAULT_IPV4;
    key->dscp = ip[1] >> 2;
    key->end = ETH_HLEN + ((__u32) ip[2] << 8 | ip[3]);
    key->protocol = ip[9];
    key->source = (__u32) ip[12] << 24 | (__u32) ip[13] << 16 | (__u32) ip[14] << 8 | ip[15];
    key->destination = (__u32) ip[16] << 24 | (__u32) ip[17] << 16 | (__u32) ip[18] << 8 | ip[19];
    if (!((ip[6] & 0x1f) | ip[7])) { /* Not a later fragment. */
        parse_ports(skb, ETH_HLEN + (__u32) (ip[0] & 0xf) * 4, key);
    }
}

/* Without extension headers: a fabric's hosts send none. */
static __always_inline void
parse_ipv6(struct __sk_buff *skb, struct key *key)
{
    __u8 ip[8];
    if (bpf_skb_load_bytes(skb, ETH_HLEN, ip, sizeof ip)) {
        return;
    }
    key->family = EF_FAULT_IPV6;
    key->dscp = (ip[0] & 0xfu) << 2 | ip[1] >> 6;
    key->end = ETH_HLEN + 40 + ((__u32) ip[4] << 8 | ip[5]);
    key->protocol = ip[6];
    parse_ports(skb, ETH_HLEN + 40, key);
}

static __always_inline int
in_range(__u32 value, const volatile struct ef_fault_range *range)
{
    return value >= range->low && value <= range->high;
}

static __always_inline int
matches(const struct key *key, __u32 length)
{
    const volatile struct ef_fault_match *m = &params.match;
    return (key->family & m->families) && (key->source & m->source_mask) == m->source &&
           (key->destination & m->destination_mask) == m->destination && in_range(key->protocol, &m->protocol) &&
           in_range(key->source_port, &m->source_port) && in_range(key->destination_port, &m->destination_port) &&
           in_range(key->dscp, &m->dscp) && in_range(length, &m->length);
}

/* The `n`th number of the sequence that belongs to the seed (splitmix64). */
static __always_inline __u32
random_number(__u64 n)
{
    __u64 x = params.seed + (n + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (__u32) ((x ^ x >> 31) >> 32);
}

static __always_inline int
corrupt(struct __sk_buff *skb, __u32 end)
{
    __u8 byte;
    __u32 last = end < skb->len ? end - 1 : skb->len - 1;
    if (last > ETH_HLEN && !bpf_skb_load_bytes(skb, last, &byte, 1)) {
        byte ^= 0x55;
        bpf_skb_store_bytes(skb, last, &byte, 1, 0);
    }
    return TC_ACT_UNSPEC;
}

static __always_inline int
is_forwarded_again(__u32 mark)
{
    return (mark & ~EF_FAULT_MARK_ID) == EF_FAULT_MARK && (mark & EF_FAULT_MARK_ID) >= params.id;
}

SEC("tc")
int
ef_fault(struct __sk_buff *skb)
{
    struct key key = {.family = EF_FAULT_NOT_IP, .end = skb->len};
    if (skb->protocol == bpf_htons(ETH_P_IP)) {
        parse_ipv4(skb, &key);
    } else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
        parse_ipv6(skb, &key);
    }
    if (is_forwarded_again(skb->mark) || !matches(&key, skb->len)) {
        return TC_ACT_UNSPEC; /* To the next fault, if there is one. */
    }
    __u64 n = __sync_fetch_and_add(&counters.matched, 1);
    if (random_number(n) >= params.threshold) {
        return TC_ACT_UNSPEC;
    }
    if (!__sync_fetch_and_add(&counters.hit, 1)) {
        counters.first_hit = bpf_ktime_get_ns();
    }
    switch (params.action) {
    case EF_FAULT_CORRUPT:
        return corrupt(skb, key.end);
    case EF_FAULT_REDIRECT:
        return (int) bpf_redirect(params.interface, 0);
    default:
        return TC_ACT_STOLEN;
    }
}

char program_license[] SEC("license") = "Apache-2.0";
