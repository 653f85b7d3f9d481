/* SPDX-License-Identifier: Apache-2.0 */
/* Where one page of an answer ends and the next, older one goes on. Traces have an
 * order, by start and then by id; a page has the newest `limit` of those before a
 * key, so that what comes meanwhile moves no border.
 *
 *     struct ef_trace_page page = {.before = {oldest->start, oldest->id}, .from = from};
 *     char cursor[EF_TRACE_PAGE_TEXT_SIZE];
 *     ef_trace_page_format(&page, &question, cursor);            // "next" of an answer
 *     ...
 *     if (ef_trace_page_parse(text, &question, &page, &err)) ...  // parameter "cursor"
 *
 * The text means nothing to clients. It holds for the question that it was made for
 * alone: with another filter, condition or id it is refused, as the pages would not
 * fit together. It is no secret and no signature: who makes up one gets traces that
 * they might have asked for anyway. Pure. */
#ifndef EF_TRACE_TRACE_PAGE_H
#define EF_TRACE_TRACE_PAGE_H

#include <stdint.h>

#include "base/error.h"
#include "base/time.h"

/* By which traces are ordered. */
struct ef_trace_key {
    struct ef_time start;
    uint64_t id;
};

/* Negative, 0 or positive, as `a` comes before, with or after `b`. */
int ef_trace_key_compare(struct ef_trace_key a, struct ef_trace_key b);

/* The least that comes after `key`. */
struct ef_trace_key ef_trace_key_after(struct ef_trace_key key);

struct ef_trace_page {
    struct ef_trace_key before; /* The first of the page before, which is newer. */
    struct ef_time from;        /* The start that was asked for; INT64_MIN: none. */
};

/* What stays the same from page to page; NULL as "". */
struct ef_trace_page_question {
    const char *filter, *condition, *id;
};

enum { EF_TRACE_PAGE_TEXT_SIZE = 2 + 3 * 16 + 8 + 1 };

void ef_trace_page_format(const struct ef_trace_page *page, const struct ef_trace_page_question *question,
                          char text[EF_TRACE_PAGE_TEXT_SIZE]);

/* Returns 0, or -EINVAL with `err`. */
int ef_trace_page_parse(const char *text, const struct ef_trace_page_question *question, struct ef_trace_page *page,
                        struct ef_error *err);

#endif
