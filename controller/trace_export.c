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

enum { MAX_FRAME_BYTES = 65536, MAX_HELD = 65536, MAX_HELD_BYTES = 16 << 20, MAX_INTERFACES = 65536 };

struct hop_packet {
    struct ef_time time;
    uint64_t trace_id;
    uint8_t switch_address[16];
    uint32_t len, wire_len;
    uint16_t number, n_hops;
    bool egress, loop, encapsulated;
    uint8_t bytes[];
};

/* A switch that packets are from. */
struct interface {
    uint8_t address[16];
    int number;
};

struct trace_export {
    const struct topology *topology;
    struct ef_pcapng *writer;
    struct evbuffer *out;     /* During a call. */
    struct hop_packet **held; /* A heap: the one to be written first is on top. */
    size_t n_held, n_bytes;
    struct interface *interfaces; /* By address. */
    size_t n_interfaces, room;
};

static int
append_block(void *ctx, const void *data, size_t len)
{
    return evbuffer_add(((struct trace_export *) ctx)->out, data, len) ? -ENOMEM : 0;
}

struct trace_export *
trace_export_create(const struct topology *topology)
{
    struct trace_export *e = calloc(1, sizeof *e);
    if (!e || !(e->held = calloc(MAX_HELD, sizeof *e->held))) {
        abort(); /* Control path. */
    }
    e->topology = topology;
    e->writer = ef_pcapng_create(append_block, e);
    return e;
}

void
trace_export_destroy(struct trace_export *e)
{
    if (e) {
        for (size_t i = 0; i < e->n_held; i++) {
            free(e->held[i]);
        }
        free(e->held);
        free(e->interfaces);
        ef_pcapng_destroy(e->writer);
        free(e);
    }
}

/* --- Packets in order ------------------------------------------------------ */

static bool
is_before(const struct hop_packet *a, const struct hop_packet *b)
{
    if (a->time.ns != b->time.ns) {
        return a->time.ns < b->time.ns;
    }
    return a->trace_id != b->trace_id ? a->trace_id < b->trace_id : a->number < b->number;
}

static void
hold(struct trace_export *e, struct hop_packet *p)
{
    size_t i = e->n_held++;
    for (; i && is_before(p, e->held[(i - 1) / 2]); i = (i - 1) / 2) {
        e->held[i] = e->held[(i - 1) / 2];
    }
    e->held[i] = p;
    e->n_bytes += p->len;
}

/* Takes the first one, of at least one. */
static struct hop_packet *
take_first(struct trace_export *e)
{
    struct hop_packet *first = e->held[0], *last = e->held[--e->n_held];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < e->n_held; i = child) {
        child += child + 1 < e->n_held && is_before(e->held[child + 1], e->held[child]);
        if (!is_before(e->held[child], last)) {
            break;
        }
        e->held[i] = e->held[child];
    }
    e->held[i] = last;
    e->n_bytes -= first->len;
    return first;
}

/* --- Writing -------------------------------------------------------------- */

static int
compare_addresses(const void *a, const void *b)
{
    return memcmp(a, b, 16); /* Of interfaces, whose first member it is. */
}

/* Writes the interface of a switch, and remembers it. Returns its number. */
static int
add_interface(struct trace_export *e, const uint8_t address[16])
{
    const struct topology_switch *s = topology_find_address(e->topology, address);
    char text[64];
    ef_address_format(address, text);
    if (e->n_interfaces == e->room) {
        e->room = e->room ? 2 * e->room : 16;
        e->interfaces = realloc(e->interfaces, e->room * sizeof *e->interfaces);
        if (!e->interfaces) {
            abort(); /* Control path. */
        }
    }
    int number =
        ef_pcapng_interface(e->writer, &(struct ef_pcapng_interface){.name = s ? s->name : text, .address = address});
    size_t at = e->n_interfaces;
    for (; at && number >= 0 && compare_addresses(address, e->interfaces[at - 1].address) < 0; at--) {
        e->interfaces[at] = e->interfaces[at - 1];
    }
    if (number >= 0) {
        memcpy(e->interfaces[at].address, address, 16);
        e->interfaces[at].number = number;
        e->n_interfaces++;
    }
    return number;
}

/* Far more switches than any network has are one: memory stays bounded. */
static int
interface_of(struct trace_export *e, const uint8_t address[16])
{
    static const uint8_t others[16];
    const uint8_t *key = address;
    for (;;) {
        const struct interface *found =
            e->n_interfaces ? bsearch(key, e->interfaces, e->n_interfaces, sizeof *e->interfaces, compare_addresses)
                            : NULL;
        if (found) {
            return found->number;
        }
        if (e->n_interfaces < MAX_INTERFACES || key == others) {
            return add_interface(e, key);
        }
        key = others;
    }
}

static int
write_packet(struct trace_export *e, const struct hop_packet *p)
{
    char comment[96];
    int interface = interface_of(e, p->switch_address);
    if (interface < 0) {
        return interface;
    }
    snprintf(comment, sizeof comment, "trace=%016" PRIx64 " hop=%u/%u%s%s", p->trace_id, p->number, p->n_hops,
             p->loop ? " LOOP" : "", p->encapsulated ? " encapsulated" : "");
    return ef_pcapng_packet(e->writer, &(struct ef_pcapng_packet){
                                           .interface = interface,
                                           .time = p->time,
                                           .data = p->bytes,
                                           .len = p->len,
                                           .wire_len = p->wire_len,
                                           .direction = p->egress ? EF_PCAPNG_OUTBOUND : EF_PCAPNG_INBOUND,
                                           .packet_id = p->trace_id,
                                           .comment = comment,
                                       });
}

static int
write_first(struct trace_export *e, struct evbuffer *out)
{
    struct hop_packet *p = take_first(e);
    e->out = out;
    int rc = write_packet(e, p);
    free(p);
    return rc;
}

bool
trace_export_drain(struct trace_export *e, size_t max_bytes, struct evbuffer *out)
{
    while (e->n_held && evbuffer_get_length(out) < max_bytes) {
        write_first(e, out);
    }
    return !e->n_held;
}

int
trace_export_start(struct trace_export *e, const char *comment, struct evbuffer *out)
{
    e->out = out;
    return ef_pcapng_section(e->writer, comment);
}

int
trace_export_idle(struct trace_export *e, struct evbuffer *out)
{
    e->out = out;
    return ef_pcapng_idle(e->writer);
}

int
trace_export_end(struct trace_export *e, const char *comment, struct evbuffer *out)
{
    e->out = out;
    e->n_interfaces = 0; /* Those of the section before are not known there. */
    return ef_pcapng_section(e->writer, comment);
}

/* --- Traces ------------------------------------------------------------- */

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

/* `about` says what all hops have in common. */
static int
add_hop(struct trace_export *e, const json_t *trace, const json_t *hop, const uint8_t *frame, struct hop_packet *about,
        struct evbuffer *out)
{
    const char *address = json_string_value(json_object_get(hop, "switch"));
    const char *direction = json_string_value(json_object_get(hop, "direction"));
    if (!address || ef_address_parse(address, about->switch_address) || hop_time(trace, hop, &about->time)) {
        return -EINVAL;
    }
    about->egress = direction && !strcmp(direction, "egress");
    about->encapsulated = json_is_true(json_object_get(hop, "encapsulated"));
    struct hop_packet *p = malloc(sizeof *p + about->len);
    if (!p) {
        abort(); /* Control path. */
    }
    *p = *about;
    memcpy(p->bytes, frame, p->len);
    hop_frame_patch(p->bytes, p->len, hop);
    int rc = 0;
    while (!rc && (e->n_held == MAX_HELD || (e->n_held && e->n_bytes + p->len > MAX_HELD_BYTES))) {
        rc = write_first(e, out);
    }
    hold(e, p);
    return rc;
}

static int
add_trace(struct trace_export *e, const json_t *trace, struct evbuffer *out)
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
        int rc = add_hop(e, trace, hop, frame, &p, out);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

int
trace_export_add(struct trace_export *e, const char *json, size_t len, struct evbuffer *out)
{
    json_t *trace = json_loadb(json, len, 0, NULL);
    int rc = trace ? add_trace(e, trace, out) : -EINVAL;
    json_decref(trace);
    return rc;
}
