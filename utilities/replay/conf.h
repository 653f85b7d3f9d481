/* SPDX-License-Identifier: Apache-2.0 */
/* ef-replay's command line. */
#ifndef REPLAY_CONF_H
#define REPLAY_CONF_H

#include "utilities/replay/workload.h"
#include "base/error.h"
#include "base/time.h"

struct replay_conf {
    struct replay_workload workload;
    const char *sink, *truth, *capture; /* Borrowed from the command line. */
    bool every_packet, show_progress;
    bool has_start, has_workload;
    struct ef_time start; /* Of the workload. */
    double speed;         /* See play.h. */
    double rate;          /* Copies a second in the workload's time. */
};

/* Returns 0, EF_OPTIONS_HELP, EF_OPTIONS_VERSION, or a negative errno with
 * `err`. */
int replay_conf_parse(struct replay_conf *conf, int argc, char *const argv[], struct ef_error *err);
void replay_conf_print_help(void);

#endif
