/* SPDX-License-Identifier: Apache-2.0 */
/* efctl trace --pcapng; see trace_export.h. */
#include <config.h>

#include "utilities/efctl/trace_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "utilities/efctl/text.h"
#include "utilities/efctl/trace_errors.h"
#include "utilities/efctl/trace_fetch.h"

struct export
{
    const char *path;
    bool to_stdout;
    FILE *file; /* NULL: nothing has arrived yet. */
    int64_t bytes;
    struct efctl_failure *failure;
};

static int
cannot_write(struct export *export, int code)
{
    return ef_error_set(&export->failure->error, -code, "cannot write %s: %s", export->path, strerror(code));
}

static int
on_data(void *ctx, const char *data, size_t len)
{
    struct export *export = ctx;
    if (!export->file) {
        export->file = export->to_stdout ? stdout : fopen(export->path, "we");
        if (!export->file) {
            return cannot_write(export, errno);
        }
    }
    export->bytes += (int64_t) len;
    return fwrite(data, 1, len, export->file) == len ? 0 : cannot_write(export, errno ? errno : EIO);
}

/* Closes the file; what is not whole is removed. */
static int
finish(struct export *export, int rc)
{
    if (!export->file || export->to_stdout) {
        return rc;
    }
    if (fclose(export->file) && !rc) {
        rc = cannot_write(export, errno);
    }
    if (rc) {
        unlink(export->path);
    }
    return rc;
}

int
efctl_trace_export(struct efctl_context *context, const struct efctl_trace_query *query, const char *path,
                   const char *format)
{
    struct efctl_failure failure;
    struct export export = {.path = path, .to_stdout = !strcmp(path, "-"), .failure = &failure};
    if (export.to_stdout && !strcmp(format, "pcapng") && isatty(STDOUT_FILENO)) {
        struct ef_error err;
        ef_error_set(&err, -EINVAL, "a capture is not for a terminal; write it to a file, or pipe it into tshark -r -");
        return efctl_usage_error(&efctl_trace, &err);
    }
    char *request = efctl_trace_path(query, format);
    const struct efctl_client_sink sink = {.data = on_data, .ctx = &export};
    int rc = finish(&export, efctl_client_get(&context->client, request, &sink, &failure));
    free(request);
    if (rc) {
        return rc == -EPIPE ? EFCTL_OK : efctl_trace_fail(query, &failure);
    }
    if (!export.to_stdout) {
        char size[EFCTL_TEXT_SIZE];
        efctl_output_printf(&context->out, EFCTL_PLAIN, "%s: %s", path, efctl_format_bytes(export.bytes, size));
        if (query->limit) {
            efctl_output_printf(&context->out, EFCTL_PLAIN, ", the newest %llu traces at most (--limit)",
                                (unsigned long long) query->limit);
        }
        efctl_output_newline(&context->out);
    }
    return EFCTL_OK;
}
