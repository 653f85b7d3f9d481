/* SPDX-License-Identifier: Apache-2.0 */
/* Switches added at run time; see added_switches.h. */
#include <config.h>

#include "controller/added_switches.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/collection.h"
#include "controller/controller.h"
#include "controller/document.h"
#include "controller/rule_sets.h"
#include "net/ovsdb_remotes.h"
#include "packet/packet.h"

enum { MAX_NAME = 64, MAX_SWITCHES = 10000 };

/* One of them; its texts are the document's. */
struct added_switch {
    json_t *document;
    struct topology_switch node;
    struct managed_switch *managed;
};

struct added_switches {
    struct controller *controller;
    struct added_switch **list; /* The i-th is the controller's switch n_switches of the topology + i. */
    size_t n;
};

/* --- Orders --------------------------------------------------------------------- */

static int
check_name(const struct doc_place *place, const char *name, struct ef_error *err)
{
    size_t len = strlen(name);
    bool is_good = len <= MAX_NAME;
    for (size_t i = 0; i < len; i++) {
        is_good &= isalnum((unsigned char) name[i]) || strchr("_.-:", name[i]);
    }
    return is_good
               ? 0
               : doc_error(place, err, "a switch's name has 1 to %d letters, digits, '_', '-', '.' and ':'", MAX_NAME);
}

/* The address of a tcp: or ssl: remote, which most often is the switch's own, into
 * `buf`. */
static int
address_of_remote(const char *ovsdb, char *buf, size_t size, struct ef_error *err)
{
    const char *start = strchr(ovsdb, ':') + 1, *end = strrchr(ovsdb, ':');
    uint8_t address[16];
    if (!strncmp(ovsdb, "unix:", 5) || end <= start) {
        return ef_error_set(err, -EINVAL, "source_ip: missing; it cannot be told from '%.80s'", ovsdb);
    }
    if (*start == '[') {
        start++, end--;
    }
    snprintf(buf, size, "%.*s", (int) (end - start), start);
    return ef_address_parse(buf, address) ? ef_error_set(err, -EINVAL, "source_ip: missing") : 0;
}

static int
check_is_new(const struct controller *c, const char *name, const char *source_ip, struct ef_error *err)
{
    const struct topology_switch *same = topology_find(&c->topology, source_ip);
    for (size_t i = 0; i < c->n_switches; i++) {
        if (!strcmp(managed_switch_name(c->switches[i]), name)) {
            return ef_error_set(err, -EEXIST, "there is a switch '%s' already; remove it first", name);
        }
    }
    if (c->n_switches >= MAX_SWITCHES) {
        return ef_error_set(err, -ENOSPC, "more than %d switches", MAX_SWITCHES);
    }
    return same ? ef_error_set(err, -EEXIST, "%s is the address of switch '%s'", source_ip, same->name) : 0;
}

static int
check_ssl(const struct controller *c, const struct ef_ovsdb_remotes *remotes, struct ef_error *err)
{
    for (size_t i = 0; i < remotes->n; i++) {
        if (remotes->list[i].is_ssl && !c->configuration.tls) {
            return ef_error_set(err, -EINVAL, "ovsdb: ssl: needs \"tls\" in the controller's configuration");
        }
    }
    return 0;
}

/* Into `buf`: the address that is given, or that of the remote. */
static int
read_source_ip(const struct doc_place *root, const struct ef_ovsdb_remotes *remotes, char *buf, size_t size,
               struct ef_error *err)
{
    struct doc_place place = doc_member(root, "source_ip");
    const char *text;
    uint8_t address[16];
    if (!place.value) {
        return address_of_remote(remotes->list[0].text, buf, size, err);
    }
    if (doc_string(root, "source_ip", NULL, &text, err)) {
        return -EINVAL;
    }
    snprintf(buf, size, "%s", text);
    return strlen(text) >= size || ef_address_parse(text, address)
               ? doc_error(&place, err, "'%.60s' is not an IP address", text)
               : 0;
}

/* The names of the ports towards hosts, which no topology tells of such a switch. */
static int
read_edge_ports(const struct doc_place *root, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(root, "edge_ports", false, &list, err)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        struct doc_place port = doc_element(&list, i);
        if (!json_is_string(port.value) || !json_string_length(port.value)) {
            return doc_error(&port, err, "is no name of a port");
        }
    }
    return 0;
}

static int
read_order(const struct controller *c, const json_t *order, json_t **document, struct ef_error *err)
{
    static const char *const known[] = {"ovsdb", "name", "source_ip", "edge_ports", NULL};
    struct doc_place root = {.value = (json_t *) order}, name_place = doc_member(&root, "name");
    const char *ovsdb, *name;
    struct ef_ovsdb_remotes remotes;
    char source_ip[INET6_ADDRSTRLEN];
    int rc = doc_check_keys(&root, known, err);
    rc = rc ? rc : doc_string(&root, "ovsdb", NULL, &ovsdb, err);
    rc = rc ? rc : ef_ovsdb_remotes_parse(ovsdb, &remotes, err);
    rc = rc ? rc : check_ssl(c, &remotes, err);
    rc = rc ? rc : read_source_ip(&root, &remotes, source_ip, sizeof source_ip, err);
    rc = rc ? rc : doc_string(&root, "name", source_ip, &name, err);
    rc = rc ? rc : check_name(&name_place, name, err);
    rc = rc ? rc : check_is_new(c, name, source_ip, err);
    rc = rc ? rc : read_edge_ports(&root, err);
    *document = rc ? NULL
                   : json_pack("{s:s, s:s, s:s, s:O*}", "name", name, "ovsdb", ovsdb, "source_ip", source_ip,
                               "edge_ports", json_object_get(order, "edge_ports"));
    return rc;
}

json_t *
added_switches_read(const struct controller *c, const json_t *order, int *rc, struct ef_error *err)
{
    json_t *document;
    *rc = read_order(c, order, &document, err);
    return document;
}

/* --- Managing ------------------------------------------------------------------- */

/* Has the controller's array and the topology follow the list. */
static void
publish(struct added_switches *added)
{
    struct controller *c = added->controller;
    size_t n = c->topology.n_switches;
    struct managed_switch **switches = realloc(c->switches, (n + added->n + 1) * sizeof(struct managed_switch *));
    struct topology_switch **nodes = realloc(c->topology.added, (added->n + 1) * sizeof(struct topology_switch *));
    if (!switches || !nodes) {
        abort(); /* Control path. */
    }
    c->switches = switches;
    c->topology.added = nodes;
    for (size_t i = 0; i < added->n; i++) {
        switches[n + i] = added->list[i]->managed;
        nodes[i] = &added->list[i]->node;
    }
    c->n_switches = n + added->n;
    c->topology.n_added = added->n;
    c->topology.generation++;
    collection_follow_switches(c->collection);
}

static void
added_switch_free(struct added_switch *s)
{
    managed_switch_destroy(s->managed);
    json_decref(s->document);
    free(s);
}

static void
free_released(void *ctx)
{
    added_switch_free(ctx);
}

static void
remove_switch(struct added_switches *added, const char *name)
{
    for (size_t i = 0; i < added->n; i++) {
        struct added_switch *s = added->list[i];
        if (!strcmp(s->node.name, name)) {
            memmove(&added->list[i], &added->list[i + 1], (added->n - i - 1) * sizeof(struct added_switch *));
            added->n--;
            publish(added);
            ef_log_info("switches", "%s: not managed any more", name);
            managed_switch_release(s->managed, free_released, s);
            return;
        }
    }
}

static int
fill_node(struct added_switch *s, const char *name)
{
    s->node.name = json_string_value(json_object_get(s->document, "name"));
    s->node.ovsdb = json_string_value(json_object_get(s->document, "ovsdb"));
    s->node.loopback = json_string_value(json_object_get(s->document, "source_ip"));
    s->node.edge_ports = json_object_get(s->document, "edge_ports");
    return s->node.name && s->node.ovsdb && s->node.loopback && !strcmp(s->node.name, name)
               ? ef_address_parse(s->node.loopback, s->node.address)
               : -EINVAL;
}

static void
add_switch(struct added_switches *added, const char *name, json_t *document)
{
    struct controller *c = added->controller;
    struct ef_error err = EF_ERROR_INIT;
    struct added_switch *s = calloc(1, sizeof *s);
    struct added_switch **list = realloc(added->list, (added->n + 1) * sizeof(struct added_switch *));
    if (!s || !list) {
        abort(); /* Control path. */
    }
    added->list = list;
    s->document = json_incref(document);
    int rc = fill_node(s, name);
    rc = rc ? ef_error_set(&err, rc, "it lacks a name, a remote or an address")
            : managed_switch_create(c->base, &s->node, &c->configuration.everflow, c->configuration.tls, &s->managed,
                                    &err);
    if (rc) {
        ef_log_warn("switches", "%.70s: cannot be managed: %s", name, err.text);
        added_switch_free(s);
        return;
    }
    managed_switch_set_active(s->managed, state_is_active(c->state));
    list[added->n++] = s;
    publish(added);
    rule_sets_tell_switch(c->rule_sets, c->n_switches - 1);
}

static void
on_changed(void *ctx, const char *name, json_t *document)
{
    remove_switch(ctx, name);
    if (document) {
        add_switch(ctx, name, document);
    }
}

/* --- Life ----------------------------------------------------------------------- */

struct added_switches *
added_switches_create(struct controller *c)
{
    struct added_switches *added = calloc(1, sizeof *added);
    if (!added) {
        abort(); /* Control path, at the start. */
    }
    added->controller = c;
    state_watch(c->state, STATE_SWITCH, on_changed, added);
    return added;
}

/* The process ends: the switches keep their rows. */
void
added_switches_destroy(struct added_switches *added)
{
    if (added) {
        for (size_t i = 0; i < added->n; i++) {
            added_switch_free(added->list[i]);
        }
        added->controller->n_switches = EF_MIN(added->controller->n_switches, added->controller->topology.n_switches);
        free(added->list);
        free(added);
    }
}
