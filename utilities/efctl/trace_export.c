/* SPDX-License-Identifier: Apache-2.0 */
/* efctl trace --pcapng; see trace_export.h. */
#include <config.h>

#include "utilities/efctl/trace_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/trace_errors.h"
#include "utilities/efctl/trace_fetch.h"

enum { EDGE = 64 << 10 };
enum { SECTION = 0x0a0d0d0a, MIN_SECTION = 28 }; /* A block of pcapng. */

struct export
{
    const char *path;
    bool to_stdout;
    FILE *file; /* NULL: nothing has arrived yet. */
    int64_t bytes;
    struct efctl_failure *failure;
    char tail[2 * EDGE]; /* Its last bytes, where it says what it lacks. */
    size_t n_tail;
};

static int
cannot_write(struct export *export, int code)
{
    return ef_error_set(&export->failure->error, -code, "cannot write %s: %s", export->path, strerror(code));
}

static void
keep_end(struct export *export, const char *data, size_t len)
{
    for (size_t n; len; data += n, len -= n) {
        if (export->n_tail == sizeof export->tail) {
            memmove(export->tail, export->tail + EDGE, EDGE);
            export->n_tail = EDGE;
        }
        n = EF_MIN(len, sizeof export->tail - export->n_tail);
        memcpy(export->tail + export->n_tail, data, n);
        export->n_tail += n;
    }
}

/* The comment of the section that a capture ends with says it. */
static json_t *
find_in_capture(const struct export *export)
{
    static const char mark[] = "; incomplete: ";
    uint32_t len, type;
    if (export->n_tail < sizeof len) {
        return NULL;
    }
    const char *end = export->tail + export->n_tail;
    memcpy(&len, end - sizeof len, sizeof len);
    if (len < MIN_SECTION || len > export->n_tail) {
        return NULL;
    }
    memcpy(&type, end - len, sizeof type);
    const char *at = type == SECTION ? memmem(end - len, len, mark, sizeof mark - 1) : NULL;
    at = at ? at + sizeof mark - 1 : NULL;
    return at ? json_loadb(at, (size_t) (end - at), JSON_DISABLE_EOF_CHECK, NULL) : NULL;
}

/* Of NDJSON the last line says what is missing. Returns the list, or NULL. */
static json_t *
find_incomplete(const struct export *export, const char *format)
{
    if (!strcmp(format, "pcapng")) {
        return find_in_capture(export);
    }
    size_t len = export->n_tail - (export->n_tail && export->tail[export->n_tail - 1] == '\n');
    const char *end = memrchr(export->tail, '\n', len), *last = end ? end + 1 : export->tail;
    json_t *line = json_loadb(last, (size_t) (export->tail + len - last), 0, NULL);
    json_t *list = json_incref(json_object_get(line, "incomplete"));
    json_decref(line);
    return list;
}

/* Says what the file lacks, and returns the exit status. */
static int
report_incomplete(const struct export *export, const char *format)
{
    json_t *list = find_incomplete(export, format), *entry;
    size_t i;
    int status = EFCTL_OK;
    json_array_foreach(list, i, entry)
    {
        struct ef_error err;
        ef_error_set(&err, -EIO, "incomplete: %.100s: %.300s", efctl_get_string(entry, "analyzer", "an analyzer"),
                     efctl_get_string(entry, "error", "no reason given"));
        status = efctl_fail(&err);
    }
    json_decref(list);
    return status;
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
    keep_end(export, data, len);
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
    static struct export export;
    export = (struct export){.path = path, .to_stdout = !strcmp(path, "-"), .failure = &failure};
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
    return report_incomplete(&export, format);
}
