/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as one line of JSON text, the form in which analyzers answer, the
 * controller passes on and scripts read; doc/rest-api.md has the fields.
 *
 *     char line[EF_TRACE_JSON_MAX];
 *     size_t n = ef_trace_json(&trace, "analyzer1", line, sizeof line);
 *
 * Any thread; nothing is allocated. */
#ifndef EF_TRACE_TRACE_JSON_H
#define EF_TRACE_TRACE_JSON_H

#include <stddef.h>

#include "trace/packet_trace.h"

/* Enough for every trace, with an analyzer's name of EF_TRACE_NAME_MAX bytes. */
enum { EF_TRACE_JSON_MAX = 32768, EF_TRACE_NAME_MAX = 64 };

/* Writes the finished `trace` into `buf` of `size` bytes, without a newline or
 * a final NUL. Returns the number of bytes, or 0 if they did not fit. */
size_t ef_trace_json(const struct ef_trace *trace, const char *analyzer, char *buf, size_t size);

#endif
