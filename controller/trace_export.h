/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as a capture in pcapng: an interface per switch, named by it, and a
 * packet per hop, as that switch saw it and when, with a comment such as
 * "trace=0123456789abcdef hop=2/5".
 *
 *     struct trace_export *e = trace_export_create(topology);
 *     trace_export_start(e, "filter: tcp", out);
 *     trace_export_add(e, item->json, item->len, out);        // for each, by their starts
 *     if (trace_export_drain(e, 65536, out))                  // until there is no more to come
 *         trace_export_end(e, "filter: tcp; complete", out);
 *
 * It is a stream: what is known to be in order is appended to `out`. Packets are
 * sorted by time as far as those held tell, 65,536 of them or 16 MiB: the hops
 * of traces that overlap, or of switches whose clocks differ, are in order unless so
 * much lies between. The end is a section of its own without packets, whose comment
 * says what only the end of an answer knows; a capture without it was cut off.
 *
 * One thread. `topology` is borrowed. */
#ifndef CONTROLLER_TRACE_EXPORT_H
#define CONTROLLER_TRACE_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/topology.h"

struct evbuffer;
struct trace_export;

struct trace_export *trace_export_create(const struct topology *topology);
void trace_export_destroy(struct trace_export *e); /* NULL is fine. */

/* The beginning of the file. This and what follows return 0, or a negative errno. */
int trace_export_start(struct trace_export *e, const char *comment, struct evbuffer *out);

/* Adds the hops of a trace; -EINVAL for one without bytes or times, which is left out
 * from there on. */
int trace_export_add(struct trace_export *e, const char *json, size_t len, struct evbuffer *out);

/* Appends what is held, until `out` has `max_bytes` or more. Returns true once nothing is held. */
bool trace_export_drain(struct trace_export *e, size_t max_bytes, struct evbuffer *out);

/* A block that says nothing, for a reader who waits for the next packet. */
int trace_export_idle(struct trace_export *e, struct evbuffer *out);

/* The end of the file, once nothing is held. */
int trace_export_end(struct trace_export *e, const char *comment, struct evbuffer *out);

#endif
