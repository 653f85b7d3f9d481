/* SPDX-License-Identifier: Apache-2.0 */
/* How switches share flows; see ecmp_flows.h. */
#include <config.h>

#include "controller/ecmp_flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/ecmp_sequence.h"
#include "controller/fabric_map.h"

enum { NOT_KNOWN = UINT16_MAX };

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
compare_flows(const void *a_, const void *b_)
{
    const struct crossing *a = a_, *b = b_;
    return a->at != b->at       ? a->at - b->at
           : a->flow != b->flow ? (a->flow > b->flow) - (a->flow < b->flow)
                                : (a->time.ns > b->time.ns) - (a->time.ns < b->time.ns);
}

/* By switch, then time. */
static int
compare_times(const void *a_, const void *b_)
{
    const struct crossing *a = a_, *b = b_;
    return a->at != b->at             ? a->at - b->at
           : a->time.ns != b->time.ns ? (a->time.ns > b->time.ns) - (a->time.ns < b->time.ns)
                                      : (a->flow > b->flow) - (a->flow < b->flow);
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
    qsort(list, n_all, sizeof *list, compare_flows);
    *n = 0;
    for (size_t i = 0; i < n_all; i++) {
        if (i + 1 == n_all || list[i].at != list[i + 1].at || list[i].flow != list[i + 1].flow) {
            list[(*n)++] = list[i];
        }
    }
    qsort(list, *n, sizeof *list, compare_times);
    return list;
}

static bool
is_same_choice(const struct choice *a, const struct choice *b)
{
    return a->n == b->n && !memcmp(a->next, b->next, a->n * sizeof *a->next);
}

/* The number of the way, choice->n if it is not known. */
static size_t
way_of(const struct choice *choice, size_t next)
{
    size_t i = 0;
    while (i < choice->n && choice->next[i] != next) {
        i++;
    }
    return i;
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

/* Counts the flows of one switch for which it had `choice`, from `since` on. */
static void
count(const struct ecmp_flows *f, const struct crossing list[], size_t n, const struct choice *choice,
      struct ef_time since, struct ecmp_finding *x)
{
    *x = (struct ecmp_finding){.at = f->names[list[0].at], .n_ways = choice->n, .p = 1};
    for (size_t i = 0; i < choice->n; i++) {
        x->ways[i].to = f->names[choice->next[i]];
    }
    for (size_t i = 0; i < n; i++) {
        if (ef_time_before(list[i].time, since) || !is_same_choice(choice_of(f, list[i].at, list[i].dst), choice)) {
            continue;
        }
        struct ecmp_class *class = class_of(f, x, list[i].dst);
        size_t way = way_of(choice, list[i].next);
        if (way < choice->n) {
            x->ways[way].flows++;
            x->flows++;
        } else {
            x->unknown++;
        }
        if (class) {
            *(way < choice->n ? &class->flows[way] : &class->unknown) += 1;
        }
    }
}

/* --- One after the other -------------------------------------------------- */

/* The flows for which a switch had one choice, all of them and those to each destination. */
struct followed {
    struct ecmp_sequence all, classes[ECMP_FLOWS_CLASSES];
    uint16_t dst[ECMP_FLOWS_CLASSES];
    size_t n_classes;
};

static struct ecmp_sequence *
sequence_of(struct followed *x, uint16_t dst)
{
    for (size_t i = 0; i < x->n_classes; i++) {
        if (x->dst[i] == dst) {
            return &x->classes[i];
        }
    }
    if (x->n_classes == ECMP_FLOWS_CLASSES) {
        return NULL;
    }
    ecmp_sequence_init(&x->classes[x->n_classes], x->all.n_ways, x->all.flows_between);
    x->dst[x->n_classes] = dst;
    return &x->classes[x->n_classes++];
}

/* Each flow counts for all of them and for its class, whence each of both may have half of
 * the false alarms. */
static void
follow(const struct ecmp_flows *f, const struct crossing list[], size_t n, const struct choice *choice,
       double flows_between, struct followed *x)
{
    x->n_classes = 0;
    ecmp_sequence_init(&x->all, choice->n, 2 * flows_between);
    for (size_t i = 0; i < n; i++) {
        if (is_same_choice(choice_of(f, list[i].at, list[i].dst), choice)) {
            struct ecmp_sequence *class = sequence_of(x, list[i].dst);
            size_t way = way_of(choice, list[i].next);
            ecmp_sequence_add(&x->all, way, list[i].time);
            if (class) {
                ecmp_sequence_add(class, way, list[i].time);
            }
        }
    }
}

/* The class that is most surely uneven, or NULL. */
static const struct ecmp_sequence *
worst_class(const struct followed *x)
{
    const struct ecmp_sequence *worst = NULL;
    for (size_t i = 0; i < x->n_classes; i++) {
        const struct ecmp_sequence *class = &x->classes[i];
        if (class->is_uneven && (!worst || class->log_odds > worst->log_odds)) {
            worst = class;
        }
    }
    return worst;
}

/* Whether flows with this choice are shared unevenly at the end of the list, and how. */
static bool
judge_choice(const struct ecmp_flows *f, const struct crossing list[], size_t n, const struct choice *choice,
             double flows_between, struct ecmp_finding *x)
{
    struct followed followed;
    follow(f, list, n, choice, flows_between, &followed);
    const struct ecmp_sequence *class = worst_class(&followed), *found = followed.all.is_uneven ? &followed.all : class;
    if (!found) {
        return false;
    }
    count(f, list, n, choice, found->since, x);
    ecmp_finding_judge(x);
    ecmp_finding_put_first(x, f->names[choice->next[found->way]]);
    x->p = exp(-found->log_odds);
    if (found == class) {
        ecmp_finding_blame(x, f->names[followed.dst[class - followed.classes]]);
    }
    return true;
}

/* --- All ------------------------------------------------------------------ */

/* The next choice of the switch whose `n` flows `list` has, beginning at `*i`; NULL: there is no
 * other. */
static const struct choice *
next_choice(const struct ecmp_flows *f, const struct crossing list[], size_t n, size_t *i)
{
    for (; *i < n; ++*i) {
        const struct choice *choice = choice_of(f, list[*i].at, list[*i].dst);
        bool is_known = false;
        for (size_t j = 0; j < *i && !is_known; j++) {
            is_known = is_same_choice(choice_of(f, list[j].at, list[j].dst), choice);
        }
        if (!is_known) {
            ++*i;
            return choice;
        }
    }
    return NULL;
}

size_t
ecmp_flows_judge(const struct ecmp_flows *f, struct ef_time since, double flows_between, const char *at,
                 struct ecmp_finding findings[], size_t size)
{
    size_t n, n_found = 0;
    struct crossing *list = flows_since(f, since, &n);
    for (size_t i = 0, end; i < n; i = end) {
        const struct choice *choice;
        size_t next = 0;
        for (end = i + 1; end < n && list[end].at == list[i].at; end++) {
        }
        while (n_found < size && (!at || !strcmp(at, f->names[list[i].at])) &&
               (choice = next_choice(f, &list[i], end - i, &next))) {
            n_found += judge_choice(f, &list[i], end - i, choice, flows_between, &findings[n_found]);
        }
    }
    free(list);
    return n_found;
}

bool
ecmp_flows_look(const struct ecmp_flows *f, struct ef_time since, const char *at, struct ecmp_finding *finding)
{
    size_t n, first = 0, n_at = 0, next = 0;
    struct crossing *list = flows_since(f, since, &n);
    const struct choice *choice;
    bool is_any = false;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(at, f->names[list[i].at])) {
            first = n_at ? first : i;
            n_at++;
        }
    }
    while ((choice = next_choice(f, &list[first], n_at, &next))) {
        struct ecmp_finding x;
        count(f, &list[first], n_at, choice, since, &x);
        if (!is_any || x.flows > finding->flows) {
            *finding = x;
        }
        is_any = true;
    }
    free(list);
    if (is_any) {
        ecmp_finding_judge(finding);
    }
    return is_any;
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
