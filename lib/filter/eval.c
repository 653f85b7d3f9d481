/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled filter (program.h) on one packet: no allocation, no
 * recursion, no call through a pointer. */
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
    uint64_t value = (load(p, width) & insn->load.mask) >> insn->shift;
    return (value - insn->load.low <= insn->load.span) != insn->negate;
}

/* The tests of one load operation; every argument but the first two is a
 * constant where this is used. */
static EF_ALWAYS_INLINE bool
test_loads(const struct ef_insn *insn, const struct ef_packet *packet, unsigned width, bool pair, bool all)
{
    bool seen = false;
    if (!(packet->protos >> insn->proto & 1)) {
        return false;
    }
    for (unsigned i = 0; i < packet->n_layers; i++) {
        const struct ef_layer *layer = &packet->layers[i];
        if (layer->proto != insn->proto) {
            continue;
        }
        const uint8_t *header = packet->data + layer->offset;
        if (insn->offset + width <= layer->header_len) {
            seen = true;
            if (fulfils(insn, header + insn->offset, width) != all) {
                return !all;
            }
        }
        if (pair && insn->second + width <= layer->header_len) {
            seen = true;
            if (fulfils(insn, header + insn->second, width) != all) {
                return !all;
            }
        }
    }
    return all && seen;
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

static bool
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

static bool
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
static bool
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

static EF_ALWAYS_INLINE bool
test(const struct ef_filter *filter, const struct ef_insn *insn, const struct ef_filter_input *in,
     const struct ef_packet *packet)
{
    switch ((enum ef_opcode) insn->op) {
    case EF_OP_LOAD1_ANY:
        return test_loads(insn, packet, 1, false, false);
    case EF_OP_LOAD2_ANY:
        return test_loads(insn, packet, 2, false, false);
    case EF_OP_LOAD4_ANY:
        return test_loads(insn, packet, 4, false, false);
    case EF_OP_LOAD8_ANY:
        return test_loads(insn, packet, 8, false, false);
    case EF_OP_LOAD1_ALL:
        return test_loads(insn, packet, 1, false, true);
    case EF_OP_LOAD2_ALL:
        return test_loads(insn, packet, 2, false, true);
    case EF_OP_LOAD4_ALL:
        return test_loads(insn, packet, 4, false, true);
    case EF_OP_LOAD8_ALL:
        return test_loads(insn, packet, 8, false, true);
    case EF_OP_PAIR2_ANY:
        return test_loads(insn, packet, 2, true, false);
    case EF_OP_PAIR4_ANY:
        return test_loads(insn, packet, 4, true, false);
    case EF_OP_PAIR8_ANY:
        return test_loads(insn, packet, 8, true, false);
    case EF_OP_PAIR2_ALL:
        return test_loads(insn, packet, 2, true, true);
    case EF_OP_PAIR4_ALL:
        return test_loads(insn, packet, 4, true, true);
    case EF_OP_PAIR8_ALL:
        return test_loads(insn, packet, 8, true, true);
    case EF_OP_PROTOCOL:
        return packet->protos >> insn->proto & 1;
    case EF_OP_EXISTS:
        return test_exists(insn, in);
    case EF_OP_RANGES:
        return test_ranges(filter, insn, in);
    case EF_OP_FIELDS:
        return test_fields(insn, in);
    }
    return false;
}

bool
ef_filter_match(const struct ef_filter *filter, const struct ef_filter_input *in)
{
    static const struct ef_packet no_packet;
    const struct ef_packet *packet = in->packet ? in->packet : &no_packet;
    uint16_t place = filter->entry;
    while (place < EF_ACCEPT) {
        const struct ef_insn *insn = &filter->insns[place];
        place = test(filter, insn, in, packet) ? insn->then : insn->otherwise;
    }
    return place == EF_ACCEPT;
}
