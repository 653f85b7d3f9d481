/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a controller answers, efctl draws it without reading beyond it and
 * without a character that a terminal would obey. */
#include <config.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/store_view.h"
#include "utilities/efctl/trace_view.h"
#include "utilities/efctl/views.h"

static void
check_harmless(const char *text)
{
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char) *p, next = (unsigned char) p[1];
        if ((c < 0x20 && c != '\n') || c == 0x7f || (c == 0xc2 && next < 0xa0)) {
            abort();
        }
    }
}

static void
draw(const json_t *document, efctl_view *view, const void *ctx)
{
    char *text;
    size_t size;
    struct efctl_output out = {.file = open_memstream(&text, &size)};
    view(&out, document, ctx);
    fclose(out.file);
    check_harmless(text);
    free(text);
}

static void
escape(const uint8_t *data, size_t size)
{
    char *raw = calloc(1, size + 1);
    memcpy(raw, data, size);
    char *escaped = efctl_escape(raw);
    check_harmless(escaped);
    if (strchr(escaped, '\n')) {
        abort();
    }
    free(escaped);
    free(raw);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ef_time now = {1795228800 * EF_NS_PER_S};
    json_t *document = json_loadb((const char *) data, size, JSON_DECODE_ANY, NULL);
    const struct efctl_trace_query query = {.details = true, .topology = document, .status = document};
    escape(data, size);
    if (document) {
        draw(document, efctl_trace_view, &query);
        draw(document, efctl_switches_view, &now);
        draw(document, efctl_store_view, &now);
        draw(document, efctl_store_traces_view, &query);
        draw(document, efctl_topology_view, NULL);
        draw(document, efctl_probe_view, NULL);
        draw(document, efctl_probes_view, &now);
        draw(document, efctl_status_view, "http://127.0.0.1:8780");
    }
    json_decref(document);
    return 0;
}
