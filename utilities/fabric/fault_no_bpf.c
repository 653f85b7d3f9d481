/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of fault_bpf.c where the build found no clang or libbpf. */
#include <config.h>

#include <errno.h>

#include "utilities/fabric/fault_bpf.h"

int
ef_fault_bpf_attach(const char *interface, const struct ef_fault_params *params, struct ef_error *err)
{
    return ef_error_set(err, -ENOSYS,
                        "this ef-fabric was built without silent faults: apt-get install clang libbpf-dev, then "
                        "configure and build again");
}

int
ef_fault_bpf_detach(const char *interface, uint32_t id, struct ef_error *err)
{
    return 0; /* None was attached. */
}

int
ef_fault_bpf_count(const char *interface, uint32_t id, struct ef_fault_counters *counters)
{
    return -ENOENT;
}
