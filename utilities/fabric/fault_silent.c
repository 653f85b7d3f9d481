/* SPDX-License-Identifier: Apache-2.0 */
/* The faults that are one BPF program on each port that is meant, behind the
 * switch's last counter; and a port that is simply down. */
#include <config.h>

#include <errno.h>

#include "utilities/fabric/fault.h"
#include "utilities/fabric/fault_bpf.h"
#include "utilities/fabric/run_command.h"

static int
attach(const struct ef_topology_port *port, void *params, struct ef_error *err)
{
    return ef_fault_bpf_attach(port->name, params, err);
}

static int
detach(const struct ef_topology_port *port, void *fault, struct ef_error *err)
{
    return ef_fault_bpf_detach(port->name, ((const struct ef_fault *) fault)->id, err);
}

static int
start_with(const struct ef_topology *t, const struct ef_fault *fault, struct ef_fault_params params,
           struct ef_error *err)
{
    return ef_fault_each_port(t, fault, attach, &params, err);
}

static int
stop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    return ef_fault_each_port(t, fault, detach, (void *) fault, err);
}

struct count_context {
    uint32_t id;
    struct ef_fault_counters *counters;
};

static int
count_port(const struct ef_topology_port *port, void *context_, struct ef_error *err)
{
    const struct count_context *context = context_;
    ef_fault_bpf_count(port->name, context->id, context->counters);
    return 0;
}

void
ef_fault_count_ports(const struct ef_topology *t, const struct ef_fault *fault, struct ef_fault_counters *counters)
{
    struct count_context context = {fault->id, counters};
    ef_fault_each_port(t, fault, count_port, &context, NULL);
}

static int
start_drop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    return start_with(t, fault, ef_fault_params_of(fault, EF_FAULT_DROP), err);
}

static int
start_size_drop(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    const struct ef_fault_range *length = &fault->match.length;
    return !length->low && length->high == UINT32_MAX
               ? ef_error_set(err, -EINVAL,
                              "size-drop needs the sizes in its --match, such as \"frame.len > 1024\" or "
                              "\"tcp && frame.len > 1024\"")
               : start_drop(t, fault, err);
}

static int
start_corrupt(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    struct ef_fault_params params = ef_fault_params_of(fault, EF_FAULT_CORRUPT);
    params.match.families &= ~EF_FAULT_NOT_IP;
    return start_with(t, fault, params, err);
}

/* The switch's own copies: GRE from its loopback to the VIP. At a port that is
 * given, those of all switches. */
static int
start_mirror_loss(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    struct ef_fault_params params = ef_fault_params_of(fault, EF_FAULT_DROP);
    params.match.families = EF_FAULT_IPV4;
    params.match.protocol = (struct ef_fault_range){47, 47};
    params.match.destination = t->vip;
    params.match.destination_mask = UINT32_MAX;
    if (!fault->port) {
        params.match.source = ef_topology_switch(t, fault->node)->loopback;
        params.match.source_mask = UINT32_MAX;
    }
    return start_with(t, fault, params, err);
}

const struct ef_fault_kind ef_fault_blackhole = {
    .name = "blackhole",
    .help = "what leaves at the port vanishes",
    .takes_port = true,
    .takes_match = true,
    .start = start_drop,
    .stop = stop,
    .count = ef_fault_count_ports,
};

const struct ef_fault_kind ef_fault_random_drop = {
    .name = "random-drop",
    .help = "--rate of it vanishes (default 10%)",
    .takes_port = true,
    .takes_match = true,
    .rate = EF_FAULT_PROBABILITY,
    .default_rate = 0.1,
    .start = start_drop,
    .stop = stop,
    .count = ef_fault_count_ports,
};

const struct ef_fault_kind ef_fault_size_drop = {
    .name = "size-drop",
    .help = "frames of the sizes in --match vanish",
    .takes_port = true,
    .needs_match = true,
    .takes_match = true,
    .rate = EF_FAULT_PROBABILITY,
    .default_rate = 1,
    .start = start_size_drop,
    .stop = stop,
    .count = ef_fault_count_ports,
};

const struct ef_fault_kind ef_fault_corrupt = {
    .name = "corrupt",
    .help = "a byte changes, its checksum does not; --rate as above",
    .takes_port = true,
    .takes_match = true,
    .rate = EF_FAULT_PROBABILITY,
    .default_rate = 0.1,
    .start = start_corrupt,
    .stop = stop,
    .count = ef_fault_count_ports,
};

const struct ef_fault_kind ef_fault_mirror_loss = {
    .name = "mirror-loss",
    .help = "--rate of the switch's mirrored copies vanishes (default 10%)",
    .takes_port = true,
    .rate = EF_FAULT_PROBABILITY,
    .default_rate = 0.1,
    .start = start_mirror_loss,
    .stop = stop,
    .count = ef_fault_count_ports,
};

/* --- A port that is down ---------------------------------------------------- */

static int
set_link(const struct ef_topology_port *port, void *state, struct ef_error *err)
{
    const char *argv[] = {"ip", "link", "set", "dev", port->name, state, NULL};
    return ef_run(argv, NULL, NULL, err);
}

static int
start_link_down(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    return ef_fault_each_port(t, fault, set_link, (char[]){"down"}, err);
}

static int
stop_link_down(const struct ef_topology *t, const struct ef_fault *fault, struct ef_error *err)
{
    return ef_fault_each_port(t, fault, set_link, (char[]){"up"}, err);
}

const struct ef_fault_kind ef_fault_link_down = {
    .name = "link-down",
    .help = "the port is down; its other end loses the carrier",
    .needs_port = true,
    .takes_port = true,
    .start = start_link_down,
    .stop = stop_link_down,
};
