/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by switch; see switch_table.h. */
#include <config.h>

#include "analyzer/switch_table.h"

#include <errno.h>
#include <string.h>

#include "analyzer/region.h"
#include "base/hash.h"

enum { INDEX_SLOTS = 2 * EF_SWITCH_TABLE_MAX };

#define COUNTS_BYTES (EF_SWITCH_TABLE_MAX * sizeof(struct ef_switch_count))

uint64_t
ef_switch_table_memory(void)
{
    return COUNTS_BYTES + INDEX_SLOTS * sizeof(uint16_t);
}

int
ef_switch_table_init(struct ef_switch_table *t)
{
    memset(t, 0, sizeof *t);
    t->region = ef_region_alloc(ef_switch_table_memory());
    if (!t->region) {
        return -ENOMEM;
    }
    t->counts = t->region;
    t->index = (uint16_t *) (void *) ((uint8_t *) t->region + COUNTS_BYTES);
    return 0;
}

void
ef_switch_table_deinit(struct ef_switch_table *t)
{
    ef_region_free(t->region, ef_switch_table_memory());
    t->region = NULL;
}

/* The switch's entry, made if there is room, or NULL. */
static struct ef_switch_count *
find_or_add(struct ef_switch_table *t, const uint8_t address[16])
{
    uint32_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    for (uint64_t i = ef_hash64(address, 16);; i++) {
        uint16_t *slot = &t->index[i % INDEX_SLOTS];
        if (*slot) {
            struct ef_switch_count *count = &t->counts[*slot - 1];
            if (!memcmp(count->address, address, 16)) {
                return count;
            }
        } else if (n == EF_SWITCH_TABLE_MAX) {
            return NULL;
        } else {
            memcpy(t->counts[n].address, address, 16);
            *slot = (uint16_t) (n + 1);
            atomic_store_explicit(&t->n, n + 1, memory_order_release);
            return &t->counts[n];
        }
    }
}

void
ef_switch_table_count(struct ef_switch_table *t, const struct ef_hop *hop)
{
    struct ef_switch_count *count = find_or_add(t, hop->switch_address);
    if (!count) {
        ef_counter_add(&t->uncounted, 1);
        return;
    }
    ef_counter_add(&count->copies, 1);
    if (hop->flags & EF_HOP_HAS_SEQUENCE) {
        uint64_t plus_one = (uint64_t) hop->sequence + 1, first = ef_counter_get(&count->first_sequence);
        if (!first || plus_one < first) {
            ef_counter_set(&count->first_sequence, plus_one);
        }
        if (plus_one > ef_counter_get(&count->last_sequence)) {
            ef_counter_set(&count->last_sequence, plus_one);
        }
    }
}
