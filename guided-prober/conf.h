/* SPDX-License-Identifier: Apache-2.0 */
/* ef-prober's command line. */
#ifndef PROBER_CONF_H
#define PROBER_CONF_H

#include "base/daemon.h"
#include "guided-prober/format.h"
#include "net/tls.h"

/* What one prober may send. */
struct prober_limits {
    uint64_t rate;  /* Probes a second, all orders together. */
    uint64_t total; /* Probes of one order. */
};

struct prober_conf {
    struct prober_format format;
    struct prober_limits limits;
    const char *topology, *sink, *pcap, *http; /* Borrowed from the command line. */
    uint64_t count, probe_id;
    int64_t interval_ns; /* 0: as fast as the limit allows. */
    bool explain, has_interval, has_probe_id;
    struct ef_daemon daemon;
    struct ef_tls_files tls;
};

/* Returns 0, EF_OPTIONS_HELP, EF_OPTIONS_VERSION, or -EINVAL with `err`. */
int prober_conf_parse(struct prober_conf *conf, int argc, char *const argv[], struct ef_error *err);
void prober_conf_print_help(void);

/* Checks what an order wants against the limits and returns by `interval_ns` how
 * far its probes are apart. Returns 0, or -EACCES with `err`, which has the
 * numbers. */
int prober_limits_check(const struct prober_limits *limits, uint64_t count, int64_t *interval_ns, struct ef_error *err);

#endif
