/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of probes: one packet is built with all its headers, of which each
 * probe is a copy with its own numbers and time in it.
 *
 *     if (prober_craft_init(&craft, &format, probe_id, &err)) refuse;
 *     uint32_t len = prober_craft_len(&craft);
 *     prober_craft_write(&craft, sequence, ef_time_real(), room);
 *
 * From probe to probe change the signature, the IPv4 id, TCP's and ICMP echo's
 * sequence number, and the checksums: so each probe is a packet of its own for
 * those who join copies by what identifies a packet. UDP's wrong checksum counts
 * up, since over IPv6 nothing else of the header could.
 *
 * Immutable between init calls; any thread may write. No allocation; cost per
 * probe: one copy of its bytes and a dozen additions. */
#ifndef PROBER_CRAFT_H
#define PROBER_CRAFT_H

#include "base/time.h"
#include "guided-prober/format.h"

enum { PROBER_MAX_FRAME = 65535 };

struct prober_craft {
    uint8_t bytes[PROBER_MAX_FRAME]; /* With zeros where probes differ. */
    uint32_t len;
    uint32_t start; /* 0: a frame; else where the packet starts, behind an Ethernet header for captures. */

    /* Offsets; 0: not there. */
    uint32_t ip, l4, signature, checksum;
    uint32_t id;      /* The IPv4 id, if it changes. */
    uint32_t counter; /* TCP's or ICMP's sequence number, if it changes. */
    bool counter_is_32, ipv4, udp;
    uint32_t first_id, first_counter;
    uint32_t ip_sum, l4_sum; /* Of what does not change; not folded. */
    enum prober_checksum checksum_mode;
    uint16_t checksum_value;
    unsigned n_overwrites;
    struct prober_overwrite overwrites[PROBER_MAX_OVERWRITES];
};

/* Builds the packet of a resolved format. `probe_id` is the order's, from which
 * the first IPv4 id follows if none is given. Returns 0, or -EINVAL with `err`:
 * too short for what is in it, or too long. */
int prober_craft_init(struct prober_craft *craft, const struct prober_format *format, uint64_t probe_id,
                      struct ef_error *err);

/* Writes probe number `sequence`, craft->len bytes, to `out`. What is on the wire
 * starts at `out` + craft->start. */
void prober_craft_write(const struct prober_craft *craft, uint64_t sequence, struct ef_time sent, uint8_t *out);

#endif
