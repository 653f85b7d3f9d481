/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts by sequence number; see copy_sequence.h. */
#include <config.h>

#include "packet/copy_sequence.h"

#include <string.h>

#include "base/util.h"

enum {
    WINDOW = EF_COPY_SEQUENCE_WINDOW,
    AGAIN_STEP = 8, /* Numbers so far apart are in a row: some of them are lost. */
};

/* Further ahead than this is no loss but another counter. */
#define MOST_AHEAD (1 << 24)

static bool
test_and_set(struct ef_copy_sequence *s, uint32_t number)
{
    uint64_t *word = &s->seen[number % WINDOW / 64], bit = (uint64_t) 1 << number % 64;
    bool was_set = *word & bit;
    *word |= bit;
    return was_set;
}

static void
begin(struct ef_copy_sequence *s, uint32_t number)
{
    memset(s->seen, 0, sizeof s->seen);
    test_and_set(s, number);
    s->has_begun = true;
    s->first = s->greatest = number;
    ef_counter_add(&s->made, 1);
    ef_counter_add(&s->received, 1);
}

/* The numbers behind `greatest` up to `number` are new, and but for `number`
 * none of them has come. */
static void
advance(struct ef_copy_sequence *s, uint32_t number, uint32_t ahead)
{
    if (ahead >= WINDOW) {
        memset(s->seen, 0, sizeof s->seen);
    } else {
        for (uint32_t n = s->greatest + 1; n != number + 1; n++) {
            s->seen[n % WINDOW / 64] &= ~((uint64_t) 1 << n % 64);
        }
    }
    test_and_set(s, number);
    s->greatest = number;
    ef_counter_add(&s->made, ahead);
    ef_counter_add(&s->received, 1);
}

/* A duplicate: alone, or one of so many in a row that the switch has begun again. */
static void
again(struct ef_copy_sequence *s, uint32_t number)
{
    uint32_t step = number - s->again;
    bool is_next = s->n_again && s->again_at == s->greatest && step && step <= AGAIN_STEP;
    s->n_again = is_next ? s->n_again + 1 : 1;
    s->again = number;
    s->again_at = s->greatest;
    ef_counter_add(&s->duplicates, 1);
    if (s->n_again == EF_COPY_SEQUENCE_AGAIN) {
        /* None of them was a duplicate. */
        ef_counter_set(&s->duplicates, ef_counter_get(&s->duplicates) - s->n_again);
        ef_counter_add(&s->made, s->n_again - 1);
        ef_counter_add(&s->received, s->n_again - 1);
        ef_counter_add(&s->restarts, 1);
        s->n_again = 0;
        begin(s, number);
    }
}

/* Not ahead, and within the window. */
static void
fill_in(struct ef_copy_sequence *s, uint32_t number)
{
    if (test_and_set(s, number)) {
        again(s, number);
        return;
    }
    uint32_t before_first = s->first - number;
    if ((int32_t) before_first > 0) { /* We began in the middle, and out of order. */
        s->first = number;
        ef_counter_add(&s->made, before_first);
    }
    ef_counter_add(&s->received, 1);
}

/* Far outside the window. */
static void
suspect(struct ef_copy_sequence *s, uint32_t number)
{
    uint32_t apart = number - s->suspect;
    if (!s->has_suspect || apart + WINDOW > 2 * WINDOW || !apart) {
        s->has_suspect = true;
        s->suspect = number;
        ef_counter_add(&s->late, 1);
        return;
    }
    /* The one before was no late one either. */
    ef_counter_set(&s->late, ef_counter_get(&s->late) - 1);
    ef_counter_add(&s->restarts, 1);
    begin(s, s->suspect);
    s->has_suspect = false;
    ef_copy_sequence_add(s, number);
}

void
ef_copy_sequence_add(struct ef_copy_sequence *s, uint32_t number)
{
    uint32_t ahead = number - s->greatest, behind = s->greatest - number;
    if (EF_UNLIKELY(!s->has_begun)) {
        begin(s, number);
    } else if (EF_LIKELY(ahead && ahead < MOST_AHEAD)) {
        s->has_suspect = false;
        advance(s, number, ahead);
    } else if (behind < WINDOW) {
        s->has_suspect = false;
        fill_in(s, number);
    } else {
        suspect(s, number);
    }
}

void
ef_copy_sequence_get(const struct ef_copy_sequence *s, struct ef_copy_account *account)
{
    /* In this order, so that a copy that comes meanwhile is not less than none lost. */
    account->n_received = ef_counter_get(&s->received);
    account->n_made = EF_MAX(ef_counter_get(&s->made), account->n_received);
    account->n_lost = account->n_made - account->n_received;
    account->n_duplicates = ef_counter_get(&s->duplicates);
    account->n_late = ef_counter_get(&s->late);
    account->n_restarts = ef_counter_get(&s->restarts);
}
