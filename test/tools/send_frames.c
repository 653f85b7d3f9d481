/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the frames of a capture out of an interface, as they are.
 *
 *     send_frames [--rate N] [--to MAC] [--loop N] FILE IFACE[@NETNS]
 *
 * --rate N frames a second at most (default: as fast as it goes); --to sets
 * their destination address; --loop sends the capture N times. Prints how many
 * were sent. */
#include <config.h>

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/parse_number.h"
#include "io/netns.h"
#include "io/source.h"

enum { MAX_FRAME = 65536, MAC_BYTES = 6 };

struct sender {
    uint64_t rate, loops;
    bool has_mac;
    uint8_t mac[MAC_BYTES];
    int fd;
    uint64_t n_sent;
    struct ef_time start_mono;
};

static int
set_rate(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--rate", 1, 100000000, &((struct sender *) ctx)->rate, err);
}

static int
set_loops(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--loop", 1, 1000000, &((struct sender *) ctx)->loops, err);
}

static int
set_mac(void *ctx, const char *value, struct ef_error *err)
{
    struct sender *s = ctx;
    uint8_t *m = s->mac;
    char rest;
    s->has_mac = true;
    int n = sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", m, m + 1, m + 2, m + 3, m + 4, m + 5, &rest);
    return n == MAC_BYTES ? 0 : ef_error_set(err, -EINVAL, "--to: '%.40s' is not an Ethernet address", value);
}

static const struct ef_option options[] = {
    {"rate", 0, "N", "frames a second at most", set_rate},
    {"to", 0, "MAC", "destination address instead of the capture's", set_mac},
    {"loop", 0, "N", "how often to send the capture (default 1)", set_loops},
    {0},
};

static int
open_interface(struct sender *s, const char *spec, struct ef_error *err)
{
    struct ifreq request = {0};
    size_t n = strcspn(spec, "@");
    if (n >= sizeof request.ifr_name) {
        return ef_error_set(err, -EINVAL, "'%.40s' is too long for an interface", spec);
    }
    memcpy(request.ifr_name, spec, n);
    s->fd = ef_netns_socket(spec[n] ? spec + n + 1 : NULL, AF_PACKET, SOCK_RAW, 0, err);
    if (s->fd < 0) {
        return s->fd;
    }
    if (ioctl(s->fd, SIOCGIFINDEX, &request)) {
        return ef_error_set(err, -errno, "%s: %s", spec, strerror(errno));
    }
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = request.ifr_ifindex};
    if (bind(s->fd, (struct sockaddr *) &address, sizeof address)) {
        return ef_error_set(err, -errno, "%s: %s", spec, strerror(errno));
    }
    return 0;
}

static void
pace(const struct sender *s)
{
    if (s->rate) {
        int64_t due = s->start_mono.ns + (int64_t) (s->n_sent * (uint64_t) EF_NS_PER_S / s->rate);
        struct timespec ts = {due / EF_NS_PER_S, due % EF_NS_PER_S};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
    }
}

static int
send_frame(struct sender *s, const struct ef_frame *frame, struct ef_error *err)
{
    uint8_t data[MAX_FRAME];
    uint32_t len = EF_MIN(frame->len, (uint32_t) MAX_FRAME);
    memcpy(data, frame->data, len);
    if (s->has_mac && len >= MAC_BYTES) {
        memcpy(data, s->mac, MAC_BYTES);
    }
    pace(s);
    while (send(s->fd, data, len, 0) < 0) {
        if (errno != ENOBUFS && errno != EINTR) {
            return ef_error_set(err, -errno, "a frame of %u bytes: %s", len, strerror(errno));
        }
    }
    s->n_sent++;
    return 0;
}

static int
send_file(struct sender *s, const char *path, struct ef_error *err)
{
    char spec[4096];
    struct ef_source *source;
    struct ef_frame frames[EF_BURST];
    snprintf(spec, sizeof spec, "pcap:%s", path);
    int rc = ef_source_open(spec, 0, &source, err), n;
    if (rc) {
        return rc;
    }
    while (!rc && (n = ef_source_receive(source, frames, EF_BURST, 0)) > 0) {
        for (int i = 0; i < n && !rc; i++) {
            rc = send_frame(s, &frames[i], err);
        }
    }
    if (!rc && n != -ENODATA) {
        rc = ef_error_set(err, n, "%s", ef_source_error(source));
    }
    ef_source_close(source);
    return rc;
}

int
main(int argc, char *argv[])
{
    struct sender s = {.loops = 1, .fd = -1};
    struct ef_error err = EF_ERROR_INIT;
    struct ef_option_group groups[] = {{"Options", options, &s}, {0}};
    int first = ef_options_parse(groups, argc, argv, &err);
    if (first < 0 || argc - first != 2) {
        fprintf(stderr, "%s%susage: send_frames [--rate N] [--to MAC] [--loop N] FILE IFACE[@NETNS]\n", err.text,
                err.text[0] ? "\n" : "");
        return 2;
    }
    int rc = open_interface(&s, argv[first + 1], &err);
    s.start_mono = ef_time_mono();
    for (uint64_t i = 0; i < s.loops && !rc; i++) {
        rc = send_file(&s, argv[first], &err);
    }
    if (rc) {
        fprintf(stderr, "send_frames: %s\n", err.text);
    }
    if (s.fd >= 0) {
        close(s.fd);
    }
    printf("%llu\n", (unsigned long long) s.n_sent);
    return rc ? 1 : 0;
}
