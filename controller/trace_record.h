/* SPDX-License-Identifier: Apache-2.0 */
/* One line of an analyzer's answer: a trace, or the line that ends it. The line
 * came over a socket: what the controller relies on is checked here.
 *
 *     json_t *trace;
 *     switch (trace_record_parse(line, len, &trace, &start, &err)) {
 *     case TRACE_RECORD_TRACE: trace_record_name_hops(trace, topology); ...
 */
#ifndef CONTROLLER_TRACE_RECORD_H
#define CONTROLLER_TRACE_RECORD_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "base/time.h"
#include "controller/topology.h"

enum trace_record_kind { TRACE_RECORD_TRACE, TRACE_RECORD_END };

/* Parses a line. For a trace: an object with "id" (16 hexadecimal digits),
 * "start" (a time, put into `*start`), "packet" (an object) and "hops" (an array
 * of objects with "switch"). For the end: an object with "end": true. Returns
 * the kind and the object in `*record` (new reference), or -EPROTO with `err`. */
int trace_record_parse(const char *line, size_t len, json_t **record, struct ef_time *start, struct ef_error *err);

/* Gives each hop whose switch is in the topology its "name". */
void trace_record_name_hops(json_t *trace, const struct topology *topology);

#endif
