/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces by name, as `ip netns` keeps them (/run/netns/NAME): going
 * into one, what its links do, who runs in it, and removing it together with
 * everything inside.
 *
 * Entering changes the calling thread only. */
#ifndef EF_FABRIC_NETNS_H
#define EF_FABRIC_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* All links of a fabric are in this group, so that one request per namespace
 * removes them even if some process keeps the namespace itself alive. */
#define EF_LINK_GROUP 61166 /* 0xeeee */

bool ef_netns_exists(const char *name);

/* Moves the thread into the namespace. Returns 0 or a negative errno with `err`. */
int ef_netns_enter(const char *name, struct ef_error *err);

/* The namespace that the thread is in now, for ef_netns_return(); or -1. */
int ef_netns_here(void);

/* Goes back and closes `here`. */
void ef_netns_return(int here);

/* Calls `each` for every namespace whose name starts with `prefix`. */
void ef_netns_list(const char *prefix, void (*each)(const char *name, void *ctx), void *ctx);

/* The processes whose main thread is in a namespace of that prefix, without
 * ourselves. `*pids` is freed by the caller. Returns their number. */
size_t ef_netns_processes(const char *prefix, pid_t **pids);

/* True if the calling process is in a namespace of that prefix. */
bool ef_netns_contains_us(const char *prefix);

/* Removes the links of EF_LINK_GROUP and the namespace; 0 also if there is no
 * such namespace or only its file, else a negative errno with `err`. */
int ef_netns_remove(const char *name, struct ef_error *err);

/* `ip netns` makes /run/netns a mount point of its own when it is first used.
 * prepare() remembers in `marker` (a file) if that has yet to happen; undo()
 * removes the mount if it was ours and no namespace is left. */
void ef_netns_prepare_mount(const char *marker);
void ef_netns_undo_mount(const char *marker);

/* A link of the namespace the thread is in. */
struct ef_link {
    bool exists, up; /* up: administratively and with a carrier. */
    uint64_t rx_packets, tx_packets, rx_dropped, tx_dropped;
};
struct ef_link ef_link_get(const char *interface);

/* Turns off what a virtual link cannot do for a userspace switch: checksums
 * left to the hardware, segmentation and receive offloads. Returns 0 or a
 * negative errno with `err`. */
int ef_link_offloads_off(const char *interface, struct ef_error *err);

#endif
