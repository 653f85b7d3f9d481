/* SPDX-License-Identifier: Apache-2.0 */
/* The topology document; see topology.h. */
#include <config.h>

#include "controller/topology.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/document.h"
#include "net/ovsdb_client.h"
#include "packet/packet.h"

static int
read_switch(const struct doc_place *place, struct topology_switch *s, struct ef_error *err)
{
    struct ef_error why = EF_ERROR_INIT;
    if (!json_is_object(place->value)) {
        return doc_error(place, err, "must be an object");
    }
    if (doc_string(place, "name", NULL, &s->name, err) || doc_string(place, "loopback", NULL, &s->loopback, err) ||
        doc_string(place, "ovsdb", NULL, &s->ovsdb, err)) {
        return -EINVAL;
    }
    s->bridge = json_string_value(json_object_get(place->value, "bridge"));
    if (ef_address_parse(s->loopback, s->address)) {
        struct doc_place loopback = doc_member(place, "loopback");
        return doc_error(&loopback, err, "'%.60s' is not an IP address", s->loopback);
    }
    struct doc_place loopback6 = doc_member(place, "loopback6");
    if (loopback6.value) {
        uint8_t address[16];
        if (doc_string(place, "loopback6", NULL, &s->loopback6, err)) {
            return -EINVAL;
        }
        if (ef_address_parse(s->loopback6, address) || !strchr(s->loopback6, ':') || strchr(s->loopback, ':')) {
            return doc_error(&loopback6, err, "'%.60s' is not an IPv6 address beside an IPv4 loopback", s->loopback6);
        }
    }
    if (ef_ovsdb_remote_check(s->ovsdb, &why)) {
        struct doc_place ovsdb = doc_member(place, "ovsdb");
        return doc_error(&ovsdb, err, "%s", why.text);
    }
    return 0;
}

static int
compare_addresses(const void *a, const void *b)
{
    const struct topology_switch *const *x = a, *const *y = b;
    return memcmp((*x)->address, (*y)->address, sizeof(*x)->address);
}

static int
compare_names(const void *a, const void *b)
{
    const struct topology_switch *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Sorts the switches in both ways, to find any that are there twice; leaves
 * them sorted by address. */
static int
index_switches(struct topology *t, struct ef_error *err)
{
    for (size_t i = 0; i < t->n_switches; i++) {
        t->by_address[i] = &t->switches[i];
    }
    qsort(t->by_address, t->n_switches, sizeof *t->by_address, compare_names);
    for (size_t i = 1; i < t->n_switches; i++) {
        if (!compare_names(&t->by_address[i - 1], &t->by_address[i])) {
            return ef_error_set(err, -EINVAL, "switches[%zu].name: '%.60s' is there twice",
                                (size_t) (t->by_address[i] - t->switches), t->by_address[i]->name);
        }
    }
    qsort(t->by_address, t->n_switches, sizeof *t->by_address, compare_addresses);
    for (size_t i = 1; i < t->n_switches; i++) {
        if (!compare_addresses(&t->by_address[i - 1], &t->by_address[i])) {
            return ef_error_set(err, -EINVAL, "switches[%zu].loopback: %.60s is also that of '%.60s'",
                                (size_t) (t->by_address[i] - t->switches), t->by_address[i]->loopback,
                                t->by_address[i - 1]->name);
        }
    }
    return 0;
}

static bool
is_switch(const json_t *switches, const char *name)
{
    size_t i;
    json_t *node;
    json_array_foreach((json_t *) switches, i, node)
    {
        const char *other = json_string_value(json_object_get(node, "name"));
        if (other && !strcmp(other, name)) {
            return true;
        }
    }
    return false;
}

/* The names of the ports of `node` whose peer is there and no switch. */
static json_t *
edge_ports_of(const json_t *node, const json_t *switches)
{
    json_t *names = json_array(), *port;
    size_t i;
    json_array_foreach(json_object_get(node, "ports"), i, port)
    {
        json_t *name = json_object_get(port, "name");
        const char *peer = json_string_value(json_object_get(json_object_get(port, "peer"), "node"));
        if (json_is_string(name) && peer && !is_switch(switches, peer)) {
            json_array_append(names, name);
        }
    }
    return names;
}

static int
read_switches(const struct doc_place *root, struct topology *t, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(root, "switches", true, &list, err)) {
        return -EINVAL;
    }
    size_t n = json_array_size(list.value);
    t->switches = calloc(n + 1, sizeof *t->switches);
    t->by_address = calloc(n + 1, sizeof *t->by_address);
    if (!t->switches || !t->by_address) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    for (t->n_switches = 0; t->n_switches < n; t->n_switches++) {
        struct doc_place place = doc_element(&list, t->n_switches);
        if (read_switch(&place, &t->switches[t->n_switches], err)) {
            return -EINVAL;
        }
        t->switches[t->n_switches].edge_ports = edge_ports_of(place.value, list.value);
    }
    return index_switches(t, err);
}

int
topology_load(const char *file, struct topology *t, struct ef_error *err)
{
    struct doc_place root;
    memset(t, 0, sizeof *t);
    int rc = doc_load(file, &root, err);
    if (rc) {
        return rc;
    }
    t->document = root.value;
    rc = read_switches(&root, t, err);
    if (rc) {
        topology_free(t);
        return ef_error_prefix(err, rc, "%s", file);
    }
    return 0;
}

void
topology_free(struct topology *t)
{
    for (size_t i = 0; i < t->n_switches; i++) {
        json_decref(t->switches[i].edge_ports);
    }
    free(t->switches);
    free(t->by_address);
    free(t->added);
    json_decref(t->document);
    memset(t, 0, sizeof *t);
}

const struct topology_switch *
topology_find_address(const struct topology *t, const uint8_t address[16])
{
    struct topology_switch key, *pointer = &key, **found;
    memcpy(key.address, address, sizeof key.address);
    found = t->n_switches ? bsearch(&pointer, t->by_address, t->n_switches, sizeof *t->by_address, compare_addresses)
                          : NULL;
    for (size_t i = 0; !found && i < t->n_added; i++) {
        found = memcmp(t->added[i]->address, address, sizeof key.address) ? NULL : &t->added[i];
    }
    return found ? *found : NULL;
}

const struct topology_switch *
topology_find(const struct topology *t, const char *text)
{
    uint8_t address[16];
    return ef_address_parse(text, address) ? NULL : topology_find_address(t, address);
}
