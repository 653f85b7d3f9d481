/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbours of a switch as witnesses: packets that none of them saw were dropped, or
 * their copies were. Of a neighbour that nothing at all is heard of, the latter may
 * be: it makes copies, as it says itself some seconds later, and none arrives. Nor can
 * one be relied on many of whose copies get lost meanwhile.
 *
 *     drop_witnesses_begin(&w, c->collection, map, "spine2");     // then probe
 *     if (drop_witnesses_ask(&w, c->collection, "leaf3") == DROP_WITNESS_LOST) ...
 *
 * A plain value; names are borrowed from the map. One event base's thread. */
#ifndef CONTROLLER_DROP_WITNESSES_H
#define CONTROLLER_DROP_WITNESSES_H

#include <stddef.h>

#include "base/time.h"
#include "controller/collection.h"
#include "controller/fabric_map.h"

enum drop_heard {
    DROP_WITNESS_HEARD,   /* Its copies arrive. */
    DROP_WITNESS_LOSSY,   /* Some do, many do not. */
    DROP_WITNESS_SILENT,  /* None came, and it has told of none that it made. */
    DROP_WITNESS_LOST,    /* None came of those that it made. */
    DROP_WITNESS_UNKNOWN, /* Its copies are not counted. */
};

struct drop_witnesses {
    struct drop_witness {
        const char *name;
        struct collection_told before;
    } list[FABRIC_MAP_NEXT];
    size_t n;
    struct ef_time since; /* Monotonic. */
};

/* All neighbours of `at`. */
void drop_witnesses_begin(struct drop_witnesses *w, const struct collection *collection, const struct fabric_map *map,
                          const char *at);

/* What that says, by what was told of a switch's copies before and is now; for tests, too. */
enum drop_heard drop_witness_judge(const struct collection_told *before, const struct collection_told *now);

/* What is heard of one since it began. */
enum drop_heard drop_witnesses_ask(const struct drop_witnesses *w, const struct collection *collection,
                                   const char *name);

/* Those of which nothing is heard, or that can be missed. Returns how many. */
size_t drop_witnesses_unheard(const struct drop_witnesses *w, const struct collection *collection,
                              const char *names[FABRIC_MAP_NEXT]);

#endif
