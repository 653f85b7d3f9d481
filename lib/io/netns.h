/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets inside a named network namespace ("ip netns add NAME"), while the
 * process stays where it is: a socket belongs for life to the namespace in
 * which it was made, and so do the ioctls on it.
 *
 *     int fd = ef_netns_socket("leaf1", AF_PACKET, SOCK_RAW, 0, &err);
 *
 * The calling thread enters the namespace, makes the socket and comes back;
 * other threads notice nothing. Any thread may call. */
#ifndef EF_IO_NETNS_H
#define EF_IO_NETNS_H

#include "base/error.h"

/* Makes a socket (SOCK_CLOEXEC is added) in the namespace `netns`, or in the
 * calling thread's own if it is NULL. Returns the descriptor or a negative errno
 * with `err`: -ENOENT no such namespace, -EPERM not root. */
int ef_netns_socket(const char *netns, int domain, int type, int protocol, struct ef_error *err);

#endif
