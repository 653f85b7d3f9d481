/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the topology document; see topology_links.h. */
#include <config.h>

#include "controller/topology_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const json_t *
find_switch(const json_t *switches, const char *name)
{
    size_t i;
    const json_t *node;
    json_array_foreach((json_t *) switches, i, node)
    {
        if (*name && !strcmp(ef_json_text(node, "name"), name)) {
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
            const json_t *peer = find_switch(switches, ef_json_text(json_object_get(port, "peer"), "node"));
            if (!peer || peer == node || has_link(links, *n, ef_json_text(node, "name"), ef_json_text(peer, "name"))) {
                continue;
            }
            if (*n == size) {
                size = size ? 2 * size : 16;
                links = realloc(links, size * sizeof *links);
                if (!links) {
                    abort(); /* Control path. */
                }
            }
            links[(*n)++] = (struct topology_link){ef_json_text(node, "name"), ef_json_text(peer, "name"),
                                                   ef_json_text(node, "role"), ef_json_text(peer, "role")};
        }
    }
    return links;
}
