/* SPDX-License-Identifier: Apache-2.0 */
/* IP packets with their own headers through raw sockets, one for each version.
 * The kernel routes by the destination, finds the neighbour, and keeps the
 * source address; for IPv4 it fills in the total length and the checksum. It
 * never fragments such packets: one larger than the MTU is refused. */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/copy_filter.h"
#include "io/netns.h"
#include "io/sink_class.h"
#include "io/spec.h"

enum { SEND_BUFFER_BYTES = 4 << 20, WAIT_MS = 10 };

struct ip_sink {
    struct ef_sink sink;
    char *netns;          /* NULL: our own. */
    int ipv4_fd, ipv6_fd; /* ipv6_fd is -1 where the kernel has no IPv6. */
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static struct ip_sink *
ip_sink_of(struct ef_sink *sink)
{
    return EF_CONTAINER_OF(sink, struct ip_sink, sink);
}

static void
close_sockets(struct ip_sink *s)
{
    if (s->ipv4_fd >= 0) {
        close(s->ipv4_fd);
    }
    if (s->ipv6_fd >= 0) {
        close(s->ipv6_fd);
    }
}

static void
ip_sink_close(struct ef_sink *sink)
{
    struct ip_sink *s = ip_sink_of(sink);
    close_sockets(s);
    free(s->netns);
    free(s);
}

/* With *_RECVERR the kernel reports what its queues drop (ENOBUFS), which it
 * hides from raw sockets otherwise. The errors also pile up in a queue that the
 * smallest receive buffer bounds. */
static int
configure(int fd, int level, int hdrincl, int recverr, struct ef_error *err)
{
    int yes = 1, least = 0, send_buffer = SEND_BUFFER_BYTES;
    if (setsockopt(fd, level, hdrincl, &yes, sizeof yes) || setsockopt(fd, level, recverr, &yes, sizeof yes) ||
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least) ||
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &ef_drop_all_filter, sizeof ef_drop_all_filter)) {
        return ef_error_set(err, -errno, "cannot set up the raw socket: %s", strerror(errno));
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof send_buffer)) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer); /* Up to wmem_max. */
    }
    return 0;
}

static int
open_sockets(struct ip_sink *s, struct ef_error *err)
{
    s->ipv4_fd = ef_netns_socket(s->netns, AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_RAW, err);
    if (s->ipv4_fd < 0) {
        return s->ipv4_fd;
    }
    int rc = configure(s->ipv4_fd, IPPROTO_IP, IP_HDRINCL, IP_RECVERR, err);
    if (rc) {
        return rc;
    }
    s->ipv6_fd = ef_netns_socket(s->netns, AF_INET6, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_RAW, err);
    if (s->ipv6_fd < 0) {
        return s->ipv6_fd == -EAFNOSUPPORT ? 0 : s->ipv6_fd;
    }
    return configure(s->ipv6_fd, IPPROTO_IPV6, IPV6_HDRINCL, IPV6_RECVERR, err);
}

static int
ip_sink_open(const char *where, struct ef_sink **out, struct ef_error *err)
{
    if (*where && *where != '@') {
        return ef_error_set(err, -EINVAL, "should read %s", ef_sink_ip_class.usage);
    }
    char nothing[1];
    const char *netns;
    int rc = ef_spec_split_netns(where, nothing, sizeof nothing, &netns, err);
    if (rc) {
        return rc;
    }
    struct ip_sink *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    s->ipv4_fd = s->ipv6_fd = -1;
    if (netns && !(s->netns = strdup(netns))) {
        rc = ef_error_set(err, -ENOMEM, "out of memory");
    } else {
        rc = open_sockets(s, err);
    }
    if (rc) {
        ip_sink_close(&s->sink);
        return rc;
    }
    *out = &s->sink;
    return 0;
}

static int
ip_sink_reopen(struct ef_sink *sink, struct ef_error *err)
{
    struct ip_sink *s = ip_sink_of(sink), fresh = {.netns = s->netns, .ipv4_fd = -1, .ipv6_fd = -1};
    int rc = open_sockets(&fresh, err);
    if (rc) {
        close_sockets(&fresh);
        return rc;
    }
    close_sockets(s);
    s->ipv4_fd = fresh.ipv4_fd;
    s->ipv6_fd = fresh.ipv6_fd;
    return 0;
}

/* The destination in the packet's own header; returns the size of the address,
 * or 0 if the packet is no IP packet. */
static socklen_t
destination_of(const struct ef_sink_packet *packet, union address *to)
{
    memset(to, 0, sizeof *to);
    if (packet->len >= sizeof(struct iphdr) && packet->data[0] >> 4 == 4) {
        to->v4.sin_family = AF_INET;
        memcpy(&to->v4.sin_addr, packet->data + offsetof(struct iphdr, daddr), sizeof to->v4.sin_addr);
        return sizeof to->v4;
    }
    if (packet->len >= sizeof(struct ip6_hdr) && packet->data[0] >> 4 == 6) {
        to->v6.sin6_family = AF_INET6;
        memcpy(&to->v6.sin6_addr, packet->data + offsetof(struct ip6_hdr, ip6_dst), sizeof to->v6.sin6_addr);
        return sizeof to->v6;
    }
    return 0;
}

/* Waits for room in the socket's send buffer, a little while and once a batch.
 * Queued errors, of which each was counted when it was returned, would end the
 * wait at once. */
static bool
wait_for_room(int fd, int *patience_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int wait_ms = *patience_ms;
    char byte;
    *patience_ms = 0;
    while (recv(fd, &byte, sizeof byte, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
    }
    return wait_ms && poll(&p, 1, wait_ms) == 1 && p.revents & POLLOUT;
}

/* Sends messages of one IP version. sendmmsg() stops at a message that fails:
 * that one is counted, the rest goes on. */
static void
send_all(struct ef_sink *sink, int fd, struct mmsghdr messages[], int n)
{
    int patience_ms = WAIT_MS;
    for (int i = 0; i < n;) {
        int sent = sendmmsg(fd, messages + i, (unsigned) (n - i), MSG_DONTWAIT);
        int code = sent < 0 ? errno : 0;
        for (int end = i + EF_MAX(sent, 0); i < end; i++) {
            ef_sink_count(sink, (uint32_t) messages[i].msg_hdr.msg_iov->iov_len, 0);
        }
        if (code == EINTR || (code == EAGAIN && wait_for_room(fd, &patience_ms))) {
            continue;
        }
        if (code) {
            ef_sink_count(sink, (uint32_t) messages[i++].msg_hdr.msg_iov->iov_len, code);
        }
    }
}

struct batch {
    int fd, n;
    union address to[EF_SINK_BATCH];
    struct iovec iov[EF_SINK_BATCH];
    struct mmsghdr messages[EF_SINK_BATCH];
};

static void
batch_add(struct batch *b, const struct ef_sink_packet *packet, const union address *to, socklen_t to_len)
{
    int i = b->n++;
    b->to[i] = *to;
    b->iov[i] = (struct iovec){packet->data, packet->len};
    b->messages[i] = (struct mmsghdr){
        .msg_hdr = {.msg_name = &b->to[i], .msg_namelen = to_len, .msg_iov = &b->iov[i], .msg_iovlen = 1},
    };
}

static void
ip_sink_send(struct ef_sink *sink, const struct ef_sink_packet packets[], int n)
{
    struct ip_sink *s = ip_sink_of(sink);
    struct batch b; /* Only its first `n` entries are ever filled in. */
    b.fd = -1;
    b.n = 0;
    for (int i = 0; i < n; i++) {
        union address to;
        socklen_t to_len = destination_of(&packets[i], &to);
        int fd = !to_len ? -1 : to.any.sa_family == AF_INET ? s->ipv4_fd : s->ipv6_fd;
        if (fd < 0) {
            ef_sink_count(sink, packets[i].len, to_len ? EAFNOSUPPORT : EINVAL);
            continue;
        }
        if (fd != b.fd) {
            send_all(sink, b.fd, b.messages, b.n);
            b.fd = fd;
            b.n = 0;
        }
        batch_add(&b, &packets[i], &to, to_len);
    }
    send_all(sink, b.fd, b.messages, b.n);
}

const struct ef_sink_class ef_sink_ip_class = {
    .scheme = "ip",
    .usage = "ip[@NETNS]",
    .open = ip_sink_open,
    .close = ip_sink_close,
    .send = ip_sink_send,
    .reopen = ip_sink_reopen,
};
