/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop" (drop_run.h), where some or none of the packets like one
 * are dropped: more probes, for the rate and its confidence interval. So few that were
 * dropped that it may have been chance count as none. */
#ifndef CONTROLLER_DROP_RATE_H
#define CONTROLLER_DROP_RATE_H

struct drop;

/* Ends with the verdict. */
void drop_rate_start(struct drop *a);

#endif
