/* SPDX-License-Identifier: Apache-2.0 */
/* Reported losses; see loss_table.h. */
#include <config.h>

#include "analyzer/loss_table.h"

#include <errno.h>
#include <string.h>

#include "analyzer/region.h"
#include "base/util.h"

enum { HOLES = EF_LOSS_TABLE_HOLES, NOT_OVERTAKEN = HOLES / 2 };

uint64_t
ef_loss_table_memory(void)
{
    return EF_LOSS_TABLE_MAX * sizeof(struct ef_loss_stream);
}

int
ef_loss_table_init(struct ef_loss_table *t)
{
    memset(t, 0, sizeof *t);
    t->streams = ef_region_alloc(ef_loss_table_memory());
    return t->streams ? 0 : -ENOMEM;
}

void
ef_loss_table_deinit(struct ef_loss_table *t)
{
    ef_region_free(t->streams, ef_loss_table_memory());
    t->streams = NULL;
}

/* There are as many as switches, and reports are few: no index is needed. */
static struct ef_loss_stream *
find_or_add(struct ef_loss_table *t, const struct ef_loss_entry *entry)
{
    uint32_t n = atomic_load_explicit(&t->n_streams, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        struct ef_loss_stream *s = &t->streams[i];
        if (!memcmp(s->switch_address, entry->switch_address, 16) &&
            !memcmp(s->target_address, entry->target_address, 16)) {
            return s;
        }
    }
    if (n == EF_LOSS_TABLE_MAX) {
        return NULL;
    }
    struct ef_loss_stream *s = &t->streams[n];
    memcpy(s->switch_address, entry->switch_address, 16);
    memcpy(s->target_address, entry->target_address, 16);
    atomic_store_explicit(&s->settled, INT64_MIN, memory_order_relaxed);
    atomic_store_explicit(&s->forgotten, INT64_MIN, memory_order_relaxed);
    atomic_store_explicit(&t->n_streams, n + 1, memory_order_release);
    return s;
}

/* Each hole is reported twice. */
static bool
is_known(const struct ef_loss_stream *s, uint64_t n, const struct ef_hole *hole)
{
    for (uint64_t i = 0; i < EF_MIN(n, (uint64_t) HOLES); i++) {
        uint64_t at = (n - 1 - i) % HOLES;
        if (atomic_load_explicit(&s->holes[at].after, memory_order_relaxed) == hole->after.ns &&
            atomic_load_explicit(&s->holes[at].before, memory_order_relaxed) == hole->before.ns) {
            return true;
        }
    }
    return false;
}

static void
add_hole(struct ef_loss_stream *s, const struct ef_hole *hole)
{
    uint64_t n = atomic_load_explicit(&s->n_holes, memory_order_relaxed);
    if (is_known(s, n, hole)) {
        return;
    }
    if (n >= NOT_OVERTAKEN) { /* Readers look at half of the ring: the rest is forgotten. */
        int64_t before = atomic_load_explicit(&s->holes[(n - NOT_OVERTAKEN) % HOLES].before, memory_order_relaxed);
        int64_t forgotten = atomic_load_explicit(&s->forgotten, memory_order_relaxed);
        atomic_store_explicit(&s->forgotten, EF_MAX(forgotten, before), memory_order_relaxed);
    }
    atomic_store_explicit(&s->holes[n % HOLES].after, hole->after.ns, memory_order_relaxed);
    atomic_store_explicit(&s->holes[n % HOLES].before, hole->before.ns, memory_order_relaxed);
    atomic_store_explicit(&s->n_holes, n + 1, memory_order_release);
}

/* Who reports is not who did before: what came between was seen by neither. One
 * that the stream left, and that still says what it said, is no other. */
static void
note_sender(struct ef_loss_stream *s, uint64_t sender, struct ef_time settled)
{
    int64_t before = atomic_load_explicit(&s->settled, memory_order_relaxed);
    if (settled.ns <= before) {
        return;
    }
    if (before != INT64_MIN && s->sender != sender) {
        add_hole(s, &(struct ef_hole){.after = {before}, .before = settled});
    }
    s->sender = sender;
}

void
ef_loss_table_enter(struct ef_loss_table *t, uint64_t sender, const struct ef_loss_entry *entry, struct ef_time arrival)
{
    struct ef_loss_stream *s = find_or_add(t, entry);
    if (!s) {
        return;
    }
    note_sender(s, sender, entry->settled);
    atomic_store_explicit(&s->heard, arrival.ns, memory_order_relaxed);
    for (unsigned i = 0; i < entry->n_holes; i++) {
        add_hole(s, &entry->holes[i]);
    }
    /* After its holes: who sees this sees them. */
    int64_t settled = atomic_load_explicit(&s->settled, memory_order_relaxed);
    atomic_store_explicit(&s->settled, EF_MAX(settled, entry->settled.ns), memory_order_release);
}

static enum ef_loss
ask_stream(const struct ef_loss_stream *s, int64_t from, int64_t to, int64_t heard)
{
    int64_t settled = atomic_load_explicit(&s->settled, memory_order_acquire);
    uint64_t n = atomic_load_explicit(&s->n_holes, memory_order_acquire);
    for (uint64_t i = 0; i < EF_MIN(n, (uint64_t) NOT_OVERTAKEN); i++) {
        uint64_t at = (n - 1 - i) % HOLES;
        if (atomic_load_explicit(&s->holes[at].after, memory_order_relaxed) <= to &&
            atomic_load_explicit(&s->holes[at].before, memory_order_relaxed) >= from) {
            return EF_LOSS_SEEN;
        }
    }
    if (atomic_load_explicit(&s->forgotten, memory_order_relaxed) >= from) {
        return EF_LOSS_SEEN;
    }
    if (settled >= to) {
        return EF_LOSS_NONE;
    }
    return atomic_load_explicit(&s->heard, memory_order_relaxed) < heard ? EF_LOSS_SEEN : EF_LOSS_POSSIBLE;
}

static bool
is_gone(const struct ef_loss_stream *s, int64_t heard)
{
    int64_t silent_ns;
    return !__builtin_sub_overflow(heard, atomic_load_explicit(&s->heard, memory_order_relaxed), &silent_ns) &&
           silent_ns > EF_LOSS_TABLE_GONE_NS;
}

enum ef_loss
ef_loss_table_ask(const struct ef_loss_table *t, const uint8_t switch_address[16], struct ef_time from,
                  struct ef_time to, struct ef_time heard)
{
    enum ef_loss worst = EF_LOSS_NONE;
    bool is_known = false;
    uint32_t n = atomic_load_explicit(&((struct ef_loss_table *) t)->n_streams, memory_order_acquire);
    for (uint32_t i = 0; i < n && worst != EF_LOSS_SEEN; i++) {
        const struct ef_loss_stream *s = &t->streams[i];
        if (!memcmp(s->switch_address, switch_address, 16) && !is_gone(s, heard.ns)) {
            enum ef_loss loss = ask_stream(s, from.ns, to.ns, heard.ns);
            worst = EF_MAX(worst, loss);
            is_known = true;
        }
    }
    return is_known ? worst : EF_LOSS_POSSIBLE;
}
