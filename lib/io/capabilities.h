/* SPDX-License-Identifier: Apache-2.0 */
/* Which capabilities(7) sources and sinks need, for ef_privileges_drop(). */
#ifndef EF_IO_CAPABILITIES_H
#define EF_IO_CAPABILITIES_H

#include <stddef.h>

/* For what `n` specifications (spec.h) name, NULL among them being none: a list
 * that ends with -1, static. Packet and raw sockets, with buffers of their own
 * size; and, if one is in another network namespace, the right to go there. */
const int *ef_io_capabilities(const char *const specs[], size_t n);

#endif
