/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that comes through a pipe; see capture_pipe.h. Formats:
 * draft-ietf-opsawg-pcap-04, draft-ietf-opsawg-pcapng-02. */
#include <config.h>

#include "io/capture_pipe.h"

#include <byteswap.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"

enum {
    BUFFER_BYTES = 2 << 20, /* More than a frame may have. */
    PCAP_RECORD_BYTES = 16, /* Before each frame. */
    BLOCK_MIN_BYTES = 12,
    BLOCK_PACKET = 2,
    BLOCK_SIMPLE_PACKET = 3,
    BLOCK_ENHANCED_PACKET = 6
};

#define PCAP_US 0xa1b2c3d4u
#define PCAP_NS 0xa1b23c4du
#define BLOCK_SECTION 0x0a0d0d0au /* The same in both byte orders. */
#define SECTION_MAGIC 0x1a2b3c4du

enum format { FORMAT_UNKNOWN, FORMAT_PCAP, FORMAT_PCAPNG };

struct ef_capture_pipe {
    int fd;
    enum format format;
    bool is_swapped, has_ended;
    size_t begin, end; /* What has come and libpcap has not read. */
    size_t skipped;    /* From `begin`: blocks that are no packets. */
    size_t n_first;
    uint8_t first[BLOCK_MIN_BYTES]; /* The beginning, which says what it is. */
    uint8_t bytes[BUFFER_BYTES];
};

/* --- Bytes ------------------------------------------------------------------ */

static void
find_format(struct ef_capture_pipe *p)
{
    uint32_t magic, order;
    memcpy(&magic, p->first, sizeof magic);
    memcpy(&order, p->first + 8, sizeof order);
    if (magic == BLOCK_SECTION) {
        p->format = FORMAT_PCAPNG;
        p->is_swapped = order != SECTION_MAGIC;
    } else if (magic == PCAP_US || magic == PCAP_NS) {
        p->format = FORMAT_PCAP;
    } else if (bswap_32(magic) == PCAP_US || bswap_32(magic) == PCAP_NS) {
        p->format = FORMAT_PCAP;
        p->is_swapped = true;
    }
}

static void
keep_first(struct ef_capture_pipe *p, const uint8_t *bytes, size_t n)
{
    size_t room = sizeof p->first - p->n_first, taken = EF_MIN(n, room);
    memcpy(p->first + p->n_first, bytes, taken);
    p->n_first += taken;
    if (taken && p->n_first == sizeof p->first) {
        find_format(p);
    }
}

/* One read(), which waits if nothing has come. Returns 0, or a negative errno. */
static int
fill(struct ef_capture_pipe *p)
{
    if (p->begin) {
        memmove(p->bytes, p->bytes + p->begin, p->end - p->begin);
        p->end -= p->begin;
        p->begin = 0;
    }
    ssize_t n = read(p->fd, p->bytes + p->end, sizeof p->bytes - p->end);
    if (n < 0) {
        return -errno;
    }
    p->has_ended = n == 0;
    keep_first(p, p->bytes + p->end, (size_t) n);
    p->end += (size_t) n;
    return 0;
}

static ssize_t
give(void *cookie, char *out, size_t size)
{
    struct ef_capture_pipe *p = cookie;
    int rc = p->begin == p->end && !p->has_ended ? fill(p) : 0;
    if (rc) {
        errno = -rc;
        return -1;
    }
    size_t n = EF_MIN(size, p->end - p->begin);
    memcpy(out, p->bytes + p->begin, n);
    p->begin += n;
    p->skipped -= EF_MIN(n, p->skipped);
    return (ssize_t) n;
}

static int
close_all(void *cookie)
{
    struct ef_capture_pipe *p = cookie;
    close(p->fd);
    free(p);
    return 0;
}

FILE *
ef_capture_pipe_open(int fd, struct ef_capture_pipe **out)
{
    static const cookie_io_functions_t functions = {.read = give, .close = close_all};
    struct ef_capture_pipe *p = calloc(1, sizeof *p);
    FILE *file = p ? fopencookie(p, "r", functions) : NULL;
    if (!file) {
        close(fd);
        free(p);
        return NULL;
    }
    p->fd = fd;
    setvbuf(file, NULL, _IONBF, 0); /* So that what libpcap has not asked for is here. */
    *out = p;
    return file;
}

/* --- Frames ----------------------------------------------------------------- */

static uint32_t
get_u32(const struct ef_capture_pipe *p, size_t offset)
{
    uint32_t value;
    memcpy(&value, p->bytes + p->begin + offset, sizeof value);
    return p->is_swapped ? bswap_32(value) : value;
}

/* True if the next record is there, or is none that could be. */
static bool
has_record(const struct ef_capture_pipe *p)
{
    size_t n = p->end - p->begin;
    if (n < PCAP_RECORD_BYTES) {
        return false;
    }
    uint32_t len = get_u32(p, 8);
    return len > BUFFER_BYTES - PCAP_RECORD_BYTES || n >= PCAP_RECORD_BYTES + len;
}

static bool
is_packet(uint32_t type)
{
    return type == BLOCK_PACKET || type == BLOCK_SIMPLE_PACKET || type == BLOCK_ENHANCED_PACKET;
}

/* The same for blocks, of which libpcap reads all before a packet at once. */
static bool
has_packet_block(struct ef_capture_pipe *p)
{
    for (;;) {
        size_t n = p->end - p->begin - p->skipped;
        if (n < BLOCK_MIN_BYTES) {
            return false;
        }
        uint32_t type = get_u32(p, p->skipped);
        if (type == BLOCK_SECTION) {
            p->is_swapped ^= get_u32(p, p->skipped + 8) != SECTION_MAGIC;
        }
        uint32_t len = get_u32(p, p->skipped + 4);
        if (len < BLOCK_MIN_BYTES || len > BUFFER_BYTES || len % 4) {
            return true; /* Libpcap says why that is wrong. */
        }
        if (n < len) {
            return false;
        }
        if (is_packet(type)) {
            return true;
        }
        p->skipped += len;
    }
}

static bool
can_read_on(struct ef_capture_pipe *p)
{
    if (p->has_ended || p->format == FORMAT_UNKNOWN || p->end - p->begin == BUFFER_BYTES) {
        return true;
    }
    return p->format == FORMAT_PCAP ? has_record(p) : has_packet_block(p);
}

bool
ef_capture_pipe_wait(struct ef_capture_pipe *p, int timeout_ms)
{
    int64_t end_ns = ef_time_mono().ns + timeout_ms * EF_NS_PER_MS;
    while (!can_read_on(p)) {
        int64_t left_ns = end_ns - ef_time_mono().ns;
        struct pollfd polled = {.fd = p->fd, .events = POLLIN};
        int rc = poll(&polled, 1, left_ns > 0 ? (int) ((left_ns + EF_NS_PER_MS - 1) / EF_NS_PER_MS) : 0);
        if (rc <= 0) {
            return false;
        }
        rc = fill(p);
        if (rc) {
            return rc != -EINTR && rc != -EAGAIN; /* Libpcap meets the error when it reads. */
        }
    }
    return true;
}
