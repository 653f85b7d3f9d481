/* SPDX-License-Identifier: Apache-2.0 */
/* The application that finds where packets are dropped, and which; see drop_app.c.
 *
 * Options: "trace": the id of a trace; or "filter" and "last_s": the newest dropped
 * packet that matches; or without a trace "src", "dst", "proto", "src_port", "dst_port",
 * "length": a packet. */
#ifndef CONTROLLER_DROP_APP_H
#define CONTROLLER_DROP_APP_H

#include "controller/diagnoses.h"

extern const struct diagnosis_app drop_app;

#endif
