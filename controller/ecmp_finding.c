/* SPDX-License-Identifier: Apache-2.0 */
/* One switch's shares, judged and shown; see ecmp_finding.h. */
#include <config.h>

#include "controller/ecmp_finding.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "controller/chi_square.h"

enum { CLASS_LEAST = 12, REST_LEAST = 20 };
static const double class_p = 1e-3, rest_p = 0.05, least_excess = 1.3;

/* --- Judging -------------------------------------------------------------- */

static unsigned
sum_of(const unsigned counts[], size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += counts[i];
    }
    return sum;
}

static bool
is_lopsided(const unsigned counts[], size_t n)
{
    unsigned most = 0;
    for (size_t i = 0; i < n; i++) {
        most = EF_MAX(most, counts[i]);
    }
    return most * (double) n >= least_excess * sum_of(counts, n);
}

/* The chance of these shares if those that are not known went where the fewest did. */
static double
chance(const unsigned counts[], size_t n, unsigned unknown)
{
    unsigned filled[ECMP_FLOWS_WAYS];
    memcpy(filled, counts, n * sizeof *filled);
    for (; unknown; unknown--) {
        size_t least = 0;
        for (size_t i = 1; i < n; i++) {
            least = filled[i] < filled[least] ? i : least;
        }
        filled[least]++;
    }
    return is_lopsided(filled, n) ? chi_square_even(filled, n) : 1;
}

/* Whether only some of the classes are uneven: then the others are not, together. */
static void
judge_classes(struct ecmp_finding *x)
{
    unsigned rest[ECMP_FLOWS_WAYS] = {0};
    size_t n_uneven = 0, n_rest = 0;
    for (size_t i = 0; i < x->n_classes; i++) {
        struct ecmp_class *class = &x->classes[i];
        class->p = chance(class->flows, x->n_ways, class->unknown);
        class->is_uneven = sum_of(class->flows, x->n_ways) >= CLASS_LEAST && class->p < class_p;
        n_uneven += class->is_uneven;
        n_rest += !class->is_uneven;
        for (size_t j = 0; j < x->n_ways && !class->is_uneven; j++) {
            rest[j] += class->flows[j];
        }
    }
    /* Few flows of what is just as uneven may look even. */
    x->is_some = n_uneven && n_rest && sum_of(rest, x->n_ways) >= REST_LEAST &&
                 (chi_square_even(rest, x->n_ways) > rest_p || !is_lopsided(rest, x->n_ways));
}

/* Changes the places of the first way and the `i`th, there and in the classes. */
static void
put_first(struct ecmp_finding *x, size_t i)
{
    struct ecmp_share share = x->ways[0];
    x->ways[0] = x->ways[i];
    x->ways[i] = share;
    for (size_t k = 0; k < x->n_classes; k++) {
        unsigned *flows = x->classes[k].flows, first = flows[0];
        flows[0] = flows[i];
        flows[i] = first;
    }
}

void
ecmp_finding_judge(struct ecmp_finding *x)
{
    unsigned counts[ECMP_FLOWS_WAYS];
    size_t most = 0;
    for (size_t i = 0; i < x->n_ways; i++) {
        counts[i] = x->ways[i].flows;
        most = counts[i] > counts[most] ? i : most;
    }
    x->p = chance(counts, x->n_ways, x->unknown);
    put_first(x, most);
    judge_classes(x);
}

void
ecmp_finding_put_first(struct ecmp_finding *x, const char *to)
{
    for (size_t i = 0; i < x->n_ways; i++) {
        if (!strcmp(x->ways[i].to, to)) {
            put_first(x, i);
            return;
        }
    }
}

void
ecmp_finding_blame(struct ecmp_finding *x, const char *dst)
{
    for (size_t i = 0; i < x->n_classes; i++) {
        x->classes[i].is_uneven |= !strcmp(x->classes[i].dst, dst);
    }
    x->is_some = x->n_classes > 1;
}

/* --- Showing -------------------------------------------------------------- */

json_t *
ecmp_finding_show(const struct ecmp_finding *x)
{
    json_t *links = json_array(), *prefixes = json_array();
    for (size_t i = 0; i < x->n_ways; i++) {
        json_array_append_new(links,
                              json_pack("{s:s, s:I, s:f}", "to", x->ways[i].to, "flows", (json_int_t) x->ways[i].flows,
                                        "expected", x->flows / (double) x->n_ways));
    }
    for (size_t i = 0; i < x->n_classes; i++) {
        const struct ecmp_class *class = &x->classes[i];
        json_t *flows = json_object();
        for (size_t j = 0; j < x->n_ways; j++) {
            json_object_set_new(flows, x->ways[j].to, json_integer(class->flows[j]));
        }
        json_array_append_new(prefixes,
                              json_pack("{s:s?, s:s, s:o, s:f, s:b}", "prefix", class->prefix, "switch", class->dst,
                                        "flows", flows, "p", class->p, "uneven", class->is_uneven));
    }
    return json_pack("{s:I, s:I, s:f, s:o, s:o}", "flows", (json_int_t) x->flows, "unknown", (json_int_t) x->unknown,
                     "p", x->p, "links", links, "prefixes", prefixes);
}

const char *
ecmp_finding_class(const struct ecmp_finding *x, char *text, size_t size)
{
    size_t len = 0;
    snprintf(text, size, "all traffic");
    for (size_t i = 0; x->is_some && i < x->n_classes && len < size; i++) {
        const struct ecmp_class *class = &x->classes[i];
        if (class->is_uneven) {
            int n = snprintf(text + len, size - len, "%s%s (%s)", len ? ", " : "packets to ",
                             class->prefix ? class->prefix : "the hosts", class->dst);
            len += n > 0 ? (size_t) n : 0;
        }
    }
    return text;
}
