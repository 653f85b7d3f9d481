/* SPDX-License-Identifier: Apache-2.0 */
/* Writing captures in pcapng (draft-ietf-opsawg-pcapng): nanosecond times, one
 * interface per switch, comments and packet ids, which Wireshark, tshark and
 * tcpdump all read.
 *
 *     struct ef_pcapng *w = ef_pcapng_create(NULL, NULL);
 *     ef_pcapng_section(w, "ip.dst == 10.4.0.3; complete");
 *     int leaf1 = ef_pcapng_interface(w, &(struct ef_pcapng_interface){.name = "leaf1", .address = address});
 *     ef_pcapng_packet(w, &(struct ef_pcapng_packet){.interface = leaf1, .time = t, .data = d, .len = n, .wire_len =
 * n}); const void *file = ef_pcapng_data(w, &len);
 *
 * The blocks are kept in memory, or handed to a callback one by one. Interfaces
 * may be added at any time before their first packet. One thread per writer. */
#ifndef EF_PACKET_PCAPNG_H
#define EF_PACKET_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct ef_pcapng;

/* Takes one block; returns 0 or a negative errno, which ends the writer. */
typedef int ef_pcapng_write_cb(void *ctx, const void *data, size_t len);

struct ef_pcapng_interface {
    const char *name;
    const char *description; /* NULL: none. */
    const uint8_t *address;  /* 16 bytes, IPv4 as ::ffff:a.b.c.d; NULL: none. */
};

enum ef_pcapng_direction { EF_PCAPNG_UNKNOWN, EF_PCAPNG_INBOUND, EF_PCAPNG_OUTBOUND };

struct ef_pcapng_packet {
    int interface;       /* As ef_pcapng_interface() returned it. */
    struct ef_time time; /* Real time. */
    const uint8_t *data; /* Ethernet frame; `len` bytes of `wire_len`. */
    uint32_t len, wire_len;
    enum ef_pcapng_direction direction;
    uint64_t packet_id;  /* The same for all copies of one packet; 0: none. */
    const char *comment; /* NULL: none. */
};

/* `write` NULL: the file grows in memory, see ef_pcapng_data(). */
struct ef_pcapng *ef_pcapng_create(ef_pcapng_write_cb *write, void *ctx);
void ef_pcapng_destroy(struct ef_pcapng *w); /* NULL is fine. */

/* Starts the file; the first call. `comment` (NULL: none) says what the file
 * holds. Later: starts a further section, which has no interface yet. This and the others return a negative errno from
 * the callback, -ENOMEM, -EINVAL (called in a wrong order, unknown interface), or -E2BIG (a packet or a text of more
 * than 16 MiB or 65535 bytes); after an error other than -EINVAL and -E2BIG, all calls return it. */
int ef_pcapng_section(struct ef_pcapng *w, const char *comment);

/* Returns the interface's number. */
int ef_pcapng_interface(struct ef_pcapng *w, const struct ef_pcapng_interface *interface);

/* Returns 0. Packets should come in the order of their times. */
int ef_pcapng_packet(struct ef_pcapng *w, const struct ef_pcapng_packet *packet);

/* A block that says nothing, to keep a reader from taking the writer for dead. */
int ef_pcapng_idle(struct ef_pcapng *w);

/* The file so far (without a callback); borrowed until the next call. */
const void *ef_pcapng_data(const struct ef_pcapng *w, size_t *len);

#endif
