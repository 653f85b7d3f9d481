/* SPDX-License-Identifier: Apache-2.0 */
/* The links between switches, each once, from the topology document.
 *
 *     size_t n;
 *     struct topology_link *links = topology_links(document, &n);
 *     ... free(links);
 *
 * Names are borrowed from the document. Pure function; any thread. */
#ifndef CONTROLLER_TOPOLOGY_LINKS_H
#define CONTROLLER_TOPOLOGY_LINKS_H

#include <jansson.h>
#include <stddef.h>

struct topology_link {
    const char *a, *b;           /* In the order in which the document has them. */
    const char *a_role, *b_role; /* "leaf", "spine", ...; "" if it does not say. */
};

struct topology_link *topology_links(const json_t *document, size_t *n);

#endif
