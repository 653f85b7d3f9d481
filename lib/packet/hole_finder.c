/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that will not come; see hole_finder.h. */
#include <config.h>

#include "packet/hole_finder.h"

#include <string.h>

#include "base/util.h"

enum {
    WINDOW = EF_COPY_SEQUENCE_WINDOW,
    MARK_EVERY_MS = EF_HOLE_PATIENCE_MS / (EF_HOLE_FINDER_MARKS - 2),
    BREAK_MARGIN_MS = 200, /* Longer than marks are apart, and than a packet is under way. */
};

static bool
has_come(const struct ef_copy_sequence *s, uint32_t number)
{
    return s->greatest - number < WINDOW && s->seen[number % WINDOW / 64] >> number % 64 & 1;
}

static void
add_hole(struct ef_hole_finder *f, struct ef_time after, struct ef_time before, uint64_t n_copies)
{
    if (f->n_holes == EF_HOLE_FINDER_HOLES) {
        struct ef_hole *last = &f->holes[f->n_holes - 1];
        last->after.ns = EF_MIN(last->after.ns, after.ns);
        last->before.ns = EF_MAX(last->before.ns, before.ns);
        last->n_copies += n_copies;
        return;
    }
    f->holes[f->n_holes++] = (struct ef_hole){after, before, n_copies};
}

/* Settles all numbers before `end`, which has come, or whose like did. */
static void
settle_to(struct ef_hole_finder *f, const struct ef_copy_sequence *s, uint32_t end)
{
    uint32_t hole_at = f->next;
    if (end - f->next > WINDOW) { /* What was in between left the window all at once. */
        uint32_t oldest = s->greatest - WINDOW + 1;
        f->next = oldest;
    }
    while (f->next != end) {
        if (has_come(s, f->next)) {
            struct ef_time time = f->times[f->next % WINDOW];
            if (hole_at != f->next) {
                add_hole(f, f->settled, time, f->next - hole_at);
            }
            hole_at = f->next + 1;
            f->settled.ns = EF_MAX(f->settled.ns, time.ns);
            f->has_settled = true;
        }
        f->next++;
    }
    f->next = hole_at; /* A hole is told when it is known where it ends. */
}

static void
begin(struct ef_hole_finder *f, const struct ef_copy_sequence *s)
{
    f->has_begun = true;
    f->next = s->first;
    f->n_marks = 0;
    f->n_restarts = ef_counter_get(&s->restarts);
}

void
ef_hole_finder_note(struct ef_hole_finder *f, const struct ef_copy_sequence *s, uint32_t number, struct ef_time time)
{
    if (EF_UNLIKELY(!f->has_begun || f->n_restarts != ef_counter_get(&s->restarts))) {
        begin(f, s);
    }
    if (!has_come(s, number)) {
        return; /* Suspect, or too late. */
    }
    f->times[number % WINDOW] = time;
    if (EF_UNLIKELY(s->greatest - f->next >= WINDOW / 2 && (int32_t) (s->greatest - f->next) > 0)) {
        settle_to(f, s, s->greatest - WINDOW / 4);
    }
}

static void
mark(struct ef_hole_finder *f, uint32_t greatest, struct ef_time now_mono)
{
    if (!f->n_marks || f->marks[f->n_marks - 1].greatest != greatest) {
        f->still_since = now_mono;
    }
    if (f->n_marks && ef_time_before(now_mono, ef_time_add_ms(f->marks[f->n_marks - 1].when, MARK_EVERY_MS))) {
        return;
    }
    if (f->n_marks == EF_HOLE_FINDER_MARKS) {
        memmove(f->marks, f->marks + 1, sizeof f->marks - sizeof f->marks[0]);
        f->n_marks--;
    }
    f->marks[f->n_marks].when = now_mono;
    f->marks[f->n_marks++].greatest = greatest;
}

void
ef_hole_finder_settle(struct ef_hole_finder *f, const struct ef_copy_sequence *s, struct ef_time now_mono)
{
    if (!f->has_begun) {
        return;
    }
    for (unsigned i = f->n_marks; i-- > 0;) {
        uint32_t end = f->marks[i].greatest + 1;
        bool is_old = !ef_time_before(now_mono, ef_time_add_ms(f->marks[i].when, EF_HOLE_PATIENCE_MS));
        if (is_old && (int32_t) (end - f->next) > 0) {
            settle_to(f, s, end);
            break;
        }
    }
    mark(f, s->greatest, now_mono);
}

void
ef_hole_finder_break(struct ef_hole_finder *f, const struct ef_copy_sequence *s, struct ef_time now_mono)
{
    if (f->n_marks && has_come(s, s->greatest)) {
        /* The switch's clock goes on while it makes no copies. */
        struct ef_time newest = f->times[s->greatest % WINDOW];
        int64_t still_ns = EF_MAX(ef_time_diff_ns(now_mono, f->still_since), (int64_t) 0);
        add_hole(f, ef_time_add_ms(newest, -BREAK_MARGIN_MS),
                 ef_time_add_ms(ef_time_add_ns(newest, still_ns), BREAK_MARGIN_MS), 0);
    }
}

bool
ef_hole_finder_take(struct ef_hole_finder *f, struct ef_hole *hole)
{
    if (!f->n_holes) {
        return false;
    }
    *hole = f->holes[0];
    memmove(f->holes, f->holes + 1, --f->n_holes * sizeof f->holes[0]);
    return true;
}
