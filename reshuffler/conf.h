/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ef-reshuffler. */
#ifndef RESHUFFLER_CONF_H
#define RESHUFFLER_CONF_H

#include "base/daemon.h"
#include "net/tls.h"
#include "reshuffler/plan.h"

enum { EF_CONF_MAX_SOURCES = 16 };

struct ef_conf {
    const char *name; /* In the status; all texts are borrowed from argv. */
    unsigned n_sources;
    const char *sources[EF_CONF_MAX_SOURCES];
    const char *sink;
    const char *http; /* NULL: no HTTP. */
    bool answers;     /* ARP, ND and ping for the VIPs. */
    uint64_t ring_bytes;
    struct ef_plan plan;
    struct ef_tls_files tls;
    struct ef_daemon daemon;
};

/* Fills in `conf` from the command line. Returns 0 (release with
 * ef_conf_deinit()), EF_OPTIONS_HELP or EF_OPTIONS_VERSION, or a negative errno
 * with `err`: wrong usage. */
int ef_conf_parse(struct ef_conf *conf, int argc, char *const argv[], struct ef_error *err);
void ef_conf_deinit(struct ef_conf *conf);

/* Writes --help to standard output. */
void ef_conf_print_help(void);

#endif
