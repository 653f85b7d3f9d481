/* SPDX-License-Identifier: Apache-2.0 */
/* What a fault is: its kind, place and numbers as text and JSON; see fault.h. */
#include <config.h>

#include "utilities/fabric/fault.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "utilities/fabric/fault_match.h"
#include "utilities/fabric/netns.h"

const struct ef_fault_kind *const ef_fault_kinds[] = {
    &ef_fault_blackhole,   &ef_fault_random_drop,
    &ef_fault_size_drop,   &ef_fault_corrupt,
    &ef_fault_mirror_loss, &ef_fault_delay,
    &ef_fault_queue,       &ef_fault_loop,
    &ef_fault_ecmp_skew,   &ef_fault_pfc_storm,
    &ef_fault_rdma_nack,   &ef_fault_switch_crash,
    &ef_fault_link_down,   NULL,
};

const struct ef_fault_kind *
ef_fault_kind_find(const char *name, struct ef_error *err)
{
    const char *names[EF_ARRAY_SIZE(ef_fault_kinds)] = {NULL};
    for (size_t i = 0; ef_fault_kinds[i]; i++) {
        names[i] = ef_fault_kinds[i]->name;
        if (!strcmp(name, names[i])) {
            return ef_fault_kinds[i];
        }
    }
    const char *near = ef_nearest_word(name, names);
    ef_error_set(err, -EINVAL,
                 near ? "unknown kind of fault '%.40s'; did you mean '%s'?"
                      : "unknown kind of fault '%.40s'; see `ef-fabric fault --help`",
                 name, near);
    return NULL;
}

/* --- Where ------------------------------------------------------------------ */

static const struct ef_topology_port *
find_port(const struct ef_topology_switch *sw, const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    for (size_t i = 0; i < sw->n_ports; i++) {
        if (!strcmp(sw->ports[i].name, text) || (end != text && !*end && sw->ports[i].number == number)) {
            return &sw->ports[i];
        }
    }
    return NULL;
}

int
ef_fault_place(const struct ef_topology *t, const char *text, struct ef_fault *fault, struct ef_error *err)
{
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t) (colon - text) : strlen(text);
    snprintf(fault->node, sizeof fault->node, "%.*s", (int) EF_MIN(len, sizeof fault->node), text);
    const struct ef_topology_switch *sw = ef_topology_switch(t, fault->node);
    fault->at_host = !sw && !colon && ef_topology_host(t, fault->node);
    fault->port = 0;
    if (len >= sizeof fault->node || (!sw && !fault->at_host)) {
        return ef_error_set(err, -EINVAL, "--at: fabric '%s' has no switch '%.*s'; see `ef-fabric topology`", t->name,
                            (int) EF_MIN(len, 40u), text);
    }
    if (colon) {
        const struct ef_topology_port *port = find_port(sw, colon + 1);
        if (!port) {
            return ef_error_set(err, -EINVAL, "--at: %s has no port '%.40s'; see `ef-fabric topology`", sw->name,
                                colon + 1);
        }
        fault->port = port->number;
    }
    return 0;
}

int
ef_fault_each_port(const struct ef_topology *t, const struct ef_fault *fault,
                   int (*each)(const struct ef_topology_port *port, void *ctx, struct ef_error *err), void *ctx,
                   struct ef_error *err)
{
    const struct ef_topology_switch *sw = ef_topology_switch(t, fault->node);
    char netns[EF_NETNS_NAME_SIZE];
    int here = ef_netns_here();
    int rc = ef_netns_enter(ef_topology_netns(t, fault->node, netns), err);
    for (size_t i = 0; !rc && i < sw->n_ports; i++) {
        if (!fault->port || sw->ports[i].number == fault->port) {
            rc = each(&sw->ports[i], ctx, err);
        }
    }
    ef_netns_return(here);
    return rc;
}

/* --- How much --------------------------------------------------------------- */

/* The factor of a unit; 0 if the kind has no such one. */
static double
factor_of(enum ef_fault_rate rate, const char *unit)
{
    static const struct {
        enum ef_fault_rate rate;
        const char *unit;
        double factor;
    } units[] = {
        {EF_FAULT_PROBABILITY, "", 1}, {EF_FAULT_PROBABILITY, "%", 0.01}, {EF_FAULT_FRAMES, "", 1},
        {EF_FAULT_FRAMES, "/s", 1},    {EF_FAULT_BITS, "bit", 1},         {EF_FAULT_BITS, "kbit", 1e3},
        {EF_FAULT_BITS, "mbit", 1e6},  {EF_FAULT_BITS, "gbit", 1e9},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(units); i++) {
        if (units[i].rate == rate && !strcmp(units[i].unit, unit)) {
            return units[i].factor;
        }
    }
    return 0;
}

int
ef_fault_rate_parse(const char *text, struct ef_fault *fault, struct ef_error *err)
{
    static const char *const wanted[] = {
        [EF_FAULT_PROBABILITY] = "a probability, such as 0.01 or 1%",
        [EF_FAULT_BITS] = "a bandwidth from 1kbit to 100gbit, such as 5mbit",
        [EF_FAULT_FRAMES] = "frames per second, up to 100000",
    };
    static const double greatest[] = {[EF_FAULT_PROBABILITY] = 1, [EF_FAULT_BITS] = 1e11, [EF_FAULT_FRAMES] = 1e5};
    enum ef_fault_rate rate = fault->kind->rate;
    char *end;
    if (rate == EF_FAULT_NO_RATE) {
        return ef_error_set(err, -EINVAL, "%s has no --rate; leave it out", fault->kind->name);
    }
    fault->rate = strtod(text, &end);
    fault->rate *= factor_of(rate, end);
    if (end == text || !isfinite(fault->rate) || fault->rate <= 0 || fault->rate > greatest[rate] ||
        (rate == EF_FAULT_BITS && fault->rate < 1000)) {
        return ef_error_set(err, -EINVAL, "--rate: '%.40s' is not %s", text, wanted[rate]);
    }
    return 0;
}

struct ef_fault_params
ef_fault_params_of(const struct ef_fault *fault, enum ef_fault_action action)
{
    bool sometimes = fault->kind->rate == EF_FAULT_PROBABILITY;
    return (struct ef_fault_params){
        .match = fault->match,
        .threshold = sometimes ? (uint64_t) (fault->rate * 4294967296.0) : UINT64_MAX,
        .seed = fault->seed,
        .action = action,
        .id = fault->id,
    };
}

/* --- JSON ------------------------------------------------------------------- */

static json_t *
place_to_json(const struct ef_topology *t, const struct ef_fault *fault)
{
    const struct ef_topology_switch *sw = ef_topology_switch(t, fault->node);
    const struct ef_topology_port *port = sw && fault->port ? ef_topology_port(sw, fault->port) : NULL;
    return json_pack("{s:s, s:o, s:o, s:o}", "node", fault->node, "port",
                     port ? json_integer(port->number) : json_null(), "port_name",
                     port ? json_string(port->name) : json_null(), "peer",
                     port ? json_string(port->peer) : json_null());
}

json_t *
ef_fault_to_json(const struct ef_topology *t, const struct ef_fault *fault)
{
    char since[EF_TIME_TEXT_SIZE];
    json_t *json = json_pack("{s:i, s:s, s:o, s:s, s:I, s:s}", "id", (int) fault->id, "kind", fault->kind->name, "at",
                             place_to_json(t, fault), "match", fault->match_text, "seed", (json_int_t) fault->seed,
                             "since", ef_time_format(fault->since, since));
    if (fault->kind->rate != EF_FAULT_NO_RATE) {
        json_object_set_new(json, "rate", json_real(fault->rate));
    }
    if (fault->kind->needs_delay) {
        json_object_set_new(json, "delay_us", json_real((double) fault->delay_ns / 1e3));
    }
    if (fault->kind->types) {
        json_object_set_new(json, "type", json_string(fault->type));
    }
    return json;
}

int
ef_fault_from_json(const struct ef_topology *t, const json_t *json, struct ef_fault *fault)
{
    const char *kind, *node, *match, *since, *type = "";
    int id, port = 0;
    double rate = 0, delay_us = 0;
    json_int_t seed;
    json_t *port_json;
    *fault = (struct ef_fault){0};
    if (json_unpack((json_t *) json, "{s:i, s:s, s:{s:s, s:o}, s:s, s:I, s:s, s?F, s?F, s?s}", "id", &id, "kind", &kind,
                    "at", "node", &node, "port", &port_json, "match", &match, "seed", &seed, "since", &since, "rate",
                    &rate, "delay_us", &delay_us, "type", &type) ||
        id < 1 || id > EF_MAX_FAULTS) {
        return -EINVAL;
    }
    port = (int) json_integer_value(port_json);
    fault->kind = ef_fault_kind_find(kind, NULL);
    if (!fault->kind || ef_fault_place(t, node, fault, NULL) || ef_fault_match_parse(match, &fault->match, NULL) ||
        ef_time_parse(since, ef_time_real(), &fault->since, NULL)) {
        return -EINVAL;
    }
    fault->id = (uint32_t) id;
    fault->port = port;
    fault->rate = rate;
    fault->delay_ns = (int64_t) (delay_us * 1e3 + 0.5);
    fault->seed = (uint64_t) seed;
    snprintf(fault->match_text, sizeof fault->match_text, "%s", match);
    snprintf(fault->type, sizeof fault->type, "%s", type);
    return 0;
}
