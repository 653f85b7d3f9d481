/* SPDX-License-Identifier: Apache-2.0 */
/* Links compared with each other; see link_ranks.h. */
#include <config.h>

#include "controller/link_ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/round_trips.h"

static const double mad_to_deviation = 1.4826, least_noise_us = 2;
static const double slow_factor = 4, queue_factor = 6, queue_others_factor = 3, queue_least_us = 2000;
/* Two ways around are not quite alike without a fault, either. */
static const double direction_least_us = 100;
/* A floor is known better than those of the blocks that it was measured in. */
static const double blocks_of_noise = ROUND_TRIPS_BLOCKS;

/* One number of each end of each link. */
typedef double end_value(const struct link_rank_end *end);

static double
floor_of(const struct link_rank_end *end)
{
    return end->floor_us;
}

static double
above_base(const struct link_rank_end *end)
{
    return end->floor_us - end->base_us;
}

static double
above_floor(const struct link_rank_end *end)
{
    return end->p90_us - end->floor_us;
}

/* --- Comparing ------------------------------------------------------------ */

/* Whether the end `j` of link `y` may be compared with end `i` of link `x`. */
static bool
is_alike(const struct link_rank *x, size_t i, const struct link_rank *y, size_t j, bool any_kind)
{
    return x != y && y->end[j].n &&
           (any_kind || (!strcmp(x->kind[i], y->kind[j]) && !strcmp(x->kind[1 - i], y->kind[1 - j])));
}

/* What `value` of end `i` of a link is above the median of the others'. False if
 * there are too few. */
static bool
excess_of_end(const struct link_rank ranks[], size_t n, const struct link_rank *x, size_t i, end_value *value,
              bool any_kind, double others[], double *excess)
{
    size_t n_others = 0;
    for (size_t k = 0; k < n; k++) {
        for (size_t j = 0; j < 2; j++) {
            if (is_alike(x, i, &ranks[k], j, any_kind)) {
                others[n_others++] = value(&ranks[k].end[j]);
            }
        }
    }
    *excess = n_others + 1 >= LINK_RANKS_LEAST ? value(&x->end[i]) - round_trips_median(others, n_others) : 0;
    return n_others + 1 >= LINK_RANKS_LEAST;
}

/* The mean of both ends, and the lesser one. */
static bool
excess_of_link(const struct link_rank ranks[], size_t n, const struct link_rank *x, end_value *value, bool any_kind,
               double others[], double *excess, double *least)
{
    double sum = 0, one;
    *least = INFINITY;
    unsigned n_ends = 0;
    for (size_t i = 0; i < 2; i++) {
        if (x->end[i].n && excess_of_end(ranks, n, x, i, value, any_kind, others, &one)) {
            sum += one;
            *least = fmin(*least, one);
            n_ends++;
        }
    }
    *excess = n_ends ? sum / n_ends : 0;
    return n_ends > 0;
}

/* What the value is over the others, by the excess: the mean of both ends. */
static double
usual(const struct link_rank *x, end_value *value, double excess)
{
    double sum = 0;
    unsigned n_ends = 0;
    for (size_t i = 0; i < 2; i++) {
        if (x->end[i].n) {
            sum += value(&x->end[i]);
            n_ends++;
        }
    }
    return n_ends ? sum / n_ends - excess : 0;
}

/* How far the excesses of all links but the one numbered `but` lie from each other. */
static double
spread(const double excess[], const bool is_known[], size_t n, size_t but, double room[], size_t *n_others_out)
{
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++) {
        if (i != but && is_known[i]) {
            room[n_others++] = excess[i];
        }
    }
    *n_others_out = n_others;
    double median = round_trips_median(room, n_others);
    for (size_t i = 0; i < n_others; i++) {
        room[i] = fabs(room[i] - median);
    }
    return mad_to_deviation * round_trips_median(room, n_others);
}

/* What a quarter of the links but the one numbered `but` have at least. */
static double
upper_quartile(const double excess[], const bool is_known[], size_t n, size_t but, double room[])
{
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++) {
        if (i != but && is_known[i]) {
            room[n_others++] = excess[i];
        }
    }
    round_trips_median(room, n_others); /* Sorts them. */
    return n_others ? room[n_others - (n_others + 3) / 4] : 0;
}

static double
own_noise(const struct link_rank *x)
{
    double square = 0;
    unsigned n_ends = 0;
    for (size_t i = 0; i < 2; i++) {
        if (x->end[i].n) {
            square += fmax(x->end[i].noise_us, 0) * fmax(x->end[i].noise_us, 0) / blocks_of_noise;
            n_ends++;
        }
    }
    return n_ends ? sqrt(square) / n_ends : 0;
}

/* --- All ------------------------------------------------------------------ */

static bool
has_history(const struct link_rank ranks[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 2; j++) {
            if (ranks[i].end[j].n && isnan(ranks[i].end[j].base_us)) {
                return false;
            }
        }
    }
    return n > 0;
}

static int
by_added(const void *a_, const void *b_)
{
    const struct link_rank *a = a_, *b = b_;
    double x = a->is_known ? a->added_us : -INFINITY, y = b->is_known ? b->added_us : -INFINITY;
    return (x < y) - (x > y);
}

struct link_rank_end
link_rank_end(const struct round_trips *trips, double base_us)
{
    struct round_trips_summary s;
    round_trips_summarize(trips, &s);
    return (struct link_rank_end){s.n, s.floor_us, s.noise_us, s.p90_us, base_us};
}

void
link_ranks(struct link_rank ranks[], size_t n)
{
    bool by_history = has_history(ranks, n);
    double *added = calloc(n + 1, sizeof *added), *queue = calloc(n + 1, sizeof *queue),
           *room = calloc(2 * n + 1, sizeof *room);
    bool *is_known = calloc(n + 1, sizeof *is_known);
    if (!added || !queue || !room || !is_known) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < n; i++) {
        struct link_rank *x = &ranks[i];
        is_known[i] = excess_of_link(ranks, n, x, by_history ? above_base : floor_of, by_history, room, &added[i],
                                     &x->added_least_us);
        excess_of_link(ranks, n, x, above_floor, by_history, room, &queue[i], &x->queue_least_us);
    }
    for (size_t i = 0; i < n; i++) {
        struct link_rank *x = &ranks[i];
        x->is_known = is_known[i];
        x->by_history = by_history;
        x->added_us = added[i];
        x->noise_us = fmax(least_noise_us, hypot(own_noise(x), spread(added, is_known, n, i, room, &x->n_others)));
        x->queue_us = queue[i];
        x->queue_usual_us = usual(x, above_floor, queue[i]);
        x->queue_noise_us = fmax(least_noise_us, spread(queue, is_known, n, i, room, &x->n_others));
        x->queue_others_us = fmax(0, upper_quartile(queue, is_known, n, i, room));
    }
    free(added);
    free(queue);
    free(room);
    free(is_known);
    if (n) {
        qsort(ranks, n, sizeof *ranks, by_added);
    }
}

bool
link_rank_is_slow(const struct link_rank *rank, double least_us)
{
    return rank->is_known && rank->added_us >= least_us && rank->added_us >= slow_factor * rank->noise_us &&
           rank->added_least_us >= rank->added_us / 2;
}

bool
link_rank_has_queue(const struct link_rank *rank)
{
    return rank->is_known && rank->queue_us >= queue_least_us &&
           rank->queue_us >= queue_factor * rank->queue_noise_us && rank->queue_us >= rank->queue_usual_us &&
           rank->queue_us >= queue_others_factor * rank->queue_others_us && rank->queue_least_us >= rank->queue_us / 2;
}

double
link_rank_reach_us(const struct link_rank *rank)
{
    /* Abramowitz and Stegun 26.7.5: Student's distribution by the normal one's quantile. */
    const double z = 1.959963985;
    double degrees = rank->n_others > 1 ? (double) rank->n_others - 1 : 1;
    double t =
        z + (pow(z, 3) + z) / (4 * degrees) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * degrees * degrees);
    return t * rank->noise_us;
}

double
link_rank_noise_floor_us(const struct link_rank *rank)
{
    return fmax(link_rank_least_us(rank), slow_factor * rank->noise_us);
}

int
link_rank_direction(const struct round_trips_summary *there, const struct round_trips_summary *back, double us,
                    bool is_queue)
{
    double more = is_queue ? there->p90_us - back->p90_us : there->floor_us - back->floor_us;
    double noise = hypot(fmax(there->noise_us, 0), fmax(back->noise_us, 0)) / sqrt(blocks_of_noise);
    double least = fmax(fmax(us / 2, direction_least_us), is_queue ? 0 : slow_factor * noise);
    bool is_plausible = is_queue || fabs(more) <= 2 * us + slow_factor * noise;
    return !is_plausible || fabs(more) < least ? 0 : more > 0 ? 1 : -1;
}

double
link_rank_least_us(const struct link_rank *rank)
{
    return rank->by_history ? 30 : 60;
}
