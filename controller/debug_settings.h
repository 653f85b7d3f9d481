/* SPDX-License-Identifier: Apache-2.0 */
/* What may be traced at most, as the configuration says:
 *
 *     "capacity": {"copies_per_s": 100000, "bits_per_s": 1000000000,
 *                  "collectors": {"analyzer1": {"copies_per_s": 40000, "bits_per_s": 500000000}}}
 *
 * The numbers beside "collectors" are of all copies together; one of a collector (a
 * reshuffler or an analyzer, by its name) is what that and the link to it take. */
#ifndef CONTROLLER_DEBUG_SETTINGS_H
#define CONTROLLER_DEBUG_SETTINGS_H

#include "base/error.h"
#include "controller/debug_capacity.h"
#include "controller/document.h"

struct peer;

/* The collectors of the configuration; analyzers get copies by their weights, reshufflers alike. */
struct debug_collectors {
    const struct peer *analyzers, *reshufflers;
    size_t n_analyzers, n_reshufflers;
};

/* Reads "capacity" of `root`: what all of it together means for the sum of copies,
 * which is reached when the first collector has its share of what it takes. Returns
 * 0, or -EINVAL with `err`, which names the place. */
int debug_settings_read(const struct doc_place *root, const struct debug_collectors *collectors,
                        struct debug_load *capacity, struct ef_error *err);

#endif
