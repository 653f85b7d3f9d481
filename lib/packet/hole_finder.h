/* SPDX-License-Identifier: Apache-2.0 */
/* Which sequence numbers of a stream of copies will not come any more, and when
 * the switch made those copies. Beside a copy_sequence.h, which counts them:
 *
 *     ef_copy_sequence_add(&sequence, number);
 *     ef_hole_finder_note(&finder, &sequence, number, time);          // each copy
 *     ef_hole_finder_settle(&finder, &sequence, now);                 // now and then
 *     while (ef_hole_finder_take(&finder, &hole)) report(&hole);
 *
 * A number is given up when a greater one came EF_HOLE_PATIENCE_MS ago, or when
 * it is half a window behind. A switch numbers copies as it makes them, so what
 * is lost was made after the number before it and before the number behind it:
 * `time` is the switch's own, if copies carry it, or else the arrival.
 *
 * Where copies are kept from those who wait for them by something else, as by
 * another way that they take from now on, ef_hole_finder_break() makes a hole.
 *
 * `settled`: every copy made before that time has come or is in a hole. Bounded:
 * holes that nobody takes are joined. One thread; a zeroed value is a fresh one. */
#ifndef EF_PACKET_HOLE_FINDER_H
#define EF_PACKET_HOLE_FINDER_H

#include "base/time.h"
#include "packet/copy_sequence.h"

enum { EF_HOLE_PATIENCE_MS = 200, EF_HOLE_FINDER_MARKS = 8, EF_HOLE_FINDER_HOLES = 128 };

/* Copies made after `after` and before `before`. */
struct ef_hole {
    struct ef_time after, before;
    uint64_t n_copies;
};

struct ef_hole_finder {
    bool has_begun, has_settled;
    uint32_t next; /* The first number that is not settled. */
    struct ef_time settled;
    uint64_t n_restarts; /* Of the sequence, when we looked last. */

    struct ef_time still_since; /* Monotonic: since then the greatest number is what it is. */

    /* The greatest number at some moments (monotonic), the oldest first. */
    unsigned n_marks;
    struct {
        struct ef_time when;
        uint32_t greatest;
    } marks[EF_HOLE_FINDER_MARKS];

    unsigned n_holes;
    struct ef_hole holes[EF_HOLE_FINDER_HOLES];

    struct ef_time times[EF_COPY_SEQUENCE_WINDOW]; /* Of the numbers that came. */
};

void ef_hole_finder_note(struct ef_hole_finder *f, const struct ef_copy_sequence *s, uint32_t number,
                         struct ef_time time);
void ef_hole_finder_settle(struct ef_hole_finder *f, const struct ef_copy_sequence *s, struct ef_time now_mono);

/* As if a copy made now, or a little before or after, did not come: something
 * else keeps it from those who wait for it. A hole of no copies. */
void ef_hole_finder_break(struct ef_hole_finder *f, const struct ef_copy_sequence *s, struct ef_time now_mono);

bool ef_hole_finder_take(struct ef_hole_finder *f, struct ef_hole *hole);

#endif
