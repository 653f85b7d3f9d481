/* SPDX-License-Identifier: Apache-2.0 */
/* Where RoCEv2 packets are lost; see rdma_losses.h. */
#include <config.h>

#include "controller/rdma_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "controller/alerts.h"
#include "controller/fabric_map.h"
#include "controller/hop.h"

enum { UDP = 17, ROCE_PORT = 4791, ADDRESS_SIZE = 48, MAX_PLACES = 64, MAX_WAY = 16 };

struct event {
    struct ef_time time;
    char trace[17], src[ADDRESS_SIZE], dst[ADDRESS_SIZE], from[RDMA_LOSSES_NAME], to[RDMA_LOSSES_NAME];
    bool is_corrupt;
};

struct rdma_losses {
    struct fabric_map *map;
    struct event *ring;
    size_t n, next;
};

/* --- Taking ---------------------------------------------------------------------- */

/* Between the last switch whose copy was right and the first whose copy was not. */
static bool
find_corruption(const json_t *hops, struct event *event)
{
    size_t i;
    const json_t *hop;
    json_array_foreach((json_t *) hops, i, hop)
    {
        if (i && json_is_true(json_object_get(hop, "corrupt"))) {
            const char *from = hop_switch(json_array_get(hops, i - 1), ""), *to = hop_switch(hop, "");
            snprintf(event->from, sizeof event->from, "%s", from);
            snprintf(event->to, sizeof event->to, "%s", strcmp(from, to) ? to : "");
            return event->is_corrupt = true;
        }
    }
    return false;
}

/* Where a packet goes on from `from`, on its way to the switch where it was expected; that one, if there are
 * several ways. */
static const char *
next_of(const struct rdma_losses *l, const char *from, const char *expected)
{
    const char *next[FABRIC_MAP_NEXT];
    return fabric_map_next(l->map, from, expected, next, FABRIC_MAP_NEXT) == 1 ? next[0] : expected;
}

static bool
find_drop(const struct rdma_losses *l, const json_t *trace, struct event *event)
{
    const json_t *hops = json_object_get(trace, "hops"), *last = json_array_get(hops, json_array_size(hops) - 1);
    if (strcmp(ef_json_text(trace, "fate"), "dropped") || !last) {
        return false;
    }
    snprintf(event->from, sizeof event->from, "%s", hop_switch(last, ""));
    snprintf(event->to, sizeof event->to, "%s", next_of(l, event->from, ef_json_text(trace, "expected_name")));
    return true;
}

void
rdma_losses_take(struct rdma_losses *l, const json_t *trace)
{
    struct event event = {0};
    const json_t *packet = json_object_get(trace, "packet");
    bool is_roce = json_integer_value(json_object_get(packet, "proto")) == UDP &&
                   json_integer_value(json_object_get(packet, "dstport")) == ROCE_PORT;
    if (!is_roce || ef_time_parse(ef_json_text(trace, "start"), event.time, &event.time, NULL) ||
        (!find_corruption(json_object_get(trace, "hops"), &event) && !find_drop(l, trace, &event)) || !*event.from) {
        return;
    }
    snprintf(event.trace, sizeof event.trace, "%s", ef_json_text(trace, "id"));
    snprintf(event.src, sizeof event.src, "%s", ef_json_text(packet, "src"));
    snprintf(event.dst, sizeof event.dst, "%s", ef_json_text(packet, "dst"));
    l->ring[l->next] = event;
    l->next = (l->next + 1) % RDMA_LOSSES_MAX;
    l->n = EF_MIN(l->n + 1, (size_t) RDMA_LOSSES_MAX);
}

/* --- Finding ---------------------------------------------------------------------- */

static void
add(struct rdma_loss places[], size_t *n, const struct event *event)
{
    size_t i = 0;
    while (i < *n && (strcmp(places[i].from, event->from) || strcmp(places[i].to, event->to))) {
        i++;
    }
    if (i == MAX_PLACES) {
        return;
    }
    struct rdma_loss *p = &places[i];
    if (i == *n) {
        *p = (struct rdma_loss){0};
        memcpy(p->from, event->from, sizeof p->from);
        memcpy(p->to, event->to, sizeof p->to);
        (*n)++;
    }
    p->corrupt += event->is_corrupt;
    p->dropped += !event->is_corrupt;
    if (p->n_traces < RDMA_LOSSES_TRACES) {
        memcpy(p->traces[p->n_traces++], event->trace, sizeof event->trace);
    }
}

/* Whether a packet from the switch `at` to one at `end` may come over the link, or through
 * the switch `from` if `to` is "". */
static bool
may_cross(const struct fabric_map *map, const char *at, const char *end, const char *from, const char *to, int depth)
{
    const char *next[FABRIC_MAP_NEXT];
    size_t n = depth ? fabric_map_next(map, at, end, next, FABRIC_MAP_NEXT) : 0;
    bool is_at = !strcmp(at, from);
    if (is_at && !*to) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if ((is_at && !strcmp(next[i], to)) || may_cross(map, next[i], end, from, to, depth - 1)) {
            return true;
        }
    }
    return false;
}

/* The last alert about a place on the way of the flow, behind `loss->from` if that is known. */
static bool
find_alert(const struct rdma_losses *l, const struct alerts *alerts, const char *src, const char *dst,
           struct rdma_loss *loss)
{
    static const char *const kinds[] = {"drop", "corrupt"};
    const char *at = fabric_map_switch_of(l->map, src), *end = fabric_map_switch_of(l->map, dst);
    for (size_t k = 0; at && end && k < EF_ARRAY_SIZE(kinds); k++) {
        json_t *list = alerts_list(alerts, "active", kinds[k]);
        const json_t *alert;
        size_t i;
        json_array_foreach(list, i, alert)
        {
            const json_t *evidence = json_object_get(alert, "evidence"), *link = json_object_get(evidence, "link");
            const char *from = json_is_object(link) ? ef_json_text(link, "from") : ef_json_text(evidence, "device"),
                       *to = ef_json_text(link, "to");
            bool is_there = !*loss->from || !strcmp(loss->from, from);
            if (*from && is_there && may_cross(l->map, at, end, from, to, MAX_WAY)) {
                snprintf(loss->from, sizeof loss->from, "%s", from);
                snprintf(loss->to, sizeof loss->to, "%s", to);
                snprintf(loss->alert, sizeof loss->alert, "%s", ef_json_text(alert, "id"));
                snprintf(loss->alert_kind, sizeof loss->alert_kind, "%s", kinds[k]);
            }
        }
        json_decref(list);
    }
    return *loss->alert;
}

bool
rdma_losses_find(const struct rdma_losses *l, const struct alerts *alerts, const char *src, const char *dst,
                 struct ef_time since, struct rdma_loss *loss)
{
    struct rdma_loss *places = calloc(MAX_PLACES, sizeof *places);
    size_t n = 0, best = 0;
    if (!places) {
        abort(); /* Control path. */
    }
    *loss = (struct rdma_loss){0};
    for (size_t i = 0; i < l->n; i++) {
        const struct event *event = &l->ring[(l->next + RDMA_LOSSES_MAX - 1 - i) % RDMA_LOSSES_MAX];
        if (!ef_time_before(event->time, since) && !strcmp(event->src, src) && !strcmp(event->dst, dst)) {
            add(places, &n, event); /* The newest first, whose ids are the examples. */
        }
    }
    for (size_t i = 1; i < n; i++) {
        best = places[i].dropped + places[i].corrupt > places[best].dropped + places[best].corrupt ? i : best;
    }
    *loss = n ? places[best] : *loss;
    free(places);
    bool is_link = n && (!*loss->to || fabric_map_port(l->map, loss->from, loss->to) > 0);
    return (!is_link && find_alert(l, alerts, src, dst, loss)) || n; /* Of several ways an alert knows which. */
}

/* --- Texts ----------------------------------------------------------------------- */

const char *
rdma_loss_text(const struct rdma_loss *loss, char text[RDMA_LOSSES_TEXT])
{
    char where[160];
    snprintf(where, sizeof where, *loss->to ? "between %s and %s" : "at %s", loss->from, loss->to);
    if (!*loss->from) {
        snprintf(text, RDMA_LOSSES_TEXT, "None of the packets in question was seen to be dropped or corrupted.");
    } else if (!loss->dropped && !loss->corrupt) {
        snprintf(text, RDMA_LOSSES_TEXT, "Packets are %s %s, on the way of these (alert %s).",
                 strcmp(loss->alert_kind, "corrupt") ? "dropped" : "corrupted", where, loss->alert);
    } else if (loss->dropped && loss->corrupt) {
        snprintf(text, RDMA_LOSSES_TEXT, "Traces tell of %u of these packets that were dropped and %u corrupted %s.",
                 loss->dropped, loss->corrupt, where);
    } else {
        snprintf(text, RDMA_LOSSES_TEXT, "Traces tell of %u of these packets that %s %s %s.",
                 loss->dropped + loss->corrupt, loss->dropped + loss->corrupt > 1 ? "were" : "was",
                 loss->dropped ? "dropped" : "corrupted", where);
    }
    return text;
}

json_t *
rdma_loss_show(const struct rdma_loss *loss)
{
    json_t *traces = json_array();
    for (size_t i = 0; i < loss->n_traces; i++) {
        json_array_append_new(traces, json_string(loss->traces[i]));
    }
    json_t *shown = json_pack("{s:s, s:s?, s:I, s:I, s:o, s:s?}", "from", loss->from, "to", *loss->to ? loss->to : NULL,
                              "dropped", (json_int_t) loss->dropped, "corrupt", (json_int_t) loss->corrupt, "traces",
                              traces, "alert", *loss->alert ? loss->alert : NULL);
    if (!*loss->from) {
        json_decref(shown);
        return json_null();
    }
    return shown;
}

/* --- Life ------------------------------------------------------------------------ */

struct rdma_losses *
rdma_losses_create(const json_t *document)
{
    struct rdma_losses *l = calloc(1, sizeof *l);
    if (!l || !(l->ring = calloc(RDMA_LOSSES_MAX, sizeof *l->ring))) {
        abort(); /* Control path. */
    }
    l->map = fabric_map_create(document);
    return l;
}

void
rdma_losses_destroy(struct rdma_losses *l)
{
    if (l) {
        fabric_map_destroy(l->map);
        free(l->ring);
        free(l);
    }
}
