/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the kernel from answering copies. A packet socket only listens in: the
 * kernel's own stack gets each copy as well, knows no GRE and would send the
 * switch an ICMP "protocol unreachable" (IPv6: "unrecognized next header") for
 * every one addressed to a local address. A raw GRE socket, even one whose
 * filter keeps nothing, tells the stack that someone takes the protocol.
 *
 * Where the ip_gre or ip6_gre module is loaded, GRE is the module's and it
 * answers copies with "port unreachable" all the same; ef-reshuffler(8) says
 * how to drop those. */
#ifndef EF_IO_GRE_SILENCER_H
#define EF_IO_GRE_SILENCER_H

#include "base/error.h"

struct ef_gre_silencer {
    int ipv4_fd, ipv6_fd; /* Negative: not open. */
};

/* Works from now on in the namespace `netns` (NULL: our own). Returns 0 or a
 * negative errno with `err`. A kernel without IPv6 is no error. */
int ef_gre_silencer_init(struct ef_gre_silencer *silencer, const char *netns, struct ef_error *err);
void ef_gre_silencer_deinit(struct ef_gre_silencer *silencer);

#endif
