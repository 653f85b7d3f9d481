/* SPDX-License-Identifier: Apache-2.0 */
/* The faults that hold packets back: a link with more delay, and one with less
 * bandwidth. The BPF program of the port redirects what is meant into a pair of
 * veth links of their own; a process reads it at the other end, where the kernel
 * has stamped it with the time, waits until it is due, and sends it out at the
 * port with a mark that lets it pass.
 *
 *     switch -> port -> BPF: redirect -> efrN -> efrNb -> process -> port (marked) -> BPF: pass
 *
 * Packets stay in order. What is due is sent to within a few microseconds when
 * the machine is idle: the last SPIN_NS are waited for awake. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "utilities/fabric/fault.h"
#include "utilities/fabric/fault_bpf.h"
#include "utilities/fabric/worker.h"
#include "utilities/fabric/memory.h"
#include "utilities/fabric/netns.h"
#include "utilities/fabric/run_command.h"

#define SPIN_NS (60 * EF_NS_PER_US)
#define N_SLOTS 4096 /* A power of two. A queue that is full drops, as queues do. */
#define SLOT_SIZE 2048
#define SOCKET_BUFFER (8 << 20)

struct slot {
    int64_t due_ns; /* CLOCK_REALTIME, as the kernel's stamps are. */
    size_t len;
    uint8_t frame[SLOT_SIZE];
};

struct relay {
    const struct ef_fault *fault;
    char inner[IFNAMSIZ]; /* Where the process reads. */
    const char *port;
    int in, out;
    struct slot *slots; /* A ring: [head, tail) are held. */
    uint64_t head, tail;
    int64_t last_due_ns;
};

/* --- The process ------------------------------------------------------------ */

static int
open_packet_socket(const char *interface, int protocol, struct ef_error *err)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = (int) if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof address)) {
        int rc = ef_error_set(err, -errno, "cannot open a packet socket at %s: %s", interface, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return rc;
    }
    return fd;
}

static int
prepare(void *relay_, struct ef_error *err)
{
    struct relay *r = relay_;
    const int on = 1, size = SOCKET_BUFFER;
    const unsigned mark = EF_FAULT_MARK | r->fault->id;
    const struct sched_param first = {.sched_priority = 1};
    r->slots = calloc(N_SLOTS, sizeof *r->slots);
    r->in = open_packet_socket(r->inner, ETH_P_ALL, err);
    r->out = r->in < 0 ? -1 : open_packet_socket(r->port, 0, err);
    if (r->out < 0) {
        return -EIO;
    }
    if (!r->slots || setsockopt(r->in, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
        setsockopt(r->in, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) ||
        setsockopt(r->out, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) ||
        setsockopt(r->out, SOL_SOCKET, SO_MARK, &mark, sizeof mark)) {
        return ef_error_set(err, -errno, "cannot set up the fault's sockets: %s", strerror(errno));
    }
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_FIFO, &first); /* Exacter; without it also right. */
    return 0;
}

static int64_t
stamp_of(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
            struct timespec ts;
            memcpy(&ts, CMSG_DATA(c), sizeof ts);
            return ts.tv_sec * EF_NS_PER_S + ts.tv_nsec;
        }
    }
    return ef_time_real().ns;
}

/* A link that delays keeps everything as long; a slow one sends one frame after
 * the other. */
static int64_t
due_time(struct relay *r, int64_t arrival_ns, size_t len)
{
    int64_t due = arrival_ns + r->fault->delay_ns;
    if (r->fault->kind->rate == EF_FAULT_BITS) {
        due = EF_MAX(due, r->last_due_ns) + (int64_t) ((double) len * 8e9 / r->fault->rate);
    }
    return r->last_due_ns = EF_MAX(due, r->last_due_ns); /* Whatever the clock does. */
}

/* Takes one frame in; false if there is none. */
static bool
take_in(struct relay *r)
{
    static uint8_t overflow[SLOT_SIZE];
    bool full = r->tail - r->head == N_SLOTS;
    struct slot *slot = &r->slots[r->tail % N_SLOTS];
    char control[256];
    struct sockaddr_ll from;
    struct iovec iov = {full ? overflow : slot->frame, SLOT_SIZE};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof from,
                             .msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t len = recvmsg(r->in, &message, 0);
    if (len < 0) {
        return false;
    }
    if (!full && from.sll_pkttype != PACKET_OUTGOING && !(message.msg_flags & MSG_TRUNC)) {
        slot->len = (size_t) len;
        slot->due_ns = due_time(r, stamp_of(&message), slot->len);
        r->tail++;
    }
    return true;
}

static void
send_due(struct relay *r)
{
    while (r->head < r->tail && r->slots[r->head % N_SLOTS].due_ns <= ef_time_real().ns) {
        struct slot *slot = &r->slots[r->head++ % N_SLOTS];
        if (send(r->out, slot->frame, slot->len, 0) < 0) {
            continue; /* The port is down: as on a cable that is cut. */
        }
    }
}

static void
run(void *relay_)
{
    struct relay *r = relay_;
    struct pollfd in = {.fd = r->in, .events = POLLIN};
    for (;;) {
        struct timespec timeout;
        bool idle = r->head == r->tail;
        int64_t ns = idle ? 0 : r->slots[r->head % N_SLOTS].due_ns - ef_time_real().ns - SPIN_NS;
        if (idle || ns > 0) {
            timeout = (struct timespec){ns / EF_NS_PER_S, ns % EF_NS_PER_S};
            ppoll(&in, 1, idle ? NULL : &timeout, NULL);
        }
        for (int i = 0; i < 64 && take_in(r); i++) {
        }
        send_due(r);
        if (in.revents & (POLLERR | POLLHUP | POLLNVAL)) {
            return; /* The links are gone. */
        }
    }
}

/* --- Making and undoing ----------------------------------------------------- */

static void
name_links(const struct ef_fault *fault, char outer[IFNAMSIZ], char inner[IFNAMSIZ])
{
    snprintf(outer, IFNAMSIZ, "efr%u", fault->id);
    snprintf(inner, IFNAMSIZ, "efr%ub", fault->id);
}

static int
make_links(const char *outer, const char *inner, struct ef_error *err)
{
    const char *argv[] = {"ip", "-batch", "-", NULL};
    char *batch = ef_xasprintf("link add %s mtu 9000 group %d type veth peer name %s mtu 9000 group %d\n", outer,
                               EF_LINK_GROUP, inner, EF_LINK_GROUP);
    int rc = ef_run(argv, batch, NULL, err);
    free(batch);
    for (int i = 0; !rc && i < 2; i++) {
        const char *name = i ? inner : outer;
        bool ipv6 = !access("/proc/sys/net/ipv6", F_OK);
        batch = ef_xasprintf("%s%s%slink set dev %s arp off up\n", ipv6 ? "link set dev " : "", ipv6 ? name : "",
                             ipv6 ? " addrgenmode none\n" : "", name);
        rc = ef_run(argv, batch, NULL, err);
        free(batch);
    }
    return rc;
}

static int
start_here(const struct ef_topology *t, const struct ef_fault *fault, const char *port, struct ef_error *err)
{
    char pidfile[EF_STATE_PATH_SIZE];
    struct relay r = {.fault = fault, .port = port};
    struct ef_work work = {prepare, run, &r};
    struct ef_fault_params params = ef_fault_params_of(fault, EF_FAULT_REDIRECT);
    char outer[IFNAMSIZ];
    name_links(fault, outer, r.inner);
    int rc = make_links(outer, r.inner, err);
    if (!rc) {
        rc = ef_worker_start(ef_fault_pidfile(t, fault, pidfile), &work, err);
    }
    if (!rc) {
        params.interface = if_nametoindex(outer);
        rc = ef_fault_bpf_attach(port, &params, err);
    }
    return rc;
}

/* Calls `job` in the switch's namespace. */
static int
at_switch(const struct ef_topology *t, const struct ef_fault *fault,
          int (*job)(const struct ef_topology *t, const struct ef_fault *fault, const char *port, struct ef_error *err),
          struct ef_error *err)
{
    const struct ef_topology_port *port = ef_topology_port(ef_topology_switch(t, fault->node), fault->port);
    char netns[EF_NETNS_NAME_SIZE];
    int here = ef_netns_here();
    int rc = ef_netns_enter(ef_topology_netns(t, fault->node, netns), err);
    if (!rc) {
        rc = job(t, fault, port->name, err);
    }
    ef_netns_return(here);
    return rc;
}

static int
start(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    return at_switch(t, fault, start_here, err);
}

/* First nothing new comes in, then what is held may go. */
static int
stop_here(const struct ef_topology *t, const struct ef_fault *fault, const char *port, struct ef_error *err)
{
    char pidfile[EF_STATE_PATH_SIZE];
    char outer[IFNAMSIZ], inner[IFNAMSIZ];
    name_links(fault, outer, inner);
    int rc = ef_fault_bpf_detach(port, fault->id, err);
    if (rc) {
        return rc;
    }
    const struct timespec rest = {fault->delay_ns / EF_NS_PER_S, fault->delay_ns % EF_NS_PER_S};
    nanosleep(&rest, NULL);
    ef_worker_stop(ef_fault_pidfile(t, fault, pidfile));
    const char *argv[] = {"ip", "link", "del", "dev", outer, NULL};
    return if_nametoindex(outer) ? ef_run(argv, NULL, NULL, err) : 0;
}

static int
stop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    return at_switch(t, fault, stop_here, err);
}

const struct ef_fault_kind ef_fault_delay = {
    .name = "delay",
    .help = "it leaves --delay later",
    .needs_port = true,
    .takes_port = true,
    .takes_match = true,
    .needs_delay = true,
    .start = start,
    .stop = stop,
    .count = ef_fault_count_ports,
};

const struct ef_fault_kind ef_fault_queue = {
    .name = "queue",
    .help = "the port has only --rate (such as 5mbit), so that a queue builds up",
    .needs_port = true,
    .takes_port = true,
    .takes_match = true,
    .rate = EF_FAULT_BITS,
    .start = start,
    .stop = stop,
    .count = ef_fault_count_ports,
};
