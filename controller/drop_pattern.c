/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets are dropped; see drop_pattern.h. */
#include <config.h>

#include "controller/drop_pattern.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

enum {
    N_PORTS = 8, /* Other source ports: one of two ways is missed once in 256. */
    N_MORE_PORTS = 16,
    FIRST_PORT = 34567, /* Of those. */
    PORT_STEP = 1237,
    RETRY_PORT = 20011, /* And of those that are tried where these told nothing. */
    RETRY_STEP = 1201,
    MAX_OTHERS = 2,    /* Other values of a field. */
    MAX_ADDRESSES = 3, /* Addresses, since a prefix may have some of them. */
    LONG = 300,        /* Packets that may be dropped for being long. */
    MAX_ALIVE = 3,
};

static const int other_dst_ports[] = {33434, 5201, 17};

/* --- Variations ----------------------------------------------------------- */

struct list {
    struct drop_variation *variations;
    size_t n, size;
};

static void
add(struct list *list, enum drop_field field, const struct probe_flow *flow, const char *at)
{
    if (list->n < list->size) {
        list->variations[list->n++] = (struct drop_variation){field, *flow, at};
    }
}

static void
add_with_port(struct list *list, enum drop_field field, const struct probe_flow *flow, const char *at, int port)
{
    struct probe_flow other = *flow;
    other.src_port = port;
    add(list, field, &other, at);
}

/* The variation with several source ports that are known to make no difference,
 * since each may take another way. */
static void
add_with_ports(struct list *list, enum drop_field field, const struct probe_flow *flow, const struct drop_pattern *p)
{
    bool has_ports = probe_flow_has_ports(flow) && p->n_failing_ports;
    if (!p->is_retry) {
        add(list, field, flow, p->at);
        for (unsigned i = 0; has_ports && i < p->n_failing_ports; i++) {
            add_with_port(list, field, flow, p->at, p->failing_ports[i]);
        }
        return;
    }
    bool asks_again = has_ports && p->n_candidates > 1 && p->matters[field] == DROP_NOT_KNOWN;
    for (int i = 0; asks_again && i < N_PORTS; i++) {
        add_with_port(list, field, flow, p->at, RETRY_PORT + i * RETRY_STEP);
    }
}

static size_t
vary_src_port(const struct drop_pattern *p, int first, int n, struct drop_variation variations[], size_t size)
{
    struct list list = {variations, 0, size};
    for (int i = first; probe_flow_has_ports(&p->base) && i < first + n; i++) {
        int port = FIRST_PORT + i * PORT_STEP;
        add_with_port(&list, DROP_SRC_PORT, &p->base, p->at, port + (port == p->base.src_port));
    }
    return list.n;
}

size_t
drop_pattern_ports(const struct drop_pattern *p, struct drop_variation variations[], size_t size)
{
    return vary_src_port(p, 0, N_PORTS, variations, size);
}

size_t
drop_pattern_more_ports(const struct drop_pattern *p, struct drop_variation variations[], size_t size)
{
    bool is_open = !p->next && p->n_candidates > 1 && p->seen[DROP_SRC_PORT].failed;
    return is_open ? vary_src_port(p, N_PORTS, N_MORE_PORTS, variations, size) : 0;
}

static void
vary_dst_port(struct list *list, const struct drop_pattern *p)
{
    struct probe_flow flow = p->base;
    int n = 0;
    for (size_t i = 0; i < EF_ARRAY_SIZE(other_dst_ports) && n < MAX_OTHERS; i++) {
        if (other_dst_ports[i] != p->base.dst_port) {
            flow.dst_port = other_dst_ports[i];
            add_with_ports(list, DROP_DST_PORT, &flow, p);
            n++;
        }
    }
}

static void
vary_header(struct list *list, const struct drop_pattern *p)
{
    struct probe_flow flow = p->base;
    if (probe_flow_has_ports(&p->base)) {
        vary_dst_port(list, p);
        flow.proto = p->base.proto == PROBE_FLOW_TCP ? PROBE_FLOW_UDP : PROBE_FLOW_TCP;
        add_with_ports(list, DROP_PROTO, &flow, p);
    }
    if (p->is_retry) {
        return; /* What follows takes the same way as the base does. */
    }
    flow = p->base;
    if (p->base.proto == PROBE_FLOW_TCP) {
        snprintf(flow.flags, sizeof flow.flags, "%s", strchr(p->base.flags, 'A') ? "S" : "A");
        add(list, DROP_FLAGS, &flow, p->at);
    }
    flow = p->base;
    flow.length = p->base.length >= LONG ? 0 : PROBE_FLOW_LONG;
    add(list, DROP_SIZE, &flow, p->at);
}

typedef size_t find_hosts(const struct fabric_map *map, const char *like, const char *addresses[], size_t size);

static void
vary_address(struct list *list, const struct drop_pattern *p, enum drop_field field, bool is_src, find_hosts *find)
{
    const char *addresses[MAX_ADDRESSES + 2], *other = is_src ? p->base.dst : p->base.src;
    size_t n = find(p->map, is_src ? p->base.src : p->base.dst, addresses, EF_ARRAY_SIZE(addresses));
    int used = 0;
    for (size_t i = 0; i < n && used < MAX_ADDRESSES; i++) {
        struct probe_flow flow = p->base;
        const char *leaf = fabric_map_switch_of(p->map, addresses[i]);
        if (!strcmp(addresses[i], other) || (!is_src && leaf && !strcmp(leaf, p->at))) {
            continue; /* To itself, or a host beside the switch, which is no way on. */
        }
        snprintf(is_src ? flow.src : flow.dst, sizeof flow.src, "%s", addresses[i]);
        add_with_ports(list, field, &flow, p);
        used++;
    }
}

/* Whether the next switch is reached, with plain packets to itself. */
static void
ask_next(struct list *list, const struct drop_pattern *p)
{
    const char *neighbours[FABRIC_MAP_NEXT];
    if (!p->next || p->is_retry) {
        return;
    }
    struct probe_flow flow = {.proto = PROBE_FLOW_UDP, .src_port = 33434, .dst_port = 33434};
    snprintf(flow.src, sizeof flow.src, "%s", p->base.src);
    const char *address = fabric_map_address_of(p->map, p->next);
    if (!address || strchr(flow.src, ':')) {
        return;
    }
    snprintf(flow.dst, sizeof flow.dst, "%s", address);
    add(list, DROP_LINK, &flow, p->at);
    size_t n = fabric_map_neighbours(p->map, p->next, neighbours, EF_ARRAY_SIZE(neighbours));
    for (size_t i = 0, used = 0; i < n && used < MAX_ALIVE; i++) {
        if (strcmp(neighbours[i], p->at)) {
            add(list, DROP_ALIVE, &flow, neighbours[i]);
            used++;
        }
    }
}

size_t
drop_pattern_variations(const struct drop_pattern *p, struct drop_variation variations[], size_t size)
{
    struct list list = {variations, 0, size};
    ask_next(&list, p);
    vary_header(&list, p);
    vary_address(&list, p, DROP_SRC_BESIDE, true, fabric_map_hosts_beside);
    vary_address(&list, p, DROP_DST_BESIDE, false, fabric_map_hosts_beside);
    vary_address(&list, p, DROP_SRC_ELSEWHERE, true, fabric_map_hosts_elsewhere);
    vary_address(&list, p, DROP_DST_ELSEWHERE, false, fabric_map_hosts_elsewhere);
    if (list.n) {
        list.n = EF_MIN(list.n, size - 1);
        add(&list, DROP_BASE, &p->base, p->at); /* Is it still dropped? */
    }
    return list.n;
}

/* --- Notes ---------------------------------------------------------------- */

void
drop_pattern_init(struct drop_pattern *p, const struct fabric_map *map, const char *at, const struct probe_flow *base)
{
    const char *next[FABRIC_MAP_NEXT];
    *p = (struct drop_pattern){.map = map, .at = at, .base = *base};
    drop_prefix_note(&p->addresses[0], base->src, true);
    drop_prefix_note(&p->addresses[1], base->dst, true);
    p->expected = fabric_map_switch_of(map, base->dst);
    p->n_candidates = p->expected ? fabric_map_next(map, at, p->expected, next, EF_ARRAY_SIZE(next)) : 0;
    for (size_t i = 0; i < p->n_candidates; i++) {
        snprintf(p->candidates[i].name, sizeof p->candidates[i].name, "%s", next[i]);
    }
    p->next = p->n_candidates == 1 ? p->candidates[0].name : NULL;
}

void
drop_pattern_went(struct drop_pattern *p, const char *next)
{
    for (size_t i = 0; i < p->n_candidates; i++) {
        if (!strcmp(p->candidates[i].name, next)) {
            p->candidates[i].same_flow = true;
            p->next = p->candidates[i].name;
        }
    }
}

/* Has the same addresses, protocol and ports: ECMP takes it the same way. */
static bool
is_same_flow(const struct drop_pattern *p, const struct drop_variation *v)
{
    return v->field == DROP_BASE || v->field == DROP_SIZE || v->field == DROP_FLAGS;
}

static void
note_next(struct drop_pattern *p, const struct drop_variation *v, const struct probe_round_order *result)
{
    for (size_t i = 0; i < p->n_candidates; i++) {
        for (unsigned k = 0; k < result->n_next; k++) {
            if (!strcmp(result->next[k].name, p->candidates[i].name)) {
                p->candidates[i].passes = true;
                p->candidates[i].same_flow = p->candidates[i].same_flow || is_same_flow(p, v);
            }
        }
    }
}

static bool
went_to(const struct probe_round_order *result, const char *next)
{
    for (unsigned i = 0; i < result->n_next; i++) {
        if (!strcmp(result->next[i].name, next)) {
            return true;
        }
    }
    return false;
}

/* A packet for elsewhere that is dropped though its way is not over this link. */
static bool
has_other_way(const struct drop_pattern *p, const struct drop_variation *v)
{
    const char *next[FABRIC_MAP_NEXT], *to = fabric_map_switch_of(p->map, v->flow.dst);
    size_t n = to ? fabric_map_next(p->map, p->at, to, next, EF_ARRAY_SIZE(next)) : 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < p->n_candidates; k++) {
            if (!strcmp(next[i], p->candidates[k].name)) {
                return false;
            }
        }
    }
    return n;
}

/* Nobody of whom anything is heard would have seen it go on. */
static bool
has_no_witness(const struct drop_pattern *p, const struct drop_variation *v)
{
    const char *next[FABRIC_MAP_NEXT], *to = fabric_map_switch_of(p->map, v->flow.dst);
    size_t n = to ? fabric_map_next(p->map, p->at, to, next, EF_ARRAY_SIZE(next)) : 0, n_unheard = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < p->n_unheard; k++) {
            n_unheard += !strcmp(next[i], p->unheard[k]);
        }
    }
    return n && n_unheard == n;
}

/* Several ports are tried with each address; it counts once, dropped if one of them is. */
static void
note_address(struct drop_pattern *p, const struct drop_variation *v, bool is_dropped)
{
    bool is_src = v->field == DROP_SRC_BESIDE || v->field == DROP_SRC_ELSEWHERE;
    bool is_dst = v->field == DROP_DST_BESIDE || v->field == DROP_DST_ELSEWHERE;
    if ((is_src || is_dst) && v->flow.src_port == p->base.src_port) {
        drop_prefix_note(&p->addresses[is_dst], is_src ? v->flow.src : v->flow.dst, is_dropped);
    }
}

void
drop_pattern_note(struct drop_pattern *p, const struct drop_variation *v, const struct probe_round_order *result)
{
    bool is_dropped = result->failed && result->failed >= result->passed;
    bool is_untold = is_dropped && v->field == DROP_DST_ELSEWHERE && has_no_witness(p, v);
    if ((!result->failed && !result->passed) || is_untold) {
        p->seen[v->field].no_answer++;
        return;
    }
    p->seen[v->field].failed += is_dropped;
    p->seen[v->field].passed += !is_dropped;
    if (v->field >= DROP_LINK) {
        return;
    }
    if (is_dropped) {
        p->beyond_link = p->beyond_link || (v->field == DROP_DST_ELSEWHERE && has_other_way(p, v));
        note_address(p, v, true);
        if (v->field == DROP_SRC_PORT && p->n_failing_ports < EF_ARRAY_SIZE(p->failing_ports)) {
            p->failing_ports[p->n_failing_ports++] = v->flow.src_port;
        }
    } else {
        if (v->field == DROP_SRC_PORT || is_same_flow(p, v)) {
            note_next(p, v, result); /* Others may pass on that link as well: they are other packets. */
        }
        bool is_next = p->next && went_to(result, p->next);
        p->seen[v->field].passed_link += !p->next || is_next;
        p->seen[v->field].passed_next += is_next;
        if (is_next) {
            note_address(p, v, false);
        }
    }
}

/* --- Conclusions ----------------------------------------------------------- */

/* Who has the same flow shows the way; else it is the only way that nobody who
 * passes takes. */
static const char *
find_next(const struct drop_pattern *p)
{
    const char *unused = NULL;
    size_t n_unused = 0;
    if (p->n_candidates == 1) {
        return p->candidates[0].name;
    }
    for (size_t i = 0; i < p->n_candidates; i++) {
        if (p->candidates[i].same_flow) {
            return p->candidates[i].name;
        }
        if (!p->candidates[i].passes) {
            unused = p->candidates[i].name;
            n_unused++;
        }
    }
    return n_unused == 1 ? unused : NULL;
}

static enum drop_matter
matters(const struct drop_pattern *p, enum drop_field field)
{
    return p->seen[field].failed                               ? DROP_MATTERS_NOT
           : p->seen[field].passed_link                        ? DROP_MATTERS
           : p->seen[field].passed || p->seen[field].no_answer ? DROP_NOT_KNOWN
                                                               : DROP_NOT_TRIED;
}

void
drop_pattern_solve(struct drop_pattern *p)
{
    p->next = find_next(p);
    for (int i = 0; i < DROP_N_FIELDS; i++) {
        p->matters[i] = matters(p, (enum drop_field) i);
    }
    p->next_is_dead = p->next && !p->next_is_heard && !p->seen[DROP_ALIVE].passed && p->seen[DROP_LINK].failed &&
                      (p->seen[DROP_ALIVE].failed || p->next_is_silent);
    if (p->matters[DROP_SIZE] == DROP_MATTERS && !p->fails_length) {
        int shortest = probe_flow_shortest(&p->base);
        p->fails_length = EF_MAX(p->base.length, shortest);
        p->passes_length = p->base.length >= LONG ? shortest : PROBE_FLOW_LONG;
    }
}

unsigned
drop_pattern_unknown(const struct drop_pattern *p)
{
    unsigned n = 0;
    for (int i = DROP_SRC_PORT; i <= DROP_DST_ELSEWHERE; i++) {
        n += p->matters[i] == DROP_NOT_KNOWN;
    }
    return n;
}

size_t
drop_pattern_unseen(const struct drop_pattern *p, const char *names[FABRIC_MAP_NEXT])
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_candidates; i++) {
        if (!p->next || !strcmp(p->next, p->candidates[i].name)) {
            names[n++] = p->candidates[i].name;
        }
    }
    return n;
}

bool
drop_pattern_next_is_seen(const struct drop_pattern *p)
{
    unsigned n = p->seen[DROP_ALIVE].passed;
    for (int i = 0; i < DROP_LINK; i++) {
        n += p->seen[i].passed_next;
    }
    return n;
}

/* --- In words ------------------------------------------------------------- */

struct text {
    char *buf;
    size_t n, size;
};

static void EF_PRINTF(2, 3) append(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = t->n < t->size ? vsnprintf(t->buf + t->n, t->size - t->n, fmt, args) : 0;
    va_end(args);
    t->n += n > 0 ? (size_t) n : 0;
}

/* Some other values are dropped on the link, and some are not. */
static bool
is_mixed(const struct drop_pattern *p, enum drop_field field)
{
    return p->seen[field].failed && p->seen[field].passed_next;
}

/* " from 10.1.0.11", " from 10.1.0.0/24", " from 10.2.0.0/15", or nothing. */
static void
append_address(struct text *t, const struct drop_pattern *p, bool is_src)
{
    enum drop_matter beside = p->matters[is_src ? DROP_SRC_BESIDE : DROP_DST_BESIDE];
    enum drop_matter elsewhere = p->matters[is_src ? DROP_SRC_ELSEWHERE : DROP_DST_ELSEWHERE];
    const char *address = is_src ? p->base.src : p->base.dst, *subnet = p->subnets[!is_src];
    const char *word = is_src ? " from" : " to";
    char prefix[DROP_PREFIX_TEXT];
    if (is_mixed(p, is_src ? DROP_SRC_BESIDE : DROP_DST_BESIDE) ||
        is_mixed(p, is_src ? DROP_SRC_ELSEWHERE : DROP_DST_ELSEWHERE)) {
        bool has_prefix = drop_prefix_find(&p->addresses[!is_src], prefix);
        append(t, has_prefix ? "%s %s" : "%s %s and others", word, has_prefix ? prefix : address);
    } else if (beside == DROP_MATTERS) {
        append(t, "%s %s", word, address);
    } else if (elsewhere == DROP_MATTERS && beside == DROP_MATTERS_NOT && subnet) {
        append(t, "%s %s", word, subnet);
    } else if (elsewhere == DROP_MATTERS) {
        append(t, "%s %s", word, address);
    }
}

static void
append_ports(struct text *t, const struct drop_pattern *p)
{
    if (p->matters[DROP_SRC_PORT] == DROP_MATTERS) {
        append(t, " from port %d", p->base.src_port);
    }
    if (p->matters[DROP_DST_PORT] == DROP_MATTERS) {
        append(t, " to port %d", p->base.dst_port);
    } else if (is_mixed(p, DROP_DST_PORT)) {
        append(t, " to port %d and others", p->base.dst_port);
    }
}

static void
append_size(struct text *t, const struct drop_pattern *p)
{
    if (p->matters[DROP_SIZE] == DROP_MATTERS && p->passes_length + 1 < p->fails_length) {
        append(t, " of more than %d to %d bytes", p->passes_length, p->fails_length - 1);
    } else if (p->matters[DROP_SIZE] == DROP_MATTERS && p->passes_length < p->fails_length) {
        append(t, " of more than %d bytes", p->passes_length);
    } else if (p->matters[DROP_SIZE] == DROP_MATTERS) {
        append(t, " of less than %d bytes", p->passes_length);
    }
}

void
drop_pattern_text(const struct drop_pattern *p, char *buf, size_t size)
{
    struct text t = {buf, 0, size};
    char name[16];
    const char *flags = *p->base.flags ? p->base.flags : "S";
    if (p->matters[DROP_PROTO] == DROP_MATTERS) {
        append(&t, "%s packets", probe_flow_proto_name(p->base.proto, name));
    } else {
        append(&t, "packets");
    }
    size_t before = t.n;
    append_address(&t, p, true);
    append_address(&t, p, false);
    append_ports(&t, p);
    append_size(&t, p);
    if (p->matters[DROP_FLAGS] == DROP_MATTERS) {
        append(&t, " with TCP flags %s", flags);
    }
    if (t.n == before) {
        memmove(buf + 4, buf, EF_MIN(strlen(buf) + 1, size - 5)); /* "all packets", "all TCP packets" */
        memcpy(buf, "all ", 4);
        buf[size - 1] = '\0';
    }
}
