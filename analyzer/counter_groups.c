/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of a counter; see counter_groups.h. */
#include <config.h>

#include "analyzer/counter_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/region.h"
#include "base/hash.h"
#include "base/parse_number.h"
#include "packet/packet.h"

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

struct ef_counter_groups {
    struct ef_group_by by;
    unsigned max_groups;
    uint32_t mask; /* Of `index`, which is a power of two long and at most half full. */
    _Atomic unsigned n_groups;
    struct ef_counter_group *groups;
    uint16_t *index; /* The number of a group, or 0: none; "other", which is it, is never looked up. */
};

/* --- What to group by ---------------------------------------------------------------- */

static int
parse_len(const char *text, struct ef_group_by *by, struct ef_error *err)
{
    uint64_t len;
    if (ef_parse_u64(text, "the length of the prefix", 0, 128, &len, err)) {
        return -EINVAL;
    }
    by->len = (uint8_t) len;
    return 0;
}

int
ef_group_by_parse(const char *text, struct ef_group_by *by, struct ef_error *err)
{
    *by = (struct ef_group_by){EF_GROUP_BY_NONE, 0};
    if (!text || !strcmp(text, "none")) {
        return 0;
    }
    if (!strcmp(text, "switch") || !strcmp(text, "port")) {
        by->kind = text[0] == 's' ? EF_GROUP_BY_SWITCH : EF_GROUP_BY_PORT;
        return 0;
    }
    if (!strncmp(text, "src/", 4) || !strncmp(text, "dst/", 4)) {
        by->kind = text[0] == 's' ? EF_GROUP_BY_SRC : EF_GROUP_BY_DST;
        return parse_len(text + 4, by, err);
    }
    return ef_error_set(err, -EINVAL, "'%.40s' is not switch, port, src/LENGTH, dst/LENGTH or none", text);
}

char *
ef_group_by_format(struct ef_group_by by, char buf[EF_GROUP_BY_TEXT_SIZE])
{
    static const char *const names[] = {"none", "switch", "port", "src", "dst"};
    bool has_len = by.kind == EF_GROUP_BY_SRC || by.kind == EF_GROUP_BY_DST;
    snprintf(buf, EF_GROUP_BY_TEXT_SIZE, has_len ? "%s/%u" : "%s", names[by.kind], by.len);
    return buf;
}

char *
ef_group_key_format(const struct ef_group_key *key, char buf[EF_GROUP_TEXT_SIZE])
{
    char address[64];
    ef_address_format(key->address, address);
    switch ((enum ef_group_what) key->what) {
    case EF_GROUP_OTHER:
        snprintf(buf, EF_GROUP_TEXT_SIZE, "other");
        break;
    case EF_GROUP_WITHOUT:
        snprintf(buf, EF_GROUP_TEXT_SIZE, "none");
        break;
    case EF_GROUP_SWITCH:
        snprintf(buf, EF_GROUP_TEXT_SIZE, "%s", address);
        break;
    case EF_GROUP_PORT:
        snprintf(buf, EF_GROUP_TEXT_SIZE, key->has_port ? "%s port %" PRIu32 " %s" : "%s port unknown", address,
                 key->port, key->is_egress ? "egress" : "ingress");
        break;
    case EF_GROUP_PREFIX:
        snprintf(buf, EF_GROUP_TEXT_SIZE, "%s/%u", address, key->len);
        break;
    }
    return buf;
}

/* --- Life ---------------------------------------------------------------------------- */

static uint32_t
index_len(unsigned max_groups)
{
    uint32_t len = 4;
    while (len < 2 * max_groups) {
        len *= 2;
    }
    return len;
}

static size_t
groups_bytes(unsigned max_groups)
{
    return max_groups * sizeof(struct ef_counter_group);
}

size_t
ef_counter_groups_memory(unsigned max_groups)
{
    return sizeof(struct ef_counter_groups) + groups_bytes(max_groups) + index_len(max_groups) * sizeof(uint16_t);
}

struct ef_counter_groups *
ef_counter_groups_create(struct ef_group_by by, unsigned max_groups)
{
    struct ef_counter_groups *g = calloc(1, sizeof *g);
    if (!g) {
        return NULL;
    }
    g->by = by;
    g->max_groups = max_groups;
    g->mask = index_len(max_groups) - 1;
    g->groups = ef_region_alloc(groups_bytes(max_groups));
    g->index = calloc(index_len(max_groups), sizeof *g->index);
    if (!g->groups || !g->index) {
        ef_counter_groups_destroy(g);
        return NULL;
    }
    atomic_init(&g->n_groups, 1); /* "other": its key is all 0. */
    return g;
}

void
ef_counter_groups_destroy(struct ef_counter_groups *g)
{
    if (g) {
        ef_region_free(g->groups, groups_bytes(g->max_groups));
        free(g->index);
        free(g);
    }
}

/* --- The worker ------------------------------------------------------------------------ */

/* The group of `key`, a new one if there is room, or "other". */
static struct ef_counter_group *
find_group(struct ef_counter_groups *g, const struct ef_group_key *key)
{
    unsigned n = atomic_load_explicit(&g->n_groups, memory_order_relaxed);
    uint64_t i = ef_hash64(key, sizeof *key);
    uint16_t *slot = &g->index[i & g->mask];
    for (; *slot; slot = &g->index[++i & g->mask]) {
        if (!memcmp(&g->groups[*slot].key, key, sizeof *key)) {
            return &g->groups[*slot];
        }
    }
    if (n == g->max_groups) {
        return &g->groups[0];
    }
    g->groups[n].key = *key;
    *slot = (uint16_t) n;
    atomic_store_explicit(&g->n_groups, n + 1, memory_order_release);
    return &g->groups[n];
}

static bool
is_same_group(enum ef_group_kind kind, const struct ef_hop *a, const struct ef_hop *b)
{
    bool is_same = !memcmp(a->switch_address, b->switch_address, 16);
    if (kind == EF_GROUP_BY_SWITCH || !is_same) {
        return is_same;
    }
    bool has_port = a->flags & EF_HOP_HAS_PORT;
    int differs = (a->flags ^ b->flags) & (has_port ? EF_HOP_HAS_PORT | EF_HOP_EGRESS : EF_HOP_HAS_PORT);
    return !differs && (!has_port || a->port == b->port);
}

/* True if hop `i` is in the group of one before it: the packet has counted for that. */
static bool
was_counted(const struct ef_counter_groups *g, const struct ef_trace *trace, unsigned i)
{
    for (unsigned k = 0; k < i; k++) {
        if (is_same_group(g->by.kind, &trace->hops[k], &trace->hops[i])) {
            return true;
        }
    }
    return false;
}

static struct ef_group_key
hop_key(enum ef_group_kind kind, const struct ef_hop *hop)
{
    struct ef_group_key key = {.what = EF_GROUP_SWITCH};
    memcpy(key.address, hop->switch_address, 16);
    if (kind == EF_GROUP_BY_PORT) {
        key.what = EF_GROUP_PORT;
        key.has_port = hop->flags & EF_HOP_HAS_PORT;
        key.port = key.has_port ? hop->port : 0;
        key.is_egress = key.has_port && hop->flags & EF_HOP_EGRESS;
    }
    return key;
}

static void
keep_bits(uint8_t *bytes, unsigned n_bytes, unsigned n_bits)
{
    for (unsigned i = 0; i < n_bytes; i++) {
        unsigned here = n_bits >= 8 * i + 8 ? 8 : n_bits > 8 * i ? n_bits - 8 * i : 0;
        bytes[i] &= (uint8_t) (0xff00 >> here);
    }
}

static struct ef_group_key
prefix_key(struct ef_group_by by, const struct ef_trace *trace)
{
    struct ef_group_key key = {.what = EF_GROUP_WITHOUT};
    struct ef_packet packet;
    ef_packet_parse(&packet, trace->bytes, trace->n_bytes, trace->wire_len);
    if (packet.inner_ip == EF_NO_LAYER) {
        return key;
    }
    const uint8_t *header = ef_packet_layer_data(&packet, packet.inner_ip);
    bool is_source = by.kind == EF_GROUP_BY_SRC;
    key.what = EF_GROUP_PREFIX;
    if (packet.layers[packet.inner_ip].proto == EF_PROTO_IPV4) {
        key.len = EF_MIN(by.len, (uint8_t) 32);
        memcpy(key.address, v4_prefix, sizeof v4_prefix);
        memcpy(key.address + 12, header + (is_source ? 12 : 16), 4);
        keep_bits(key.address + 12, 4, key.len);
    } else {
        key.len = by.len;
        memcpy(key.address, header + (is_source ? 8 : 24), 16);
        keep_bits(key.address, 16, key.len);
    }
    return key;
}

void
ef_counter_groups_count(struct ef_counter_groups *g, const struct ef_trace *trace)
{
    if (g->by.kind == EF_GROUP_BY_SRC || g->by.kind == EF_GROUP_BY_DST) {
        struct ef_group_key key = prefix_key(g->by, trace);
        ef_counter_series_add(&find_group(g, &key)->series, trace->start, trace->wire_len);
        return;
    }
    bool is_other = false;
    for (unsigned i = 0; i < trace->n_hops; i++) {
        if (was_counted(g, trace, i)) {
            continue;
        }
        struct ef_group_key key = hop_key(g->by.kind, &trace->hops[i]);
        struct ef_counter_group *group = find_group(g, &key);
        if (group != g->groups) {
            ef_counter_series_add(&group->series, trace->start, trace->wire_len);
        }
        is_other |= group == g->groups;
    }
    if (is_other) {
        ef_counter_series_add(&g->groups[0].series, trace->start, trace->wire_len);
    }
}

/* --- Readers --------------------------------------------------------------------------- */

unsigned
ef_counter_groups_n(const struct ef_counter_groups *g)
{
    return atomic_load_explicit(&((struct ef_counter_groups *) g)->n_groups, memory_order_acquire);
}

const struct ef_counter_group *
ef_counter_groups_get(const struct ef_counter_groups *g, unsigned i)
{
    return &g->groups[i];
}
