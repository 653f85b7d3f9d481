/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot protocol of lib/store (doc/store.md) for spin: writers that
 * append to lanes of their own, one reader that takes one snapshot after the
 * other. Each statement is one step of the one order of sequentially consistent
 * operations; `dependency` and the like are not part of the protocol but what
 * the claims are stated with.
 *
 * Claims, for each snapshot: it has what had returned before it was asked for,
 * nothing that began after it was given, with every record all that had
 * returned before that record's append began, and all that the last one had.
 *
 * -DIGNORE_MARK, -DMARK_READ_FIRST, -DMARK_LAST, -DEPOCH_LAST: protocols that are
 * wrong; each must break a claim. */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#ifndef SNAPSHOTS
#define SNAPSHOTS 2
#endif

byte epoch;
byte tail[WRITERS], mark_epoch[WRITERS], mark_tail[WRITERS];

byte begun[WRITERS], returned[WRITERS];
byte dependency[WRITERS * RECORDS * WRITERS]; /* [(writer * RECORDS + record) * WRITERS + other] */

proctype writer(byte me)
{
    byte seen = 0, last = 0, n = 0, other;
    do
    :: n < RECORDS ->
        atomic {
            begun[me]++;
            other = 0;
            do
            :: other < WRITERS ->
                dependency[(me * RECORDS + n) * WRITERS + other] = returned[other];
                other++
            :: else -> break
            od;
            other = 0
        }
        seen = epoch;
#ifndef MARK_LAST
        if
        :: seen != last -> mark_tail[me] = n; mark_epoch[me] = seen; last = seen
        :: else
        fi;
        tail[me] = n + 1;
#else
        tail[me] = n + 1;
        if
        :: seen != last -> mark_tail[me] = n; mark_epoch[me] = seen; last = seen
        :: else
        fi;
#endif
        n++;
        returned[me] = n
    :: else -> break
    od
}

active proctype reader()
{
    byte snapshot[WRITERS], previous[WRITERS], floor[WRITERS];
    byte round = 0, i, k, j, mark;
    atomic {
        i = 0;
        do
        :: i < WRITERS -> run writer(i); i++
        :: else -> break
        od
    }
    do
    :: round < SNAPSHOTS ->
        atomic {
            i = 0;
            do
            :: i < WRITERS -> floor[i] = returned[i]; i++
            :: else -> break
            od;
            i = 0
        }
#ifndef EPOCH_LAST
        epoch++;
#endif
        do
        :: i < WRITERS ->
#ifdef MARK_READ_FIRST
            mark = mark_epoch[i];
            snapshot[i] = tail[i];
#else
            snapshot[i] = tail[i];
            mark = mark_epoch[i];
#endif
#ifndef IGNORE_MARK
            if
            :: mark == epoch -> snapshot[i] = mark_tail[i]
            :: else
            fi;
#endif
            i++
        :: else -> break
        od;
#ifdef EPOCH_LAST
        epoch++;
#endif
        atomic {
            i = 0;
            do
            :: i < WRITERS ->
                assert(snapshot[i] >= floor[i]);
                assert(snapshot[i] <= begun[i]);
                assert(snapshot[i] >= previous[i]);
                previous[i] = snapshot[i];
                k = 0;
                do
                :: k < snapshot[i] ->
                    j = 0;
                    do
                    :: j < WRITERS ->
                        assert(snapshot[j] >= dependency[(i * RECORDS + k) * WRITERS + j]);
                        j++
                    :: else -> break
                    od;
                    k++
                :: else -> break
                od;
                i++
            :: else -> break
            od;
            i = 0; k = 0; j = 0; mark = 0;
            round++
        }
    :: else -> break
    od
}
