/* SPDX-License-Identifier: Apache-2.0 */
/* The application that finds what makes RDMA slow: pause storms and where they begin,
 * queue pairs that lose packets, have no buffers or meet congestion. See rdma_app.c
 * and, for the watcher, rdma_watch.h.
 *
 * Options: "last_s": how far back to look (60); "duration_s": how long to wait for more (10). */
#ifndef CONTROLLER_RDMA_APP_H
#define CONTROLLER_RDMA_APP_H

#include "controller/diagnoses.h"

extern const struct diagnosis_app rdma_app;

#endif
