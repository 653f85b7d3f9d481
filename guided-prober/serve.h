/* SPDX-License-Identifier: Apache-2.0 */
/* ef-prober as a daemon: orders over HTTP (doc/rest-api.md, "Probes"). */
#ifndef PROBER_SERVE_H
#define PROBER_SERVE_H

#include "guided-prober/conf.h"

/* Serves until a signal ends it. Returns 0 or a negative errno with `err`. */
int prober_serve(struct prober_conf *conf, const struct prober_targets *targets, struct ef_error *err);

#endif
