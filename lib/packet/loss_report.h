/* SPDX-License-Identifier: Apache-2.0 */
/* What a reshuffler tells the analyzers about copies that it did not get: they
 * cannot know, since each sees only a part of a switch's sequence numbers.
 *
 * A frame of GRE with the payload type 0x88b6 (doc/wire-format.md, section 4):
 * per switch until when its copies are settled, and the holes found. Reports also
 * come when there is nothing to say: an analyzer tells a reshuffler how many of
 * its reports came, by the number that is in each, and so both know that the way
 * between them is whole.
 *
 *     ef_loss_report_start(&report, sender, from, to);
 *     if (ef_loss_report_add(&report, switch_address, settled, holes, n)) send what is there, start anew, add again
 *     len = ef_loss_report_finish(&report);
 *
 *     if (!ef_loss_report_open(&reader, frame, len))
 *         while (ef_loss_report_next(&reader, &entry)) ...
 *
 * Plain values, no allocation; any thread. */
#ifndef EF_PACKET_LOSS_REPORT_H
#define EF_PACKET_LOSS_REPORT_H

#include "base/time.h"
#include "packet/hole_finder.h"

enum {
    EF_LOSS_REPORT_MAX_BYTES = 1300, /* From the IP header on: fits every link that copies fit. */
    EF_LOSS_REPORT_MAX_HOLES = 32,   /* Of one entry. */
};

struct ef_loss_report {
    uint32_t len;
    uint16_t n_entries;
    uint32_t count_at;
    uint8_t packet[EF_LOSS_REPORT_MAX_BYTES]; /* From the IP header on. */
};

struct ef_loss_entry {
    uint8_t switch_address[16], target_address[16]; /* The stream. */
    struct ef_time settled;
    unsigned n_holes;
    struct ef_hole holes[EF_LOSS_REPORT_MAX_HOLES];
};

/* Addresses of 16 bytes, both IPv4 or both IPv6. `sender` is a number that no
 * other reshuffler has. */
void ef_loss_report_start(struct ef_loss_report *report, uint64_t sender, const uint8_t from[16], const uint8_t to[16]);

void ef_loss_report_readdress(struct ef_loss_report *report, const uint8_t to[16]);

/* Returns 0, or -ENOSPC if there is no room. */
int ef_loss_report_add(struct ef_loss_report *report, const struct ef_loss_entry *entry);

/* Fills in what depends on the rest; returns the packet's length. */
uint32_t ef_loss_report_finish(struct ef_loss_report *report);

struct ef_loss_reader {
    uint64_t sender;
    const uint8_t *p, *end;
    unsigned n_left;
};

/* `frame` from its Ethernet header on. Returns 0, or -EINVAL if it is no report
 * or damaged. */
int ef_loss_report_open(struct ef_loss_reader *reader, const uint8_t *frame, uint32_t len);

/* False at the end, or where the report is damaged. */
bool ef_loss_report_next(struct ef_loss_reader *reader, struct ef_loss_entry *entry);

#endif
