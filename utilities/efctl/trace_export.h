/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as a file: efctl trace --pcapng, efctl store export. */
#ifndef EFCTL_TRACE_EXPORT_H
#define EFCTL_TRACE_EXPORT_H

#include "utilities/efctl/command.h"
#include "utilities/efctl/trace_view.h"

/* Writes the answer in `format`, pcapng or ndjson, to `path`, "-" for the standard output, which must not be
 * a terminal. A file that exists is replaced only once data arrive; one that
 * is not whole is removed; what analyzers could not answer is said on stderr, and
 * is a failure. Returns an exit status. */
int efctl_trace_export(struct efctl_context *context, const struct efctl_trace_query *query, const char *path,
                       const char *format);

#endif
