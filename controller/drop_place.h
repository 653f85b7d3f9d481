/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop" (drop_run.h), at its beginning: at which switch a packet was
 * seen last, and where it should have gone from there. A trace says so; without one,
 * probes like the packet are sent from where its source is, and end somewhere. */
#ifndef CONTROLLER_DROP_PLACE_H
#define CONTROLLER_DROP_PLACE_H

#include <jansson.h>

#include "base/error.h"

struct drop;

/* From a trace; NULL: none was found. For trace_search_start(). */
void drop_place_trace(void *drop, const json_t *trace);

/* From the packet that `options` describe (probe_flow_read()). Returns 0, or -EINVAL or
 * -ENOENT with `err`. */
int drop_place_packet(struct drop *a, const json_t *options, struct ef_error *err);

#endif
