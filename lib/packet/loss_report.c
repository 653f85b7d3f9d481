/* SPDX-License-Identifier: Apache-2.0 */
/* Loss reports; see loss_report.h. */
#include <config.h>

#include "packet/loss_report.h"

#include <errno.h>
#include <string.h>

#include "base/byteorder.h"
#include "packet/build.h"
#include "packet/headers.h"

enum {
    ETHERTYPE_REPORT = 0x88b6, /* IEEE 802 local experimental EtherType 2. */
    FORMAT = 2,
    HEAD_BYTES = 16, /* Magic, format, entries, sender. */
    ENTRY_BYTES = 44,
    HOLE_BYTES = 24,
};
#define MAGIC 0x45464c52u /* "EFLR" */

void
ef_loss_report_start(struct ef_loss_report *r, uint64_t sender, const uint8_t from[16], const uint8_t to[16])
{
    memset(r, 0, sizeof *r);
    uint8_t *p = r->packet;
    if (ef_address_is_ipv4(from)) {
        p[0] = 0x45;
        p[8] = 64;
        p[9] = EF_IPPROTO_GRE;
        memcpy(p + 12, from + 12, 4);
        memcpy(p + 16, to + 12, 4);
        r->len = EF_IPV4_LEN;
    } else {
        p[0] = 0x60;
        p[6] = EF_IPPROTO_GRE;
        p[7] = 64;
        memcpy(p + 8, from, 16);
        memcpy(p + 24, to, 16);
        r->len = EF_IPV6_LEN;
    }
    ef_store_be16(p + r->len + 2, ETHERTYPE_REPORT);
    r->len += EF_GRE_LEN;
    ef_store_be32(p + r->len, MAGIC);
    p[r->len + 4] = FORMAT;
    r->count_at = r->len + 6;
    ef_store_be64(p + r->len + 8, sender);
    r->len += HEAD_BYTES;
}

void
ef_loss_report_readdress(struct ef_loss_report *r, const uint8_t to[16])
{
    if (r->packet[0] >> 4 == 4) {
        memcpy(r->packet + 16, to + 12, 4);
    } else {
        memcpy(r->packet + 24, to, 16);
    }
}

int
ef_loss_report_add(struct ef_loss_report *r, const struct ef_loss_entry *entry)
{
    uint32_t need = ENTRY_BYTES + entry->n_holes * HOLE_BYTES;
    if (need > sizeof r->packet - r->len) {
        return -ENOSPC;
    }
    uint8_t *p = r->packet + r->len;
    memcpy(p, entry->switch_address, 16);
    memcpy(p + 16, entry->target_address, 16);
    ef_store_be64(p + 32, (uint64_t) entry->settled.ns);
    ef_store_be32(p + 40, entry->n_holes);
    p += ENTRY_BYTES;
    for (unsigned i = 0; i < entry->n_holes; i++, p += HOLE_BYTES) {
        ef_store_be64(p, (uint64_t) entry->holes[i].after.ns);
        ef_store_be64(p + 8, (uint64_t) entry->holes[i].before.ns);
        ef_store_be64(p + 16, entry->holes[i].n_copies);
    }
    r->len += need;
    r->n_entries++;
    return 0;
}

uint32_t
ef_loss_report_finish(struct ef_loss_report *r)
{
    uint8_t *p = r->packet;
    ef_store_be16(p + r->count_at, r->n_entries);
    if (p[0] >> 4 == 4) {
        ef_store_be16(p + 2, (uint16_t) r->len);
        ef_store_be16(p + 10, 0);
        ef_store_be16(p + 10, ef_checksum_fold(ef_checksum_add(0, p, EF_IPV4_LEN)));
    } else {
        ef_store_be16(p + 4, (uint16_t) (r->len - EF_IPV6_LEN));
    }
    return r->len;
}

/* The GRE header's offset in the frame, or 0: Ethernet with IPv4 or IPv6
 * without options. */
static uint32_t
find_gre(const uint8_t *frame, uint32_t len)
{
    if (len < EF_ETH_LEN + EF_IPV6_LEN) {
        return 0;
    }
    uint16_t type = ef_load_be16(frame + 12);
    const uint8_t *ip = frame + EF_ETH_LEN;
    if (type == EF_ETHERTYPE_IPV4 && ip[0] == 0x45 && ip[9] == EF_IPPROTO_GRE && !ef_ipv4_is_fragment(ip)) {
        return EF_ETH_LEN + EF_IPV4_LEN;
    }
    return type == EF_ETHERTYPE_IPV6 && ip[6] == EF_IPPROTO_GRE ? EF_ETH_LEN + EF_IPV6_LEN : 0;
}

int
ef_loss_report_open(struct ef_loss_reader *reader, const uint8_t *frame, uint32_t len)
{
    uint32_t gre = find_gre(frame, len);
    if (!gre || len - gre < EF_GRE_LEN + HEAD_BYTES || ef_load_be16(frame + gre) ||
        ef_load_be16(frame + gre + 2) != ETHERTYPE_REPORT) {
        return -EINVAL;
    }
    const uint8_t *head = frame + gre + EF_GRE_LEN;
    if (ef_load_be32(head) != MAGIC || head[4] != FORMAT) {
        return -EINVAL;
    }
    *reader = (struct ef_loss_reader){ef_load_be64(head + 8), head + HEAD_BYTES, frame + len, ef_load_be16(head + 6)};
    return 0;
}

bool
ef_loss_report_next(struct ef_loss_reader *reader, struct ef_loss_entry *entry)
{
    const uint8_t *p = reader->p;
    if (!reader->n_left || reader->end - p < ENTRY_BYTES) {
        return false;
    }
    memcpy(entry->switch_address, p, 16);
    memcpy(entry->target_address, p + 16, 16);
    entry->settled.ns = (int64_t) ef_load_be64(p + 32);
    entry->n_holes = ef_load_be32(p + 40);
    p += ENTRY_BYTES;
    if (entry->n_holes > EF_LOSS_REPORT_MAX_HOLES || reader->end - p < (ptrdiff_t) (entry->n_holes * HOLE_BYTES)) {
        return false;
    }
    for (unsigned i = 0; i < entry->n_holes; i++, p += HOLE_BYTES) {
        entry->holes[i].after.ns = (int64_t) ef_load_be64(p);
        entry->holes[i].before.ns = (int64_t) ef_load_be64(p + 8);
        entry->holes[i].n_copies = ef_load_be64(p + 16);
    }
    reader->p = p;
    reader->n_left--;
    return true;
}
