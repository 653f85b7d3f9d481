/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary text and packet through the filter: the input is a text up to the
 * first zero byte, then the bytes of a frame. A text that compiles has a normal
 * form that compiles to the same program and matches the same. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "fuzz/fuzz.h"
#include "packet/packet.h"

static void
check(int condition)
{
    if (!condition) {
        abort();
    }
}

static void
check_error(const char *text, const struct ef_error *err)
{
    char shown[700];
    check(err->offset >= 0 && (size_t) err->offset <= strlen(text) && err->text[0]);
    check(ef_filter_error_format(text, err, shown, sizeof shown) == shown);
}

/* Compiles the normal form of `filter` and compares. */
static void
check_normal_form(const struct ef_filter *filter, const struct ef_filter_input *in)
{
    struct ef_filter *again;
    struct ef_error err;
    int rc = ef_filter_compile(ef_filter_text(filter), EF_FILTER_ANY, &again, &err);
    if (rc) { /* Only what became longer by it may be refused. */
        check(strstr(err.text, "at most") && strlen(ef_filter_text(filter)) > 65535);
        return;
    }
    char *explained = ef_filter_explain(filter), *explained_again = ef_filter_explain(again);
    check(!strcmp(explained, explained_again));
    check(ef_filter_match(filter, in) == ef_filter_match(again, in));
    free(explained);
    free(explained_again);
    ef_filter_destroy(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    size_t text_len = end ? (size_t) (end - data) : size, skip = text_len + 1;
    char *text = calloc(1, text_len + 1);
    check(text != NULL);
    if (text_len) {
        memcpy(text, data, text_len);
    }
    const uint8_t *frame = skip < size ? data + skip : data;
    uint32_t len = skip < size ? (uint32_t) (size - skip) : 0;

    struct ef_packet packet;
    ef_packet_parse(&packet, frame, len, len);
    static const uint8_t switches[2][16] = {{0x20, 1}, {[10] = 0xff, [11] = 0xff, [12] = 10}};
    struct ef_filter_trace trace = {.n_hops = len, .latency_ns = len * 100};
    struct ef_filter_input in = {.packet = &packet, .switches = switches, .n_switches = 2, .trace = &trace};

    struct ef_filter *filter;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_filter_compile(text, EF_FILTER_ANY, &filter, &err)) {
        check_error(text, &err);
    } else {
        check_normal_form(filter, &in);
        ef_filter_destroy(filter);
    }
    free(text);
    return 0;
}
