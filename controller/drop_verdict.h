/* SPDX-License-Identifier: Apache-2.0 */
/* What the application "drop" says in the end (drop_run.h): the switch, the link
 * behind it, the class of packets, the rate with its confidence interval, in words and
 * as the fields of a verdict.
 *
 * All that are called "finish" end the diagnosis: the run is gone after them.
 *
 * That packets are dropped is concluded from a switch not having seen them. If its copies may
 * go over something that has failed, and none comes any more, nothing can be told, and that is
 * what the diagnosis ends with, or what is said so far is not said: whenever the failure became known.
 * Else the verdict's details name those switches, "unseen", for who learns of a failure later. */
#ifndef CONTROLLER_DROP_VERDICT_H
#define CONTROLLER_DROP_VERDICT_H

#include <stdbool.h>

struct drop;

/* Every probe like the packet is dropped; some are; none is. */
void drop_finish_persistent(struct drop *a);
void drop_finish_random(struct drop *a);
void drop_finish_transient(struct drop *a);

/* Probes told nothing, for the reason `why`; the trace alone is left. */
void drop_finish_unprobed(struct drop *a, const char *why);

/* The place is known, which packets not quite: as drop_finish_persistent(), but the work
 * goes on. */
void drop_tell_so_far(struct drop *a);

/* Whether it is not dropped any more, as the order in this round says that is the packet
 * itself: then what else was found means nothing, and it is finished as transient. */
bool drop_has_ended(struct drop *a);

#endif
