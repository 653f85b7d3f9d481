/* SPDX-License-Identifier: Apache-2.0 */
/* Whether copies get lost between those who count them: switch, reshuffler,
 * analyzer. An analyzer knows of holes in what reached the reshuffler (loss_report.h),
 * but not of copies that were lost behind it, nor of a switch none of whose
 * copies arrive any more. Then a packet that was delivered looks dropped: its last
 * copy is missing, and nothing says so.
 *
 * So each half second the counters are compared: what reshufflers sent to an
 * analyzer and what that got, what reshufflers got of a switch and all analyzers
 * together, what a switch made and the reshufflers got. Where a difference grows,
 * copies are being lost:
 *
 *     if (collection_is_doubtful(c->collection, "analyzer1", "leaf4", &(struct collection_lack){60, 60, since}))
 *         that no copy of leaf4 is in all 60 traces of analyzer1 says nothing.
 *
 * Copies that stand in a queue for seconds are as bad as lost ones while they do: traces end
 * without them. So what is still outstanding counts as well, if it is as much as is to be explained, and a
 * part of all that was sent meanwhile that matters.
 *
 * The counters are read in the order in which copies pass, so that one that was
 * counted first has had time to be counted again; a difference that is no more than
 * what comes within that time says nothing. One event base's thread. */
#ifndef CONTROLLER_COLLECTION_H
#define CONTROLLER_COLLECTION_H

#include <jansson.h>
#include <stdbool.h>

#include "base/time.h"

struct collection;
struct controller;

struct collection *collection_start(struct controller *c);
void collection_stop(struct collection *collection); /* NULL is fine. */

/* The controller's switches are others: those that are there still keep what is known of them. NULL is fine. */
void collection_follow_switches(struct collection *collection);

/* What copies that get lost, or come too late, may explain: `n` of `of` traces lack one. */
struct collection_lack {
    unsigned n, of;
    struct ef_time since; /* Monotonic: they are later than that. */
};

/* Whether that may be so of copies of the switch (name or address) for the analyzer: that
 * lost some, and nothing at all came of the switch, or so many are missing that it may be just these.
 * False if `collection` is NULL. */
bool collection_is_doubtful(const struct collection *collection, const char *analyzer, const char *switch_name,
                            const struct collection_lack *lack);

/* A trace that was looked at, as JSON: how late its copies came (copy_delays.h) is a reason for doubt, too. */
void collection_take(struct collection *collection, const json_t *trace);

/* What is told of a switch's copies. */
struct collection_told {
    int64_t gathered;    /* Copies that reshufflers got, at the last look. */
    int64_t made;        /* How many it made, as it says itself: so many or more, some seconds ago. */
    int64_t missed;      /* made - gathered; negative while it is late. */
    int64_t most_missed; /* The most that was so in the last 8 s. */
    int64_t lost;        /* On the way to reshufflers since the controller began, as far as is known. */
    bool is_looked;      /* There were two looks after `since`, half a second apart; */
    bool is_heard;       /* between looks after it some copies came. */
};

/* Tells it, as of `since` (monotonic). False: not known. */
bool collection_tell(const struct collection *collection, const char *switch_name, struct ef_time since,
                     struct collection_told *told);

/* All analyzers together, which no analyzer of a configuration should be called. */
#define COLLECTION_ALL "all"

/* [{"analyzer" | "switch", "lost", "last_s_ago"}] of those that lost some, a new reference. */
json_t *collection_show(const struct collection *collection);

/* --- One difference, for the tests, too -------------------------------------- */

enum { COLLECTION_WINDOW = 16, COLLECTION_LOOKS = 64 };

/* Of two counters that should be the same in the end. */
struct collection_gap {
    int64_t first, second; /* As they were last. */
    struct collection_look {
        struct ef_time at; /* Monotonic. */
        int64_t first, gap;
    } looks[COLLECTION_LOOKS];  /* The last ones, a ring. */
    unsigned n;                 /* So many were noted. */
    int64_t lost;               /* By how much it grew in all. */
    int64_t step;               /* By how much the second counter grows from note to note. */
    struct ef_time learn_until; /* Until then growth is no loss: the first counter is told with delay. */
    struct ef_time last;        /* Monotonic: when it grew last; 0: never. */
};

/* Notes both. The difference grew if it is larger than the last ones (2 s of them, or
 * 8 s if the first counter is up to `delay_ms` old) by more than what may be on its way. */
void collection_gap_note(struct collection_gap *gap, int64_t first, int64_t second, int64_t delay_ms,
                         struct ef_time now);

/* Whether so many are missing now, and were at the look before, that they may be what the traces
 * lack: compared with the least that was ever outstanding since some seconds before them. It must be a part of all that
 * were sent: a twentieth, for it may have hit those of one switch, or a quarter of the part of traces that lack one. */
bool collection_gap_explains(const struct collection_gap *gap, const struct collection_lack *lack);

#endif
