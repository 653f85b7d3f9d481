/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that answers for the VIPs; see responder.h. */
#include <config.h>

#include "reshuffler/responder.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "io/netns.h"

enum { MAX_A_TURN = 64 };

struct ef_responder {
    struct event_base *base;
    const struct ef_plan_cell *plans;
    char interface[IFNAMSIZ];
    const char *netns;
    int fd, index;
    uint8_t mac[6];
    struct event *readable, *tick;
    struct ef_answer_budget budget;
    struct ef_responder_stats stats;
};

/* ARP; IPv4 with ICMP; IPv6 with ICMPv6. Jumps count from the next instruction. */
static struct sock_filter program[] = {
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 6, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 2),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14 + 9),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMP, 3, 4),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 3),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14 + 6),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 0x40000),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

bool
ef_answer_budget_take(struct ef_answer_budget *b, struct ef_time now)
{
    int64_t earned = ef_time_diff_ns(now, b->filled) / (EF_NS_PER_S / EF_RESPONDER_PER_S);
    if (earned >= EF_RESPONDER_PER_S || !b->filled.ns) {
        b->tokens = EF_RESPONDER_PER_S;
        b->filled = now;
    } else if (earned > 0) {
        b->tokens = EF_MIN(b->tokens + earned, (int64_t) EF_RESPONDER_PER_S);
        b->filled.ns += earned * (EF_NS_PER_S / EF_RESPONDER_PER_S);
    }
    if (b->tokens <= 0) {
        return false;
    }
    b->tokens--;
    return true;
}

static void
answer(struct ef_responder *r, const uint8_t *frame, uint32_t len)
{
    uint8_t out[EF_ANSWER_MAX_BYTES];
    enum ef_answer_kind kind = EF_ANSWER_ARP;
    uint32_t n = ef_answer_frame(ef_plan_cell_current(r->plans), r->mac, frame, len, out, &kind);
    if (!n) {
        return;
    }
    if (!ef_answer_budget_take(&r->budget, ef_time_mono())) {
        r->stats.limited++;
    } else if (send(r->fd, out, n, MSG_DONTWAIT) == (ssize_t) n) {
        r->stats.answers[kind]++;
    }
}

/* The kernel takes a VLAN tag out of the frame and says so beside it; whoever
 * asked within a VLAN would not get our answer without one. */
static bool
had_tag(struct msghdr *msg)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        struct tpacket_auxdata aux;
        if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA && c->cmsg_len >= CMSG_LEN(sizeof aux)) {
            memcpy(&aux, CMSG_DATA(c), sizeof aux);
            return aux.tp_status & TP_STATUS_VLAN_VALID;
        }
    }
    return false;
}

static void
on_readable(evutil_socket_t fd, short what, void *ctx)
{
    struct ef_responder *r = ctx;
    uint8_t frame[EF_ANSWER_MAX_BYTES];
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    } control;
    for (int i = 0; i < MAX_A_TURN; i++) {
        struct iovec iov = {frame, sizeof frame};
        struct msghdr msg = {
            .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);
        if (n < 0) {
            return; /* No more, or the interface is down or away; on_tick sees to that. */
        }
        if (!(msg.msg_flags & MSG_TRUNC) && !had_tag(&msg)) {
            answer(r, frame, (uint32_t) n);
        }
    }
}

/* Its index and Ethernet address. */
static int
look_up(struct ef_responder *r, int fd, int *index)
{
    struct ifreq req = {0};
    memcpy(req.ifr_name, r->interface, sizeof r->interface);
    if (ioctl(fd, SIOCGIFINDEX, &req)) {
        return -errno;
    }
    *index = req.ifr_ifindex;
    if (ioctl(fd, SIOCGIFHWADDR, &req)) {
        return -errno;
    }
    memcpy(r->mac, req.ifr_hwaddr.sa_data, sizeof r->mac);
    return 0;
}

static int
prepare(struct ef_responder *r, int fd, int index)
{
    static const struct sock_fprog filter = {.len = EF_ARRAY_SIZE(program), .filter = program};
    static const int yes = 1;
    struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = index};
    /* The filter before the binding: nothing else ever comes. */
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) ||
        setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &yes, sizeof yes) ||
        bind(fd, (struct sockaddr *) &where, sizeof where)) {
        return -errno;
    }
    r->readable = event_new(r->base, fd, EV_READ | EV_PERSIST, on_readable, r);
    return r->readable && !event_add(r->readable, NULL) ? 0 : -ENOMEM;
}

static void
close_socket(struct ef_responder *r)
{
    if (r->readable) {
        event_free(r->readable);
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    r->readable = NULL;
    r->fd = -1;
}

static int
open_socket(struct ef_responder *r, struct ef_error *err)
{
    r->fd = ef_netns_socket(r->netns, AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0, err);
    if (r->fd < 0) {
        return r->fd;
    }
    int rc = look_up(r, r->fd, &r->index);
    rc = rc ? rc : prepare(r, r->fd, r->index);
    if (rc) {
        close_socket(r);
        return ef_error_set(err, rc, "--answer: interface '%s': %s", r->interface, strerror(-rc));
    }
    return 0;
}

/* The interface may be another one of the same name by now, or have another
 * address. */
static void
on_tick(evutil_socket_t fd, short what, void *ctx)
{
    struct ef_responder *r = ctx;
    struct ef_error err = EF_ERROR_INIT;
    int index;
    if (r->fd >= 0 && (look_up(r, r->fd, &index) || index != r->index)) {
        close_socket(r);
    }
    if (r->fd < 0 && !open_socket(r, &err)) {
        ef_log_info("responder", "answers for the VIPs at %s again", r->interface);
    }
}

/* "afpacket:IFACE[@NETNS]" */
static int
parse_spec(struct ef_responder *r, const char *spec, struct ef_error *err)
{
    static const char scheme[] = "afpacket:";
    const char *name = spec + sizeof scheme - 1;
    if (strncmp(spec, scheme, sizeof scheme - 1)) {
        return ef_error_set(err, -EINVAL, "--answer: only for sources afpacket:IFACE, not for '%.60s'", spec);
    }
    size_t len = strcspn(name, "@");
    if (!len || len >= sizeof r->interface) {
        return ef_error_set(err, -EINVAL, "--answer: '%.60s' names no interface", spec);
    }
    memcpy(r->interface, name, len);
    r->netns = name[len] ? name + len + 1 : NULL;
    return 0;
}

int
ef_responder_create(struct event_base *base, const struct ef_plan_cell *plans, const char *source_spec,
                    struct ef_responder **out, struct ef_error *err)
{
    static const struct timeval second = {.tv_sec = 1};
    struct ef_responder *r = calloc(1, sizeof *r);
    if (!r) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    r->base = base;
    r->plans = plans;
    r->fd = -1;
    int rc = parse_spec(r, source_spec, err);
    rc = rc ? rc : open_socket(r, err);
    if (!rc) {
        r->tick = event_new(base, -1, EV_PERSIST, on_tick, r);
        rc = r->tick && !event_add(r->tick, &second) ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
    }
    if (rc) {
        ef_responder_destroy(r);
        return rc;
    }
    *out = r;
    return 0;
}

void
ef_responder_destroy(struct ef_responder *r)
{
    if (!r) {
        return;
    }
    close_socket(r);
    if (r->tick) {
        event_free(r->tick);
    }
    free(r);
}

void
ef_responder_stats(const struct ef_responder *r, struct ef_responder_stats *stats)
{
    *stats = r->stats;
}
