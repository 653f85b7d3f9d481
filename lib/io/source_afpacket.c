/* SPDX-License-Identifier: Apache-2.0 */
/* Frames from a network interface through a TPACKET_V3 ring: the kernel fills
 * blocks of memory that we share with it, and hands a block over when it is
 * full or RETIRE_MS old; no system call per frame.
 *
 * A block goes back to the kernel at the call after the one that returned its
 * last frame, since a burst borrows the frames. Blocks are small, because one
 * frame alone may occupy a block: their number bounds how long we may pause at
 * low rates, their total size how long at high rates.
 *
 * An interface that went away may come back, as another one of the same name
 * and perhaps in another namespace of the same name: then everything is opened
 * anew. Only the descriptor's number stays, by which other threads read the
 * kernel's counter. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/byteorder.h"
#include "io/copy_filter.h"
#include "io/gre_silencer.h"
#include "io/netns.h"
#include "io/source_class.h"
#include "io/spec.h"

enum {
    DEFAULT_RING_BYTES = 32 << 20,
    BLOCK_BYTES = 128 << 10, /* Holds the largest frame, 64 KiB and a header. */
    MIN_BLOCKS = 4,
    FRAME_HINT_BYTES = 2048, /* The kernel wants one; version 3 packs frames. */
    RETIRE_MS = 4,
    VLAN_TAG_BYTES = 4,
    MAC_ADDRESSES_BYTES = 12,
    FIRST_RETRY_MS = 100, /* After an interface went away; then twice as long, up to ... */
    LAST_RETRY_MS = 1600,
};

struct afpacket {
    struct ef_source source;
    char name[IFNAMSIZ];
    char *netns; /* NULL: our own. */
    uint64_t ring_bytes;
    int fd;
    bool is_down, is_away;
    struct ef_time next_retry; /* While away; monotonic time. */
    int retry_ms;
    struct ef_gre_silencer silencer;
    uint8_t *ring;
    uint32_t n_blocks;
    /* Blocks are numbered for ever; modulo n_blocks is the place in the ring.
     * Those from `oldest` up to `current` are read and not yet given back. */
    uint64_t oldest, current;
    bool is_open;        /* `current` is ours and being read ... */
    uint32_t n_left;     /* ... with this many frames to come ... */
    const uint8_t *next; /* ... the first of them here. */
    _Atomic uint64_t overflows;
};

static struct afpacket *
afpacket_of(struct ef_source *source)
{
    return EF_CONTAINER_OF(source, struct afpacket, source);
}

static int
fail(struct ef_error *err, const char *what)
{
    int code = errno;
    return ef_error_set(err, -code, "%s: %s", what, strerror(code));
}

static int
find_interface(const struct afpacket *s, int *ifindex, struct ef_error *err)
{
    struct ifreq request = {0};
    memcpy(request.ifr_name, s->name, sizeof request.ifr_name);
    if (ioctl(s->fd, SIOCGIFINDEX, &request)) {
        int code = errno;
        return s->netns
                   ? ef_error_set(err, -code, "no interface '%s' in network namespace '%s'; `ip -n %s link` lists them",
                                  s->name, s->netns, s->netns)
                   : ef_error_set(err, -code, "no interface '%s'; `ip link` lists them", s->name);
    }
    *ifindex = request.ifr_ifindex;
    if (ioctl(s->fd, SIOCGIFHWADDR, &request)) {
        return fail(err, "cannot read the interface's type");
    }
    if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER && request.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK) {
        return ef_error_set(err, -EPROTOTYPE, "'%s' is not an Ethernet interface", s->name);
    }
    return 0;
}

static int
set_options(const struct afpacket *s, struct ef_error *err)
{
    int version = TPACKET_V3, yes = 1, headroom = VLAN_TAG_BYTES;
    if (setsockopt(s->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version)) {
        return fail(err, "the kernel has no TPACKET_V3 rings");
    }
    if (setsockopt(s->fd, SOL_PACKET, PACKET_RESERVE, &headroom, sizeof headroom)) {
        return fail(err, "cannot reserve headroom for VLAN tags");
    }
    if (setsockopt(s->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes)) {
        return fail(err, "the kernel cannot leave out outgoing frames (Linux 4.20 or later is needed)");
    }
    if (setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_FILTER, &ef_copy_filter, sizeof ef_copy_filter)) {
        return fail(err, "cannot attach the filter");
    }
    return 0;
}

static int
map_ring(struct afpacket *s, struct ef_error *err)
{
    uint64_t n_blocks = (s->ring_bytes ? s->ring_bytes : DEFAULT_RING_BYTES) / BLOCK_BYTES;
    if (n_blocks > INT32_MAX / BLOCK_BYTES) {
        return ef_error_set(err, -ERANGE, "a receive ring has at most 2 GiB");
    }
    s->n_blocks = EF_MAX((uint32_t) n_blocks, (uint32_t) MIN_BLOCKS);
    struct tpacket_req3 request = {
        .tp_block_size = BLOCK_BYTES,
        .tp_block_nr = s->n_blocks,
        .tp_frame_size = FRAME_HINT_BYTES,
        .tp_frame_nr = BLOCK_BYTES / FRAME_HINT_BYTES * s->n_blocks,
        .tp_retire_blk_tov = RETIRE_MS,
    };
    if (setsockopt(s->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request)) {
        return fail(err, "cannot allocate the receive ring");
    }
    void *ring = mmap(NULL, (size_t) BLOCK_BYTES * s->n_blocks, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (ring == MAP_FAILED) {
        return fail(err, "cannot map the receive ring");
    }
    s->ring = ring;
    return 0;
}

/* Binding comes last: nothing arrives before the filter and the ring are there. */
static int
attach(const struct afpacket *s, int ifindex, struct ef_error *err)
{
    struct packet_mreq promiscuous = {.mr_ifindex = ifindex, .mr_type = PACKET_MR_PROMISC};
    if (setsockopt(s->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous)) {
        return fail(err, "cannot set promiscuous mode");
    }
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = ef_be16_of(ETH_P_ALL).raw,
        .sll_ifindex = ifindex,
    };
    if (bind(s->fd, (struct sockaddr *) &address, sizeof address)) {
        return fail(err, "cannot bind to the interface");
    }
    return 0;
}

static int
set_up(struct afpacket *s, struct ef_error *err)
{
    int ifindex = 0;
    s->fd = ef_netns_socket(s->netns, AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0, err);
    if (s->fd < 0) {
        return s->fd;
    }
    int rc = find_interface(s, &ifindex, err);
    if (!rc) {
        rc = set_options(s, err);
    }
    if (!rc) {
        rc = map_ring(s, err);
    }
    if (!rc) {
        rc = ef_gre_silencer_init(&s->silencer, s->netns, err);
    }
    return rc ? rc : attach(s, ifindex, err);
}

static void
unmap_ring(struct afpacket *s)
{
    if (s->ring) {
        munmap(s->ring, (size_t) BLOCK_BYTES * s->n_blocks);
        s->ring = NULL;
    }
}

static void
tear_down(struct afpacket *s)
{
    unmap_ring(s);
    if (s->fd >= 0) {
        close(s->fd);
    }
    ef_gre_silencer_deinit(&s->silencer);
}

static void
afpacket_close(struct ef_source *source)
{
    struct afpacket *s = afpacket_of(source);
    tear_down(s);
    free(s->netns);
    free(s);
}

static int
afpacket_open(const char *where, uint64_t ring_bytes, struct ef_source **out, struct ef_error *err)
{
    struct afpacket *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    s->fd = -1;
    s->silencer = (struct ef_gre_silencer){-1, -1};
    s->ring_bytes = ring_bytes;
    const char *netns;
    int rc = ef_spec_split_netns(where, s->name, sizeof s->name, &netns, err);
    if (!rc && netns && !(s->netns = strdup(netns))) {
        rc = ef_error_set(err, -ENOMEM, "out of memory");
    }
    if (!rc) {
        rc = set_up(s, err);
    }
    if (rc) {
        afpacket_close(&s->source);
        return rc;
    }
    *out = &s->source;
    return 0;
}

static struct tpacket_block_desc *
block_at(const struct afpacket *s, uint64_t number)
{
    return (void *) (s->ring + number % s->n_blocks * BLOCK_BYTES);
}

/* Both sides order their accesses to a block by its status word. */
static bool
is_ours(struct tpacket_block_desc *block)
{
    return __atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

static void
give_back(struct tpacket_block_desc *block)
{
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

static void
leave_block_if_read(struct afpacket *s)
{
    if (s->is_open && !s->n_left) {
        s->is_open = false;
        s->current++;
    }
}

/* Makes `n_left` positive; false if the kernel has nothing for us. */
static bool
enter_block(struct afpacket *s)
{
    for (;;) {
        leave_block_if_read(s);
        if (s->is_open) {
            return true;
        }
        struct tpacket_block_desc *block = block_at(s, s->current);
        if (s->current - s->oldest >= s->n_blocks || !is_ours(block)) {
            return false;
        }
        s->is_open = true;
        s->n_left = block->hdr.bh1.num_pkts;
        s->next = (const uint8_t *) block + block->hdr.bh1.offset_to_first_pkt;
    }
}

/* The kernel takes the outer VLAN tag out of the frame; this puts it back. The
 * room in front of the frame is the reserved headroom. */
static uint8_t *
restore_vlan_tag(const struct tpacket3_hdr *hdr, uint8_t *data)
{
    uint16_t tpid = hdr->tp_status & TP_STATUS_VLAN_TPID_VALID ? hdr->hv1.tp_vlan_tpid : ETH_P_8021Q;
    uint8_t *start = data - VLAN_TAG_BYTES;
    memmove(start, data, MAC_ADDRESSES_BYTES);
    ef_store_be16(start + MAC_ADDRESSES_BYTES, tpid);
    ef_store_be16(start + MAC_ADDRESSES_BYTES + 2, (uint16_t) hdr->hv1.tp_vlan_tci);
    return start;
}

static void
take_frame(struct afpacket *s, struct ef_frame *frame)
{
    const struct tpacket3_hdr *hdr = (const void *) s->next;
    uint8_t *data = (uint8_t *) hdr + hdr->tp_mac;
    frame->len = hdr->tp_snaplen;
    frame->wire_len = hdr->tp_len;
    frame->arrival.ns = hdr->tp_sec * EF_NS_PER_S + hdr->tp_nsec;
    frame->buffer = NULL;
    if (hdr->tp_status & TP_STATUS_VLAN_VALID && frame->len >= MAC_ADDRESSES_BYTES) {
        data = restore_vlan_tag(hdr, data);
        frame->len += VLAN_TAG_BYTES;
        frame->wire_len += VLAN_TAG_BYTES;
    }
    frame->data = data;
    s->next += hdr->tp_next_offset;
    s->n_left--;
}

static int
take_burst(struct afpacket *s, struct ef_frame *frames, int max)
{
    int n = 0;
    while (n < max && s->ring && enter_block(s)) {
        take_frame(s, &frames[n++]);
    }
    return n;
}

/* An interface that went away is not bound any more; one that is down is, and
 * delivers again when it is up. */
static int
check_interface(struct afpacket *s)
{
    struct sockaddr_ll address;
    socklen_t len = sizeof address;
    if (getsockname(s->fd, (struct sockaddr *) &address, &len)) {
        return fail(&s->source.error, "getsockname");
    }
    if (address.sll_ifindex > 0) {
        return 0;
    }
    s->is_away = true;
    s->retry_ms = FIRST_RETRY_MS;
    s->next_retry.ns = ef_time_mono().ns + s->retry_ms * EF_NS_PER_MS;
    return ef_error_set(&s->source.error, -ENODEV, "interface '%s' went away", s->name);
}

static int
wait_for_frames(struct afpacket *s, int timeout_ms)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    int n = poll(&p, 1, timeout_ms);
    if (n < 0) {
        return errno == EINTR ? 0 : fail(&s->source.error, "poll");
    }
    if (p.revents & POLLERR) {
        int code = 0;
        socklen_t len = sizeof code;
        getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &code, &len); /* Clears it. */
        if (code && code != ENETDOWN) {
            return ef_error_set(&s->source.error, -code, "interface '%s': %s", s->name, strerror(code));
        }
        s->is_down = true;
    }
    return s->is_down ? check_interface(s) : 0;
}

/* Reading the kernel's counter sets it to zero, so the sum is kept here. */
static uint64_t
afpacket_overflows(struct ef_source *source)
{
    struct afpacket *s = afpacket_of(source);
    struct tpacket_stats_v3 stats;
    socklen_t len = sizeof stats;
    if (!getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len)) {
        atomic_fetch_add_explicit(&s->overflows, stats.tp_drops, memory_order_relaxed);
    }
    return atomic_load_explicit(&s->overflows, memory_order_relaxed);
}

/* Gives the ring of the lost interface back, so that there is never memory for
 * two. What it held was read: it is empty, and was so a retry ago or more. */
static void
free_ring(struct afpacket *s)
{
    struct tpacket_req3 none = {0};
    unmap_ring(s);
    setsockopt(s->fd, SOL_PACKET, PACKET_RX_RING, &none, sizeof none);
}

/* Opens the interface that has the name now. */
static int
reopen(struct afpacket *s)
{
    struct afpacket fresh = {.fd = -1, .silencer = {-1, -1}, .netns = s->netns, .ring_bytes = s->ring_bytes};
    memcpy(fresh.name, s->name, sizeof fresh.name);
    free_ring(s);
    int rc = set_up(&fresh, NULL);
    if (!rc) {
        afpacket_overflows(&s->source); /* The last of the old socket. */
        rc = dup3(fresh.fd, s->fd, O_CLOEXEC) < 0 ? -errno : 0;
    }
    if (rc) {
        tear_down(&fresh);
        return rc;
    }
    close(fresh.fd);
    ef_gre_silencer_deinit(&s->silencer);
    s->silencer = fresh.silencer;
    s->ring = fresh.ring;
    s->n_blocks = fresh.n_blocks;
    s->oldest = s->current = 0;
    s->is_away = s->is_down = false;
    return 0;
}

/* Waits, and tries to reopen when it is time to. */
static int
wait_for_interface(struct afpacket *s, int timeout_ms)
{
    int64_t left_ms = ef_time_diff_ns(s->next_retry, ef_time_mono()) / EF_NS_PER_MS + 1;
    if (left_ms > 0) {
        poll(NULL, 0, (int) EF_MIN(left_ms, (int64_t) timeout_ms));
    }
    if (ef_time_before(s->next_retry, ef_time_mono())) {
        if (!reopen(s)) {
            return 0;
        }
        s->retry_ms = EF_MIN(2 * s->retry_ms, (int) LAST_RETRY_MS);
        s->next_retry.ns = ef_time_mono().ns + s->retry_ms * EF_NS_PER_MS;
    }
    return -ENODEV;
}

static int
afpacket_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct afpacket *s = afpacket_of(source);
    leave_block_if_read(s);
    while (s->oldest < s->current) {
        give_back(block_at(s, s->oldest++));
    }
    int n = take_burst(s, frames, max);
    if (!n) {
        int rc = s->is_away ? wait_for_interface(s, timeout_ms) : wait_for_frames(s, timeout_ms);
        if (rc) {
            return rc;
        }
        n = take_burst(s, frames, max);
    }
    if (n) {
        s->is_down = false;
    }
    return n;
}

const struct ef_source_class ef_source_afpacket_class = {
    .scheme = "afpacket",
    .usage = "afpacket:IFACE[@NETNS]",
    .open = afpacket_open,
    .close = afpacket_close,
    .receive = afpacket_receive,
    .overflows = afpacket_overflows,
};
