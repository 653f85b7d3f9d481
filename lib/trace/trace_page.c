/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of an answer; see trace_page.h. The text is "p1" and, in hexadecimal, the
 * key's start and id, the first start, and 32 bits of a hash of the question. */
#include <config.h>

#include "trace/trace_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PREFIX "p1"
enum { PREFIX_LEN = 2, WORD_DIGITS = 16, CHECK_DIGITS = 8 };

int
ef_trace_key_compare(struct ef_trace_key a, struct ef_trace_key b)
{
    int order = (a.start.ns > b.start.ns) - (a.start.ns < b.start.ns);
    return order ? order : (a.id > b.id) - (a.id < b.id);
}

struct ef_trace_key
ef_trace_key_after(struct ef_trace_key key)
{
    key.id++;
    key.start = ef_time_add_ns(key.start, key.id == 0);
    return key;
}

static uint32_t
check_of(const struct ef_trace_page_question *question)
{
    const char *const texts[] = {question->filter, question->condition, question->id};
    uint64_t hash = 0;
    for (size_t i = 0; i < EF_ARRAY_SIZE(texts); i++) {
        const char *text = texts[i] ? texts[i] : "";
        hash = ef_hash64_seed(text, strlen(text), hash);
    }
    return (uint32_t) hash;
}

void
ef_trace_page_format(const struct ef_trace_page *page, const struct ef_trace_page_question *question,
                     char text[EF_TRACE_PAGE_TEXT_SIZE])
{
    snprintf(text, EF_TRACE_PAGE_TEXT_SIZE, PREFIX "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%08" PRIx32,
             (uint64_t) page->before.start.ns, page->before.id, (uint64_t) page->from.ns, check_of(question));
}

/* The number of `n` digits at `*text`, which is moved behind them. They are digits. */
static uint64_t
take_hex(const char **text, size_t n)
{
    char digits[WORD_DIGITS + 1];
    memcpy(digits, *text, n);
    digits[n] = '\0';
    *text += n;
    return strtoull(digits, NULL, 16);
}

int
ef_trace_page_parse(const char *text, const struct ef_trace_page_question *question, struct ef_trace_page *page,
                    struct ef_error *err)
{
    if (strlen(text) != EF_TRACE_PAGE_TEXT_SIZE - 1 || strncmp(text, PREFIX, PREFIX_LEN) ||
        strspn(text + PREFIX_LEN, "0123456789abcdef") != strlen(text) - PREFIX_LEN) {
        return ef_error_set(err, -EINVAL, "this is no cursor; give \"next\" of an answer as it is");
    }
    text += PREFIX_LEN;
    page->before.start.ns = (int64_t) take_hex(&text, WORD_DIGITS);
    page->before.id = take_hex(&text, WORD_DIGITS);
    page->from.ns = (int64_t) take_hex(&text, WORD_DIGITS);
    if ((uint32_t) take_hex(&text, CHECK_DIGITS) != check_of(question)) {
        return ef_error_set(err, -EINVAL,
                            "the cursor is of another question; filter, condition and id stay as they were");
    }
    return 0;
}
