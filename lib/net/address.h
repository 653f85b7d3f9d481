/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stream socket listens or connects, as people write it:
 * "127.0.0.1:8780", "[::1]:8780", "localhost:8780", "unix:/run/x.sock".
 *
 *     struct ef_net_address a;
 *     if (ef_net_address_parse("127.0.0.1:8780", &a, &err)) ...
 *     connect(fd, (struct sockaddr *) &a.storage, a.len);
 *
 * Host names other than localhost are not looked up: a name server that hangs
 * must not stop an event loop. A plain value; any thread. */
#ifndef EF_NET_ADDRESS_H
#define EF_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"

struct ef_net_address {
    struct sockaddr_storage storage;
    socklen_t len;
};

#define EF_NET_ADDRESS_TEXT_SIZE 128

/* Reads `text`. Port 0 is allowed (the kernel chooses). Returns 0 or -EINVAL
 * with `err`. */
int ef_net_address_parse(const char *text, struct ef_net_address *address, struct ef_error *err);

/* The same text form back, into `buf` of EF_NET_ADDRESS_TEXT_SIZE bytes;
 * returned. */
char *ef_net_address_format(const struct ef_net_address *address, char *buf);

/* True for 127.0.0.0/8, ::1 and Unix sockets: nobody outside can reach it. */
bool ef_net_address_is_local(const struct ef_net_address *address);

/* Listens on `address` with `backlog`: non-blocking, close-on-exec, without
 * Nagle's delay on what is accepted. A stale Unix socket file is replaced.
 * `address` gets the port that the kernel chose. Returns the descriptor or a
 * negative errno with `err`, which for a busy port says so. */
int ef_net_listen(struct ef_net_address *address, int backlog, struct ef_error *err);

/* Begins to connect: non-blocking, close-on-exec, without Nagle's delay.
 * Returns the descriptor (which becomes writable when the outcome is known) or
 * a negative errno. */
int ef_net_connect(const struct ef_net_address *address);

/* The reverse of a Unix ef_net_listen(): removes the socket file. */
void ef_net_unlink(const struct ef_net_address *address);

#endif
