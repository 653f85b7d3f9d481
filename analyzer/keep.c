/* SPDX-License-Identifier: Apache-2.0 */
/* What to keep; see keep.h. */
#include <config.h>

#include "analyzer/keep.h"

#include <errno.h>
#include <string.h>

#include "base/byteorder.h"
#include "packet/headers.h"
#include "packet/probe_signature.h"
#include "trace/trace_match.h"

static const struct {
    const char *name;
    enum ef_keep_class class;
} classes[] = {
    {"all", EF_KEEP_ALL},         {"abnormal", EF_KEEP_ABNORMAL}, {"debug", EF_KEEP_DEBUG},
    {"control", EF_KEEP_CONTROL}, {"probe", EF_KEEP_PROBE},
};

static unsigned
class_of(const char *word, size_t len)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(classes); i++) {
        if (strlen(classes[i].name) == len && !memcmp(classes[i].name, word, len)) {
            return classes[i].class;
        }
    }
    return 0;
}

/* The classes that `text` names, or 0 if one of its words is none. */
static unsigned
parse_classes(const char *text)
{
    unsigned sum = 0;
    for (const char *word = text;;) {
        size_t len = strcspn(word, "+");
        unsigned class = class_of(word, len);
        if (!class) {
            return 0;
        }
        sum |= class;
        if (!word[len]) {
            return sum;
        }
        word += len + 1;
    }
}

int
ef_keep_init(struct ef_keep *keep, const char *text, struct ef_error *err)
{
    struct ef_error why = EF_ERROR_INIT;
    *keep = (struct ef_keep){.classes = parse_classes(text), .text = text};
    if (keep->classes) {
        return 0;
    }
    if (!*text) {
        return ef_error_set(err, -EINVAL, "nothing would be kept; give all, classes or a filter");
    }
    int rc = ef_filter_compile(text, EF_FILTER_ANY, &keep->filter, &why);
    return rc ? ef_error_set(err, rc,
                             "'%.60s' is neither classes (all, abnormal, debug, control, probe, joined by '+') nor "
                             "a filter: %s",
                             text, why.text)
              : 0;
}

void
ef_keep_deinit(struct ef_keep *keep)
{
    ef_filter_destroy(keep->filter);
    keep->filter = NULL;
}

static bool
is_abnormal(const struct ef_trace *trace)
{
    return trace->loop || trace->corrupt || trace->fate == EF_FATE_DROPPED || trace->fate == EF_FATE_EXPIRED ||
           trace->fate == EF_FATE_UNSURE;
}

/* --- Control ------------------------------------------------------------------- */

static bool
is_bgp(const struct ef_packet *p)
{
    enum { BGP_PORT = 179 };
    const struct ef_layer *l4 = p->inner_l4 == EF_NO_LAYER ? NULL : &p->layers[p->inner_l4];
    if (!l4 || l4->proto != EF_PROTO_TCP) {
        return false;
    }
    const uint8_t *tcp = p->data + l4->offset;
    return ef_load_be16(tcp) == BGP_PORT || ef_load_be16(tcp + 2) == BGP_PORT;
}

static bool
is_pause(const struct ef_packet *p)
{
    return p->n_layers && p->layers[p->n_layers - 1].proto == EF_PROTO_MAC_CONTROL;
}

/* An acknowledgement of a reliable connection whose syndrome says that a packet is
 * missing or wrong (InfiniBand Architecture Specification, volume 1, 9.7.5.2). */
static bool
is_rdma_nack(const struct ef_packet *p)
{
    enum { RC_ACKNOWLEDGE = 0x11, NAK = 3 };
    const struct ef_layer *last = p->n_layers ? &p->layers[p->n_layers - 1] : NULL;
    if (!last || last->proto != EF_PROTO_BTH || ef_bth_opcode(p->data + last->offset) != RC_ACKNOWLEDGE) {
        return false;
    }
    uint32_t aeth = last->offset + (uint32_t) EF_BTH_LEN;
    return aeth < p->len && (p->data[aeth] >> 5 & 3) == NAK;
}

/* --- Asking -------------------------------------------------------------------- */

bool
ef_keep_wants(const struct ef_keep *keep, const struct ef_trace *trace, const struct ef_packet *packet)
{
    unsigned wanted = keep->classes;
    struct ef_probe_signature signature;
    if (keep->filter) {
        return ef_trace_match(trace, keep->filter, NULL);
    }
    return wanted & EF_KEEP_ALL || (wanted & EF_KEEP_ABNORMAL && is_abnormal(trace)) ||
           (wanted & EF_KEEP_DEBUG && trace->debug) ||
           (wanted & EF_KEEP_CONTROL && (is_bgp(packet) || is_pause(packet) || is_rdma_nack(packet))) ||
           (wanted & EF_KEEP_PROBE && !ef_probe_signature_find(packet, &signature));
}
