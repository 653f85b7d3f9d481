/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of what others change on switches: the controller puts it right at once
 * (managed_switch.h), and here an alert of kind "drift" tells of it, one for a switch,
 * with what was changed and how often; it is resolved when nobody did for a minute.
 * One event base's thread. */
#ifndef CONTROLLER_DRIFT_WATCH_H
#define CONTROLLER_DRIFT_WATCH_H

struct controller;
struct drift_watch;

/* NULL: the configuration turns the watcher of switches off. */
struct drift_watch *drift_watch_start(struct controller *c);
void drift_watch_stop(struct drift_watch *watch); /* NULL is fine. */

#endif
