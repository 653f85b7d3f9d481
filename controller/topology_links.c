/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the topology document; see topology_links.h. */
#include <config.h>

#include "controller/topology_links.h"

#include <stdlib.h>
#include <string.h>

static const char *
text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static const json_t *
find_switch(const json_t *switches, const char *name)
{
    size_t i;
    const json_t *node;
    json_array_foreach((json_t *) switches, i, node)
    {
        if (*name && !strcmp(text_of(node, "name"), name)) {
            return node;
        }
    }
    return NULL;
}

/* Several cables between two switches are one link: probes cannot choose. */
static int
has_link(const struct topology_link links[], size_t n, const char *a, const char *b)
{
    for (size_t i = 0; i < n; i++) {
        if ((!strcmp(links[i].a, a) && !strcmp(links[i].b, b)) || (!strcmp(links[i].a, b) && !strcmp(links[i].b, a))) {
            return 1;
        }
    }
    return 0;
}

struct topology_link *
topology_links(const json_t *document, size_t *n)
{
    const json_t *switches = json_object_get(document, "switches"), *node, *port;
    struct topology_link *links = NULL;
    size_t i, j, size = 0;
    *n = 0;
    json_array_foreach((json_t *) switches, i, node)
    {
        json_array_foreach(json_object_get(node, "ports"), j, port)
        {
            const json_t *peer = find_switch(switches, text_of(json_object_get(port, "peer"), "node"));
            if (!peer || peer == node || has_link(links, *n, text_of(node, "name"), text_of(peer, "name"))) {
                continue;
            }
            if (*n == size) {
                size = size ? 2 * size : 16;
                links = realloc(links, size * sizeof *links);
                if (!links) {
                    abort(); /* Control path. */
                }
            }
            links[(*n)++] = (struct topology_link){text_of(node, "name"), text_of(peer, "name"), text_of(node, "role"),
                                                   text_of(peer, "role")};
        }
    }
    return links;
}
