/* SPDX-License-Identifier: Apache-2.0 */
/* Packets lately refused; see refused_set.h. */
#include <config.h>

#include "analyzer/refused_set.h"

#include <errno.h>
#include <string.h>

#include "analyzer/region.h"

int
ef_refused_set_init(struct ef_refused_set *r, uint64_t bytes, int64_t period_ns)
{
    memset(r, 0, sizeof *r);
    r->n_bits = 512;
    while (r->n_bits * 2 / 8 * 2 <= bytes) {
        r->n_bits *= 2;
    }
    uint64_t *region = ef_region_alloc(r->n_bits / 8 * 2);
    if (!region) {
        return -ENOMEM;
    }
    r->region = region;
    r->maps[0] = region;
    r->maps[1] = region + r->n_bits / 64;
    r->period_ns = period_ns;
    r->turn = (struct ef_time){INT64_MIN};
    return 0;
}

void
ef_refused_set_deinit(struct ef_refused_set *r)
{
    ef_region_free(r->region, r->n_bits / 8 * 2);
    r->region = NULL;
}

void
ef_refused_set_add(struct ef_refused_set *r, uint64_t hash)
{
    uint64_t bit = hash >> 20 & (r->n_bits - 1);
    r->maps[0][bit / 64] |= (uint64_t) 1 << bit % 64;
    r->used[0] = true;
}

/* The present map becomes the previous one, which is emptied and used anew. */
static void
turn(struct ef_refused_set *r)
{
    uint64_t *map = r->maps[1];
    if (r->used[1]) {
        memset(map, 0, r->n_bits / 8);
    }
    r->maps[1] = r->maps[0];
    r->used[1] = r->used[0];
    r->maps[0] = map;
    r->used[0] = false;
}

void
ef_refused_set_advance(struct ef_refused_set *r, struct ef_time now)
{
    if (ef_time_before(now, r->turn)) {
        return;
    }
    bool is_long_ago = r->turn.ns != INT64_MIN && now.ns - r->turn.ns > r->period_ns;
    turn(r);
    if (is_long_ago) {
        turn(r);
    }
    r->turn = ef_time_add_ns(now, r->period_ns);
}
