/* SPDX-License-Identifier: Apache-2.0 */
/* Packets out: a sink of lib/io for IP packets, and what sinks do not do,
 * frames; see output.h. */
#include <config.h>

#include "guided-prober/output.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "io/netns.h"

enum { BATCH = 64, BUFFER_BYTES = 256 << 10, WAIT_MS = 10, SNAPLEN = 65535 };

struct prober_output {
    struct ef_sink *sink; /* NULL: frames, to one of */
    int fd;               /* -1: not this. */
    pcap_t *pcap;
    pcap_dumper_t *dumper;
    struct ef_sink_stats stats; /* Of frames. */
    int last_error;
    int n;
    uint32_t used;
    uint8_t *buffer;
    struct iovec iov[BATCH];
    struct mmsghdr messages[BATCH];
};

const char *
prober_output_netns(const char *spec)
{
    const char *at = strncmp(spec, "pcap:", 5) ? strchr(spec, '@') : NULL;
    return at && at[1] ? at + 1 : NULL;
}

/* --- Opening -------------------------------------------------------------- */

static int
bind_to(int fd, const char *interface, struct ef_error *err)
{
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    if (ioctl(fd, SIOCGIFINDEX, &request)) {
        return ef_error_set(err, -errno, "no interface '%s'", interface);
    }
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = request.ifr_ifindex};
    if (bind(fd, (struct sockaddr *) &to, sizeof to)) {
        return ef_error_set(err, -errno, "cannot bind to interface '%s': %s", interface, strerror(errno));
    }
    return 0;
}

/* Protocol 0: it receives nothing. */
static int
open_interface(struct prober_output *o, const char *where, struct ef_error *err)
{
    char interface[IFNAMSIZ];
    const char *netns = prober_output_netns(where);
    size_t len = strcspn(where, "@");
    if (!len || len >= sizeof interface) {
        return ef_error_set(err, -EINVAL, "should read packet:INTERFACE[@NETNS]");
    }
    snprintf(interface, sizeof interface, "%.*s", (int) len, where);
    o->fd = ef_netns_socket(netns, AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0, err);
    return o->fd < 0 ? o->fd : bind_to(o->fd, interface, err);
}

static int
open_file(struct prober_output *o, const char *path, struct ef_error *err)
{
    o->pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, SNAPLEN, PCAP_TSTAMP_PRECISION_NANO);
    if (!o->pcap) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    o->dumper = pcap_dump_open(o->pcap, path);
    return o->dumper ? 0 : ef_error_set(err, -EIO, "%s", pcap_geterr(o->pcap));
}

static int
open_spec(struct prober_output *o, const char *spec, struct ef_error *err)
{
    if (!strncmp(spec, "packet:", 7)) {
        int rc = open_interface(o, spec + 7, err);
        return rc ? ef_error_prefix(err, rc, "output '%.60s'", spec) : 0;
    }
    if (!strncmp(spec, "pcap:", 5) && spec[5]) {
        return open_file(o, spec + 5, err);
    }
    if (!strncmp(spec, "ip", 2) && (!spec[2] || spec[2] == '@')) {
        return ef_sink_open(spec, &o->sink, err);
    }
    return ef_error_set(err, -EINVAL, "unknown output '%.60s'; should read ip[@NETNS] or packet:INTERFACE[@NETNS]",
                        spec);
}

int
prober_output_open(const char *spec, struct prober_output **out, struct ef_error *err)
{
    *out = NULL;
    struct prober_output *o = calloc(1, sizeof *o);
    uint8_t *buffer = malloc(BUFFER_BYTES);
    if (!o || !buffer) {
        free(o);
        free(buffer);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    o->fd = -1;
    o->buffer = buffer;
    int rc = open_spec(o, spec, err);
    if (rc) {
        prober_output_close(o);
        return rc;
    }
    *out = o;
    return 0;
}

void
prober_output_close(struct prober_output *o)
{
    if (!o) {
        return;
    }
    if (!o->sink && (o->fd >= 0 || o->dumper)) {
        prober_output_flush(o);
    }
    ef_sink_close(o->sink);
    if (o->fd >= 0) {
        close(o->fd);
    }
    if (o->dumper) {
        pcap_dump_close(o->dumper);
    }
    if (o->pcap) {
        pcap_close(o->pcap);
    }
    free(o->buffer);
    free(o);
}

bool
prober_output_takes_frames(const struct prober_output *o)
{
    return !o->sink;
}

/* --- Frames --------------------------------------------------------------- */

static void
count(struct prober_output *o, uint32_t len, int code)
{
    if (!code) {
        o->stats.packets++;
        o->stats.bytes += len;
    } else if (code == EMSGSIZE) {
        o->stats.too_big++;
    } else {
        o->stats.failed++;
        o->last_error = code;
    }
}

static bool
wait_for_room(int fd, int *patience_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int wait_ms = *patience_ms;
    *patience_ms = 0;
    return wait_ms && poll(&p, 1, wait_ms) == 1;
}

/* sendmmsg() stops at a frame that fails: that one is counted, the rest goes on. */
static void
send_frames(struct prober_output *o)
{
    int patience_ms = WAIT_MS;
    for (int i = 0; i < o->n;) {
        int sent = sendmmsg(o->fd, o->messages + i, (unsigned) (o->n - i), MSG_DONTWAIT);
        int code = sent < 0 ? errno : 0;
        for (int end = i + EF_MAX(sent, 0); i < end; i++) {
            count(o, (uint32_t) o->iov[i].iov_len, 0);
        }
        if (code == EINTR || (code == EAGAIN && wait_for_room(o->fd, &patience_ms))) {
            continue;
        }
        if (code) {
            count(o, (uint32_t) o->iov[i++].iov_len, code);
        }
    }
}

/* Buffered writing fails late: what a batch wrote counts only if the file took
 * it. */
static void
write_frames(struct prober_output *o)
{
    struct ef_time now = ef_time_real();
    for (int i = 0; i < o->n; i++) {
        struct pcap_pkthdr header = {
            .ts = {.tv_sec = now.ns / EF_NS_PER_S, .tv_usec = now.ns % EF_NS_PER_S}, /* Nanoseconds. */
            .caplen = (uint32_t) o->iov[i].iov_len,
            .len = (uint32_t) o->iov[i].iov_len,
        };
        pcap_dump((u_char *) o->dumper, &header, o->iov[i].iov_base);
    }
    errno = 0;
    int code = pcap_dump_flush(o->dumper) || ferror(pcap_dump_file(o->dumper)) ? (errno ? errno : EIO) : 0;
    for (int i = 0; i < o->n; i++) {
        count(o, (uint32_t) o->iov[i].iov_len, code);
    }
}

/* --- All ------------------------------------------------------------------ */

void
prober_output_flush(struct prober_output *o)
{
    if (o->sink) {
        ef_sink_flush(o->sink);
    } else if (o->n) {
        if (o->dumper) {
            write_frames(o);
        } else {
            send_frames(o);
        }
        o->n = 0;
        o->used = 0;
    }
}

/* A sink wants packets from their first byte: the Ethernet header before it, which
 * is not sent, lies in our own buffer's place. */
uint8_t *
prober_output_reserve(struct prober_output *o, uint32_t len)
{
    if (o->sink) {
        return o->buffer;
    }
    if (o->n == BATCH || len > BUFFER_BYTES - o->used) {
        prober_output_flush(o);
    }
    return o->buffer + o->used;
}

void
prober_output_commit(struct prober_output *o, uint32_t len, uint32_t start)
{
    if (o->sink) {
        ef_sink_queue(o->sink, o->buffer + start, len - start);
        return;
    }
    /* A capture shows packets without a frame of their own behind an empty header. */
    o->iov[o->n] = (struct iovec){o->buffer + o->used, len};
    o->messages[o->n] = (struct mmsghdr){.msg_hdr = {.msg_iov = &o->iov[o->n], .msg_iovlen = 1}};
    o->n++;
    o->used += len;
}

void
prober_output_stats(const struct prober_output *o, struct ef_sink_stats *stats)
{
    if (o->sink) {
        ef_sink_stats(o->sink, stats);
    } else {
        *stats = o->stats;
    }
}

int
prober_output_last_error(const struct prober_output *o)
{
    return o->sink ? ef_sink_last_error(o->sink) : o->last_error;
}
