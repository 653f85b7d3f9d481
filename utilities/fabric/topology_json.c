/* SPDX-License-Identifier: Apache-2.0 */
/* The topology document: reading one that may leave out what can be derived,
 * and writing a complete one. See topology.h, and ef-fabric(8) for the format.
 *
 * Names that follow from the fabric's name (netns, ovsdb), the bridge and the
 * interface are written for those who need them and ignored when read: a
 * document may so be saved, edited and brought up under another name. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/topology.h"

/* Where in the document we are ("switches[2].ports[0]"), for errors. */
struct place {
    char text[96];
};

static struct place
place_of(const struct place *outer, const char *array, size_t index)
{
    struct place p;
    snprintf(p.text, sizeof p.text, "%.40s%s%.10s[%zu]", outer ? outer->text : "", outer ? "." : "", array, index);
    return p;
}

static int
check_members(json_t *object, const struct place *place, const char *const known[], struct ef_error *err)
{
    if (!json_is_object(object)) {
        return ef_error_set(err, -EINVAL, "%s is not an object", place->text);
    }
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key)) {
            i++;
        }
        if (!known[i]) {
            const char *near = ef_nearest_word(key, known);
            return ef_error_set(err, -EINVAL, "%s has an unknown member '%.40s'%s%s%s", place->text, key,
                                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        }
    }
    return 0;
}

/* A string member; `*text` stays NULL if it is not there. */
static int
get_text(json_t *object, const struct place *place, const char *key, const char **text, struct ef_error *err)
{
    json_t *value = json_object_get(object, key);
    *text = NULL;
    if (!value || json_is_null(value)) {
        return 0;
    }
    if (!json_is_string(value)) {
        return ef_error_set(err, -EINVAL, "%s.%s is not a string", place->text, key);
    }
    *text = json_string_value(value);
    return 0;
}

/* A word that is copied into `out`; an error if it does not fit. */
static int
get_word(json_t *object, const struct place *place, const char *key, char *out, size_t size, struct ef_error *err)
{
    const char *text;
    int rc = get_text(object, place, key, &text, err);
    if (rc || !text) {
        return rc;
    }
    if (strlen(text) >= size) {
        return ef_error_set(err, -EINVAL, "%s.%s: '%.40s' is longer than %zu characters", place->text, key, text,
                            size - 1);
    }
    strcpy(out, text);
    return 0;
}

static int
get_number(json_t *object, const struct place *place, const char *key, int *out, struct ef_error *err)
{
    json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value)) {
        return 0;
    }
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 1 || number > EF_MAX_PORT) {
        return ef_error_set(err, -EINVAL, "%s.%s is not a number from 1 to %d", place->text, key, EF_MAX_PORT);
    }
    *out = (int) number;
    return 0;
}

typedef int parse_fn(const char *text, void *out, struct ef_error *err);

static int
parse_address(const char *text, void *out, struct ef_error *err)
{
    return ef_address_parse(text, out, err);
}
static int
parse_prefix(const char *text, void *out, struct ef_error *err)
{
    return ef_prefix_parse(text, out, err);
}
static int
parse_mac(const char *text, void *out, struct ef_error *err)
{
    return ef_mac_parse(text, out, err);
}

static int
get_parsed(json_t *object, const struct place *place, const char *key, parse_fn *parse, void *out, struct ef_error *err)
{
    const char *text;
    int rc = get_text(object, place, key, &text, err);
    if (!rc && text) {
        rc = parse(text, out, err);
        if (rc) {
            ef_error_prefix(err, rc, "%s.%s", place->text, key);
        }
    }
    return rc;
}

static int
read_port(json_t *json, const struct place *place, struct ef_topology_port *port, struct ef_error *err)
{
    static const char *const known[] = {"number", "name", "peer", NULL};
    static const char *const known_peer[] = {"node", "port", NULL};
    json_t *peer = json_object_get(json, "peer");
    struct place peer_place;
    snprintf(peer_place.text, sizeof peer_place.text, "%.80s.peer", place->text);
    int rc = check_members(json, place, known, err);
    if (!rc && !peer) {
        rc = ef_error_set(err, -EINVAL, "%s has no peer; say where it leads: \"peer\":{\"node\":...}", place->text);
    }
    if (!rc) {
        rc = check_members(peer, &peer_place, known_peer, err);
    }
    if (rc || (rc = get_word(peer, &peer_place, "node", port->peer, sizeof port->peer, err)) ||
        (rc = get_number(peer, &peer_place, "port", &port->peer_port, err)) ||
        (rc = get_number(json, place, "number", &port->number, err)) ||
        (rc = get_word(json, place, "name", port->name, sizeof port->name, err))) {
        return rc;
    }
    return port->peer[0] ? 0 : ef_error_set(err, -EINVAL, "%s has no node", peer_place.text);
}

static int
read_array(json_t *json, const struct place *outer, const char *key, json_t **array, struct ef_error *err)
{
    *array = json_object_get(json, key);
    if (*array && !json_is_array(*array)) {
        return ef_error_set(err, -EINVAL, "%s%s%s is not an array", outer ? outer->text : "", outer ? "." : "", key);
    }
    return 0;
}

static int
read_switch(json_t *json, const struct place *place, struct ef_topology_switch *sw, struct ef_error *err)
{
    static const char *const known[] = {"name",    "role",  "loopback", "loopback6", "mac",    "subnet",
                                        "subnet6", "ports", "ovsdb",    "netns",     "bridge", NULL};
    json_t *ports, *port;
    size_t i;
    int rc = check_members(json, place, known, err);
    if (rc || (rc = get_word(json, place, "name", sw->name, sizeof sw->name, err)) ||
        (rc = get_word(json, place, "role", sw->role, sizeof sw->role, err)) ||
        (rc = get_parsed(json, place, "loopback", parse_address, &sw->loopback, err)) ||
        (rc = get_parsed(json, place, "mac", parse_mac, &sw->mac, err)) ||
        (rc = get_parsed(json, place, "subnet", parse_prefix, &sw->subnet, err)) ||
        (rc = read_array(json, place, "ports", &ports, err))) {
        return rc;
    }
    json_array_foreach(ports, i, port)
    {
        struct place port_place = place_of(place, "ports", i);
        if ((rc = read_port(port, &port_place, ef_topology_add_port(sw), err))) {
            return rc;
        }
    }
    return 0;
}

static int
read_role(json_t *json, const struct place *place, struct ef_topology_host *host, struct ef_error *err)
{
    const char *text;
    int rc = get_text(json, place, "role", &text, err);
    if (rc || !text) {
        return rc;
    }
    for (enum ef_host_role role = EF_HOST_PLAIN; role <= EF_HOST_ANALYZER; role++) {
        if (!strcmp(text, ef_host_role_name(role))) {
            host->role = role;
            return 0;
        }
    }
    return ef_error_set(err, -EINVAL, "%s.role: '%.40s' is not host, reshuffler or analyzer", place->text, text);
}

static int
read_host(json_t *json, const struct place *place, struct ef_topology_host *host, struct ef_error *err)
{
    static const char *const known[] = {"name",   "role", "address", "address6",  "mac",
                                        "switch", "port", "netns",   "interface", NULL};
    int rc = check_members(json, place, known, err);
    if (rc || (rc = get_word(json, place, "name", host->name, sizeof host->name, err)) ||
        (rc = read_role(json, place, host, err)) ||
        (rc = get_parsed(json, place, "address", parse_address, &host->address, err)) ||
        (rc = get_parsed(json, place, "mac", parse_mac, &host->mac, err)) ||
        (rc = get_word(json, place, "switch", host->switch_name, sizeof host->switch_name, err))) {
        return rc;
    }
    return get_number(json, place, "port", &host->port, err);
}

static int
read_document(json_t *json, struct ef_topology *t, struct ef_error *err)
{
    static const char *const known[] = {"name", "vip", "switches", "hosts", NULL};
    static const struct place whole = {"the document"};
    json_t *switches, *hosts, *item;
    size_t i;
    int rc = check_members(json, &whole, known, err);
    if (rc || (rc = get_word(json, &whole, "name", t->name, sizeof t->name, err)) ||
        (rc = get_parsed(json, &whole, "vip", parse_address, &t->vip, err)) ||
        (rc = read_array(json, NULL, "switches", &switches, err)) ||
        (rc = read_array(json, NULL, "hosts", &hosts, err))) {
        return rc;
    }
    json_array_foreach(switches, i, item)
    {
        struct place place = place_of(NULL, "switches", i);
        if ((rc = read_switch(item, &place, ef_topology_add_switch(t), err))) {
            return rc;
        }
    }
    json_array_foreach(hosts, i, item)
    {
        struct place place = place_of(NULL, "hosts", i);
        if ((rc = read_host(item, &place, ef_topology_add_host(t), err))) {
            return rc;
        }
    }
    return 0;
}

static int
from_json(json_t *json, const json_error_t *json_err, const char *name, struct ef_topology **topology,
          struct ef_error *err)
{
    if (!json) {
        return ef_error_set(err, -EINVAL, "line %d, column %d: %s", json_err->line, json_err->column, json_err->text);
    }
    struct ef_topology *t = ef_topology_create();
    int rc = read_document(json, t, err);
    json_decref(json);
    if (!rc && name) {
        snprintf(t->name, sizeof t->name, "%s", name);
    }
    if (!rc) {
        rc = ef_topology_complete(t, err);
    }
    if (rc) {
        ef_topology_destroy(t);
        return rc;
    }
    *topology = t;
    return 0;
}

int
ef_topology_parse(const char *json, const char *name, struct ef_topology **topology, struct ef_error *err)
{
    json_error_t json_err;
    return from_json(json_loads(json, JSON_REJECT_DUPLICATES, &json_err), &json_err, name, topology, err);
}

int
ef_topology_read(const char *path, const char *name, struct ef_topology **topology, struct ef_error *err)
{
    json_error_t json_err;
    FILE *file = fopen(path, "re");
    if (!file) {
        return ef_error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    }
    json_t *json = json_loadf(file, JSON_REJECT_DUPLICATES, &json_err);
    fclose(file);
    int rc = from_json(json, &json_err, name, topology, err);
    return rc ? ef_error_prefix(err, rc, "%s", path) : 0;
}

static void
set_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, json_string(text));
}

static json_t *
port_to_json(const struct ef_topology_port *port)
{
    json_t *peer = json_object(), *json = json_object();
    set_text(peer, "node", port->peer);
    if (port->peer_port) {
        json_object_set_new(peer, "port", json_integer(port->peer_port));
    }
    json_object_set_new(json, "number", json_integer(port->number));
    set_text(json, "name", port->name);
    json_object_set_new(json, "peer", peer);
    return json;
}

static json_t *
switch_to_json(const struct ef_topology *t, const struct ef_topology_switch *sw)
{
    char text[EF_ADDRESS6_TEXT_SIZE], netns[EF_NETNS_NAME_SIZE], path[EF_STATE_PATH_SIZE];
    char ovsdb[EF_STATE_PATH_SIZE + 8];
    json_t *json = json_object(), *ports = json_array();
    set_text(json, "name", sw->name);
    set_text(json, "role", sw->role);
    set_text(json, "loopback", ef_address_format(sw->loopback, text));
    set_text(json, "loopback6", ef_address6_format(sw->loopback, text));
    if (sw->subnet.len) {
        set_text(json, "subnet", ef_prefix_format(sw->subnet, text));
        set_text(json, "subnet6", ef_prefix6_format(sw->subnet, text));
    }
    set_text(json, "mac", ef_mac_format(sw->mac, text));
    snprintf(ovsdb, sizeof ovsdb, "unix:%s", ef_state_path(t->name, sw->name, "db.sock", path));
    set_text(json, "ovsdb", ovsdb);
    set_text(json, "netns", ef_topology_netns(t, sw->name, netns));
    set_text(json, "bridge", EF_BRIDGE);
    for (size_t i = 0; i < sw->n_ports; i++) {
        json_array_append_new(ports, port_to_json(&sw->ports[i]));
    }
    json_object_set_new(json, "ports", ports);
    return json;
}

static json_t *
host_to_json(const struct ef_topology *t, const struct ef_topology_host *host)
{
    char text[EF_ADDRESS6_TEXT_SIZE], netns[EF_NETNS_NAME_SIZE];
    json_t *json = json_object();
    set_text(json, "name", host->name);
    set_text(json, "role", ef_host_role_name(host->role));
    set_text(json, "address", ef_address_format(host->address, text));
    set_text(json, "address6", ef_address6_format(host->address, text));
    set_text(json, "mac", ef_mac_format(host->mac, text));
    set_text(json, "switch", host->switch_name);
    json_object_set_new(json, "port", json_integer(host->port));
    set_text(json, "netns", ef_topology_netns(t, host->name, netns));
    set_text(json, "interface", EF_HOST_INTERFACE);
    return json;
}

json_t *
ef_topology_to_json(const struct ef_topology *t)
{
    char text[EF_ADDRESS_TEXT_SIZE];
    json_t *json = json_object(), *switches = json_array(), *hosts = json_array();
    set_text(json, "name", t->name);
    set_text(json, "vip", ef_address_format(t->vip, text));
    for (size_t i = 0; i < t->n_switches; i++) {
        json_array_append_new(switches, switch_to_json(t, &t->switches[i]));
    }
    for (size_t i = 0; i < t->n_hosts; i++) {
        json_array_append_new(hosts, host_to_json(t, &t->hosts[i]));
    }
    json_object_set_new(json, "switches", switches);
    json_object_set_new(json, "hosts", hosts);
    return json;
}
