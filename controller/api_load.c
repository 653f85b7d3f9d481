/* SPDX-License-Identifier: Apache-2.0 */
/* What switches, ports and links carried: GET /v1/load, and how long guided probes
 * took over links: GET /v1/latency. Each analyzer counts the packets that it traced;
 * here the numbers are summed, and the topology's names added. */
#include <config.h>

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "controller/ask_analyzers.h"
#include "net/http_query.h"

static const char *const load_params[] = {"start", "end", NULL};

/* --- Sums ------------------------------------------------------------------------ */

/* A list of entries that is made of the analyzers' lists of that name: those with
 * the same values of `keys` are one, with the sums of `numbers`. */
struct list_spec {
    const char *name;
    const char *keys[4], *numbers[4]; /* NULL behind the last. */
};

static const struct list_spec load_lists[] = {
    {"switches", {"switch"}, {"copies", "packets", "bytes"}},
    {"ports", {"switch", "port", "direction"}, {"packets", "bytes"}},
    {"links", {"from", "to"}, {"packets", "bytes", "corrupted"}},
};

static const struct list_spec latency_list = {"links", {"from", "to"}, {NULL}};

/* The list under way, and the place of each entry by its key. */
struct sums {
    json_t *list, *places;
};

static struct sums
sums_begin(void)
{
    return (struct sums){json_array(), json_object()};
}

/* The place of the sum's entry for that of an analyzer, a new one of its keys if
 * there is none; -1 if it is no such entry. */
static json_int_t
place_for(struct sums *sums, const struct list_spec *spec, const json_t *part)
{
    json_t *fresh = json_object();
    for (size_t i = 0; spec->keys[i]; i++) {
        json_t *value = json_object_get(part, spec->keys[i]);
        if (!json_is_string(value) && !json_is_integer(value) && !json_is_null(value)) {
            json_decref(fresh);
            return -1;
        }
        json_object_set(fresh, spec->keys[i], value);
    }
    char *key = json_dumps(fresh, JSON_COMPACT);
    if (!key) {
        abort(); /* Control path. */
    }
    json_t *place = json_object_get(sums->places, key);
    if (!place) {
        place = json_integer((json_int_t) json_array_size(sums->list));
        json_object_set_new(sums->places, key, place);
        json_array_append(sums->list, fresh);
    }
    json_decref(fresh);
    free(key);
    return json_integer_value(place);
}

static void
add_numbers(json_t *entry, const struct list_spec *spec, const json_t *part)
{
    for (size_t i = 0; spec->numbers[i]; i++) {
        json_int_t n = json_integer_value(json_object_get(entry, spec->numbers[i])), sum;
        if (__builtin_add_overflow(n, json_integer_value(json_object_get(part, spec->numbers[i])), &sum)) {
            sum = INT64_MAX;
        }
        json_object_set_new(entry, spec->numbers[i], json_integer(sum));
    }
}

/* Adds "NAME": the sum of the lists of that name. */
static void
sum_list(json_t *document, const struct list_spec *spec, const struct fan_out_answer answers[], size_t n)
{
    struct sums sums = sums_begin();
    for (size_t i = 0; i < n; i++) {
        size_t k;
        const json_t *part;
        json_t *parts = *answers[i].error ? NULL : json_object_get(answers[i].body, spec->name);
        json_array_foreach(parts, k, part)
        {
            json_int_t place = place_for(&sums, spec, part);
            if (place >= 0) {
                add_numbers(json_array_get(sums.list, (size_t) place), spec, part);
            }
        }
    }
    json_decref(sums.places);
    json_object_set_new(document, spec->name, sums.list);
}

/* --- Names ------------------------------------------------------------------------ */

static void
add_name(json_t *entry, const char *address_key, const char *name_key, const struct topology *topology)
{
    const char *address = json_string_value(json_object_get(entry, address_key));
    const struct topology_switch *node = address ? topology_find(topology, address) : NULL;
    if (node) {
        json_object_set_new(entry, name_key, json_string(node->name));
    }
}

static void
add_names(json_t *list, const char *address_key, const char *name_key, const struct topology *topology)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        add_name(entry, address_key, name_key, topology);
    }
}

/* Who is at the other end of the port, from the topology's `ports` of its switch; or NULL. */
static json_t *
peer_of(const json_t *ports, const json_t *number)
{
    size_t i;
    json_t *port;
    json_array_foreach((json_t *) ports, i, port)
    {
        if (json_equal(json_object_get(port, "number"), number)) {
            return json_object_get(json_object_get(port, "peer"), "node");
        }
    }
    return NULL;
}

static void
add_peers(json_t *list, const struct topology *topology)
{
    size_t i;
    json_t *node, *port, *ports_by_name = json_object();
    json_array_foreach(json_object_get(topology->document, "switches"), i, node)
    {
        const char *name = json_string_value(json_object_get(node, "name"));
        json_object_set(ports_by_name, name ? name : "", json_object_get(node, "ports"));
    }
    json_array_foreach(list, i, port)
    {
        const char *name = json_string_value(json_object_get(port, "name"));
        json_t *peer = name ? peer_of(json_object_get(ports_by_name, name), json_object_get(port, "port")) : NULL;
        if (peer) {
            json_object_set(port, "peer", peer);
        }
    }
    json_decref(ports_by_name);
}

/* --- Load -------------------------------------------------------------------------- */

/* Adds the least start or the greatest end that an analyzer says; all write times alike. */
static void
add_time(json_t *document, const char *key, int sign, const struct fan_out_answer answers[], size_t n)
{
    const char *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *time = *answers[i].error ? NULL : json_string_value(json_object_get(answers[i].body, key));
        if (time && (!best || strcmp(time, best) * sign > 0)) {
            best = time;
        }
    }
    if (best) {
        json_object_set_new(document, key, json_string(best));
    }
}

static double
longest_span(const struct fan_out_answer answers[], size_t n)
{
    double longest = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *span = *answers[i].error ? NULL : json_object_get(answers[i].body, "span_s");
        longest = json_number_value(span) > longest ? json_number_value(span) : longest;
    }
    return longest;
}

static json_int_t
sum_uncounted(const struct fan_out_answer answers[], size_t n)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        json_t *uncounted = *answers[i].error ? NULL : json_object_get(answers[i].body, "uncounted");
        if (__builtin_add_overflow(sum, json_integer_value(uncounted), &sum)) {
            sum = INT64_MAX;
        }
    }
    return sum;
}

static json_t *
merge_load(const struct controller *c, const struct fan_out_answer answers[], size_t n)
{
    json_t *load = json_object();
    add_time(load, "start", -1, answers, n);
    add_time(load, "end", 1, answers, n);
    json_object_set_new(load, "span_s", json_real(longest_span(answers, n)));
    for (size_t i = 0; i < EF_ARRAY_SIZE(load_lists); i++) {
        sum_list(load, &load_lists[i], answers, n);
    }
    add_names(json_object_get(load, "switches"), "switch", "name", &c->topology);
    add_names(json_object_get(load, "ports"), "switch", "name", &c->topology);
    add_names(json_object_get(load, "links"), "from", "from_name", &c->topology);
    add_names(json_object_get(load, "links"), "to", "to_name", &c->topology);
    add_peers(json_object_get(load, "ports"), &c->topology);
    json_object_set_new(load, "uncounted", json_integer(sum_uncounted(answers, n)));
    return load;
}

static void
get_load(struct ef_http_request *http, void *ctx)
{
    struct evbuffer *target = evbuffer_new();
    if (!target) {
        abort(); /* Control path. */
    }
    evbuffer_add_printf(target, "/v1/load");
    for (size_t i = 0; load_params[i]; i++) {
        ef_http_query_append(target, load_params[i], ef_http_param(http, load_params[i]));
    }
    evbuffer_add(target, "", 1);
    struct fan_out_request request = {
        .method = "GET", .target = (const char *) evbuffer_pullup(target, -1), .program = "ef-analyzer"};
    ask_analyzers(http, ctx, &request, 200, merge_load);
    evbuffer_free(target);
}

/* --- Latency ------------------------------------------------------------------------ */

/* The links of all analyzers' answers, with a histogram each. */
struct latencies {
    struct sums sums;
    struct ef_histogram *histograms; /* By place. */
};

/* Gives what came to the list since it had `before` entries an empty histogram. */
static void
grow(struct latencies *l, size_t before)
{
    size_t n = json_array_size(l->sums.list);
    if (n > before) {
        l->histograms = realloc(l->histograms, n * sizeof l->histograms[0]);
        if (!l->histograms) {
            abort(); /* Control path. */
        }
        memset(&l->histograms[before], 0, (n - before) * sizeof l->histograms[0]);
    }
}

static void
add_links(struct latencies *l, json_t *links)
{
    size_t i;
    const json_t *link;
    json_array_foreach(links, i, link)
    {
        struct ef_histogram part = {0};
        size_t before = json_array_size(l->sums.list);
        json_int_t place = ef_histogram_merge_json(&part, link) ? -1 : place_for(&l->sums, &latency_list, link);
        if (place >= 0) {
            grow(l, before);
            ef_histogram_merge(&l->histograms[place], &part);
        }
    }
}

static json_t *
merge_latency(const struct controller *c, const struct fan_out_answer answers[], size_t n)
{
    struct latencies l = {sums_begin(), NULL};
    size_t i;
    json_t *link;
    for (i = 0; i < n; i++) {
        add_links(&l, *answers[i].error ? NULL : json_object_get(answers[i].body, "links"));
    }
    json_array_foreach(l.sums.list, i, link)
    {
        json_t *times = ef_histogram_json(&l.histograms[i]);
        json_object_update(link, times);
        json_decref(times);
    }
    add_names(l.sums.list, "from", "from_name", &c->topology);
    add_names(l.sums.list, "to", "to_name", &c->topology);
    json_decref(l.sums.places);
    free(l.histograms);
    return json_pack("{s:o}", "links", l.sums.list);
}

static void
get_latency(struct ef_http_request *http, void *ctx)
{
    struct fan_out_request request = {.method = "GET", .target = "/v1/latency", .program = "ef-analyzer"};
    ask_analyzers(http, ctx, &request, 200, merge_latency);
}

void
api_load_add(struct controller *c)
{
    static const struct ef_http_route routes[] = {
        {"GET", "/v1/load", load_params, get_load},
        {"GET", "/v1/latency", NULL, get_latency},
        {0},
    };
    ef_http_server_add_routes(c->http, routes, c);
}
