/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the probes of one order, by their traces: how many were seen,
 * where they ended, which ways they took, and how long each link took there and
 * back.
 *
 *     struct probe_results *r = probe_results_create("00c0ffee00c0ffee", count);
 *     probe_results_add(r, trace_json, len);  ...
 *     json_t *results = probe_results_show(r, sent);
 *     probe_results_destroy(r);
 *
 * A round trip over the link from S1 to S2 is the time between two copies that
 * S1 itself sent of one probe, which went to S2 in between: no other clock than
 * S1's has a part in it. What is not seen is not called lost: a probe without a
 * trace is `untraced`. One thread. */
#ifndef CONTROLLER_PROBE_RESULTS_H
#define CONTROLLER_PROBE_RESULTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/round_trips.h"

struct probe_results;

struct probe_results *probe_results_create(const char *id, uint64_t count);
void probe_results_destroy(struct probe_results *results); /* NULL is fine. */

/* Takes a trace as JSON text; those of other probes are left out. */
void probe_results_add(struct probe_results *results, const char *json, size_t len);

/* {"traced", "untraced", "fates": {...}, "loss", "ways": [{"switches", "probes"}], "round_trips": [{"from", "to", "n",
 * ... as round_trips.h says}], "traces": [the first 100 ids]}, a new reference; of `sent` probes. */
json_t *probe_results_show(struct probe_results *results, uint64_t sent);

/* Has the time over this way measured, too: `n` switches, from the first to the last and
 * from there back to the first, which measures. The names are copied. */
void probe_results_expect_way(struct probe_results *results, const char *const way[], size_t n);
const struct round_trips *probe_results_way(const struct probe_results *results);

/* The round trips over one link, borrowed, or NULL. */
const struct round_trips *probe_results_link(const struct probe_results *results, const char *from, const char *to);

#endif
