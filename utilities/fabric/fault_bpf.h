/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the program of a silent fault (fault.bpf.c) on a link of the namespace
 * that the thread is in, and takes it away. What is on a link goes with the
 * link, so a fabric that is removed leaves none.
 *
 * Where the build found no clang or libbpf, all of this says so. */
#ifndef EF_FABRIC_FAULT_BPF_H
#define EF_FABRIC_FAULT_BPF_H

#include "base/error.h"
#include "utilities/fabric/fault_params.h"

/* Loads the program with `params` and attaches it to what leaves at
 * `interface`, as number params->id. Returns 0 or a negative errno with `err`. */
int ef_fault_bpf_attach(const char *interface, const struct ef_fault_params *params, struct ef_error *err);

/* Detaches number `id`; 0 also if it is not there, or a negative errno with `err`. */
int ef_fault_bpf_detach(const char *interface, uint32_t id, struct ef_error *err);

/* Adds what number `id` has counted at `interface` to `counters`; the earlier
 * of both first hits is kept. -ENOENT if it is not there. */
int ef_fault_bpf_count(const char *interface, uint32_t id, struct ef_fault_counters *counters);

#endif
