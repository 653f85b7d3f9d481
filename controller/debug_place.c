/* SPDX-License-Identifier: Apache-2.0 */
/* Where debug sessions mark; see debug_place.h. */
#include <config.h>

#include "controller/debug_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/fabric_map.h"
#include "controller/text.h"

enum { MAX_SERVERS = 64, MAX_NEIGHBOURS = 512, FAR = -1 };

static bool
is_text(const json_t *value, const char *text)
{
    const char *have = json_string_value(value);
    return have && !strcmp(have, text);
}

static const json_t *
find_host(const struct topology *topology, const char *name)
{
    static const char *const known_by[] = {"name", "address", "address6"};
    json_t *host;
    size_t i;
    json_array_foreach(json_object_get(topology->document, "hosts"), i, host)
    {
        for (size_t k = 0; k < EF_ARRAY_SIZE(known_by); k++) {
            if (is_text(json_object_get(host, known_by[k]), name)) {
                return host;
            }
        }
    }
    return NULL;
}

/* The switch's number, or n_switches. */
static size_t
number_of(const struct topology *topology, const char *name)
{
    size_t i = 0;
    while (i < topology->n_switches && (!name || strcmp(topology->switches[i].name, name))) {
        i++;
    }
    return i;
}

size_t
debug_place_number(const struct topology *topology, const json_t *place)
{
    return number_of(topology, json_string_value(json_object_get(place, "switch")));
}

static int
add_place(const struct topology *topology, json_t *places, const char *name, size_t index, struct ef_error *err)
{
    char shown[61];
    snprintf(shown, sizeof shown, "%s", name);
    text_make_printable(shown);
    const json_t *host = find_host(topology, name);
    if (!host) {
        return ef_error_set(err, -EINVAL, "servers[%zu]: the topology has no host '%s'", index, shown);
    }
    const char *at = json_string_value(json_object_get(host, "switch"));
    size_t number = number_of(topology, at);
    json_int_t port = json_integer_value(json_object_get(host, "port"));
    if (number == topology->n_switches || port <= 0) {
        return ef_error_set(err, -EINVAL, "servers[%zu]: the topology does not say where '%s' is attached", index,
                            shown);
    }
    json_t *place = json_pack("{s:O, s:s, s:I}", "server", json_object_get(host, "name"), "switch", at, "port", port);
    for (size_t i = 0; i < json_array_size(places); i++) {
        if (json_equal(json_array_get(places, i), place)) {
            json_decref(place);
            return 0;
        }
    }
    json_array_append_new(places, place);
    return 0;
}

json_t *
debug_places(const struct topology *topology, const json_t *names, struct ef_error *err)
{
    json_t *places = json_array(), *name;
    size_t i;
    int rc = 0;
    if (!json_array_size(names) || json_array_size(names) > MAX_SERVERS) {
        rc = ef_error_set(err, -EINVAL, "servers: must be 1 to %d names or addresses of hosts", MAX_SERVERS);
    }
    json_array_foreach((json_t *) names, i, name)
    {
        if (!rc && !json_is_string(name)) {
            rc = ef_error_set(err, -EINVAL, "servers[%zu]: must be a string", i);
        }
        rc = rc ? rc : add_place(topology, places, json_string_value(name), i, err);
    }
    if (rc) {
        json_decref(places);
        return NULL;
    }
    return places;
}

/* --- Hops ----------------------------------------------------------------- */

/* How many links each switch is from `from`, breadth first; FAR: there is no way. */
static void
measure(const struct topology *topology, const struct fabric_map *map, size_t from, int *links, size_t *queue)
{
    const char *next[MAX_NEIGHBOURS];
    size_t first = 0, last = 0;
    for (size_t i = 0; i < topology->n_switches; i++) {
        links[i] = FAR;
    }
    links[from] = 0;
    queue[last++] = from;
    while (first < last) {
        size_t at = queue[first++];
        size_t n = fabric_map_neighbours(map, topology->switches[at].name, next, MAX_NEIGHBOURS);
        for (size_t i = 0; i < n; i++) {
            size_t number = number_of(topology, next[i]);
            if (number < topology->n_switches && links[number] == FAR) {
                links[number] = links[at] + 1;
                queue[last++] = number;
            }
        }
    }
}

unsigned
debug_places_hops(const struct topology *topology, const json_t *places)
{
    struct fabric_map *map = fabric_map_create(topology->document);
    int *links = calloc(topology->n_switches + 1, sizeof *links), most = 0;
    size_t *queue = calloc(topology->n_switches + 1, sizeof *queue), i, k;
    json_t *place, *host;
    if (!map || !links || !queue) {
        abort(); /* Control path. */
    }
    json_array_foreach((json_t *) places, i, place)
    {
        size_t from = debug_place_number(topology, place);
        if (from == topology->n_switches) {
            continue;
        }
        measure(topology, map, from, links, queue);
        json_array_foreach(json_object_get(topology->document, "hosts"), k, host)
        {
            size_t number = number_of(topology, json_string_value(json_object_get(host, "switch")));
            most = number < topology->n_switches ? EF_MAX(most, links[number]) : most;
        }
    }
    free(queue);
    free(links);
    fabric_map_destroy(map);
    return (unsigned) most + 1;
}
