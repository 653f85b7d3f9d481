/* SPDX-License-Identifier: Apache-2.0 */
/* The load of switches, ports and links (load_table.h), summed over the workers
 * when asked for: GET /v1/load and /metrics. */
#ifndef EF_ANALYZER_LOAD_H
#define EF_ANALYZER_LOAD_H

#include <jansson.h>

#include "analyzer/analyzer.h"

/* {"ports": [{"switch", "port", "direction", "packets", "bytes"}], "links":
 * [{"from", "to", "packets", "bytes", "round_trips": {"probes", "min_us",
 * "mean_us", "median_us", "p99_us", "max_us"}}], "uncounted"}; round trips only
 * where probes measured. The caller takes over the reference. */
json_t *ef_load_json(const struct ef_analyzer *analyzer);

#endif
