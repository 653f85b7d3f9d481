/* SPDX-License-Identifier: Apache-2.0 */
/* What ways of copies have in common; see copy_ways.h. */
#include <config.h>

#include "controller/copy_ways.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { FAR = UINT32_MAX };
static const double nearly_all = 0.999; /* Of shares, which are sums of fractions. */

/* A step nearer to the reshufflers. */
struct step {
    size_t from, to; /* Nodes; to == n_nodes: the reshuffler. */
    const char *to_name;
};

struct copy_ways {
    const char **nodes; /* Names of switches. */
    size_t n_nodes;
    uint32_t *distance; /* To the nearest reshuffler, in links; a switch with one has 1. */
    struct step *steps; /* The farthest from the reshufflers first. */
    size_t n_steps;
};

static void *
allocate(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (!p) {
        abort(); /* Control path. */
    }
    return p;
}

/* The index of the switch, or n_nodes. */
static size_t
node_of(const struct copy_ways *w, const char *name)
{
    size_t i = 0;
    while (i < w->n_nodes && strcmp(w->nodes[i], name)) {
        i++;
    }
    return i;
}

/* --- The steps ----------------------------------------------------------------- */

static void
find_distances(struct copy_ways *w, const json_t *switches, const json_t *hosts)
{
    size_t *queue = allocate(w->n_nodes, sizeof *queue), head = 0, tail = 0, i;
    const json_t *host, *port;
    for (i = 0; i < w->n_nodes; i++) {
        w->distance[i] = FAR;
    }
    json_array_foreach((json_t *) hosts, i, host)
    {
        size_t at = node_of(w, ef_json_text(host, "switch"));
        if (!strcmp(ef_json_text(host, "role"), "reshuffler") && at < w->n_nodes && w->distance[at] == FAR) {
            w->distance[at] = 1;
            queue[tail++] = at;
        }
    }
    while (head < tail) {
        size_t at = queue[head++];
        json_array_foreach(json_object_get(json_array_get(switches, at), "ports"), i, port)
        {
            size_t peer = node_of(w, ef_json_text(json_object_get(port, "peer"), "node"));
            if (peer < w->n_nodes && w->distance[peer] == FAR) {
                w->distance[peer] = w->distance[at] + 1;
                queue[tail++] = peer;
            }
        }
    }
    free(queue);
}

/* Several cables to one neighbour are one step. */
static void
add_step(struct copy_ways *w, size_t from, size_t to, const char *to_name)
{
    for (size_t i = w->n_steps; i > 0 && w->steps[i - 1].from == from; i--) {
        if (!strcmp(w->steps[i - 1].to_name, to_name)) {
            return;
        }
    }
    w->steps[w->n_steps++] = (struct step){from, to, to_name};
}

static void
add_steps_of(struct copy_ways *w, size_t at, const json_t *ports, const json_t *hosts)
{
    size_t i;
    const json_t *port, *host;
    json_array_foreach(ports, i, port)
    {
        size_t peer = node_of(w, ef_json_text(json_object_get(port, "peer"), "node"));
        if (peer < w->n_nodes && w->distance[at] != FAR && w->distance[peer] + 1 == w->distance[at]) {
            add_step(w, at, peer, w->nodes[peer]);
        }
    }
    json_array_foreach((json_t *) hosts, i, host)
    {
        bool is_here = !strcmp(ef_json_text(host, "switch"), w->nodes[at]);
        if (is_here && w->distance[at] == 1 && !strcmp(ef_json_text(host, "role"), "reshuffler")) {
            add_step(w, at, w->n_nodes, ef_json_text(host, "name"));
        }
    }
}

/* The farthest first, those of a switch together. */
static int
by_distance(const void *a, const void *b, void *ctx)
{
    const struct copy_ways *w = ctx;
    const struct step *x = a, *y = b;
    uint32_t dx = w->distance[x->from], dy = w->distance[y->from];
    return dx != dy ? (dx < dy) - (dx > dy) : (x->from > y->from) - (x->from < y->from);
}

struct copy_ways *
copy_ways_create(const json_t *document)
{
    const json_t *switches = json_object_get(document, "switches"), *hosts = json_object_get(document, "hosts"), *node;
    struct copy_ways *w = allocate(0, sizeof *w);
    size_t i, most = json_array_size(hosts);
    w->nodes = allocate(json_array_size(switches), sizeof *w->nodes);
    json_array_foreach((json_t *) switches, i, node)
    {
        w->nodes[w->n_nodes++] = ef_json_text(node, "name");
        most += json_array_size(json_object_get(node, "ports"));
    }
    w->distance = allocate(w->n_nodes, sizeof *w->distance);
    w->steps = allocate(most, sizeof *w->steps);
    find_distances(w, switches, hosts);
    json_array_foreach((json_t *) switches, i, node)
    {
        add_steps_of(w, i, json_object_get(node, "ports"), hosts);
    }
    qsort_r(w->steps, w->n_steps, sizeof *w->steps, by_distance, w);
    return w;
}

void
copy_ways_destroy(struct copy_ways *w)
{
    if (w) {
        free(w->nodes);
        free(w->distance);
        free(w->steps);
        free(w);
    }
}

/* --- Who crosses what ------------------------------------------------------------ */

/* How much of what one switch sends comes to each node and over each step, if each sends
 * it on evenly: 1 is all of it. */
struct shares {
    double *nodes, *steps;
};

static struct shares
shares_create(const struct copy_ways *w)
{
    return (struct shares){allocate(w->n_nodes, sizeof(double)), allocate(w->n_steps, sizeof(double))};
}

static void
shares_free(struct shares *s)
{
    free(s->nodes);
    free(s->steps);
}

/* Those of a node are beside each other, the farthest node first: what comes to a node is
 * known when its own steps are reached. */
static void
shares_find(const struct copy_ways *w, size_t sender, struct shares *s)
{
    memset(s->nodes, 0, w->n_nodes * sizeof *s->nodes);
    s->nodes[sender] = 1;
    for (size_t i = 0, n; i < w->n_steps; i += n) {
        size_t from = w->steps[i].from;
        for (n = 1; i + n < w->n_steps && w->steps[i + n].from == from;) {
            n++;
        }
        for (size_t k = i; k < i + n; k++) {
            s->steps[k] = s->nodes[from] / (double) n;
            if (w->steps[k].to < w->n_nodes) {
                s->nodes[w->steps[k].to] += s->steps[k];
            }
        }
    }
}

/* What speaks against a place, how many may cross it, and how many of those who lose copies must. */
struct candidate {
    bool is_out;
    size_t n_users, n_must;
};

static void
judge(struct candidate *c, enum copy_fate fate, double share)
{
    bool may = share > 0, must = share > nearly_all;
    c->n_users += may;
    c->n_must += fate == COPIES_LOST && must;
    c->is_out = c->is_out || (fate == COPIES_LOST && !may) || (fate == COPIES_ARRIVE && must);
}

static void
judge_all(const struct copy_ways *w, size_t sender, enum copy_fate fate, struct candidate all[])
{
    struct shares s = shares_create(w);
    shares_find(w, sender, &s);
    for (size_t k = 0; k < w->n_steps; k++) {
        judge(&all[k], fate, s.steps[k]);
    }
    for (size_t k = 0; k < w->n_nodes; k++) {
        judge(&all[w->n_steps + k], fate, k == sender ? 0 : s.nodes[k]); /* What it makes has not come in. */
    }
    shares_free(&s);
}

/* The one that the fewest use, a link before a switch; NULL: none, or it cannot be told which of
 * several. That a switch loses what it got nobody sees who has another way. */
static const struct candidate *
find_best(const struct copy_ways *w, const struct candidate all[], size_t n_lost)
{
    const struct candidate *best = NULL;
    bool is_one = false;
    for (size_t k = 0; k < w->n_steps + w->n_nodes; k++) {
        const struct candidate *c = &all[k];
        if (c->is_out || !c->n_users || (k >= w->n_steps && c->n_must < n_lost)) {
            continue;
        }
        if (!best || c->n_users < best->n_users) {
            best = c;
            is_one = true;
        } else if (c->n_users == best->n_users && best->n_must < n_lost) {
            is_one = false;
        }
    }
    return is_one ? best : NULL;
}

bool
copy_ways_common(const struct copy_ways *w, const struct copy_sender senders[], size_t n, struct copy_place *place)
{
    struct candidate *all = allocate(w->n_steps + w->n_nodes, sizeof *all);
    size_t n_lost = 0;
    for (size_t i = 0; i < n; i++) {
        size_t sender = node_of(w, senders[i].name);
        if (sender < w->n_nodes && w->distance[sender] != FAR) {
            n_lost += senders[i].fate == COPIES_LOST;
            judge_all(w, sender, senders[i].fate, all);
        }
    }
    const struct candidate *best = n_lost ? find_best(w, all, n_lost) : NULL;
    size_t found = best ? (size_t) (best - all) : 0;
    if (best && found < w->n_steps) {
        *place = (struct copy_place){w->nodes[w->steps[found].from], w->steps[found].to_name};
    } else if (best) {
        *place = (struct copy_place){w->nodes[found - w->n_steps], NULL};
    }
    free(all);
    return best;
}

/* How much of the switch's copies comes through the place, if all ways are taken evenly. */
static double
share_of(const struct copy_ways *w, const char *name, const struct copy_place *place)
{
    size_t sender = node_of(w, name), at = node_of(w, place->from);
    double share = 0;
    if (sender == w->n_nodes || at == w->n_nodes || w->distance[sender] == FAR) {
        return 0;
    }
    struct shares s = shares_create(w);
    shares_find(w, sender, &s);
    for (size_t k = 0; place->to && k < w->n_steps; k++) {
        share += w->steps[k].from == at && !strcmp(w->steps[k].to_name, place->to) ? s.steps[k] : 0;
    }
    share += !place->to && at != sender ? s.nodes[at] : 0;
    shares_free(&s);
    return share;
}

bool
copy_ways_may_cross(const struct copy_ways *w, const char *name, const struct copy_place *place)
{
    return share_of(w, name, place) > 0;
}

bool
copy_ways_must_cross(const struct copy_ways *w, const char *name, const struct copy_place *place)
{
    return share_of(w, name, place) > nearly_all;
}
