/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses and complaints; see rdma_events.h. */
#include <config.h>

#include "controller/rdma_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/byteorder.h"
#include "base/json.h"
#include "base/util.h"
#include "packet/packet.h"

enum { MAX_BYTES = 256, BTH_LEN = 12, OPCODE_ACKNOWLEDGE = 0x11, OPCODE_CNP = 0x81, PFC = 0x0101, PAUSE = 0x0001 };

const char *const rdma_kind_names[] = {"sequence", "rnr", "nak", "cnp"};

struct event {
    struct ef_time time;
    char trace[17];
    bool is_pause;
    /* A pause. */
    uint16_t at; /* Number of the switch. */
    uint32_t port;
    uint8_t classes;
    bool is_resume;
    /* A complaint. */
    uint8_t kind;
    uint8_t from[16], to[16];
    uint32_t queue_pair, psn;
};

struct rdma_events {
    const json_t *switches, *hosts;
    struct event *ring;
    size_t n, next;
};

/* --- The topology --------------------------------------------------------- */

static const char *
switch_name(const struct rdma_events *e, size_t number)
{
    return json_string_value(json_object_get(json_array_get(e->switches, number), "name"));
}

static size_t
switch_number(const struct rdma_events *e, const char *name)
{
    size_t i = 0, n = json_array_size(e->switches);
    while (name && i < n && strcmp(ef_json_text(json_array_get(e->switches, i), "name"), name)) {
        i++;
    }
    return name ? i : n;
}

static const char *
peer_of(const struct rdma_events *e, size_t number, uint32_t port)
{
    const json_t *ports = json_object_get(json_array_get(e->switches, number), "ports"), *entry;
    size_t i;
    json_array_foreach((json_t *) ports, i, entry)
    {
        if (json_integer_value(json_object_get(entry, "number")) == port) {
            return json_string_value(json_object_get(json_object_get(entry, "peer"), "node"));
        }
    }
    return NULL;
}

static const json_t *
host_of(const struct rdma_events *e, const char *address)
{
    size_t i;
    const json_t *host;
    json_array_foreach((json_t *) e->hosts, i, host)
    {
        if (!strcmp(ef_json_text(host, "address"), address) || !strcmp(ef_json_text(host, "address6"), address)) {
            return host;
        }
    }
    return NULL;
}

/* --- Taking --------------------------------------------------------------- */

static size_t
bytes_of(const char *hex, uint8_t bytes[MAX_BYTES])
{
    size_t n = 0;
    unsigned byte;
    for (; n < MAX_BYTES && hex[0] && hex[1] && sscanf(hex, "%2x", &byte) == 1; hex += 2) {
        bytes[n++] = (uint8_t) byte;
    }
    return n;
}

static bool
read_pause(const struct rdma_events *e, const json_t *trace, const struct ef_packet *packet, struct event *event)
{
    const json_t *hop = json_array_get(json_object_get(trace, "hops"), 0);
    size_t n_switches = json_array_size(e->switches), at = switch_number(e, ef_json_text(hop, "name"));
    const uint8_t *p = packet->data;
    uint16_t times = 0;
    unsigned i = 0;
    while (i < packet->n_layers && packet->layers[i].proto != EF_PROTO_MAC_CONTROL) {
        i++;
    }
    if (i == packet->n_layers || at == n_switches || !strcmp(ef_json_text(hop, "direction"), "egress")) {
        return false;
    }
    size_t offset = packet->layers[i].offset;
    uint16_t opcode = offset + 4 <= packet->len ? ef_load_be16(p + offset) : 0;
    if (opcode == PFC && offset + 4 + 16 <= packet->len) {
        event->classes = p[offset + 3];
        for (unsigned k = 0; k < 8; k++) {
            times |= event->classes >> k & 1 ? ef_load_be16(p + offset + 4 + 2 * k) : 0;
        }
    } else if (opcode == PAUSE) {
        times = ef_load_be16(p + offset + 2);
    } else {
        return false;
    }
    event->is_pause = true;
    event->is_resume = !times;
    event->at = (uint16_t) at;
    event->port = (uint32_t) json_integer_value(json_object_get(hop, "port"));
    return true;
}

/* The kind of an acknowledgement, by the AETH behind the BTH. */
static int
kind_of_syndrome(uint8_t syndrome)
{
    unsigned type = syndrome >> 5 & 3;
    return type == 1 ? RDMA_RNR : type == 3 ? (syndrome & 0x1f ? RDMA_NAK : RDMA_SEQUENCE) : -1;
}

static bool
read_complaint(const json_t *trace, const struct ef_packet *packet, struct event *event)
{
    const json_t *shown = json_object_get(trace, "packet");
    unsigned i = 0;
    while (i < packet->n_layers && packet->layers[i].proto != EF_PROTO_BTH) {
        i++;
    }
    if (i == packet->n_layers || packet->layers[i].offset + BTH_LEN + 1u > packet->len) {
        return false;
    }
    const uint8_t *bth = packet->data + packet->layers[i].offset;
    int kind = bth[0] == OPCODE_CNP ? RDMA_CNP : bth[0] == OPCODE_ACKNOWLEDGE ? kind_of_syndrome(bth[BTH_LEN]) : -1;
    if (kind < 0 || ef_address_parse(ef_json_text(shown, "src"), event->from) ||
        ef_address_parse(ef_json_text(shown, "dst"), event->to)) {
        return false;
    }
    event->kind = (uint8_t) kind;
    event->queue_pair = ef_load_be32(bth + 4) & 0xffffff;
    event->psn = ef_load_be32(bth + 8) & 0xffffff;
    return true;
}

void
rdma_events_take(struct rdma_events *e, const json_t *trace)
{
    uint8_t bytes[MAX_BYTES];
    struct ef_packet packet;
    struct event event = {0};
    const char *start = ef_json_text(trace, "start");
    size_t n = bytes_of(ef_json_text(json_object_get(trace, "packet"), "hex"), bytes);
    if (ef_time_parse(start, event.time, &event.time, NULL)) {
        return;
    }
    snprintf(event.trace, sizeof event.trace, "%s", ef_json_text(trace, "id"));
    ef_packet_parse(&packet, bytes, (uint32_t) n, (uint32_t) n);
    if (read_pause(e, trace, &packet, &event) || read_complaint(trace, &packet, &event)) {
        e->ring[e->next] = event;
        e->next = (e->next + 1) % RDMA_EVENTS_MAX;
        e->n = EF_MIN(e->n + 1, (size_t) RDMA_EVENTS_MAX);
    }
}

/* --- Storms --------------------------------------------------------------- */

static void
add_trace(char traces[RDMA_TRACES][17], size_t *n, const char *id)
{
    if (*n < RDMA_TRACES) {
        memcpy(traces[(*n)++], id, 17);
    }
}

static void
add_time(struct ef_time *first, struct ef_time *last, struct ef_time time)
{
    *first = !first->ns || ef_time_before(time, *first) ? time : *first;
    *last = ef_time_before(*last, time) ? time : *last;
}

static void
add_pause(const struct rdma_events *e, struct rdma_storm list[], size_t *n, size_t size, const struct event *event)
{
    const char *at = switch_name(e, event->at);
    size_t i = 0;
    while (i < *n && (list[i].at != at || list[i].port != event->port)) {
        i++;
    }
    if (i == size) {
        return;
    }
    if (i == *n) {
        list[(*n)++] = (struct rdma_storm){.at = at, .port = event->port, .by = peer_of(e, event->at, event->port)};
    }
    list[i].pauses += !event->is_resume;
    list[i].resumes += event->is_resume;
    list[i].classes |= event->classes;
    add_time(&list[i].first, &list[i].last, event->time);
    add_trace(list[i].traces, &list[i].n_traces, event->trace);
}

/* The first storm at a switch, or NULL: nobody pauses it. */
static const struct rdma_storm *
storm_at(const struct rdma_storm list[], size_t n, const char *name)
{
    const struct rdma_storm *found = NULL;
    for (size_t i = 0; i < n && name; i++) {
        if (!strcmp(list[i].at, name) && (!found || ef_time_before(list[i].first, found->first))) {
            found = &list[i];
        }
    }
    return found;
}

/* From who pauses `storm->at` to who pauses that, and so on. */
static void
find_origin(const struct rdma_storm list[], size_t n, struct rdma_storm *storm)
{
    const struct rdma_storm *at = storm;
    storm->way[storm->n_way++] = storm->at;
    for (;;) {
        storm->origin = at->by;
        storm->origin_to = at->at;
        const struct rdma_storm *next = storm_at(list, n, at->by);
        for (size_t i = 0; next && i < storm->n_way; i++) {
            storm->is_circle |= storm->way[i] == next->at;
        }
        if (!next || storm->is_circle || storm->n_way == RDMA_WAY) {
            return;
        }
        storm->way[storm->n_way++] = next->at;
        at = next;
    }
}

static int
by_pauses(const void *a, const void *b)
{
    const struct rdma_storm *x = a, *y = b;
    return (x->pauses < y->pauses) - (x->pauses > y->pauses);
}

size_t
rdma_events_storms(const struct rdma_events *e, struct ef_time since, struct ef_time until, struct rdma_storm storms[],
                   size_t size)
{
    size_t n = 0, n_storms = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (e->ring[i].is_pause && !ef_time_before(e->ring[i].time, since)) {
            add_pause(e, storms, &n, size, &e->ring[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        int64_t ms = EF_MAX(ef_time_diff_ns(until, storms[i].first) / EF_NS_PER_MS, 1000);
        if (storms[i].pauses >= RDMA_STORM_LEAST && storms[i].pauses * 1000LL >= RDMA_STORM_RATE * ms) {
            storms[n_storms++] = storms[i];
        }
    }
    for (size_t i = 0; i < n_storms; i++) {
        find_origin(storms, n_storms, &storms[i]);
    }
    qsort(storms, n_storms, sizeof *storms, by_pauses);
    return n_storms;
}

/* --- Bursts --------------------------------------------------------------- */

static void
add_complaint(const struct rdma_events *e, struct rdma_burst list[], size_t *n, size_t size, const struct event *event)
{
    char from[48], to[48];
    size_t i = 0;
    ef_address_format(event->from, from);
    ef_address_format(event->to, to);
    while (i < *n && (list[i].kind != event->kind || list[i].queue_pair != event->queue_pair ||
                      strcmp(list[i].from, from) || strcmp(list[i].to, to))) {
        i++;
    }
    if (i == size) {
        return;
    }
    struct rdma_burst *b = &list[i];
    if (i == *n) {
        const json_t *host = host_of(e, from);
        *b = (struct rdma_burst){.kind = event->kind, .queue_pair = event->queue_pair, .first_psn = event->psn};
        memcpy(b->from, from, sizeof from);
        memcpy(b->to, to, sizeof to);
        b->from_name = json_string_value(json_object_get(host, "name"));
        b->from_switch = json_string_value(json_object_get(host, "switch"));
        b->to_name = json_string_value(json_object_get(host_of(e, to), "name"));
        (*n)++;
    }
    b->n++;
    b->last_psn = event->psn;
    add_time(&b->first, &b->last, event->time);
    add_trace(b->traces, &b->n_traces, event->trace);
}

static int
by_gravity(const void *a, const void *b)
{
    const struct rdma_burst *x = a, *y = b;
    return x->kind != y->kind ? (int) x->kind - (int) y->kind : (x->n < y->n) - (x->n > y->n);
}

size_t
rdma_events_bursts(const struct rdma_events *e, struct ef_time since, struct rdma_burst bursts[], size_t size)
{
    size_t n = 0, n_bursts = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (!e->ring[i].is_pause && !ef_time_before(e->ring[i].time, since)) {
            add_complaint(e, bursts, &n, size, &e->ring[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (bursts[i].n >= (bursts[i].kind == RDMA_CNP ? RDMA_CNP_LEAST : RDMA_BURST_LEAST)) {
            bursts[n_bursts++] = bursts[i];
        }
    }
    qsort(bursts, n_bursts, sizeof *bursts, by_gravity);
    return n_bursts;
}

/* --- Texts ---------------------------------------------------------------- */

const char *
rdma_storm_text(const struct rdma_storm *s, char *text, size_t size)
{
    const char *by = s->by ? s->by : "a neighbour";
    int n = snprintf(text, size, "%s is paused on port %u by %s: %u pauses in %.1f s", s->at, s->port, by, s->pauses,
                     (double) EF_MAX(ef_time_diff_ns(s->last, s->first), 0) / EF_NS_PER_S);
    if (s->is_circle) {
        snprintf(text + n, size - (size_t) n, ", in a circle of %zu switches that wait for each other.", s->n_way);
    } else if (s->n_way > 1) {
        snprintf(text + n, size - (size_t) n, "; it begins at %s, which pauses %s.", s->origin ? s->origin : "?",
                 s->origin_to);
    } else {
        snprintf(text + n, size - (size_t) n, ", which nobody pauses: it begins there.");
    }
    return text;
}

const char *
rdma_burst_text(const struct rdma_burst *b, char *text, size_t size)
{
    static const char *const what[] = {
        [RDMA_SEQUENCE] = "that packets are missing (sequence error)",
        [RDMA_RNR] = "that it has no buffers (receiver not ready)",
        [RDMA_NAK] = "that a request is wrong (NAK)",
        [RDMA_CNP] = "that packets met congestion (CNP)",
    };
    snprintf(text, size, "%s tells %s, queue pair 0x%x, %s: %u times in %.1f s.", b->from_name ? b->from_name : b->from,
             b->to_name ? b->to_name : b->to, b->queue_pair, what[b->kind], b->n,
             (double) EF_MAX(ef_time_diff_ns(b->last, b->first), 0) / EF_NS_PER_S);
    return text;
}

static json_t *
show_traces(const char traces[RDMA_TRACES][17], size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(traces[i]));
    }
    return list;
}

json_t *
rdma_storm_show(const struct rdma_storm *s)
{
    char first[EF_TIME_TEXT_SIZE], last[EF_TIME_TEXT_SIZE];
    json_t *way = json_array();
    for (size_t i = 0; i < s->n_way; i++) {
        json_array_append_new(way, json_string(s->way[i]));
    }
    return json_pack("{s:s?, s:s, s:I, s:s?, s:I, s:I, s:I, s:s, s:s, s:o, s:b, s:o}", "device", s->origin, "at", s->at,
                     "port", (json_int_t) s->port, "by", s->by, "pauses", (json_int_t) s->pauses, "resumes",
                     (json_int_t) s->resumes, "classes", (json_int_t) s->classes, "first",
                     ef_time_format(s->first, first), "last", ef_time_format(s->last, last), "paused", way, "circle",
                     s->is_circle, "traces", show_traces(s->traces, s->n_traces));
}

json_t *
rdma_burst_show(const struct rdma_burst *b)
{
    char first[EF_TIME_TEXT_SIZE], last[EF_TIME_TEXT_SIZE];
    return json_pack("{s:s?, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:o}", "device",
                     b->from_name ? b->from_name : b->from_switch, "kind", rdma_kind_names[b->kind], "from", b->from,
                     "to", b->to, "queue_pair", (json_int_t) b->queue_pair, "count", (json_int_t) b->n, "first_psn",
                     (json_int_t) b->first_psn, "last_psn", (json_int_t) b->last_psn, "first",
                     ef_time_format(b->first, first), "last", ef_time_format(b->last, last), "traces",
                     show_traces(b->traces, b->n_traces));
}

/* --- Life ----------------------------------------------------------------- */

struct rdma_events *
rdma_events_create(const json_t *document)
{
    struct rdma_events *e = calloc(1, sizeof *e);
    if (!e || !(e->ring = calloc(RDMA_EVENTS_MAX, sizeof *e->ring))) {
        abort(); /* Control path. */
    }
    e->switches = json_object_get(document, "switches");
    e->hosts = json_object_get(document, "hosts");
    return e;
}

void
rdma_events_destroy(struct rdma_events *e)
{
    if (e) {
        free(e->ring);
        free(e);
    }
}
