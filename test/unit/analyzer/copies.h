/* SPDX-License-Identifier: Apache-2.0 */
/* Copy records made for tests, without frames: packet number and switch number
 * say all. */
#ifndef EF_TEST_UNIT_ANALYZER_COPIES_H
#define EF_TEST_UNIT_ANALYZER_COPIES_H

#include <string.h>

#include "analyzer/copy_record.h"
#include "base/hash.h"

/* The copy of packet `packet` from switch 10.255.0.`sw` with `ttl`, arriving and
 * stamped at `ns`. */
static inline struct ef_copy_record
make_copy(uint64_t packet, uint8_t sw, uint8_t ttl, int64_t ns)
{
    struct ef_copy_record r;
    memset(&r, 0, sizeof r);
    r.hop = (struct ef_hop){
        .switch_address = {[10] = 0xff, 0xff, 10, 255, 0, sw},
        .arrival = {ns},
        .port = 1,
        .ttl = ttl,
        .outer_ttl = ttl,
        .flags = EF_HOP_HAS_PORT | EF_HOP_HAS_IP,
    };
    r.stamp = (struct ef_time){ns};
    r.hash = ef_hash64(&packet, sizeof packet);
    r.check = packet;
    r.wire_len = 100;
    r.n_bytes = 64;
    memset(r.bytes, ttl, r.n_bytes);
    return r;
}

#endif
