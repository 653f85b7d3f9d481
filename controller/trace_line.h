/* SPDX-License-Identifier: Apache-2.0 */
/* Names the switches in one line of an analyzer's answer without making a tree of
 * its values: the line is checked while it is read once, and copied with the
 * names put in.
 *
 *     struct trace_line_reader reader = {.topology = topology};
 *     switch (trace_line_read(&reader, line, len, &item)) {
 *     case 1: ... use `item` ...            a trace
 *     case 0: ... trace_record_parse() ...  anything else
 *
 * It reads the JSON that our analyzers write and no other: no space between the
 * values, no escapes and only ASCII in strings, no exponents, nesting that is not deep.
 * What it takes is valid JSON in which all that the controller relies on was found, once, and
 * of the right type, so the line came over a socket and may be trusted no more than
 * before. All else (also valid JSON written otherwise, the line that ends an
 * answer, and what is wrong) it leaves to trace_record.h, which says what is wrong.
 *
 * What it looked up it keeps until the topology's generation is another. One thread
 * at a time. */
#ifndef CONTROLLER_TRACE_LINE_H
#define CONTROLLER_TRACE_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "controller/topology.h"

struct trace_item;

enum { TRACE_LINE_ADDRESS_MAX = 46, TRACE_LINE_NAMES = 64, TRACE_LINE_SECOND = 19 };

struct trace_line_reader {
    const struct topology *topology;
    /* Internal; zero to begin with. */
    unsigned generation;
    struct trace_line_name {
        char address[TRACE_LINE_ADDRESS_MAX];
        uint8_t address_len;
        const char *name;           /* NULL: not in the topology. */
    } names[TRACE_LINE_NAMES];      /* What was looked up, by the hash of the address. */
    char second[TRACE_LINE_SECOND]; /* "2026-11-21T17:00:00" */
    struct ef_time second_start;    /* When that begins. */
};

/* Returns 1 with `*item` (see trace_query.h; the caller frees it), 0 if the line is
 * for trace_record_parse(), or -ENOMEM. */
int trace_line_read(struct trace_line_reader *reader, const char *line, size_t len, struct trace_item **item);

#endif
