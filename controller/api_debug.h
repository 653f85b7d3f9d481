/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /v1/debug, GET and DELETE /v1/debug/ID: debug sessions (debug_sessions.h)
 * as they are asked for. A request is read, measured for (one at a time, the others wait:
 * each must know what those before it cost), admitted or refused with the numbers, and
 * answered when its session is kept. */
#ifndef CONTROLLER_API_DEBUG_H
#define CONTROLLER_API_DEBUG_H

struct api_debug;
struct controller;

/* Creates the sessions, too; before the event loop runs, after the switches and the rule sets. */
struct api_debug *api_debug_start(struct controller *c);

/* Before the rule sets go, after the HTTP server. NULL is fine. */
void api_debug_stop(struct api_debug *api);

#endif
