/* SPDX-License-Identifier: Apache-2.0 */
/* The application that finds switches which share their load unevenly, and whether
 * that hits all traffic or some prefixes; see ecmp_app.c.
 *
 * Options: "switch": only this one; "duration_s": how long to look at most (30). */
#ifndef CONTROLLER_ECMP_APP_H
#define CONTROLLER_ECMP_APP_H

#include "controller/diagnoses.h"

extern const struct diagnosis_app ecmp_app;

#endif
