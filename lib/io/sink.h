/* SPDX-License-Identifier: Apache-2.0 */
/* Where packets go, named by a text: "ip[@NETNS]" (raw IP sockets: the kernel
 * routes and resolves neighbours, the packet's source address is kept),
 * "pcap:FILE" (Ethernet frames into a capture).
 *
 *     ef_sink_queue(sink, packet, len);  ... ef_sink_flush(sink);
 *
 * One thread per sink. */
#ifndef EF_IO_SINK_H
#define EF_IO_SINK_H

#include <stdint.h>

#include "base/error.h"

struct ef_sink_stats {
    uint64_t packets, bytes, too_big, failed;
};

struct ef_sink;

int ef_sink_open(const char *spec, struct ef_sink **sink, struct ef_error *err);
void ef_sink_close(struct ef_sink *sink); /* Flushes. NULL is fine. */

/* Queues one packet that starts with its IP header; the bytes are copied.
 * Flushes by itself when a batch is full. */
void ef_sink_queue(struct ef_sink *sink, const uint8_t *packet, uint32_t len);
void ef_sink_flush(struct ef_sink *sink);

/* May be called by any thread. */
void ef_sink_stats(const struct ef_sink *sink, struct ef_sink_stats *stats);

#endif
