/* SPDX-License-Identifier: Apache-2.0 */
/* Any line from an analyzer, into all that the controller does with one: the
 * check, the names of hops, the capture. */
#include <config.h>

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "controller/trace_export.h"
#include "controller/trace_record.h"
#include "fuzz/fuzz.h"
#include "packet/packet.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct topology_switch s = {.name = "leaf1"};
    static struct topology_switch *by_address[] = {&s};
    static const struct topology topology = {.switches = &s, .n_switches = 1, .by_address = by_address};
    json_t *record;
    struct ef_time start;
    ef_address_parse("10.255.0.1", s.address);
    int kind = trace_record_parse((const char *) data, size, &record, &start, NULL);
    if (kind < 0) {
        return 0;
    }
    if (kind == TRACE_RECORD_TRACE) {
        trace_record_name_hops(record, &topology);
        char *text = json_dumps(record, JSON_COMPACT);
        struct trace_export *e = trace_export_create(&topology);
        struct evbuffer *out = evbuffer_new();
        trace_export_add(e, text, strlen(text));
        if (trace_export_write(e, "fuzz", out)) {
            abort();
        }
        evbuffer_free(out);
        trace_export_destroy(e);
        free(text);
    }
    json_decref(record);
    return 0;
}
