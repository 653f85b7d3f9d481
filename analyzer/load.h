/* SPDX-License-Identifier: Apache-2.0 */
/* The load of switches, ports and links (load_table.h), and how long probes took
 * over links, summed over the workers when asked for: GET /v1/load, /v1/latency, /metrics. */
#ifndef EF_ANALYZER_LOAD_H
#define EF_ANALYZER_LOAD_H

#include <jansson.h>

#include "analyzer/analyzer.h"

struct ef_load_span;

/* {"start", "end", "span_s", "switches": [{"switch", "copies", "packets", "bytes"}],
 * "ports": [{"switch", "port", "direction", "packets", "bytes"}], "links":
 * [{"from", "to", "packets", "bytes", "round_trips"}], "uncounted"}: of the span, or
 * of all since the start if it is NULL. Round trips are those of ef_latency_json(),
 * of all times, and only there without a span. What a switch's packets are: those
 * that came in by its ports. The caller takes over the reference. */
json_t *ef_load_json(const struct ef_analyzer *analyzer, const struct ef_load_span *span);

/* {"links": [{"from", "to", and what ef_histogram_json() says}]}, of the links
 * that probes measured. */
json_t *ef_latency_json(const struct ef_analyzer *analyzer);

#endif
