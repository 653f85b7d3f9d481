/* SPDX-License-Identifier: Apache-2.0 */
/* The applications that there are; see diagnoses.h. */
#include <config.h>

#include "controller/diagnoses.h"

#include <stddef.h>

#include "controller/drop_app.h"
#include "controller/ecmp_app.h"
#include "controller/latency_app.h"
#include "controller/loop_app.h"
#include "controller/rdma_app.h"

const struct diagnosis_app *const diagnosis_apps[] = {
    &drop_app, &loop_app, &latency_app, &ecmp_app, &rdma_app, NULL,
};
