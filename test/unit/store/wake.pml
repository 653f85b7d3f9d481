/* SPDX-License-Identifier: Apache-2.0 */
/* How the monitor of lib/store's triggers goes to sleep (lib/store/monitor.c):
 * when all writers are done and it sleeps, it has seen all that they published.
 * Every read and write is one step, in the order of the program, as the
 * sequentially consistent operations of the code are. Each -D below makes one
 * mistake, which spin must find. */

byte tails[WRITERS];
byte seen[WRITERS];
bool is_waiting;
byte posts; /* Of the semaphore. */
byte n_done;
bool is_asleep;

proctype writer(byte i)
{
    byte n = 0;
    bool was;
    do
    :: n < RECORDS ->
#ifdef ASK_FIRST
        was = is_waiting;
#endif
        tails[i] = tails[i] + 1;
#ifndef ASK_FIRST
        was = is_waiting;
#endif
        if
        :: was ->
            atomic { was = is_waiting; is_waiting = false }
            if
            :: was -> posts++
            :: else
            fi
        :: else
        fi;
        n++
    :: else -> break
    od;
    n_done++
}

inline compare()
{
    is_same = true;
    i = 0;
    do
    :: i < WRITERS -> is_same = is_same && seen[i] == tails[i]; i++
    :: else -> break
    od
}

proctype monitor()
{
    byte i;
    bool is_same;
    do
    ::
        i = 0;
        do
        :: i < WRITERS -> seen[i] = tails[i]; i++
        :: else -> break
        od;
#ifdef COMPARE_FIRST
        compare();
        is_waiting = true;
#else
        is_waiting = true;
        compare();
#endif
        if
        :: is_same ->
            is_asleep = true;
end:        posts > 0;
            is_asleep = false;
            posts = 0 /* Drained. */
        :: else
        fi;
        is_waiting = false
    od
}

init
{
    byte i = 0;
    atomic {
        do
        :: i < WRITERS -> run writer(i); i++
        :: else -> break
        od;
        run monitor()
    }
    n_done == WRITERS && is_asleep && posts == 0;
    atomic {
        i = 0;
        do
        :: i < WRITERS -> assert(seen[i] == tails[i]); i++
        :: else -> break
        od
    }
}
