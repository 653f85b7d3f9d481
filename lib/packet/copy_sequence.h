/* SPDX-License-Identifier: Apache-2.0 */
/* How many copies of a stream came, and how many are missing, by the sequence
 * numbers that a switch gives to the copies for one target.
 *
 *     ef_copy_sequence_add(&sequence, copy.sequence);     // each copy
 *     ef_copy_sequence_get(&sequence, &account);          // any thread
 *     account.n_made == account.n_received + account.n_lost
 *
 * A number counts as made from the first that came to the greatest, so a copy
 * that is only late is lost until it arrives; and what is lost at the very end,
 * only the switch knows. Which of the last EF_COPY_SEQUENCE_WINDOW numbers came
 * is remembered: a number that is there again is a duplicate. One that is older
 * is `n_late`: nobody knows any more whether it came before.
 *
 * A switch that restarts begins again at 0. Two numbers in a row from far
 * outside the window, but near each other, are taken for that: what was made
 * before stays counted, and the account goes on from there. (After RFC 3550,
 * appendix A.1.) So are EF_COPY_SEQUENCE_AGAIN numbers in a row, ascending, that all came
 * before, while none is new: a switch that had not yet made more than the window
 * holds. Numbers wrap at 2^32.
 *
 * One thread adds; any may read the account. A zeroed value is a fresh one. */
#ifndef EF_PACKET_COPY_SEQUENCE_H
#define EF_PACKET_COPY_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"

enum { EF_COPY_SEQUENCE_WINDOW = 8192, EF_COPY_SEQUENCE_AGAIN = 32 };

struct ef_copy_account {
    uint64_t n_made;
    uint64_t n_received; /* Each number once. */
    uint64_t n_lost;
    uint64_t n_duplicates;
    uint64_t n_late;
    uint64_t n_restarts;
};

struct ef_copy_sequence {
    /* Read by others. */
    ef_counter made, received, duplicates, late, restarts;

    /* Of the adding thread. */
    bool has_begun, has_suspect;
    uint32_t first, greatest; /* Since the last restart. */
    uint32_t suspect;         /* The last number, if it was far outside. */
    uint32_t again, again_at; /* The last duplicate, and what was the greatest then; */
    uint32_t n_again;         /* so many in a row. */
    uint64_t seen[EF_COPY_SEQUENCE_WINDOW / 64];
};

void ef_copy_sequence_add(struct ef_copy_sequence *s, uint32_t number);
void ef_copy_sequence_get(const struct ef_copy_sequence *s, struct ef_copy_account *account);

#endif
