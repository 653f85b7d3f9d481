/* SPDX-License-Identifier: Apache-2.0 */
/* Where probes go: "ip[@NETNS]" (raw IP sockets, which the kernel routes),
 * "packet:INTERFACE[@NETNS]" (whole frames through an interface) or "pcap:FILE"
 * (whole frames into a capture).
 *
 *     if (prober_output_open("ip@ef-demo-h1", &out, &err)) fail;
 *     uint8_t *room = prober_output_reserve(out, craft->len);
 *     prober_craft_write(craft, n, now, room);
 *     prober_output_commit(out, craft->len, craft->start);  ...
 *     prober_output_flush(out);
 *
 * Packets are sent in batches. It never waits long: what the kernel does not
 * take within milliseconds has failed. One thread per output. */
#ifndef PROBER_OUTPUT_H
#define PROBER_OUTPUT_H

#include <stdbool.h>

#include "io/sink.h"

struct prober_output;

int prober_output_open(const char *spec, struct prober_output **output, struct ef_error *err);
void prober_output_close(struct prober_output *output); /* Flushes. NULL is fine. */

/* True if it takes frames whose Ethernet header matters; raw IP sockets make
 * their own. */
bool prober_output_takes_frames(const struct prober_output *output);

/* Room for `len` bytes, of which those from `start` on are then sent. */
uint8_t *prober_output_reserve(struct prober_output *output, uint32_t len);
void prober_output_commit(struct prober_output *output, uint32_t len, uint32_t start);
void prober_output_flush(struct prober_output *output);

/* Every packet committed and flushed ends in exactly one of packets, too_big and
 * failed. */
void prober_output_stats(const struct prober_output *output, struct ef_sink_stats *stats);

/* The errno (positive) of the last packet that failed, or 0. */
int prober_output_last_error(const struct prober_output *output);

/* The network namespace in `spec`, or NULL; points into it. */
const char *prober_output_netns(const char *spec);

#endif
