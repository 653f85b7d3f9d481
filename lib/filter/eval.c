/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled filter (program.h) on one packet: no allocation, no
 * recursion, no call through a pointer. What is rare is kept out of line, so that
 * the frequent tests share a small stack frame. */
#include <config.h>

#include "base/byteorder.h"
#include "filter/filter.h"
#include "filter/program.h"
#include "packet/packet.h"

static EF_ALWAYS_INLINE uint64_t
load(const uint8_t *p, unsigned width)
{
    switch (width) {
    case 1:
        return *p;
    case 2:
        return ef_load_be16(p);
    case 4:
        return ef_load_be32(p);
    default:
        return ef_load_be64(p);
    }
}

static EF_ALWAYS_INLINE bool
fulfils(const struct ef_insn *insn, const uint8_t *p, unsigned width)
{
    return (load(p, width) & insn->load.mask) - insn->load.low <= insn->load.span;
}

/* Where the headers are, found once for all tests. Most protocols occur once
 * in a packet and are whole: those are `single`, and their tests read at
 * `header` without a further look at the layers. */
struct view {
    const struct ef_packet *packet;
    uint32_t present, single; /* Bits 1 << enum ef_proto. */
    const uint8_t *header[EF_N_PROTOS];
};

static EF_ALWAYS_INLINE void
view_init(struct view *view, const struct ef_packet *packet)
{
    uint32_t present = 0, repeated = 0;
    for (unsigned i = 0; i < packet->n_layers; i++) {
        const struct ef_layer *layer = &packet->layers[i];
        uint32_t bit = 1u << layer->proto;
        repeated |= bit & present;
        repeated |= layer->flags & EF_LAYER_QUOTED ? bit : 0; /* May end within the fixed header. */
        present |= bit;
        view->header[layer->proto] = packet->data + layer->offset;
    }
    view->packet = packet;
    view->present = present;
    view->single = present & ~repeated;
}

/* A load test over all layers of a protocol. */
static __attribute__((noinline)) bool
test_each_layer(const struct ef_insn *insn, const struct ef_packet *packet, unsigned width, bool pair, bool all)
{
    bool seen = false;
    for (unsigned i = 0; i < packet->n_layers; i++) {
        const struct ef_layer *layer = &packet->layers[i];
        unsigned offset = insn->offset;
        if (layer->proto != insn->proto) {
            continue;
        }
        for (int turn = 0; turn <= pair && offset + width <= layer->header_len; turn++) {
            seen = true;
            if (fulfils(insn, packet->data + layer->offset + offset, width) != all) {
                return !all;
            }
            offset += ef_pair_distance(width);
        }
    }
    return all && seen;
}

/* A load test; `width`, `pair` and `all` are constants where this is used. */
static EF_ALWAYS_INLINE bool
test_load(const struct ef_insn *insn, const struct view *view, unsigned width, bool pair, bool all)
{
    if (EF_LIKELY(view->single >> insn->proto & 1)) {
        const uint8_t *p = view->header[insn->proto] + insn->offset;
        bool first = fulfils(insn, p, width);
        if (!pair) {
            return first;
        }
        bool second = fulfils(insn, p + ef_pair_distance(width), width);
        return all ? first & second : first | second;
    }
    return view->present >> insn->proto & 1 && test_each_layer(insn, view->packet, width, pair, all);
}

static bool
in_ranges(const struct ef_value_range *ranges, unsigned n, ef_u128 value)
{
    unsigned low = 0;
    while (n > 1) {
        unsigned half = n / 2;
        low += ranges[low + half].low <= value ? half : 0;
        n -= half;
    }
    return ranges[low].low <= value && value <= ranges[low].high;
}

static __attribute__((noinline)) bool
test_ranges(const struct ef_filter *filter, const struct ef_insn *insn, const struct ef_filter_input *in)
{
    ef_u128 values[EF_FIELD_MAX_VALUES], mask = filter->ranges[insn->wide.first - 1].low;
    unsigned n, first = 0;
    do {
        n = ef_field_collect(insn->wide.field, in, first, values);
        for (unsigned i = 0; i < n; i++) {
            bool hit = in_ranges(&filter->ranges[insn->wide.first], insn->wide.n_ranges, values[i] & mask);
            if ((hit != insn->negate) != insn->all) {
                return !insn->all;
            }
        }
        first += n;
    } while (n == EF_FIELD_MAX_VALUES);
    return insn->all && first;
}

static __attribute__((noinline)) bool
test_exists(const struct ef_insn *insn, const struct ef_filter_input *in)
{
    ef_u128 values[EF_FIELD_MAX_VALUES];
    return ef_field_collect(insn->wide.field, in, 0, values);
}

static bool
related(enum ef_relation relation, ef_u128 a, ef_u128 b)
{
    switch (relation) {
    case EF_RELATION_EQ:
    case EF_RELATION_ALL_EQ:
        return a == b;
    case EF_RELATION_NE:
    case EF_RELATION_ANY_NE:
        return a != b;
    case EF_RELATION_LT:
        return a < b;
    case EF_RELATION_LE:
        return a <= b;
    case EF_RELATION_GT:
        return a > b;
    default:
        return a >= b;
    }
}

/* Every value of the one with every value of the other. */
static __attribute__((noinline)) bool
test_fields(const struct ef_insn *insn, const struct ef_filter_input *in)
{
    ef_u128 left[EF_FIELD_MAX_VALUES], right[EF_FIELD_MAX_VALUES];
    unsigned n_left = ef_field_collect(insn->wide.field, in, 0, left);
    unsigned n_right = ef_field_collect(insn->wide.right, in, 0, right);
    for (unsigned i = 0; i < n_left; i++) {
        for (unsigned j = 0; j < n_right; j++) {
            if (related(insn->relation, left[i], right[j]) != insn->all) {
                return !insn->all;
            }
        }
    }
    return insn->all && n_left && n_right;
}

/* Threaded: each test jumps straight to the next one's operation, by its place
 * in the table, so that the processor predicts each jump for itself. */
bool
ef_filter_match(const struct ef_filter *filter, const struct ef_filter_input *in)
{
    static const struct ef_packet no_packet;
    static const void *const operations[] = {
        [EF_OP_LOAD1_ANY] = &&load1_any, [EF_OP_LOAD2_ANY] = &&load2_any, [EF_OP_LOAD4_ANY] = &&load4_any,
        [EF_OP_LOAD8_ANY] = &&load8_any, [EF_OP_LOAD1_ALL] = &&load1_all, [EF_OP_LOAD2_ALL] = &&load2_all,
        [EF_OP_LOAD4_ALL] = &&load4_all, [EF_OP_LOAD8_ALL] = &&load8_all, [EF_OP_PAIR2_ANY] = &&pair2_any,
        [EF_OP_PAIR4_ANY] = &&pair4_any, [EF_OP_PAIR8_ANY] = &&pair8_any, [EF_OP_PAIR2_ALL] = &&pair2_all,
        [EF_OP_PAIR4_ALL] = &&pair4_all, [EF_OP_PAIR8_ALL] = &&pair8_all, [EF_OP_PROTOCOL] = &&protocol,
        [EF_OP_EXISTS] = &&exists,       [EF_OP_RANGES] = &&ranges,       [EF_OP_FIELDS] = &&fields,
        [EF_OP_ACCEPT] = &&accept,       [EF_OP_REJECT] = &&reject,
    };
#define GO_ON(TEST)                                                   \
    do {                                                              \
        insn = &filter->insns[(TEST) ? insn->then : insn->otherwise]; \
        goto *operations[insn->op];                                   \
    } while (0)

    struct view view;
    view_init(&view, in->packet ? in->packet : &no_packet);
    const struct ef_insn *insn = &filter->insns[filter->entry];
    goto *operations[insn->op];
load1_any:
    GO_ON(test_load(insn, &view, 1, false, false));
load2_any:
    GO_ON(test_load(insn, &view, 2, false, false));
load4_any:
    GO_ON(test_load(insn, &view, 4, false, false));
load8_any:
    GO_ON(test_load(insn, &view, 8, false, false));
load1_all:
    GO_ON(test_load(insn, &view, 1, false, true));
load2_all:
    GO_ON(test_load(insn, &view, 2, false, true));
load4_all:
    GO_ON(test_load(insn, &view, 4, false, true));
load8_all:
    GO_ON(test_load(insn, &view, 8, false, true));
pair2_any:
    GO_ON(test_load(insn, &view, 2, true, false));
pair4_any:
    GO_ON(test_load(insn, &view, 4, true, false));
pair8_any:
    GO_ON(test_load(insn, &view, 8, true, false));
pair2_all:
    GO_ON(test_load(insn, &view, 2, true, true));
pair4_all:
    GO_ON(test_load(insn, &view, 4, true, true));
pair8_all:
    GO_ON(test_load(insn, &view, 8, true, true));
protocol:
    GO_ON(view.present >> insn->proto & 1);
exists:
    GO_ON(test_exists(insn, in));
ranges:
    GO_ON(test_ranges(filter, insn, in));
fields:
    GO_ON(test_fields(insn, in));
accept:
    return true;
reject:
    return false;
#undef GO_ON
}
