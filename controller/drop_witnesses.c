/* SPDX-License-Identifier: Apache-2.0 */
/* Who is heard of; see drop_witnesses.h. */
#include <config.h>

#include "controller/drop_witnesses.h"

#include <string.h>

#include "controller/collection.h"

enum { FEW_LOST = 3, LOSSY_PART = 20 }; /* One of so many that came is lost. */

void
drop_witnesses_begin(struct drop_witnesses *w, const struct collection *collection, const struct fabric_map *map,
                     const char *at)
{
    const char *names[FABRIC_MAP_NEXT];
    size_t n = fabric_map_neighbours(map, at, names, FABRIC_MAP_NEXT);
    w->n = 0;
    w->since = ef_time_mono();
    for (size_t i = 0; i < n; i++) {
        struct drop_witness *one = &w->list[w->n];
        one->name = names[i];
        one->lost = collection_lost(collection, one->name);
        w->n += collection_counts(collection, one->name, &one->gathered, &one->made);
    }
}

enum drop_heard
drop_witnesses_ask(const struct drop_witnesses *w, const struct collection *collection, const char *name)
{
    int64_t gathered, made;
    for (size_t i = 0; i < w->n; i++) {
        const struct drop_witness *one = &w->list[i];
        if (!strcmp(one->name, name) && collection_counts(collection, name, &gathered, &made)) {
            int64_t came = gathered - one->gathered, lost = collection_lost(collection, name) - one->lost;
            /* What the first look finds may be from before. */
            bool is_heard = collection_heard_since(collection, name, w->since);
            bool is_known = is_heard || collection_looked_since(collection, w->since);
            return is_heard && lost >= FEW_LOST && lost * LOSSY_PART >= came ? DROP_WITNESS_LOSSY
                   : is_heard                                                ? DROP_WITNESS_HEARD
                   : is_known && made != one->made                           ? DROP_WITNESS_LOST
                                                                             : DROP_WITNESS_SILENT;
        }
    }
    return DROP_WITNESS_UNKNOWN;
}

size_t
drop_witnesses_unheard(const struct drop_witnesses *w, const struct collection *collection,
                       const char *names[FABRIC_MAP_NEXT])
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        enum drop_heard heard = drop_witnesses_ask(w, collection, w->list[i].name);
        if (heard != DROP_WITNESS_HEARD && heard != DROP_WITNESS_UNKNOWN) {
            names[n++] = w->list[i].name;
        }
    }
    return n;
}
