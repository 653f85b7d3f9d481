/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as pcapng; see trace_export.h. */
#include <config.h>

#include "controller/trace_export.h"

#include <errno.h>
#include <event2/buffer.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "controller/hop_frame.h"
#include "packet/packet.h"
#include "packet/pcapng.h"

enum { MAX_FRAME_BYTES = 65536, MAX_PACKETS = 4 << 20, MAX_BYTES = 256 << 20 };

struct hop_packet {
    struct ef_time time;
    uint64_t trace_id;
    uint8_t switch_address[16];
    size_t offset; /* Of its bytes in `bytes`. */
    uint32_t len, wire_len;
    uint16_t number, n_hops;
    bool egress, loop, encapsulated;
};

struct trace_export {
    const struct topology *topology;
    struct hop_packet *packets;
    size_t n_packets, room;
    uint8_t *bytes;
    size_t n_bytes, bytes_room;
    uint8_t (*interfaces)[16]; /* Addresses of the interfaces so far, while writing. */
    size_t n_interfaces;
};

struct trace_export *
trace_export_create(const struct topology *topology)
{
    struct trace_export *e = calloc(1, sizeof *e);
    if (!e) {
        abort(); /* Control path. */
    }
    e->topology = topology;
    return e;
}

void
trace_export_destroy(struct trace_export *e)
{
    if (e) {
        free(e->packets);
        free(e->bytes);
        free(e->interfaces);
        free(e);
    }
}

/* --- Collecting ----------------------------------------------------------- */

/* Makes room for one more element of `size` bytes; doubles. */
static int
grow(void *array, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room) {
        return 0;
    }
    size_t more = EF_MAX(needed, *room * 2);
    void *bigger = realloc(*(void **) array, more * size);
    if (!bigger) {
        return -E2BIG;
    }
    *(void **) array = bigger;
    *room = more;
    return 0;
}

static int
parse_time(const json_t *object, const char *key, struct ef_time *t)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? ef_time_parse(text, (struct ef_time){0}, t, NULL) : -EINVAL;
}

/* The hop's time, on the clock that the trace's order goes by. */
static int
hop_time(const json_t *trace, const json_t *hop, struct ef_time *t)
{
    const char *source = json_string_value(json_object_get(trace, "time_source"));
    if (source && !strcmp(source, "switch") && !parse_time(hop, "switch_time", t)) {
        return 0;
    }
    return parse_time(hop, "arrival", t);
}

static int
add_hop(struct trace_export *e, const json_t *trace, const json_t *hop, const uint8_t *frame, struct hop_packet p)
{
    const char *address = json_string_value(json_object_get(hop, "switch"));
    const char *direction = json_string_value(json_object_get(hop, "direction"));
    if (!address || ef_address_parse(address, p.switch_address) || hop_time(trace, hop, &p.time)) {
        return -EINVAL;
    }
    if (e->n_packets == MAX_PACKETS || e->n_bytes + p.len > MAX_BYTES ||
        grow(&e->packets, &e->room, e->n_packets + 1, sizeof *e->packets) ||
        grow(&e->bytes, &e->bytes_room, e->n_bytes + p.len, 1)) {
        return -E2BIG;
    }
    p.egress = direction && !strcmp(direction, "egress");
    p.encapsulated = json_is_true(json_object_get(hop, "encapsulated"));
    p.offset = e->n_bytes;
    memcpy(e->bytes + p.offset, frame, p.len);
    hop_frame_patch(e->bytes + p.offset, p.len, hop);
    e->n_bytes += p.len;
    e->packets[e->n_packets++] = p;
    return 0;
}

static int
add_trace(struct trace_export *e, const json_t *trace)
{
    static uint8_t frame[MAX_FRAME_BYTES]; /* One thread. */
    const json_t *packet = json_object_get(trace, "packet"), *hops = json_object_get(trace, "hops");
    const char *hex = json_string_value(json_object_get(packet, "hex"));
    const char *id = json_string_value(json_object_get(trace, "id"));
    int len = hex ? hop_frame_decode(hex, frame, sizeof frame) : -EINVAL;
    if (len <= 0 || !id) {
        return -EINVAL;
    }
    json_int_t wire_len = json_integer_value(json_object_get(packet, "length"));
    struct hop_packet p = {
        .trace_id = strtoull(id, NULL, 16),
        .len = (uint32_t) len,
        .wire_len = wire_len > len && wire_len <= UINT16_MAX ? (uint32_t) wire_len : (uint32_t) len,
        .n_hops = (uint16_t) json_array_size(hops),
        .loop = json_is_true(json_object_get(trace, "loop")),
    };
    size_t i;
    json_t *hop;
    json_array_foreach((json_t *) hops, i, hop)
    {
        p.number = (uint16_t) (i + 1);
        int rc = add_hop(e, trace, hop, frame, p);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

int
trace_export_add(struct trace_export *e, const char *json, size_t len)
{
    json_t *trace = json_loadb(json, len, 0, NULL);
    int rc = trace ? add_trace(e, trace) : -EINVAL;
    json_decref(trace);
    return rc;
}

/* --- Writing -------------------------------------------------------------- */

static int
compare_packets(const void *a, const void *b)
{
    const struct hop_packet *x = a, *y = b;
    if (x->time.ns != y->time.ns) {
        return x->time.ns < y->time.ns ? -1 : 1;
    }
    return x->trace_id != y->trace_id ? (x->trace_id < y->trace_id ? -1 : 1) : x->number - y->number;
}

static int
compare_addresses(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

/* Writes an interface for each switch that a packet is from, in the order of
 * their addresses, which `interfaces` then holds. */
static int
write_interfaces(struct trace_export *e, struct ef_pcapng *w)
{
    e->interfaces = calloc(e->n_packets + 1, sizeof *e->interfaces);
    if (!e->interfaces) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < e->n_packets; i++) {
        memcpy(e->interfaces[i], e->packets[i].switch_address, 16);
    }
    qsort(e->interfaces, e->n_packets, 16, compare_addresses);
    int rc = 0;
    for (size_t i = 0; i < e->n_packets && rc >= 0; i++) {
        if (e->n_interfaces && !compare_addresses(e->interfaces[i], e->interfaces[e->n_interfaces - 1])) {
            continue;
        }
        memmove(e->interfaces[e->n_interfaces++], e->interfaces[i], 16);
        const uint8_t *address = e->interfaces[e->n_interfaces - 1];
        const struct topology_switch *s = topology_find_address(e->topology, address);
        char text[64];
        ef_address_format(address, text);
        rc = ef_pcapng_interface(w, &(struct ef_pcapng_interface){.name = s ? s->name : text, .address = address});
    }
    return EF_MIN(rc, 0);
}

static int
write_packet(const struct trace_export *e, struct ef_pcapng *w, const struct hop_packet *p)
{
    const uint8_t(*found)[16] =
        bsearch(p->switch_address, e->interfaces, e->n_interfaces, sizeof *e->interfaces, compare_addresses);
    char comment[96];
    snprintf(comment, sizeof comment, "trace=%016" PRIx64 " hop=%u/%u%s%s", p->trace_id, p->number, p->n_hops,
             p->loop ? " LOOP" : "", p->encapsulated ? " encapsulated" : "");
    return ef_pcapng_packet(w, &(struct ef_pcapng_packet){
                                   .interface = (int) (found - e->interfaces),
                                   .time = p->time,
                                   .data = e->bytes + p->offset,
                                   .len = p->len,
                                   .wire_len = p->wire_len,
                                   .direction = p->egress ? EF_PCAPNG_OUTBOUND : EF_PCAPNG_INBOUND,
                                   .packet_id = p->trace_id,
                                   .comment = comment,
                               });
}

static int
append_block(void *ctx, const void *data, size_t len)
{
    return evbuffer_add(ctx, data, len) ? -ENOMEM : 0;
}

int
trace_export_write(struct trace_export *e, const char *comment, struct evbuffer *out)
{
    struct ef_pcapng *w = ef_pcapng_create(append_block, out);
    if (!w) {
        return -ENOMEM;
    }
    if (e->n_packets) { /* qsort() takes no NULL. */
        qsort(e->packets, e->n_packets, sizeof *e->packets, compare_packets);
    }
    int rc = ef_pcapng_section(w, comment);
    rc = rc ? rc : write_interfaces(e, w);
    for (size_t i = 0; i < e->n_packets && !rc; i++) {
        rc = write_packet(e, w, &e->packets[i]);
    }
    ef_pcapng_destroy(w);
    return rc;
}
