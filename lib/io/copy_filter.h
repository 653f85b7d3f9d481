/* SPDX-License-Identifier: Apache-2.0 */
/* A classic BPF program that keeps frames which may be mirrored copies and lets
 * the kernel discard the rest before it costs us anything: IPv4 with protocol
 * 47 (GRE), IPv6 with next header 47 or a fragment header followed by it, both
 * behind up to two VLAN tags. Fragments pass so that they can be counted; IPv6
 * with other extension headers does not (no switch sends it).
 *
 *     setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &ef_copy_filter, sizeof ef_copy_filter);
 */
#ifndef EF_IO_COPY_FILTER_H
#define EF_IO_COPY_FILTER_H

#include <linux/filter.h>

extern const struct sock_fprog ef_copy_filter;

/* Keeps nothing. */
extern const struct sock_fprog ef_drop_all_filter;

#endif
