/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by switch and target; see ledger.h. */
#include <config.h>

#include "reshuffler/ledger.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"

enum { INDEX_SLOTS = 2 * EF_LEDGER_MAX };

#define ENTRIES_BYTES (EF_LEDGER_MAX * sizeof(struct ef_ledger_entry))

uint64_t
ef_ledger_memory(void)
{
    return ENTRIES_BYTES + INDEX_SLOTS * sizeof(uint16_t);
}

int
ef_ledger_init(struct ef_ledger *ledger)
{
    memset(ledger, 0, sizeof *ledger);
    void *p = mmap(NULL, ef_ledger_memory(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return -ENOMEM;
    }
    ledger->region = p;
    ledger->entries = p;
    ledger->index = (uint16_t *) (void *) ((uint8_t *) p + ENTRIES_BYTES);
    return 0;
}

void
ef_ledger_deinit(struct ef_ledger *ledger)
{
    if (ledger->region) {
        munmap(ledger->region, ef_ledger_memory());
    }
    ledger->region = NULL;
}

/* Of switch and target: each word times an odd
 * number, all at the same time, then mixed. */
static uint64_t
hash_of(const struct ef_copy *copy)
{
    static const uint64_t odd[2] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
    uint64_t from[2], to[2];
    memcpy(from, copy->switch_address, sizeof from);
    memcpy(to, copy->target_address, sizeof to);
    return ef_hash_mix(from[0] * odd[0] + from[1] * odd[1] + ((to[0] * odd[1]) ^ (to[1] * odd[0])));
}

static bool
is_of(const struct ef_ledger_entry *entry, const struct ef_copy *copy)
{
    return !memcmp(entry->switch_address, copy->switch_address, 16) &&
           !memcmp(entry->target_address, copy->target_address, 16);
}

/* The copy's entry, made if there is room, or NULL. */
static struct ef_ledger_entry *
find_or_add(struct ef_ledger *ledger, const struct ef_copy *copy)
{
    uint32_t n = atomic_load_explicit(&ledger->n, memory_order_relaxed);
    uint64_t i = hash_of(copy);
    uint16_t *slot = &ledger->index[i % INDEX_SLOTS];
    while (*slot && !is_of(&ledger->entries[*slot - 1], copy)) {
        slot = &ledger->index[++i % INDEX_SLOTS];
    }
    if (*slot) {
        return &ledger->entries[*slot - 1];
    }
    if (n == EF_LEDGER_MAX) {
        return NULL;
    }
    struct ef_ledger_entry *entry = &ledger->entries[n];
    memcpy(entry->switch_address, copy->switch_address, 16);
    memcpy(entry->target_address, copy->target_address, 16);
    *slot = (uint16_t) (n + 1);
    atomic_store_explicit(&ledger->n, n + 1, memory_order_release);
    return entry;
}

void
ef_ledger_enter(struct ef_ledger *ledger, const struct ef_copy *copy, struct ef_time arrival)
{
    struct ef_ledger_entry *entry = find_or_add(ledger, copy);
    if (!entry) {
        ef_counter_add(&ledger->uncounted, 1);
        return;
    }
    ef_counter_add(&entry->copies, 1);
    if (copy->has_sequence) {
        ef_copy_sequence_add(&entry->sequence, copy->sequence);
        ef_hole_finder_note(&entry->holes, &entry->sequence, copy->sequence,
                            copy->has_switch_time ? copy->switch_time : arrival);
    }
}
