/* SPDX-License-Identifier: Apache-2.0 */
/* From a received frame to a copy record; see copy_record.h. */
#include <config.h>

#include "analyzer/copy_record.h"

#include <string.h>

#include "base/hash.h"

/* A packet whose IP header is whole can be recognised at other switches,
 * whatever follows; without one, only if all its headers are. */
static bool
is_traceable(const struct ef_packet *packet)
{
    return packet->n_layers > 0 && (packet->inner_ip != EF_NO_LAYER || packet->status == EF_PARSE_OK);
}

/* Pause frames end where they arrive, and one is like the other: two copies are of
 * two frames, unless they are one copy that came twice. */
static void
tell_apart(struct ef_identity *identity, const struct ef_copy *copy, struct ef_time arrival)
{
    struct {
        uint64_t number;
        uint8_t switch_address[16];
    } key = {.number = copy->has_sequence ? copy->sequence : (uint64_t) arrival.ns};
    memcpy(key.switch_address, copy->switch_address, sizeof key.switch_address);
    identity->hash = ef_hash64_seed(&key, sizeof key, identity->hash);
    identity->check = ef_hash64_seed(&key, sizeof key, identity->check);
}

enum ef_drop_reason
ef_copy_record_of_frame(struct ef_copy_record *record, uint64_t *flow_hash, const uint8_t *frame, uint32_t len,
                        uint32_t wire_len, struct ef_time arrival)
{
    struct ef_copy copy;
    enum ef_drop_reason reason = ef_copy_parse(&copy, frame, len, wire_len);
    if (reason) {
        return reason;
    }
    struct ef_packet packet;
    ef_packet_parse(&packet, copy.original, copy.original_len, copy.original_wire_len);
    if (!is_traceable(&packet)) {
        return EF_DROP_INNER_MALFORMED;
    }
    struct ef_identity identity;
    ef_identity_of(&packet, &identity);
    if (ef_packet_has(&packet, EF_PROTO_MAC_CONTROL)) {
        tell_apart(&identity, &copy, arrival);
    }
    ef_hop_of_copy(&record->hop, &copy, &packet, arrival);
    record->hash = identity.hash;
    record->check = identity.check;
    record->wire_len = copy.original_wire_len;
    record->n_bytes = (uint16_t) EF_MIN(copy.original_len, (uint32_t) EF_TRACE_MAX_BYTES);
    memcpy(record->target, copy.target_address, sizeof record->target);
    memcpy(record->bytes, copy.original, record->n_bytes);
    *flow_hash = identity.flow_hash;
    return EF_DROP_NONE;
}
