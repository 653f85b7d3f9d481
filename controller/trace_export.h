/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as a capture in pcapng: an interface per switch, named by it, and a
 * packet per hop, as that switch saw it and when, with a comment such as
 * "trace=0123456789abcdef hop=2/5". Packets are sorted by time over all traces,
 * which is why they are collected first.
 *
 *     struct trace_export *e = trace_export_create(topology);
 *     trace_export_add(e, item->json, item->len);             // for each
 *     trace_export_write(e, "filter: tcp; complete", out);
 *
 * One thread. */
#ifndef CONTROLLER_TRACE_EXPORT_H
#define CONTROLLER_TRACE_EXPORT_H

#include <stddef.h>

#include "controller/topology.h"

struct evbuffer;
struct trace_export;

struct trace_export *trace_export_create(const struct topology *topology);
void trace_export_destroy(struct trace_export *e); /* NULL is fine. */

/* Adds the hops of a trace. Returns 0; -EINVAL for a trace without bytes or
 * times, which is left out; -E2BIG when more is collected than we hold. */
int trace_export_add(struct trace_export *e, const char *json, size_t len);

/* Appends the whole capture to `out`; `comment` describes it. Returns 0 or a
 * negative errno. */
int trace_export_write(struct trace_export *e, const char *comment, struct evbuffer *out);

#endif
