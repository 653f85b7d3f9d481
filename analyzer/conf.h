/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ef-analyzer. */
#ifndef EF_ANALYZER_CONF_H
#define EF_ANALYZER_CONF_H

#include "analyzer/analyzer.h"
#include "base/daemon.h"
#include "net/tls.h"

struct ef_conf {
    struct ef_analyzer_config analyzer;
    const char *http; /* Where to listen, or NULL. */
    struct ef_tls_files tls;
    struct ef_daemon daemon;
};

/* Returns 0, EF_OPTIONS_HELP, EF_OPTIONS_VERSION, or a negative errno with
 * `err`. What is in `conf` is borrowed from `argv`. */
int ef_conf_parse(struct ef_conf *conf, int argc, char *const argv[], struct ef_error *err);

/* --help, to standard output. */
void ef_conf_print_help(void);

#endif
