/* SPDX-License-Identifier: Apache-2.0 */
/* Corrupted packets by place; see corrupt_links.h. */
#include <config.h>

#include "controller/corrupt_links.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "controller/fabric_map.h"
#include "controller/hop.h"

struct event {
    struct ef_time time;
    char trace[17];
    char from[CORRUPT_LINKS_NAME], to[CORRUPT_LINKS_NAME];
};

struct corrupt_links {
    struct fabric_map *map;
    struct event *ring;
    size_t n, next;
};

/* --- Taking --------------------------------------------------------------------- */

/* Who sent the packet to the switch of hop `index`; NULL: not known. */
static const char *
sender_to(const struct corrupt_links *links, const json_t *hops, size_t index)
{
    if (index) {
        return hop_switch(json_array_get(hops, index - 1), "");
    }
    const json_t *hop = json_array_get(hops, 0), *port = json_object_get(hop, "port");
    bool is_known = json_is_integer(port) && strcmp(ef_json_text(hop, "direction"), "egress") != 0;
    return is_known ? fabric_map_behind(links->map, hop_switch(hop, ""), (int) json_integer_value(port)) : NULL;
}

static void
take_hop(struct corrupt_links *links, const json_t *trace, size_t index)
{
    const json_t *hops = json_object_get(trace, "hops");
    const char *from = sender_to(links, hops, index), *to = hop_switch(json_array_get(hops, index), ""),
               *id = ef_json_text(trace, "id");
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time time;
    if (!from || !*from || !*to || ef_time_parse(ef_json_text(trace, "start"), ef_time_real(), &time, &err)) {
        return;
    }
    struct event *event = &links->ring[links->next];
    links->next = (links->next + 1) % CORRUPT_LINKS_EVENTS;
    links->n = EF_MIN(links->n + 1, (size_t) CORRUPT_LINKS_EVENTS);
    event->time = time;
    snprintf(event->trace, sizeof event->trace, "%s", id);
    snprintf(event->from, sizeof event->from, "%s", from);
    snprintf(event->to, sizeof event->to, "%s", to);
}

void
corrupt_links_take(struct corrupt_links *links, const json_t *trace)
{
    size_t i;
    const json_t *hop;
    json_array_foreach(json_object_get(trace, "hops"), i, hop)
    {
        if (json_is_true(json_object_get(hop, "corrupt"))) {
            take_hop(links, trace, i);
        }
    }
}

/* --- Finding -------------------------------------------------------------------- */

static struct corrupt_finding *
finding_of(const struct corrupt_links *links, struct corrupt_finding findings[], size_t *n, size_t size,
           const struct event *event)
{
    for (size_t i = 0; i < *n; i++) {
        if (!strcmp(findings[i].from, event->from) && !strcmp(findings[i].to, event->to)) {
            return &findings[i];
        }
    }
    if (*n == size) {
        return NULL;
    }
    struct corrupt_finding *f = &findings[(*n)++];
    *f = (struct corrupt_finding){.first = event->time, .last = event->time};
    memcpy(f->from, event->from, sizeof f->from);
    memcpy(f->to, event->to, sizeof f->to);
    f->is_link = strcmp(f->from, f->to) &&
                 (fabric_map_port(links->map, f->to, f->from) > 0 || fabric_map_port(links->map, f->from, f->to) > 0);
    return f;
}

static int
compare(const void *a, const void *b)
{
    const struct corrupt_finding *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->to, y->to);
}

size_t
corrupt_links_find(const struct corrupt_links *links, struct ef_time since, struct corrupt_finding findings[],
                   size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < links->n; i++) { /* The newest first, whose ids are the examples. */
        const struct event *event = &links->ring[(links->next + CORRUPT_LINKS_EVENTS - 1 - i) % CORRUPT_LINKS_EVENTS];
        struct corrupt_finding *f =
            ef_time_before(event->time, since) ? NULL : finding_of(links, findings, &n, size, event);
        if (!f) {
            continue;
        }
        f->n++;
        f->first.ns = EF_MIN(f->first.ns, event->time.ns);
        f->last.ns = EF_MAX(f->last.ns, event->time.ns);
        if (f->n_traces < CORRUPT_LINKS_TRACES && *event->trace) {
            memcpy(f->traces[f->n_traces++], event->trace, sizeof event->trace);
        }
    }
    qsort(findings, n, sizeof findings[0], compare);
    return n;
}

/* --- Showing -------------------------------------------------------------------- */

const char *
corrupt_finding_device(const struct corrupt_finding *f)
{
    return f->is_link || !strcmp(f->from, f->to) ? f->from : NULL;
}

/* "the link leaf2 - spine2" */
static void
print_place(const struct corrupt_finding *f, char *text, size_t size)
{
    if (f->is_link) {
        snprintf(text, size, "the link %s - %s", f->from, f->to);
    } else if (!strcmp(f->from, f->to)) {
        snprintf(text, size, "%s itself", f->from);
    } else {
        snprintf(text, size, "something between %s and %s", f->from, f->to);
    }
}

static uint64_t
n_corrupted(const struct corrupt_finding *f)
{
    return f->n_packets ? f->n_corrupted : f->n;
}

bool
corrupt_finding_text(const struct corrupt_finding *f, char *text, size_t size)
{
    char place[3 * CORRUPT_LINKS_NAME], of[32] = "";
    uint64_t n = n_corrupted(f);
    print_place(f, place, sizeof place);
    if (f->n_packets) {
        snprintf(of, sizeof of, " of %" PRIu64, f->n_packets);
    }
    if (n <= CORRUPT_LINKS_ODD) {
        snprintf(text, size, "%s packet%s%s corrupted by %s in the last %.0f s; so few may be chance.",
                 n == 1 ? "One" : "Two", of, n == 1 ? " was" : " were", place, f->span_s);
    } else {
        bool is_name = !strcmp(f->from, f->to);
        snprintf(text, size, "%c%s corrupts packets: %" PRIu64 "%s in the last %.0f s.",
                 is_name ? *place : toupper((unsigned char) *place), place + 1, n, of, f->span_s);
    }
    return n > CORRUPT_LINKS_ODD;
}

json_t *
corrupt_finding_show(const struct corrupt_finding *f)
{
    char first[EF_TIME_TEXT_SIZE], last[EF_TIME_TEXT_SIZE];
    json_t *traces = json_array(), *packets = f->n_packets ? json_integer((json_int_t) f->n_packets) : json_null();
    for (size_t i = 0; i < f->n_traces; i++) {
        json_array_append_new(traces, json_string(f->traces[i]));
    }
    ef_time_format(f->first, first);
    ef_time_format(f->last, last);
    return json_pack("{s:s?, s:s, s:s, s:I, s:o, s:f, s:s, s:s, s:o}", "device", corrupt_finding_device(f), "from",
                     f->from, "to", f->to, "corrupted", (json_int_t) n_corrupted(f), "packets", packets, "span_s",
                     f->span_s, "first", first, "last", last, "traces", traces);
}

/* --- Life ----------------------------------------------------------------------- */

struct corrupt_links *
corrupt_links_create(const json_t *document)
{
    struct corrupt_links *links = calloc(1, sizeof *links);
    if (!links || !(links->ring = calloc(CORRUPT_LINKS_EVENTS, sizeof *links->ring))) {
        abort(); /* Control path. */
    }
    links->map = fabric_map_create(document);
    return links;
}

void
corrupt_links_destroy(struct corrupt_links *links)
{
    if (links) {
        fabric_map_destroy(links->map);
        free(links->ring);
        free(links);
    }
}
