/* SPDX-License-Identifier: Apache-2.0 */
/* The faults that send what should not be there: a pause storm (priority flow
 * control, IEEE 802.1Qbb) out of a port, and RoCEv2 answers that say that
 * something was lost or is congested. A process sends one frame after the other
 * at a constant rate. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "utilities/fabric/fault.h"
#include "utilities/fabric/worker.h"
#include "utilities/fabric/netns.h"

#define FRAME_SIZE 128

struct injector {
    const struct ef_fault *fault;
    char interface[IFNAMSIZ];
    struct ef_mac source_mac, next_mac;
    uint32_t source, destination; /* Of RoCEv2. */
    int fd;
    /* Writes the `n`th frame; returns its length. */
    size_t (*write_frame)(const struct injector *in, uint64_t n, uint8_t frame[FRAME_SIZE]);
};

static uint8_t *
put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        *at++ = (uint8_t) (value >> 8 * i);
    }
    return at;
}

static uint8_t *
put_ethernet(uint8_t *at, const uint8_t destination[6], struct ef_mac source, uint16_t type)
{
    memcpy(at, destination, 6);
    memcpy(at + 6, source.bytes, 6);
    return put(at + 12, type, 2);
}

/* --- Frames ----------------------------------------------------------------- */

/* Priority 3, which RDMA uses as a rule, is to pause as long as can be said. */
static size_t
write_pfc(const struct injector *in, uint64_t n, uint8_t frame[FRAME_SIZE])
{
    static const uint8_t mac_control[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
    uint8_t *at = put_ethernet(frame, mac_control, in->source_mac, 0x8808);
    at = put(at, 0x0101, 2);
    at = put(at, 1u << 3, 2);
    for (int priority = 0; priority < 8; priority++) {
        at = put(at, priority == 3 ? 0xffff : 0, 2);
    }
    memset(at, 0, (size_t) (frame + 60 - at));
    return 60;
}

/* The invariant CRC of RoCEv2 (Annex A17): what changes on the way counts as
 * ones, and eight bytes of ones stand for the missing InfiniBand header. */
static uint32_t
invariant_crc(const uint8_t *ip, size_t len)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < len + 8; i++) {
        size_t at = i - 8;
        bool changes = i < 8 || at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27 || at == 32;
        crc ^= changes ? 0xff : ip[at];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

static uint16_t
internet_checksum(const uint8_t *at, size_t len)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < len; i += 2) {
        sum += (uint32_t) at[i] << 8 | at[i + 1];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

/* BTH and what follows it: an AETH whose syndrome says which kind of NAK, or 16
 * reserved bytes of a congestion notification. */
static uint8_t *
put_transport(uint8_t *at, const struct injector *in, uint64_t n)
{
    bool notification = !strcmp(in->fault->type, "cnp");
    at = put(at, notification ? 0x81 : 0x11, 1);
    at = put(at, 0, 1);
    at = put(at, 0xffff, 2);
    at = put(at, notification ? 0x40 : 0, 1); /* BECN */
    at = put(at, 0x100 + in->fault->seed % 0xff00, 3);
    at = put(at, 0, 1);
    at = put(at, n & 0xffffff, 3);
    if (notification) {
        memset(at, 0, 16);
        return at + 16;
    }
    at = put(at, !strcmp(in->fault->type, "rnr") ? 0x2e : 0x60, 1);
    return put(at, n & 0xffffff, 3);
}

static size_t
write_rocev2(const struct injector *in, uint64_t n, uint8_t frame[FRAME_SIZE])
{
    uint8_t *ip = put_ethernet(frame, in->next_mac.bytes, in->source_mac, ETH_P_IP);
    uint8_t *udp = ip + 20, *end = put_transport(udp + 8, in, n);
    size_t len = (size_t) (end - ip) + 4;
    put(ip, 0x45000000ull | len, 4);
    put(ip + 4, (n & 0xffff) << 16 | 0x4000, 4); /* Don't fragment. */
    put(ip + 8, 64u << 24 | 17u << 16, 4);
    put(ip + 12, in->source, 4);
    put(ip + 16, in->destination, 4);
    put(ip + 10, internet_checksum(ip, 20), 2);
    put(udp, 49152 + in->fault->seed % 16384, 2);
    put(udp + 2, 4791, 2);
    put(udp + 4, (len - 20) << 16, 4); /* Without a checksum, as RoCEv2 has it. */
    put(end, ntohl(invariant_crc(ip, len - 4)), 4);
    return (size_t) (end + 4 - frame);
}

/* --- The process ------------------------------------------------------------ */

static int
prepare(void *injector, struct ef_error *err)
{
    struct injector *in = injector;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int) if_nametoindex(in->interface)};
    in->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (in->fd < 0 || bind(in->fd, (struct sockaddr *) &address, sizeof address)) {
        return ef_error_set(err, -errno, "cannot open a packet socket at %s: %s", in->interface, strerror(errno));
    }
    return 0;
}

/* What could not be sent in time is not made up for. */
static void
run(void *injector)
{
    const struct injector *in = injector;
    const int64_t interval_ns = (int64_t) (1e9 / in->fault->rate);
    struct ef_time next = ef_time_mono();
    uint8_t frame[FRAME_SIZE];
    for (uint64_t n = 0;; n++) {
        size_t len = in->write_frame(in, n, frame);
        if (send(in->fd, frame, len, 0) < 0 && errno == ENXIO) {
            return; /* The link is gone. */
        }
        next = ef_time_add_ns(next, interval_ns);
        if (ef_time_before(next, ef_time_mono())) {
            next = ef_time_mono();
        }
        struct timespec until = {next.ns / EF_NS_PER_S, next.ns % EF_NS_PER_S};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
}

/* --- Making and undoing ----------------------------------------------------- */

static int
start_at(const struct ef_topology *t, const char *node, struct injector *in, struct ef_error *err)
{
    char pidfile[EF_STATE_PATH_SIZE];
    const struct ef_work work = {prepare, run, in};
    char netns[EF_NETNS_NAME_SIZE];
    int here = ef_netns_here();
    int rc = ef_netns_enter(ef_topology_netns(t, node, netns), err);
    if (!rc) {
        rc = ef_worker_start(ef_fault_pidfile(t, in->fault, pidfile), &work, err);
    }
    ef_netns_return(here);
    return rc;
}

static int
stop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    char pidfile[EF_STATE_PATH_SIZE];
    ef_worker_stop(ef_fault_pidfile(t, fault, pidfile));
    return 0;
}

static int
start_pfc(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    struct injector in = {.fault = fault, .write_frame = write_pfc};
    const struct ef_topology_switch *sw = ef_topology_switch(t, fault->node);
    snprintf(in.interface, sizeof in.interface, "%s", sw ? ef_topology_port(sw, fault->port)->name : EF_HOST_INTERFACE);
    in.source_mac = sw ? sw->mac : ef_topology_host(t, fault->node)->mac;
    return start_at(t, fault->node, &in, err);
}

/* The one that --match names, or one at another switch by chance. */
static const struct ef_topology_host *
choose_destination(const struct ef_topology *t, const struct ef_fault *fault, const struct ef_topology_host *from)
{
    const struct ef_topology_host *chosen = NULL;
    for (size_t i = 0; i < t->n_hosts; i++) {
        const struct ef_topology_host *host = &t->hosts[(i + fault->seed) % t->n_hosts];
        if (fault->match.destination_mask) {
            if ((host->address & fault->match.destination_mask) == fault->match.destination) {
                return host;
            }
        } else if (host->role == EF_HOST_PLAIN && host != from &&
                   (!chosen || !strcmp(chosen->switch_name, from->switch_name))) {
            chosen = host;
        }
    }
    return chosen;
}

static int
start_rdma(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    struct injector in = {.fault = fault, .interface = EF_HOST_INTERFACE, .write_frame = write_rocev2};
    const struct ef_topology_switch *sw = ef_topology_switch(t, fault->node);
    const struct ef_topology_host *from =
        ef_topology_host(t, sw ? ef_topology_port(sw, fault->port)->peer : fault->node);
    if (!from) {
        return ef_error_set(err, -EINVAL, "rdma-nack is sent by a host: --at HOST, or SWITCH:PORT of a port to one");
    }
    const struct ef_topology_host *to = choose_destination(t, fault, from);
    if (!to) {
        return ef_error_set(err, -EINVAL,
                            "there is no other host to send to; name one with --match 'ip.dst == ADDRESS'");
    }
    in.source = from->address;
    in.destination = to->address;
    in.source_mac = from->mac;
    in.next_mac = ef_topology_switch(t, from->switch_name)->mac;
    return start_at(t, from->name, &in, err);
}

const struct ef_fault_kind ef_fault_pfc_storm = {
    .name = "pfc-storm",
    .help = "pause frames leave at the port or host, --rate a second (default 1000)",
    .needs_port = true,
    .takes_port = true,
    .takes_host = true,
    .rate = EF_FAULT_FRAMES,
    .default_rate = 1000,
    .start = start_pfc,
    .stop = stop,
};

static const char *const rdma_types[] = {"nak", "rnr", "cnp", NULL};

const struct ef_fault_kind ef_fault_rdma_nack = {
    .name = "rdma-nack",
    .help = "a host sends RoCEv2 NAKs (--type nak, rnr or cnp), --rate a second (default 100)",
    .needs_port = true,
    .takes_port = true,
    .takes_host = true,
    .takes_match = true,
    .rate = EF_FAULT_FRAMES,
    .default_rate = 100,
    .types = rdma_types,
    .start = start_rdma,
    .stop = stop,
};
