/* SPDX-License-Identifier: Apache-2.0 */
/* Where packets go, named by a text: "ip[@NETNS]" (raw IP sockets: the kernel
 * routes and resolves neighbours, the packet's source address is kept),
 * "pcap:FILE" (Ethernet frames with zero addresses into a capture),
 * "dpdk:DEVICE[,ARGUMENTS]#MAC" (a DPDK port, all to the next hop MAC).
 *
 *     ef_sink_queue(sink, packet, len);  ... ef_sink_flush(sink);
 *
 * or, of a frame that a source gave, without copying it where both are DPDK's:
 *
 *     uint8_t *packet = ef_sink_forward(sink, &frame, offset, len);
 *     packet[8] = 64;  ... ef_sink_flush(sink);
 *
 * or, to write a packet where it will be sent from:
 *
 *     uint8_t *packet = ef_sink_reserve(sink, len);
 *     memcpy(packet, ...);  ef_sink_commit(sink, len);  ... ef_sink_flush(sink);
 *
 * A sink never waits long: what the kernel does not take within milliseconds
 * is counted as failed. One thread per sink. */
#ifndef EF_IO_SINK_H
#define EF_IO_SINK_H

#include <stdint.h>

#include "base/error.h"
#include "io/source.h"

/* Every packet queued ends in exactly one of packets, too_big and failed. */
struct ef_sink_stats {
    uint64_t packets, bytes; /* Handed to the kernel or written. */
    uint64_t too_big;        /* Larger than the outgoing link's MTU. */
    uint64_t failed;         /* Refused for another reason. */
};

enum { EF_SINK_MAX_PACKET = 40 + 65535 }; /* IPv6, whose length does not count its header. */

struct ef_sink;

/* Opens the sink that `spec` names. Returns 0 or a negative errno with `err`. */
int ef_sink_open(const char *spec, struct ef_sink **sink, struct ef_error *err);
void ef_sink_close(struct ef_sink *sink); /* Flushes. NULL is fine. */

/* Queues one packet that starts with its IP header; the bytes are copied.
 * Flushes by itself when a batch is full. */
void ef_sink_queue(struct ef_sink *sink, const uint8_t *packet, uint32_t len);

/* Room for a packet of `len` bytes, at most EF_SINK_MAX_PACKET, to be filled at
 * once and then committed; reserving again without commit gives the room up.
 * Flushes by itself when a batch is full. */
uint8_t *ef_sink_reserve(struct ef_sink *sink, uint32_t len);
void ef_sink_commit(struct ef_sink *sink, uint32_t len);

/* Queues the `len` bytes, at most EF_SINK_MAX_PACKET, of a received frame that
 * start at `offset`, and returns where they lie now, to be changed before the
 * next call. That is the frame's own buffer, if source and sink are DPDK ports;
 * nothing may be read from the frame afterwards. Flushes by itself when a batch
 * is full. */
uint8_t *ef_sink_forward(struct ef_sink *sink, const struct ef_frame *frame, uint32_t offset, uint32_t len);

/* Sends what is queued. */
void ef_sink_flush(struct ef_sink *sink);

/* For when the network was made anew: sends from now on in the namespace that
 * has the sink's name today. The counters go on. Returns 0 or a negative errno
 * with `err`; then the sink is as it was. */
int ef_sink_reopen(struct ef_sink *sink, struct ef_error *err);

/* May be called by any thread; packets that are still queued are in none. */
void ef_sink_stats(const struct ef_sink *sink, struct ef_sink_stats *stats);

/* The errno (positive) of the last packet that failed, or 0: for a log line. */
int ef_sink_last_error(const struct ef_sink *sink);

#endif
