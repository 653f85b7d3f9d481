/* SPDX-License-Identifier: Apache-2.0 */
/* Who is heard of; see drop_witnesses.h. */
#include <config.h>

#include "controller/drop_witnesses.h"

#include <string.h>

enum {
    ON_THE_WAY = 1, /* Copies. */
    FEW_LOST = 3,
    LOSSY_PART = 20, /* One of so many that came is lost. */
};

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
        w->n += collection_tell(collection, one->name, w->since, &one->before);
    }
}

/* What it says that it made is seconds old: copies from before, that came, may be told of
 * only now. Those are not missed more than were before. */
enum drop_heard
drop_witness_judge(const struct collection_told *before, const struct collection_told *now)
{
    int64_t came = now->gathered - before->gathered, lost = now->lost - before->lost;
    /* What the first look finds may be from before. */
    return now->is_heard && lost >= FEW_LOST && lost * LOSSY_PART >= came     ? DROP_WITNESS_LOSSY
           : now->is_heard                                                    ? DROP_WITNESS_HEARD
           : now->is_looked && now->missed > before->most_missed + ON_THE_WAY ? DROP_WITNESS_LOST
                                                                              : DROP_WITNESS_SILENT;
}

enum drop_heard
drop_witnesses_ask(const struct drop_witnesses *w, const struct collection *collection, const char *name)
{
    struct collection_told now;
    for (size_t i = 0; i < w->n; i++) {
        if (!strcmp(w->list[i].name, name) && collection_tell(collection, name, w->since, &now)) {
            return drop_witness_judge(&w->list[i].before, &now);
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
