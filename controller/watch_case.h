/* SPDX-License-Identifier: Apache-2.0 */
/* What traces say, sorted: which case a trace belongs to, and which traces were
 * seen before.
 *
 *     if (!watch_seen_add(&seen, id)) continue;              // known already
 *     if (!watch_case_read(trace, &key)) c = watch_cases_get(&cases, &key, now);
 *
 * Bounded: the oldest case without a diagnosis makes room. One thread. */
#ifndef CONTROLLER_WATCH_CASE_H
#define CONTROLLER_WATCH_CASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum { WATCH_CASES = 256, WATCH_SEEN = 8192, WATCH_KEY_SIZE = 140 };

struct diagnosis;

struct watch_case {
    char app[8];                     /* "drop" or "loop"; "": the entry is free. */
    char key[WATCH_KEY_SIZE];        /* "spine1>leaf4": last seen, expected; or the circle. */
    char trace[17];                  /* The newest. */
    char analyzer[64], expected[64]; /* Whose the newest is, and which switch should have seen it. */
    uint64_t n_traces;
    bool has_news;             /* Since the last diagnosis. */
    struct ef_time last;       /* Monotonic: the newest trace came; */
    struct ef_time not_before; /* no diagnosis earlier. */
    struct diagnosis *running; /* Or NULL. */
    unsigned n_transient;      /* Verdicts in a row, */
    struct ef_time transient_since;
    char alert[WATCH_KEY_SIZE]; /* Subject of an alert that ends when no more traces come; "": none. */
};

struct watch_cases {
    struct watch_case cases[WATCH_CASES];
};

/* The application and key of a trace's case. Returns 0, or -EINVAL: it is neither
 * drop nor loop. */
int watch_case_read(const json_t *trace, char app[8], char key[WATCH_KEY_SIZE]);

/* The case, new or not; NULL: all are being diagnosed. */
struct watch_case *watch_cases_get(struct watch_cases *cases, const char *app, const char *key);

/* The traces of the last time, by id. */
struct watch_seen {
    uint64_t ids[WATCH_SEEN];
    size_t next;
};

/* False if the id was there already. */
bool watch_seen_add(struct watch_seen *seen, uint64_t id);

#endif
