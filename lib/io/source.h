/* SPDX-License-Identifier: Apache-2.0 */
/* Where frames come from, named by a text: "afpacket:IFACE[@NETNS]" (TPACKET_V3,
 * in another network namespace if named; only frames that may be copies, see
 * copy_filter.h), "pcap:FILE" (pcap or pcapng, read once at full speed; "-" is
 * standard input), "dpdk:DEVICE[,ARGUMENTS][#QUEUE/QUEUES]" (a queue of a DPDK
 * port; with a build that has DPDK). A burst borrows the frames until the next call;
 * a frame that a sink takes over (ef_sink_forward()) is the sink's from then on.
 *
 *     struct ef_frame frames[EF_BURST];
 *     int n = ef_source_receive(source, frames, EF_BURST, timeout_ms);
 *
 * One thread per source. Back ends implement struct ef_source_class; nothing
 * else knows them. */
#ifndef EF_IO_SOURCE_H
#define EF_IO_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"

enum { EF_BURST = 64 };

struct rte_mbuf; /* DPDK's; nothing outside lib/io looks into it. */

struct ef_frame {
    const uint8_t *data;
    uint32_t len; /* Captured bytes. */
    uint32_t wire_len;
    struct ef_time arrival; /* Real time. */

    /* Where a DPDK source keeps the buffer that the frame lies in, if that may be
     * written to and sent: who takes it leaves NULL there. NULL otherwise. */
    struct rte_mbuf **buffer;
};

struct ef_source_stats {
    uint64_t frames, bytes;
    uint64_t overflows; /* Frames lost before we could take them (the kernel's ring was full). */
};

struct ef_source;

/* Opens the source that `spec` names. `ring_bytes` bounds its memory (0: the
 * default of 32 MiB). Returns 0 or a negative errno with `err`. */
int ef_source_open(const char *spec, uint64_t ring_bytes, struct ef_source **source, struct ef_error *err);

/* NULL is fine. */
void ef_source_close(struct ef_source *source);

/* Takes up to `max` frames; waits up to `timeout_ms` if there is none. Returns
 * their number, 0 on timeout or signal, -ENODEV while the interface is away, or
 * another negative errno, after which the source is unusable: -ENODATA at the end
 * of a file, -EIO the file is damaged; what it held before that was returned.
 *
 * An interface that is only down gives nothing until it is up again. One that
 * went away is looked for by its name, now and then: go on calling. */
int ef_source_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms);

/* Why ef_source_receive() returned a negative errno, for people. Borrowed. */
const char *ef_source_error(const struct ef_source *source);

/* True if the source waits for a slow reader (a file), false if what is not taken
 * in time is lost (an interface). */
bool ef_source_is_lossless(const struct ef_source *source);

/* Lets frames be sent out of the interface that the source takes them from, and
 * says its address. Before the source's thread starts. Returns 0, or -EOPNOTSUPP
 * (only DPDK's ports can) or another negative errno with `err`. */
int ef_source_enable_replies(struct ef_source *source, uint8_t mac[6], struct ef_error *err);

/* Sends one Ethernet frame so; on the thread that receives. Returns 0, or
 * -EAGAIN if it could not be sent now. */
int ef_source_reply(struct ef_source *source, const uint8_t *frame, uint32_t len);

/* May be called by any thread. */
void ef_source_stats(const struct ef_source *source, struct ef_source_stats *stats);

#endif
