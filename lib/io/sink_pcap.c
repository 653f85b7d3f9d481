/* SPDX-License-Identifier: Apache-2.0 */
/* Packets into a capture file, each behind an Ethernet header with zero
 * addresses and stamped with the time of its flush. */
#include <config.h>

#include <errno.h>
#include <linux/if_ether.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/time.h"
#include "io/sink_class.h"

struct pcap_sink {
    struct ef_sink sink;
    pcap_t *pcap;
    pcap_dumper_t *dumper;
    uint8_t frame[ETH_HLEN + EF_SINK_MAX_PACKET]; /* Starts with zero addresses. */
};

static struct pcap_sink *
pcap_sink_of(struct ef_sink *sink)
{
    return EF_CONTAINER_OF(sink, struct pcap_sink, sink);
}

static void
pcap_sink_close(struct ef_sink *sink)
{
    struct pcap_sink *s = pcap_sink_of(sink);
    if (s->dumper) {
        pcap_dump_close(s->dumper);
    }
    if (s->pcap) {
        pcap_close(s->pcap);
    }
    free(s);
}

static int
open_file(struct pcap_sink *s, const char *path, struct ef_error *err)
{
    s->pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, sizeof s->frame, PCAP_TSTAMP_PRECISION_NANO);
    if (!s->pcap) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    s->dumper = pcap_dump_open(s->pcap, path);
    return s->dumper ? 0 : ef_error_set(err, -EIO, "%s", pcap_geterr(s->pcap));
}

static int
pcap_sink_open(const char *where, struct ef_sink **out, struct ef_error *err)
{
    if (!*where || *where == '@') {
        return ef_error_set(err, -EINVAL, "should read %s", ef_sink_pcap_class.usage);
    }
    struct pcap_sink *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = open_file(s, where, err);
    if (rc) {
        pcap_sink_close(&s->sink);
        return rc;
    }
    *out = &s->sink;
    return 0;
}

static void
write_packet(struct pcap_sink *s, const struct ef_sink_packet *packet, struct ef_time now)
{
    uint32_t len = ETH_HLEN + packet->len;
    struct pcap_pkthdr hdr = {
        .ts = {.tv_sec = now.ns / EF_NS_PER_S, .tv_usec = now.ns % EF_NS_PER_S}, /* Nanoseconds. */
        .caplen = len,
        .len = len,
    };
    ef_store_be16(s->frame + 2 * ETH_ALEN, packet->len && packet->data[0] >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP);
    memcpy(s->frame + ETH_HLEN, packet->data, packet->len);
    pcap_dump((u_char *) s->dumper, &hdr, s->frame);
}

/* Buffered writing fails late: what a batch wrote counts as sent only if the
 * file took it. */
static void
pcap_sink_send(struct ef_sink *sink, const struct ef_sink_packet packets[], int n)
{
    struct pcap_sink *s = pcap_sink_of(sink);
    struct ef_time now = ef_time_real();
    for (int i = 0; i < n; i++) {
        write_packet(s, &packets[i], now);
    }
    errno = 0;
    int code = pcap_dump_flush(s->dumper) || ferror(pcap_dump_file(s->dumper)) ? (errno ? errno : EIO) : 0;
    for (int i = 0; i < n; i++) {
        ef_sink_count(sink, packets[i].len, code);
    }
}

const struct ef_sink_class ef_sink_pcap_class = {
    .scheme = "pcap",
    .usage = "pcap:FILE",
    .open = pcap_sink_open,
    .close = pcap_sink_close,
    .send = pcap_sink_send,
};
