/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's commands on the control socket: status, counters, explain. */
#ifndef EF_ANALYZER_CONTROL_H
#define EF_ANALYZER_CONTROL_H

#include "analyzer/analyzer.h"
#include "base/control_socket.h"

/* `analyzer` must outlive the socket. */
void ef_control_serve(struct ef_analyzer *analyzer, struct ef_control *control);

#endif
