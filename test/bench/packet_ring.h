/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a program can do with a TPACKET_V3 ring: count its frames and
 * bytes. What a source that also gives the frames away is compared with.
 *
 *     struct ef_packet_ring ring;
 *     if (!ef_packet_ring_open(&ring, "in0", 32 << 20)) fail;
 *     n = ef_packet_ring_count(&ring, 64000);
 *     ef_packet_ring_close(&ring);
 */
#ifndef EF_TEST_BENCH_PACKET_RING_H
#define EF_TEST_BENCH_PACKET_RING_H

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

enum { EF_PACKET_RING_BLOCK = 128 << 10, EF_PACKET_RING_RETIRE_MS = 4, EF_PACKET_RING_WAIT_MS = 1000 };

struct ef_packet_ring {
    int fd;
    uint32_t n_blocks, next;
    uint8_t *blocks;
};

static inline bool
ef_packet_ring_open(struct ef_packet_ring *r, const char *interface, uint32_t bytes)
{
    int version = TPACKET_V3;
    r->n_blocks = bytes / EF_PACKET_RING_BLOCK;
    r->next = 0;
    struct tpacket_req3 request = {
        .tp_block_size = EF_PACKET_RING_BLOCK,
        .tp_block_nr = r->n_blocks,
        .tp_frame_size = 2048,
        .tp_frame_nr = EF_PACKET_RING_BLOCK / 2048 * r->n_blocks,
        .tp_retire_blk_tov = EF_PACKET_RING_RETIRE_MS,
    };
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = (int) if_nametoindex(interface),
    };
    r->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (r->fd < 0 || setsockopt(r->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) ||
        setsockopt(r->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request)) {
        return false;
    }
    void *blocks = mmap(NULL, (size_t) bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    r->blocks = blocks;
    return blocks != MAP_FAILED && !bind(r->fd, (struct sockaddr *) &address, sizeof address);
}

static inline void
ef_packet_ring_close(struct ef_packet_ring *r)
{
    munmap(r->blocks, (size_t) r->n_blocks * EF_PACKET_RING_BLOCK);
    close(r->fd);
}

/* Counts up to at least `wanted` frames, or until none comes for a second. */
static inline uint64_t
ef_packet_ring_count(struct ef_packet_ring *r, uint64_t wanted)
{
    uint64_t n = 0, bytes = 0;
    while (n < wanted) {
        struct tpacket_block_desc *block = (void *) (r->blocks + (size_t) r->next * EF_PACKET_RING_BLOCK);
        if (!(__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) {
            struct pollfd p = {.fd = r->fd, .events = POLLIN};
            if (poll(&p, 1, EF_PACKET_RING_WAIT_MS) <= 0) {
                return n;
            }
            continue;
        }
        const uint8_t *frame = (const uint8_t *) block + block->hdr.bh1.offset_to_first_pkt;
        for (uint32_t left = block->hdr.bh1.num_pkts; left; left--) {
            const struct tpacket3_hdr *hdr = (const void *) frame;
            bytes += hdr->tp_snaplen;
            frame += hdr->tp_next_offset;
            n++;
        }
        __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        r->next = (r->next + 1) % r->n_blocks;
        ef_bench_keep(bytes);
    }
    return n;
}

#endif
