/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF program for mirrored copies; see copy_filter.h. Offsets are those of
 * an untagged frame; X holds the bytes of VLAN tags before the EtherType. */
#include <config.h>

#include "io/copy_filter.h"

#include <linux/if_ether.h>
#include <netinet/in.h>

#include "base/util.h"

#define LOAD_HALF(offset) BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offset)
#define LOAD_BYTE_X(offset) BPF_STMT(BPF_LD | BPF_B | BPF_IND, offset)
#define SET_X(value) BPF_STMT(BPF_LDX | BPF_IMM, value)
#define EQUAL(value, if_true, if_false) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_true, if_false)
#define RETURN(bytes) BPF_STMT(BPF_RET | BPF_K, bytes)

enum { ETHERTYPE = 12, TAG_BYTES = 4, IPV4_PROTOCOL = 14 + 9, IPV6_NEXT = 14 + 6, IPV6_PAYLOAD = 14 + 40 };
enum { WHOLE_FRAME = 0x40000 };

/* Jumps count from the next instruction. */
static struct sock_filter program[] = {
    /*  0 */ SET_X(0),
    /*  1 */ LOAD_HALF(ETHERTYPE),
    /*  2 */ EQUAL(ETH_P_8021Q, 1, 0),
    /*  3 */ EQUAL(ETH_P_8021AD, 0, 6), /* else 10 */
    /*  4 */ SET_X(TAG_BYTES),
    /*  5 */ LOAD_HALF(ETHERTYPE + TAG_BYTES),
    /*  6 */ EQUAL(ETH_P_8021Q, 1, 0),
    /*  7 */ EQUAL(ETH_P_8021AD, 0, 2), /* else 10 */
    /*  8 */ SET_X(2 * TAG_BYTES),
    /*  9 */ LOAD_HALF(ETHERTYPE + 2 * TAG_BYTES),
    /* 10 */ EQUAL(ETH_P_IP, 0, 2), /* else 13 */
    /* 11 */ LOAD_BYTE_X(IPV4_PROTOCOL),
    /* 12 */ EQUAL(IPPROTO_GRE, 6, 5), /* 19, 18 */
    /* 13 */ EQUAL(ETH_P_IPV6, 0, 4),  /* else 18 */
    /* 14 */ LOAD_BYTE_X(IPV6_NEXT),
    /* 15 */ EQUAL(IPPROTO_FRAGMENT, 0, 1), /* else 17 */
    /* 16 */ LOAD_BYTE_X(IPV6_PAYLOAD),
    /* 17 */ EQUAL(IPPROTO_GRE, 1, 0), /* 19, 18 */
    /* 18 */ RETURN(0),
    /* 19 */ RETURN(WHOLE_FRAME),
};

static struct sock_filter drop_all[] = {RETURN(0)};

const struct sock_fprog ef_copy_filter = {.len = EF_ARRAY_SIZE(program), .filter = program};
const struct sock_fprog ef_drop_all_filter = {.len = EF_ARRAY_SIZE(drop_all), .filter = drop_all};
