/* SPDX-License-Identifier: Apache-2.0 */
/* The signature of guided probes; see probe_signature.h. */
#include <config.h>

#include "packet/probe_signature.h"

#include <errno.h>
#include <string.h>

/* The last byte is the format's number. */
static const uint8_t magic[8] = {'E', 'F', 'p', 'r', 'o', 'b', 'e', 1};

enum { PROBE_ID = 8 };

void
ef_probe_signature_write(const struct ef_probe_signature *signature, uint8_t bytes[EF_PROBE_SIGNATURE_LEN])
{
    memcpy(bytes, magic, sizeof magic);
    ef_store_be64(bytes + PROBE_ID, signature->probe_id);
    ef_store_be64(bytes + EF_PROBE_SIGNATURE_SEQUENCE, signature->sequence);
    ef_store_be64(bytes + EF_PROBE_SIGNATURE_SENT, (uint64_t) signature->sent.ns);
}

int
ef_probe_signature_read(const uint8_t *bytes, uint32_t len, struct ef_probe_signature *signature)
{
    if (len < EF_PROBE_SIGNATURE_LEN || memcmp(bytes, magic, sizeof magic)) {
        return -ENOENT;
    }
    signature->probe_id = ef_load_be64(bytes + PROBE_ID);
    signature->sequence = ef_load_be64(bytes + EF_PROBE_SIGNATURE_SEQUENCE);
    signature->sent.ns = (int64_t) ef_load_be64(bytes + EF_PROBE_SIGNATURE_SENT);
    return 0;
}

int
ef_probe_signature_find(const struct ef_packet *packet, struct ef_probe_signature *signature)
{
    unsigned last = packet->inner_l4 != EF_NO_LAYER ? packet->inner_l4 : packet->inner_ip;
    if (last == EF_NO_LAYER) {
        return -ENOENT;
    }
    const struct ef_layer *layer = &packet->layers[last];
    uint32_t start = (uint32_t) layer->offset + layer->header_len;
    return start <= packet->len ? ef_probe_signature_read(packet->data + start, packet->len - start, signature)
                                : -ENOENT;
}
