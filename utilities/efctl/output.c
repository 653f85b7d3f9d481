/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's answer goes; see output.h. */
#include <config.h>

#include "utilities/efctl/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "utilities/efctl/text.h"

/* 15 digits print what was read (12.345, not 12.345000000000001). */
enum { JSON_FLAGS = JSON_ENSURE_ASCII | JSON_ENCODE_ANY | EF_JSON_REALS };

static bool
wants_colour(FILE *file)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(file)) && !(no_colour && *no_colour) && term && strcmp(term, "dumb");
}

void
efctl_output_init(struct efctl_output *out, FILE *file)
{
    *out = (struct efctl_output){.file = file, .colour = wants_colour(file)};
}

void
efctl_output_text(struct efctl_output *out, enum efctl_style style, const char *text)
{
    static const char *const sequences[] = {
        [EFCTL_PLAIN] = "",        [EFCTL_BOLD] = "\033[1m",  [EFCTL_DIM] = "\033[2m",
        [EFCTL_GOOD] = "\033[32m", [EFCTL_WARN] = "\033[33m", [EFCTL_BAD] = "\033[1;31m",
    };
    char *escaped = efctl_escape(text);
    if (out->colour && style != EFCTL_PLAIN && *escaped) {
        fprintf(out->file, "%s%s\033[0m", sequences[style], escaped);
    } else {
        fputs(escaped, out->file);
    }
    free(escaped);
}

void
efctl_output_printf(struct efctl_output *out, enum efctl_style style, const char *fmt, ...)
{
    char *text;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) {
        abort();
    }
    va_end(args);
    efctl_output_text(out, style, text);
    free(text);
}

void
efctl_output_newline(struct efctl_output *out)
{
    fputc('\n', out->file);
}

void
efctl_output_json(struct efctl_output *out, const json_t *document)
{
    json_dumpf(document, out->file, JSON_FLAGS | JSON_INDENT(2));
    fputc('\n', out->file);
}

void
efctl_output_json_line(struct efctl_output *out, const json_t *document)
{
    json_dumpf(document, out->file, JSON_FLAGS | JSON_COMPACT);
    fputc('\n', out->file);
}

void
efctl_output_document(struct efctl_output *out, const json_t *document, efctl_view *view, const void *ctx)
{
    if (out->json) {
        efctl_output_json(out, document);
    } else {
        view(out, document, ctx);
    }
}

/* A pipe whose reader has gone reports an error. */
int
efctl_output_pause(struct efctl_output *out, int ms)
{
    struct pollfd reader = {.fd = fileno(out->file)};
    return poll(&reader, 1, ms) == 1 && (reader.revents & POLLERR) ? -EPIPE : 0;
}

int
efctl_output_flush(struct efctl_output *out, struct ef_error *err)
{
    errno = 0;
    if (!fflush(out->file) && !ferror(out->file)) {
        return 0;
    }
    /* The write that failed may lie further back, its errno lost: ask the pipe. */
    int code = errno ? errno : EIO;
    bool gone = code == EPIPE || efctl_output_pause(out, 0);
    return gone ? -EPIPE : ef_error_set(err, -code, "cannot write the answer: %s", strerror(code));
}
