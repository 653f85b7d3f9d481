/* SPDX-License-Identifier: Apache-2.0 */
/* Draws traces for people, each as a block:
 *
 *     2026-11-21T02:30:00.123456Z  10.1.0.2:43122 > 10.4.0.3:80 TCP [S] seq 123 len 60
 *     3 hops, 41.2 us, id 00f3a1...
 *       1  leaf1 (10.255.0.1)    port 3 from h1      ttl 64        0 us
 *       2  spine2 (10.255.0.12)  port 1 from leaf1   ttl 63  +  12.3 us
 *
 * A view knows neither network nor options; documents may be anything. */
#ifndef EFCTL_TRACE_VIEW_H
#define EFCTL_TRACE_VIEW_H

#include "utilities/efctl/output.h"

/* What was asked, for the words under the answer. Texts may be NULL. */
struct efctl_trace_query {
    const char *filter, *condition, *start, *end;
    uint64_t limit;         /* 0: all */
    const char *cursor;     /* Of a later page, of older traces; NULL: the first. */
    const char *id;         /* Or its beginning; NULL: any. */
    const char *analyzer;   /* Only this one's, with format=parquet; NULL: all. */
    bool explain;           /* How each analyzer found its part. */
    bool details;           /* Times, addresses and bytes of each trace as well. */
    const json_t *topology; /* Names of neighbours; NULL: not known. */
    const json_t *status;   /* Of the controller, for hints when there is nothing; NULL: not known. */
};

/* Draws the answer {"traces", "more", "incomplete", "explanations"}; `ctx` is a
 * struct efctl_trace_query. */
efctl_view efctl_trace_view;

/* The blocks only, without the words under them. */
void efctl_trace_blocks(struct efctl_output *out, const json_t *traces, const struct efctl_trace_query *query);

/* "incomplete: analyzer2 did not answer: ..." for each entry. */
void efctl_trace_incomplete(struct efctl_output *out, const json_t *incomplete);

#endif
