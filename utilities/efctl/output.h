/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's answer goes: one path for text and for JSON.
 *
 * A command fetches a document and hands it over together with its view; the
 * output decides whether the view draws it or the document is written as JSON:
 *
 *     static void view(struct efctl_output *out, const json_t *document, const void *ctx) { ... }
 *     rc = efctl_output_document(out, document, view, NULL);
 *
 * Everything that is written here passes through efctl_escape(), so that no
 * string from outside can steer the terminal; colour is added around it. */
#ifndef EFCTL_OUTPUT_H
#define EFCTL_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/util.h"

enum efctl_style {
    EFCTL_PLAIN,
    EFCTL_BOLD,
    EFCTL_DIM,
    EFCTL_GOOD, /* green */
    EFCTL_WARN, /* yellow */
    EFCTL_BAD,  /* red, bold */
};

struct efctl_output {
    FILE *file;
    bool json;
    bool colour;
};

/* Text to `file`, coloured if that is a terminal, TERM is not "dumb" and
 * NO_COLOR (https://no-color.org) is not set. */
void efctl_output_init(struct efctl_output *out, FILE *file);

/* Writes one piece of escaped text. */
void efctl_output_text(struct efctl_output *out, enum efctl_style style, const char *text);

/* The same from a format. */
void efctl_output_printf(struct efctl_output *out, enum efctl_style style, const char *fmt, ...) EF_PRINTF(3, 4);

/* Ends the line. */
void efctl_output_newline(struct efctl_output *out);

/* Writes `document` as indented JSON, or as one line. Both are plain ASCII, so
 * they are safe on a terminal as well. */
void efctl_output_json(struct efctl_output *out, const json_t *document);
void efctl_output_json_line(struct efctl_output *out, const json_t *document);

typedef void efctl_view(struct efctl_output *out, const json_t *document, const void *ctx);

/* JSON if asked for, else `view` with `ctx`. */
void efctl_output_document(struct efctl_output *out, const json_t *document, efctl_view *view, const void *ctx);

/* Flushes. Returns 0, -EPIPE if the reader has gone (nothing to tell anyone),
 * or another negative errno with `err`. */
int efctl_output_flush(struct efctl_output *out, struct ef_error *err);

/* Waits, and returns before the time is over if the reader has gone: then
 * -EPIPE, else 0. */
int efctl_output_pause(struct efctl_output *out, int ms);

#endif
