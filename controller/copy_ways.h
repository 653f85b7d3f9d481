/* SPDX-License-Identifier: Apache-2.0 */
/* The ways of copies through the fabric: from each switch to the nearest reshufflers, over
 * all shortest paths. When copies of several switches get lost at the same time, what is
 * to blame is most likely the one thing that their ways have in common:
 *
 *     struct copy_sender senders[] = {{"leaf2", COPIES_LOST}, {"spine2", COPIES_LOST}, {"spine1", COPIES_ARRIVE}};
 *     if (copy_ways_common(ways, senders, 3, &place))       // {"spine2", "leaf1"}: the link from spine2 to leaf1
 *
 * It is one that all who lose copies may have crossed, and that nobody whose copies all
 * arrive must have crossed; of several such places the one that the fewest switches use. If that
 * leaves several, none is named.
 *
 * Where reshufflers are, the topology document says; without one there are no ways. Names are
 * borrowed from the document, which must outlive it. Immutable: any thread. */
#ifndef CONTROLLER_COPY_WAYS_H
#define CONTROLLER_COPY_WAYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct copy_ways;

enum copy_fate { COPIES_UNSURE, COPIES_ARRIVE, COPIES_LOST };

struct copy_sender {
    const char *name;
    enum copy_fate fate;
};

/* The link in the direction `from` to `to`, a switch or a reshuffler; or the switch `from`, if
 * `to` is NULL. */
struct copy_place {
    const char *from, *to;
};

struct copy_ways *copy_ways_create(const json_t *document);
void copy_ways_destroy(struct copy_ways *ways); /* NULL is fine. */

/* False: the ways of those who lose copies have nothing in common that could be to blame. */
bool copy_ways_common(const struct copy_ways *ways, const struct copy_sender senders[], size_t n,
                      struct copy_place *place);

/* Whether copies of the switch may come through the place. */
bool copy_ways_may_cross(const struct copy_ways *ways, const char *name, const struct copy_place *place);

/* Whether all of them must. */
bool copy_ways_must_cross(const struct copy_ways *ways, const char *name, const struct copy_place *place);

#endif
