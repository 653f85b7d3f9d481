/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for source_dpdk.c and sink_dpdk.c in a build without DPDK: says how
 * to get one that has it. */
#include <config.h>

#include <errno.h>

#include "io/sink_class.h"
#include "io/source_class.h"

static int
say_how(struct ef_error *err)
{
    return ef_error_set(err, -EOPNOTSUPP,
                        "this build has no DPDK; apt-get install libdpdk-dev, then configure and make again");
}

static int
open_source(const char *where, uint64_t ring_bytes, struct ef_source **source, struct ef_error *err)
{
    return say_how(err);
}

static int
open_sink(const char *where, struct ef_sink **sink, struct ef_error *err)
{
    return say_how(err);
}

const struct ef_source_class ef_source_dpdk_class = {
    .scheme = "dpdk",
    .usage = "dpdk:DEVICE[,ARGUMENTS][#QUEUE/QUEUES]",
    .open = open_source,
};

const struct ef_sink_class ef_sink_dpdk_class = {
    .scheme = "dpdk",
    .usage = "dpdk:DEVICE[,ARGUMENTS]#MAC",
    .open = open_sink,
};
