/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the service manager that started us how we are: the datagrams of
 * sd_notify(3) to the socket that $NOTIFY_SOCKET names. Without one, as when a
 * person starts the program, nothing happens. */
#ifndef EF_BASE_SERVICE_NOTIFY_H
#define EF_BASE_SERVICE_NOTIFY_H

/* Sends `state`, such as "READY=1". Returns 1 if it was sent, 0 if nobody wants
 * it, or a negative errno. */
int ef_service_notify(const char *state);

#endif
