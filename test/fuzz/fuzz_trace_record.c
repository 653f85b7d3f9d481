/* SPDX-License-Identifier: Apache-2.0 */
/* Any line from an analyzer, into all that the controller does with one: the
 * check, the names of hops (by both ways to read it, which must agree), the capture. */
#include <config.h>

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "controller/trace_export.h"
#include "controller/trace_line.h"
#include "controller/trace_query.h"
#include "controller/trace_record.h"
#include "fuzz/fuzz.h"
#include "packet/packet.h"

/* The trace as the controller reads it without a tree of values, or NULL. */
static struct trace_item *
read_in_one_pass(const uint8_t *data, size_t size, const struct topology *topology)
{
    struct trace_line_reader *reader = calloc(1, sizeof *reader);
    struct trace_item *item = NULL;
    char *line = malloc(size + 1);
    memcpy(line, data, size);
    line[size] = '\0';
    reader->topology = topology;
    trace_line_read(reader, line, size, &item);
    free(line);
    free(reader);
    return item;
}

/* What is read in one pass is what the JSON library makes of it. */
static void
compare(const struct trace_item *item, json_t *record, struct ef_time start)
{
    json_t *named = item ? json_loadb(item->json, item->len, 0, NULL) : NULL;
    if (item && (item->key.start.ns != start.ns || !json_equal(named, record))) {
        abort();
    }
    json_decref(named);
}

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
    struct trace_item *item = read_in_one_pass(data, size, &topology);
    if (item && kind != TRACE_RECORD_TRACE) {
        abort();
    }
    if (kind < 0) {
        return 0;
    }
    if (kind == TRACE_RECORD_TRACE) {
        trace_record_name_hops(record, &topology);
        compare(item, record, start);
        char *text = json_dumps(record, JSON_COMPACT);
        struct trace_export *e = trace_export_create(&topology);
        struct evbuffer *out = evbuffer_new();
        trace_export_start(e, "fuzz", out);
        trace_export_add(e, text, strlen(text), out);
        if (!trace_export_drain(e, SIZE_MAX, out) || trace_export_end(e, "fuzz", out)) {
            abort();
        }
        evbuffer_free(out);
        trace_export_destroy(e);
        free(text);
    }
    json_decref(record);
    free(item);
    return 0;
}
