/* SPDX-License-Identifier: Apache-2.0 */
/* How switches share flows; see ecmp_flows.h. */
#include <config.h>

#include "controller/ecmp_flows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/chi_square.h"
#include "controller/fabric_map.h"

enum { CLASS_LEAST = 12, NOT_KNOWN = UINT16_MAX };
static const double class_p = 1e-3, rest_p = 1e-3, least_excess = 1.3;

/* A flow that went from one switch to another; switches are numbers. */
struct crossing {
    struct ef_time time;
    uint64_t flow; /* Hash of the 5-tuple. */
    uint16_t at, next, dst;
};

/* What the ways from a switch to another are. */
struct choice {
    bool is_known;
    uint16_t n, next[ECMP_FLOWS_WAYS]; /* Ascending. */
};

struct ecmp_flows {
    struct fabric_map *map;
    const char **names;
    size_t n_names;
    struct choice *choices; /* From x to y: [x * n_names + y]. */
    struct crossing *ring;
    size_t n, next;
};

/* --- Switches ------------------------------------------------------------- */

static size_t
number_of(const struct ecmp_flows *f, const char *name)
{
    for (size_t i = 0; name && i < f->n_names; i++) {
        if (!strcmp(f->names[i], name)) {
            return i;
        }
    }
    return f->n_names;
}

static int
compare_numbers(const void *a, const void *b)
{
    return *(const uint16_t *) a - *(const uint16_t *) b;
}

static const struct choice *
choice_of(const struct ecmp_flows *f, size_t at, size_t dst)
{
    struct choice *choice = &f->choices[at * f->n_names + dst];
    const char *next[FABRIC_MAP_NEXT];
    if (!choice->is_known) {
        size_t n = at == dst ? 0 : fabric_map_next(f->map, f->names[at], f->names[dst], next, ECMP_FLOWS_WAYS);
        choice->is_known = true;
        for (size_t i = 0; i < n; i++) {
            choice->next[choice->n++] = (uint16_t) number_of(f, next[i]);
        }
        qsort(choice->next, choice->n, sizeof *choice->next, compare_numbers);
    }
    return choice;
}

static bool
has_way(const struct choice *choice, size_t next)
{
    for (size_t i = 0; i < choice->n; i++) {
        if (choice->next[i] == next) {
            return true;
        }
    }
    return false;
}

/* --- Taking --------------------------------------------------------------- */

static uint64_t
hash_bytes(uint64_t h, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ p[i]) * 0x100000001b3; /* FNV-1a. */
    }
    return h;
}

static uint64_t
flow_of(const json_t *packet, const char *src, const char *dst)
{
    json_int_t numbers[3] = {json_integer_value(json_object_get(packet, "proto")),
                             json_integer_value(json_object_get(packet, "srcport")),
                             json_integer_value(json_object_get(packet, "dstport"))};
    uint64_t h = hash_bytes(0xcbf29ce484222325, src, strlen(src) + 1);
    return hash_bytes(hash_bytes(h, dst, strlen(dst) + 1), numbers, sizeof numbers);
}

static void
remember(struct ecmp_flows *f, const struct crossing *crossing)
{
    f->ring[f->next] = *crossing;
    f->next = (f->next + 1) % ECMP_FLOWS_MAX;
    f->n = EF_MIN(f->n + 1, (size_t) ECMP_FLOWS_MAX);
}

void
ecmp_flows_take(struct ecmp_flows *f, const json_t *trace)
{
    const json_t *packet = json_object_get(trace, "packet"), *hops = json_object_get(trace, "hops");
    const char *src = json_string_value(json_object_get(packet, "src")),
               *dst = json_string_value(json_object_get(packet, "dst")),
               *start = json_string_value(json_object_get(trace, "start"));
    struct crossing crossing = {0};
    if (!src || !dst || !start || ef_time_parse(start, crossing.time, &crossing.time, NULL)) {
        return;
    }
    size_t end = number_of(f, fabric_map_switch_of(f->map, dst)), at = f->n_names;
    if (end == f->n_names) {
        return;
    }
    crossing.flow = flow_of(packet, src, dst);
    crossing.dst = (uint16_t) end;
    for (size_t i = 0; i <= json_array_size(hops); i++) {
        const json_t *hop = json_array_get(hops, i); /* Behind the last: NULL, no switch. */
        size_t next = number_of(f, json_string_value(json_object_get(hop, "name")));
        if (at < f->n_names && at != next && choice_of(f, at, end)->n > 1) {
            crossing.at = (uint16_t) at;
            crossing.next = has_way(choice_of(f, at, end), next) ? (uint16_t) next : NOT_KNOWN;
            remember(f, &crossing);
        }
        at = next;
    }
}

/* --- Judging -------------------------------------------------------------- */

/* By switch, then flow: one flow's crossings of a switch are together. */
static int
compare_crossings(const void *a_, const void *b_)
{
    const struct crossing *a = a_, *b = b_;
    return a->at != b->at       ? a->at - b->at
           : a->flow != b->flow ? (a->flow > b->flow) - (a->flow < b->flow)
                                : (a->time.ns > b->time.ns) - (a->time.ns < b->time.ns);
}

/* The last crossing of each flow at each switch since then; freed by the caller. */
static struct crossing *
flows_since(const struct ecmp_flows *f, struct ef_time since, size_t *n)
{
    struct crossing *list = malloc((f->n + 1) * sizeof *list);
    size_t n_all = 0;
    if (!list) {
        abort(); /* Control path. */
    }
    for (size_t i = 0; i < f->n; i++) {
        if (!ef_time_before(f->ring[i].time, since)) {
            list[n_all++] = f->ring[i];
        }
    }
    qsort(list, n_all, sizeof *list, compare_crossings);
    *n = 0;
    for (size_t i = 0; i < n_all; i++) {
        if (i + 1 == n_all || list[i].at != list[i + 1].at || list[i].flow != list[i + 1].flow) {
            list[(*n)++] = list[i];
        }
    }
    return list;
}

static bool
is_same_choice(const struct choice *a, const struct choice *b)
{
    return a->n == b->n && !memcmp(a->next, b->next, a->n * sizeof *a->next);
}

static struct ecmp_class *
class_of(const struct ecmp_flows *f, struct ecmp_finding *x, size_t dst)
{
    for (size_t i = 0; i < x->n_classes; i++) {
        if (x->classes[i].dst == f->names[dst]) {
            return &x->classes[i];
        }
    }
    if (x->n_classes == ECMP_FLOWS_CLASSES) {
        return NULL;
    }
    struct ecmp_class *class = &x->classes[x->n_classes++];
    *class = (struct ecmp_class){.dst = f->names[dst], .prefix = fabric_map_subnet(f->map, f->names[dst], false)};
    return class;
}

/* Counts the flows of one switch for which it had `choice`. */
static void
count(const struct ecmp_flows *f, const struct crossing list[], size_t n, const struct choice *choice,
      struct ecmp_finding *x)
{
    *x = (struct ecmp_finding){.at = f->names[list[0].at], .n_ways = choice->n, .p = 1};
    for (size_t i = 0; i < choice->n; i++) {
        x->ways[i].to = f->names[choice->next[i]];
    }
    for (size_t i = 0; i < n; i++) {
        struct ecmp_class *class;
        if (!is_same_choice(choice_of(f, list[i].at, list[i].dst), choice)) {
            continue;
        }
        class = class_of(f, x, list[i].dst);
        if (list[i].next == NOT_KNOWN) {
            x->unknown++;
            if (class) {
                class->unknown++;
            }
        }
        for (size_t j = 0; j < choice->n; j++) {
            if (choice->next[j] == list[i].next) {
                x->ways[j].flows++;
                x->flows++;
                if (class) {
                    class->flows[j]++;
                }
            }
        }
    }
}

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
    x->is_some = n_uneven && n_rest && sum_of(rest, x->n_ways) >= CLASS_LEAST &&
                 (chi_square_even(rest, x->n_ways) > rest_p || !is_lopsided(rest, x->n_ways));
}

/* The way with most flows first, there and in the classes. */
static void
sort_ways(struct ecmp_finding *x)
{
    size_t most = 0;
    for (size_t i = 1; i < x->n_ways; i++) {
        most = x->ways[i].flows > x->ways[most].flows ? i : most;
    }
    struct ecmp_share share = x->ways[0];
    x->ways[0] = x->ways[most];
    x->ways[most] = share;
    for (size_t i = 0; i < x->n_classes; i++) {
        unsigned *flows = x->classes[i].flows, first = flows[0];
        flows[0] = flows[most];
        flows[most] = first;
    }
}

void
ecmp_finding_judge(struct ecmp_finding *x)
{
    unsigned counts[ECMP_FLOWS_WAYS];
    for (size_t i = 0; i < x->n_ways; i++) {
        counts[i] = x->ways[i].flows;
    }
    x->p = chance(counts, x->n_ways, x->unknown);
    sort_ways(x);
    judge_classes(x);
}

static bool
is_uneven(const struct ecmp_finding *x, double p)
{
    bool is_one = x->ways[0].flows * (double) x->n_ways >= least_excess * x->flows;
    bool is_class = false;
    for (size_t i = 0; i < x->n_classes; i++) {
        is_class |= x->classes[i].is_uneven && x->classes[i].p < p / ECMP_FLOWS_CLASSES &&
                    sum_of(x->classes[i].flows, x->n_ways) >= ECMP_FLOWS_LEAST;
    }
    return (x->flows >= ECMP_FLOWS_LEAST && x->p < p && is_one) || is_class;
}

/* The finding for each choice of the switch whose `n` flows `list` has. */
static size_t
judge_switch(const struct ecmp_flows *f, const struct crossing list[], size_t n, struct ecmp_finding findings[],
             size_t size)
{
    size_t n_findings = 0;
    for (size_t i = 0; i < n && n_findings < size; i++) {
        const struct choice *choice = choice_of(f, list[i].at, list[i].dst);
        bool is_known = false;
        for (size_t j = 0; j < i && !is_known; j++) {
            is_known = is_same_choice(choice_of(f, list[j].at, list[j].dst), choice);
        }
        if (!is_known) {
            count(f, list, n, choice, &findings[n_findings]);
            ecmp_finding_judge(&findings[n_findings++]);
        }
    }
    return n_findings;
}

static size_t
judge_all(const struct ecmp_flows *f, struct ef_time since, double p, const char *at, struct ecmp_finding findings[],
          size_t size)
{
    size_t n, n_found = 0;
    struct crossing *list = flows_since(f, since, &n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && list[end].at == list[i].at; end++) {
        }
        if (at && strcmp(at, f->names[list[i].at])) {
            continue;
        }
        size_t n_new = judge_switch(f, &list[i], end - i, &findings[n_found], size - n_found);
        for (size_t j = n_found; n_new; n_new--, j++) {
            if (is_uneven(&findings[j], p)) {
                findings[n_found++] = findings[j];
            }
        }
    }
    free(list);
    return n_found;
}

size_t
ecmp_flows_judge(const struct ecmp_flows *f, struct ef_time since, double p, const char *at,
                 struct ecmp_finding findings[], size_t size)
{
    return judge_all(f, since, p, at, findings, size);
}

bool
ecmp_flows_look(const struct ecmp_flows *f, struct ef_time since, const char *at, struct ecmp_finding *finding)
{
    size_t n, best = 0;
    struct ecmp_finding all[4];
    struct crossing *list = flows_since(f, since, &n);
    size_t first = 0, n_at = 0, n_found;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(at, f->names[list[i].at])) {
            first = n_at ? first : i;
            n_at++;
        }
    }
    n_found = n_at ? judge_switch(f, &list[first], n_at, all, EF_ARRAY_SIZE(all)) : 0;
    for (size_t i = 1; i < n_found; i++) {
        best = all[i].flows > all[best].flows ? i : best;
    }
    free(list);
    if (n_found) {
        *finding = all[best];
    }
    return n_found;
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

/* --- Life ----------------------------------------------------------------- */

struct ecmp_flows *
ecmp_flows_create(const json_t *document)
{
    struct ecmp_flows *f = calloc(1, sizeof *f);
    const json_t *switches = json_object_get(document, "switches"), *node;
    size_t i, n = json_array_size(switches);
    if (!f || !(f->names = calloc(n + 1, sizeof *f->names)) || !(f->choices = calloc(n * n + 1, sizeof *f->choices)) ||
        !(f->ring = calloc(ECMP_FLOWS_MAX, sizeof *f->ring))) {
        abort(); /* Control path. */
    }
    json_array_foreach((json_t *) switches, i, node)
    {
        const char *name = json_string_value(json_object_get(node, "name"));
        if (name && f->n_names < UINT16_MAX) {
            f->names[f->n_names++] = name;
        }
    }
    f->map = fabric_map_create(document);
    return f;
}

void
ecmp_flows_destroy(struct ecmp_flows *f)
{
    if (f) {
        fabric_map_destroy(f->map);
        free(f->names);
        free(f->choices);
        free(f->ring);
        free(f);
    }
}
