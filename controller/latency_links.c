/* SPDX-License-Identifier: Apache-2.0 */
/* Links to measure; see latency_links.h. */
#include <config.h>

#include "controller/latency_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fabric_map.h"
#include "controller/link_probes.h"

/* --- The list ------------------------------------------------------------- */

static bool
is_link(const struct topology_link *link, const char *a, const char *b)
{
    return (!strcmp(link->a, a) && !strcmp(link->b, b)) || (!strcmp(link->a, b) && !strcmp(link->b, a));
}

static struct latency_link *
find(const struct latency_links *l, const char *a, const char *b)
{
    for (size_t i = 0; i < l->n; i++) {
        if (is_link(&l->links[i].link, a, b)) {
            return &l->links[i];
        }
    }
    return NULL;
}

/* Adds a link of the topology; NULL: it has none such. There is room for all. */
static struct latency_link *
add(struct latency_links *l, const char *a, const char *b)
{
    struct latency_link *there = find(l, a, b);
    for (size_t i = 0; !there && i < l->n_all; i++) {
        if (is_link(&l->all[i], a, b)) {
            there = &l->links[l->n++];
            *there = (struct latency_link){.link = l->all[i]};
        }
    }
    return there;
}

static void
mark_between(struct latency_links *l, const char *a, const char *b)
{
    struct latency_link *link = add(l, a, b);
    if (link && !link->is_between) {
        link->is_between = true;
        l->n_between++;
    }
}

/* All links on shortest paths, switch after switch. */
static void
add_paths(struct latency_links *l)
{
    const char **queue = calloc(l->n_all + 2, sizeof *queue), *next[FABRIC_MAP_NEXT];
    size_t n_queue = 0;
    if (!queue) {
        abort(); /* Control path. */
    }
    queue[n_queue++] = l->ends[0];
    for (size_t i = 0; i < n_queue; i++) {
        size_t n = fabric_map_next(l->map, queue[i], l->ends[1], next, FABRIC_MAP_NEXT);
        for (size_t j = 0; j < n; j++) {
            bool is_known = false;
            mark_between(l, queue[i], next[j]);
            for (size_t k = 0; k < n_queue; k++) {
                is_known |= !strcmp(queue[k], next[j]);
            }
            if (!is_known && n_queue < l->n_all + 2) {
                queue[n_queue++] = next[j];
            }
        }
    }
    free(queue);
}

int
latency_links_init(struct latency_links *l, const json_t *document, const char *src, const char *dst,
                   const char *address[2], struct ef_error *err)
{
    const char *names[2] = {src, dst};
    *l = (struct latency_links){.map = fabric_map_create(document)};
    l->all = topology_links(document, &l->n_all);
    l->links = calloc(l->n_all + 1, sizeof *l->links);
    if (!l->links) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < 2; i++) {
        l->ends[i] = fabric_map_switch_of(l->map, names[i]);
        address[i] = fabric_map_address_of(l->map, names[i]);
        if (!l->ends[i] || !address[i]) {
            return ef_error_set(err, -ENOENT, "%s: the topology has no host '%.60s'", i ? "dst" : "src", names[i]);
        }
    }
    if (!strcmp(l->ends[0], l->ends[1])) {
        return ef_error_set(err, -EINVAL, "dst: both are at %s, with no link between switches on the way", l->ends[0]);
    }
    add_paths(l);
    for (size_t i = 0; i < l->n_all && l->n < LATENCY_LINKS_LEAST; i++) {
        add(l, l->all[i].a, l->all[i].b);
    }
    return l->n_between ? 0 : ef_error_set(err, -EINVAL, "dst: no way leads from %s to %s", l->ends[0], l->ends[1]);
}

void
latency_links_deinit(struct latency_links *l)
{
    fabric_map_destroy(l->map);
    free(l->all);
    free(l->links);
    *l = (struct latency_links){0};
}

/* --- Probes --------------------------------------------------------------- */

static size_t
add_probe(struct link_probes *probes, const char *from, const char *to)
{
    link_probes_add(probes, from, to);
    for (size_t i = 0; i < link_probes_n(probes); i++) {
        const struct link_probe *p = link_probes_get(probes, i);
        if (!strcmp(p->from, from) && !strcmp(p->to, to)) {
            return i;
        }
    }
    return 0; /* There are too many: this one shows another's, and nobody has so many. */
}

void
latency_links_add_probes(struct latency_links *l, struct link_probes *probes)
{
    for (size_t i = 0; i < l->n; i++) {
        struct latency_link *link = &l->links[i];
        link->probe[0] = add_probe(probes, link->link.a, link->link.b);
        link->probe[1] = add_probe(probes, link->link.b, link->link.a);
    }
}

/* --- Traces --------------------------------------------------------------- */

static const char *
name_of(const json_t *hop)
{
    const char *name = json_string_value(json_object_get(hop, "name"));
    return name ? name : "";
}

bool
latency_links_take(struct latency_links *l, struct link_probes *probes, const json_t *trace)
{
    const json_t *hops = json_object_get(trace, "hops");
    size_t n_before = l->n;
    bool has_any = false;
    for (size_t i = 0; i + 1 < json_array_size(hops); i++) {
        const char *a = name_of(json_array_get(hops, i)), *b = name_of(json_array_get(hops, i + 1));
        struct latency_link *link = strcmp(a, b) ? add(l, a, b) : NULL;
        if (link) {
            mark_between(l, a, b);
            link->n_traces++;
            has_any = true;
        }
    }
    if (l->n > n_before) {
        latency_links_add_probes(l, probes);
    }
    return has_any;
}

void
latency_links_forget_traces(struct latency_links *l)
{
    for (size_t i = 0; i < l->n; i++) {
        l->links[i].n_traces = 0;
    }
}

/* --- Looking -------------------------------------------------------------- */

const struct latency_link *
latency_links_find(const struct latency_links *l, const char *a, const char *b)
{
    return find(l, a, b);
}

const char *
latency_links_text(char text[2 * LATENCY_LINKS_NAME], const char *a, const char *b)
{
    snprintf(text, 2 * LATENCY_LINKS_NAME, "%.60s - %.60s", a, b);
    return text;
}
