/* SPDX-License-Identifier: Apache-2.0 */
/* What the program that a silent fault puts on a link (fault.bpf.c) is told,
 * and what it tells back. Both sides, the BPF program and fault_bpf.c, read
 * this header, so it has nothing but fixed-width types. Immutable once loaded,
 * except for the counters. */
#ifndef EF_FABRIC_FAULT_PARAMS_H
#define EF_FABRIC_FAULT_PARAMS_H

#include <stdint.h>

/* Both ends are part of it. */
struct ef_fault_range {
    uint32_t low, high;
};

/* Bits of ef_fault_match.families. */
#define EF_FAULT_NOT_IP 1u
#define EF_FAULT_IPV4 2u
#define EF_FAULT_IPV6 4u
#define EF_FAULT_ANY_FAMILY 7u

/* Which packets are meant; every part must be fulfilled. Numbers are in host
 * byte order. What a packet has not (ports of a fragment, the protocol of ARP)
 * counts as 0. */
struct ef_fault_match {
    uint32_t families;
    uint32_t source, source_mask, destination, destination_mask; /* IPv4; mask 0: any. */
    struct ef_fault_range protocol, source_port, destination_port, dscp;
    struct ef_fault_range length; /* Of the frame, from its Ethernet header. */
};

enum ef_fault_action {
    EF_FAULT_DROP,
    EF_FAULT_CORRUPT,  /* The last byte of the IP packet is changed, no checksum is. */
    EF_FAULT_REDIRECT, /* To another interface, where somebody holds it for a while. */
};

/* Who forwards a held packet marks it with this and the fault's number, and no
 * fault up to that number sees it again. */
#define EF_FAULT_MARK 0xefa00000u
#define EF_FAULT_MARK_ID 0x000fffffu

struct ef_fault_params {
    struct ef_fault_match match;
    uint64_t threshold; /* A packet is hit if a number in [0, 2^32) is less. */
    uint64_t seed;
    uint32_t action; /* enum ef_fault_action */
    uint32_t id;
    uint32_t interface; /* Of EF_FAULT_REDIRECT. */
    uint32_t spare;
};

/* Counted by the program. The time is CLOCK_MONOTONIC in ns; 0: not yet. */
struct ef_fault_counters {
    uint64_t matched, hit, first_hit;
};

#endif
