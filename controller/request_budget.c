/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets of requests; see request_budget.h. */
#include <config.h>

#include "controller/request_budget.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/util.h"

enum { SETS = 512, WAYS = 4 };

struct bucket {
    uint64_t hash; /* Of the name; two with the same share one bucket. */
    double left;
    struct ef_time last; /* When `left` was true; 0: nobody's. */
};

struct request_budget {
    double rate, burst;
    uint64_t seed; /* So that nobody can choose whose bucket to share. */
    struct bucket sets[SETS][WAYS];
};

struct request_budget *
request_budget_create(double rate, double burst)
{
    struct request_budget *b = calloc(1, sizeof *b);
    if (b) {
        b->rate = rate;
        b->burst = burst;
        if (getrandom(&b->seed, sizeof b->seed, 0) != sizeof b->seed) {
            b->seed = (uint64_t) ef_time_real().ns;
        }
    }
    return b;
}

void
request_budget_destroy(struct request_budget *budget)
{
    free(budget);
}

/* The name's bucket, as full as it is at `now`. */
static struct bucket *
find(struct request_budget *b, const char *name, struct ef_time now)
{
    uint64_t hash = ef_hash64_seed(name, strlen(name), b->seed);
    struct bucket *set = b->sets[hash % SETS], *oldest = set;
    for (struct bucket *e = set; e < set + WAYS; e++) {
        if (e->last.ns && e->hash == hash) {
            e->left = EF_MIN(b->burst, e->left + b->rate * (double) ef_time_diff_ns(now, e->last) / 1e9);
            e->last = now;
            return e;
        }
        oldest = ef_time_before(e->last, oldest->last) ? e : oldest;
    }
    *oldest = (struct bucket){hash, b->burst, now};
    return oldest;
}

bool
request_budget_has(struct request_budget *budget, const char *name, struct ef_time now)
{
    return find(budget, name, now)->left >= 1;
}

bool
request_budget_take(struct request_budget *budget, const char *name, struct ef_time now)
{
    struct bucket *bucket = find(budget, name, now);
    if (bucket->left < 1) {
        return false;
    }
    bucket->left--;
    return true;
}
