/* SPDX-License-Identifier: Apache-2.0 */
/* What a back end of sink.h implements; only lib/io and benchmarks include this. */
#ifndef EF_IO_SINK_CLASS_H
#define EF_IO_SINK_CLASS_H

#include "base/counter.h"
#include "io/sink.h"

enum { EF_SINK_BATCH = 64, EF_SINK_BUFFER_BYTES = 256 << 10 };

struct ef_sink_packet {
    uint8_t *data; /* Starts with the IP header; in the sink's buffer, or in `buffer`. */
    uint32_t len;
    struct rte_mbuf *buffer; /* Taken over from a source, or NULL. */
};

struct ef_sink_class {
    const char *scheme; /* What stands before the colon of a spec. */
    const char *usage;  /* The whole spec, for errors: "pcap:FILE". */

    /* It sends a source's buffer as it is, if in front of the packet there are so
     * many bytes to be overwritten; 0: all packets must be copied. */
    uint32_t buffer_room;

    /* `where` is the spec behind the scheme and colon ("" or "@NETNS" without
     * colon). Allocates a struct that starts with a struct ef_sink; sink.c
     * fills in the rest of it. */
    int (*open)(const char *where, struct ef_sink **sink, struct ef_error *err);
    void (*close)(struct ef_sink *sink);

    /* Sends all of `packets` and counts each in `sink`. */
    void (*send)(struct ef_sink *sink, const struct ef_sink_packet packets[], int n);

    /* As ef_sink_reopen(); NULL: nothing to do. */
    int (*reopen)(struct ef_sink *sink, struct ef_error *err);
};

struct ef_sink {
    const struct ef_sink_class *class;
    ef_counter packets, bytes, too_big, failed;
    ef_counter last_error;
    int n_queued;
    uint32_t used; /* Bytes of `buffer`. */
    struct ef_sink_packet queue[EF_SINK_BATCH];
    uint8_t *buffer;
};

extern const struct ef_sink_class ef_sink_ip_class;
extern const struct ef_sink_class ef_sink_pcap_class;
extern const struct ef_sink_class ef_sink_dpdk_class;

/* For the back ends: counts one packet as sent, or as refused with the positive
 * errno `code`. */
void ef_sink_count(struct ef_sink *sink, uint32_t len, int code);

#endif
