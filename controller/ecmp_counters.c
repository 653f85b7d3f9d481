/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of one switch's ways by prefix; see ecmp_counters.h. */
#include <config.h>

#include "controller/ecmp_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/controller.h"
#include "controller/fan_out.h"

struct counter {
    char name[64];
    size_t class, way;
};

struct ecmp_counters {
    struct controller *c;
    struct ecmp_finding finding;
    struct counter counters[ECMP_COUNTERS_MAX];
    struct fan_out *reading;
    size_t n;
    void (*done)(void *ctx, const struct ecmp_finding *counted);
    void *ctx;
};

/* --- Installing ----------------------------------------------------------- */

static const char *
address_of(const struct controller *c, const char *name)
{
    for (size_t i = 0; i < c->topology.n_switches; i++) {
        if (!strcmp(c->topology.switches[i].name, name)) {
            return c->topology.switches[i].loopback;
        }
    }
    return NULL;
}

/* Nobody waits for it: what an analyzer refuses shows as a counter that counts
 * nothing, and one that could not be removed counts until the analyzer ends. */
static void
on_answered(void *ctx, const struct fan_out_answer answers[], size_t n)
{
}

static void
install(struct ecmp_counters *k, const char *id, size_t class, size_t way)
{
    const char *at = address_of(k->c, k->finding.at), *to = address_of(k->c, k->finding.ways[way].to),
               *prefix = k->finding.classes[class].prefix;
    if (!at || !to || !prefix || k->n == ECMP_COUNTERS_MAX) {
        return;
    }
    struct counter *counter = &k->counters[k->n];
    json_t *filter = json_sprintf("switch == %s && switch == %s && %s == %s && tcp.flags.syn == 1 && !trace.probe", at,
                                  to, strchr(prefix, ':') ? "ipv6.dst" : "ip.dst", prefix);
    *counter = (struct counter){.class = class, .way = way};
    snprintf(counter->name, sizeof counter->name, "ecmp-%.16s-%zu", id, k->n);
    json_t *body = json_pack("{s:s, s:o}", "name", counter->name, "filter", filter);
    struct fan_out_request request = {
        .method = "POST", .target = "/v1/counters", .program = "ef-analyzer", .body = body};
    k->n++;
    fan_out_start(k->c->base, k->c->configuration.analyzers, k->c->configuration.n_analyzers, &request, on_answered,
                  NULL);
    json_decref(body);
}

struct ecmp_counters *
ecmp_counters_start(struct controller *c, const char *id, const struct ecmp_finding *finding,
                    void (*done)(void *ctx, const struct ecmp_finding *counted), void *ctx)
{
    struct ecmp_counters *k = calloc(1, sizeof *k);
    if (!k) {
        abort(); /* Control path. */
    }
    k->c = c;
    k->finding = *finding;
    k->done = done;
    k->ctx = ctx;
    for (size_t i = 0; i < finding->n_classes; i++) {
        /* All ways of a prefix, or none: half of them would say nothing. */
        for (size_t j = 0; j < finding->n_ways && k->n + finding->n_ways - j <= ECMP_COUNTERS_MAX; j++) {
            install(k, id, i, j);
        }
    }
    return k;
}

size_t
ecmp_counters_n(const struct ecmp_counters *k)
{
    return k->n;
}

/* --- Reading -------------------------------------------------------------- */

static const struct counter *
find(const struct ecmp_counters *k, const json_t *entry)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    for (size_t i = 0; name && i < k->n; i++) {
        if (!strcmp(k->counters[i].name, name)) {
            return &k->counters[i];
        }
    }
    return NULL;
}

static void
add_answer(struct ecmp_counters *k, struct ecmp_finding *counted, const json_t *body)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(json_object_get(body, "counters"), i, entry)
    {
        const struct counter *counter = find(k, entry);
        json_int_t n = json_integer_value(json_object_get(entry, "packets"));
        if (counter && n > 0 && n < 1000000000) {
            counted->classes[counter->class].flows[counter->way] += (unsigned) n;
            counted->ways[counter->way].flows += (unsigned) n;
            counted->flows += (unsigned) n;
        }
    }
}

static void
on_read(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct ecmp_counters *k = ctx;
    struct ecmp_finding counted = k->finding;
    k->reading = NULL;
    counted.flows = counted.unknown = 0;
    for (size_t i = 0; i < counted.n_ways; i++) {
        counted.ways[i].flows = 0;
    }
    for (size_t i = 0; i < counted.n_classes; i++) {
        memset(counted.classes[i].flows, 0, sizeof counted.classes[i].flows);
        counted.classes[i].unknown = 0;
    }
    for (size_t i = 0; i < n; i++) {
        add_answer(k, &counted, answers[i].body);
    }
    ecmp_finding_judge(&counted);
    k->done(k->ctx, &counted);
}

void
ecmp_counters_read(struct ecmp_counters *k)
{
    struct fan_out_request request = {.method = "GET", .target = "/v1/counters", .program = "ef-analyzer"};
    if (!k->reading) {
        k->reading = fan_out_start(k->c->base, k->c->configuration.analyzers, k->c->configuration.n_analyzers, &request,
                                   on_read, k);
    }
}

/* --- The end -------------------------------------------------------------- */

void
ecmp_counters_stop(struct ecmp_counters *k)
{
    if (!k) {
        return;
    }
    fan_out_cancel(k->reading);
    for (size_t i = 0; i < k->n; i++) {
        char target[96];
        snprintf(target, sizeof target, "/v1/counters/%s", k->counters[i].name);
        struct fan_out_request request = {.method = "DELETE", .target = target, .program = "ef-analyzer"};
        fan_out_start(k->c->base, k->c->configuration.analyzers, k->c->configuration.n_analyzers, &request, on_answered,
                      NULL);
    }
    free(k);
}
