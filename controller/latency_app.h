/* SPDX-License-Identifier: Apache-2.0 */
/* The application that finds which link makes the way between two servers slow;
 * see latency_app.c.
 *
 * Options: "src" and "dst", hosts by name or address; "filter": which of their packets
 * tell the links (default all); "duration_s": how long to probe at most (30). */
#ifndef CONTROLLER_LATENCY_APP_H
#define CONTROLLER_LATENCY_APP_H

#include "controller/diagnoses.h"

extern const struct diagnosis_app latency_app;

#endif
