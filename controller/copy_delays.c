/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that come late; see copy_delays.h. */
#include <config.h>

#include "controller/copy_delays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "controller/hop.h"

enum {
    MAX_PAIRS = 1024, /* Names come from outside. */
    NAME_SIZE = 64,   /* Longer ones are not told apart, which is no harm. */
    SEVERAL = 3,      /* One may have met a machine that stood still. */
    LATE_MS = 1000,   /* So long analyzers wait for a trace's next copy, by default. */
    GROWS_PER_S = 50, /* What is usual: a second's part, each second. */
};
static const int64_t most_ns = 86400 * EF_NS_PER_S; /* Clocks that differ more tell nothing. */

/* Copies of a switch at an analyzer. */
struct pair {
    char analyzer[NAME_SIZE], name[NAME_SIZE];
    int64_t usual_ns;
    struct ef_time noted;         /* When that was so; monotonic. */
    struct ef_time newest;        /* The arrival of the last late one; by the analyzer's clock. */
    struct ef_time late[SEVERAL]; /* When the last late ones were taken, a ring; monotonic, 0: none. */
    unsigned n_late;
};

struct copy_delays {
    struct pair *pairs;
    size_t n, size;
};

static struct pair *
find(const struct copy_delays *d, const char *analyzer, const char *name)
{
    for (size_t i = 0; i < d->n; i++) {
        struct pair *p = &d->pairs[i];
        if (!strncmp(p->name, name, NAME_SIZE - 1) && !strncmp(p->analyzer, analyzer, NAME_SIZE - 1)) {
            return p;
        }
    }
    return NULL;
}

/* NULL: there are too many. */
static struct pair *
add(struct copy_delays *d, const char *analyzer, const char *name)
{
    if (d->n == MAX_PAIRS) {
        return NULL;
    }
    if (d->n == d->size) {
        d->size = d->size ? 2 * d->size : 16;
        d->pairs = realloc(d->pairs, d->size * sizeof *d->pairs);
        if (!d->pairs) {
            abort(); /* Control path. */
        }
    }
    struct pair *p = &d->pairs[d->n++];
    *p = (struct pair){.usual_ns = INT64_MAX};
    snprintf(p->analyzer, sizeof p->analyzer, "%s", analyzer);
    snprintf(p->name, sizeof p->name, "%s", name);
    return p;
}

static bool
time_of(const json_t *hop, const char *key, struct ef_time *time)
{
    const char *text = ef_json_text_or(hop, key, NULL);
    return text && !ef_time_parse(text, (struct ef_time){0}, time, NULL);
}

static int64_t
usual_of(const struct pair *p, struct ef_time now)
{
    return p->usual_ns == INT64_MAX ? INT64_MAX : p->usual_ns + ef_time_diff_ns(now, p->noted) / GROWS_PER_S;
}

static void
note(struct pair *p, struct ef_time arrival, int64_t delay_ns, struct ef_time now)
{
    int64_t usual_ns = usual_of(p, now);
    if (delay_ns <= usual_ns) {
        p->usual_ns = delay_ns;
        p->noted = now;
    } else if (delay_ns - usual_ns > LATE_MS * EF_NS_PER_MS && ef_time_before(p->newest, arrival)) {
        p->newest = arrival;
        p->late[p->n_late++ % SEVERAL] = now;
    }
}

void
copy_delays_take(struct copy_delays *d, const json_t *trace, struct ef_time now)
{
    const char *analyzer = ef_json_text_or(trace, "analyzer", NULL);
    const json_t *hops = json_object_get(trace, "hops"), *hop;
    size_t i;
    json_array_foreach((json_t *) hops, i, hop)
    {
        struct ef_time made, arrival;
        int64_t delay_ns;
        const char *name = hop_switch(hop, NULL);
        bool is_told = analyzer && name && time_of(hop, "switch_time", &made) && time_of(hop, "arrival", &arrival) &&
                       !__builtin_sub_overflow(arrival.ns, made.ns, &delay_ns);
        if (!is_told || delay_ns > most_ns || delay_ns < -most_ns) {
            continue;
        }
        struct pair *p = find(d, analyzer, name);
        if (p || (p = add(d, analyzer, name))) {
            note(p, arrival, delay_ns, now);
        }
    }
}

bool
copy_delays_are_long(const struct copy_delays *d, const char *analyzer, const char *name, struct ef_time since)
{
    const struct pair *p = find(d, analyzer, name);
    return p && p->n_late >= SEVERAL && !ef_time_before(p->late[p->n_late % SEVERAL], since);
}

struct copy_delays *
copy_delays_create(void)
{
    struct copy_delays *d = calloc(1, sizeof *d);
    if (!d) {
        abort(); /* Control path. */
    }
    return d;
}

void
copy_delays_destroy(struct copy_delays *d)
{
    if (d) {
        free(d->pairs);
        free(d);
    }
}
