/* SPDX-License-Identifier: Apache-2.0 */
/* efctl trace --pcapng: the copies of the traces as a capture file. */
#ifndef EFCTL_TRACE_EXPORT_H
#define EFCTL_TRACE_EXPORT_H

#include "utilities/efctl/command.h"
#include "utilities/efctl/trace_view.h"

/* Writes the answer to `path`, "-" for the standard output, which must not be
 * a terminal. A file that exists is replaced only once data arrive; one that
 * is not whole is removed. Returns an exit status. */
int efctl_trace_export(struct efctl_context *context, const struct efctl_trace_query *query, const char *path);

#endif
