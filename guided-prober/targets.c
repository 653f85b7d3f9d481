/* SPDX-License-Identifier: Apache-2.0 */
/* The allowed targets; see targets.h. */
#include <config.h>

#include "guided-prober/targets.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "packet/headers.h"
#include "packet/packet.h"

struct target {
    const char *name, *netns; /* Borrowed from the document; netns may be NULL. */
    bool is_switch, has_ipv4, has_ipv6;
    uint8_t ipv4[16], ipv6[16];
};

struct prober_targets {
    json_t *document;
    size_t n;
    struct target list[];
};

static int
read_address(const json_t *node, const char *key, uint8_t address[16], bool *has, struct ef_error *err)
{
    const json_t *value = json_object_get(node, key);
    if (value && (!json_is_string(value) || ef_address_parse(json_string_value(value), address))) {
        return ef_error_set(err, -EINVAL, "%s is not an IP address", key);
    }
    *has = value != NULL;
    return 0;
}

/* "loopback" of a switch and "address" of a host may be of either version. */
static int
read_target(const json_t *node, bool is_switch, struct target *target, struct ef_error *err)
{
    uint8_t address[16];
    bool has;
    *target = (struct target){.name = json_string_value(json_object_get(node, "name")),
                              .netns = json_string_value(json_object_get(node, "netns")),
                              .is_switch = is_switch};
    if (!target->name || !*target->name) {
        return ef_error_set(err, -EINVAL, "no name");
    }
    int rc = read_address(node, is_switch ? "loopback" : "address", address, &has, err);
    if (rc) {
        return rc;
    }
    if (has && ef_address_is_ipv4(address)) {
        memcpy(target->ipv4, address, sizeof address);
        target->has_ipv4 = true;
        has = false;
    } else if (has) {
        memcpy(target->ipv6, address, sizeof address);
        target->has_ipv6 = true;
    }
    rc = target->has_ipv6 ? 0 : read_address(node, is_switch ? "loopback6" : "address6", target->ipv6, &has, err);
    target->has_ipv6 |= has;
    return rc;
}

static int
read_list(struct prober_targets *t, const char *key, bool is_switch, struct ef_error *err)
{
    const json_t *list = json_object_get(t->document, key), *node;
    size_t i;
    if (list && !json_is_array(list)) {
        return ef_error_set(err, -EINVAL, "%s is not an array", key);
    }
    json_array_foreach(list, i, node)
    {
        int rc = read_target(node, is_switch, &t->list[t->n], err);
        if (rc) {
            return ef_error_prefix(err, rc, "%s[%zu]", key, i);
        }
        t->n++;
    }
    return 0;
}

int
prober_targets_load(const char *file, struct prober_targets **out, struct ef_error *err)
{
    json_error_t where;
    *out = NULL;
    json_t *document = json_load_file(file, JSON_REJECT_DUPLICATES, &where);
    if (!document) {
        return ef_error_set(err, -EINVAL, "%.200s: line %d: %s", file, where.line, where.text);
    }
    size_t n =
        json_array_size(json_object_get(document, "switches")) + json_array_size(json_object_get(document, "hosts"));
    struct prober_targets *t = calloc(1, sizeof *t + n * sizeof t->list[0]);
    if (!t) {
        json_decref(document);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    t->document = document;
    int rc = read_list(t, "switches", true, err);
    rc = rc ? rc : read_list(t, "hosts", false, err);
    if (rc) {
        prober_targets_destroy(t);
        return ef_error_prefix(err, rc, "%.200s", file);
    }
    *out = t;
    return 0;
}

void
prober_targets_destroy(struct prober_targets *t)
{
    if (t) {
        json_decref(t->document);
        free(t);
    }
}

static bool
has_address(const struct target *target, const uint8_t address[16])
{
    return (target->has_ipv4 && !memcmp(target->ipv4, address, 16)) ||
           (target->has_ipv6 && !memcmp(target->ipv6, address, 16));
}

static int
address_of(const struct target *target, bool want_ipv6, uint8_t address[16])
{
    if (!(want_ipv6 ? target->has_ipv6 : target->has_ipv4)) {
        return -ENOENT;
    }
    memcpy(address, want_ipv6 ? target->ipv6 : target->ipv4, 16);
    return 0;
}

static int
refuse(const struct prober_targets *t, const char *text, enum prober_target_kind kind, struct ef_error *err)
{
    const char *what = kind == PROBER_SWITCHES ? "no switch" : "neither a switch nor a host";
    const char **names = calloc(t->n + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; names && i < t->n; i++) {
        if (kind == PROBER_ANY || t->list[i].is_switch) {
            names[n++] = t->list[i].name;
        }
    }
    const char *near = names ? ef_nearest_word(text, names) : NULL;
    free(names);
    return near ? ef_error_set(err, -EACCES, "'%.60s' is %s of the topology; did you mean %s?", text, what, near)
                : ef_error_set(err, -EACCES, "'%.60s' is %s of the topology; probes go nowhere else", text, what);
}

int
prober_targets_find(const struct prober_targets *t, const char *text, enum prober_target_kind kind, bool want_ipv6,
                    uint8_t address[16], struct ef_error *err)
{
    bool is_address = !ef_address_parse(text, address);
    for (size_t i = 0; i < t->n; i++) {
        const struct target *target = &t->list[i];
        if (kind == PROBER_SWITCHES && !target->is_switch) {
            continue;
        }
        if (is_address && has_address(target, address)) {
            return 0;
        }
        if (!is_address && !strcmp(target->name, text)) {
            return address_of(target, want_ipv6, address)
                       ? ef_error_set(err, -EACCES, "'%s' has no %s address in the topology", target->name,
                                      want_ipv6 ? "IPv6" : "IPv4")
                       : 0;
        }
    }
    return refuse(t, text, kind, err);
}

int
prober_targets_of_netns(const struct prober_targets *t, const char *netns, bool want_ipv6, uint8_t address[16])
{
    for (size_t i = 0; i < t->n; i++) {
        const struct target *target = &t->list[i];
        if (!target->is_switch && target->netns && !strcmp(target->netns, netns)) {
            return address_of(target, want_ipv6, address);
        }
    }
    return -ENOENT;
}
