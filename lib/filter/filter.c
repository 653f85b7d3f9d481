/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of compiling a filter in a row, and how its errors are shown; see
 * filter.h. */
#include <config.h>

#include "filter/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/program.h"

static int
build(struct ef_filter *filter, const struct ef_node *root)
{
    filter->text = ef_filter_normalise(root);
    return filter->text ? ef_program_compile(filter, root) : -ENOMEM;
}

int
ef_filter_compile(const char *text, enum ef_filter_kind kind, struct ef_filter **out, struct ef_error *err)
{
    return ef_filter_compile_named(text, kind, NULL, out, err);
}

int
ef_filter_compile_named(const char *text, enum ef_filter_kind kind, const struct ef_filter_names *names,
                        struct ef_filter **out, struct ef_error *err)
{
    struct ef_node *root = NULL;
    struct ef_filter *filter = NULL;
    int rc = ef_filter_parse(text, &root, err);
    if (!rc && root) {
        rc = ef_filter_typecheck(root, &(struct ef_field_scope){&ef_packet_fields, kind, names}, err);
    }
    if (!rc) {
        filter = calloc(1, sizeof *filter);
        rc = filter ? build(filter, root) : -ENOMEM;
    }
    ef_node_destroy(root);
    if (rc == -ENOMEM) {
        ef_error_set(err, rc, "no memory for the filter");
    }
    if (rc) {
        ef_filter_destroy(filter);
        filter = NULL;
    }
    *out = filter;
    return rc;
}

void
ef_filter_destroy(struct ef_filter *filter)
{
    if (filter) {
        free(filter->text);
        free(filter->insns);
        free(filter->ranges);
        free(filter);
    }
}

const char *
ef_filter_text(const struct ef_filter *filter)
{
    return filter->text;
}

char *
ef_filter_error_format(const char *text, const struct ef_error *err, char *buf, size_t size)
{
    if (err->offset < 0) {
        snprintf(buf, size, "%s", err->text);
        return buf;
    }
    size_t len = strlen(text), offset = EF_MIN((size_t) err->offset, len);
    /* A long text is shown from a little before the place to a little after. */
    enum { BEFORE = 60, AFTER = 40 };
    size_t from = offset > BEFORE ? offset - BEFORE : 0, to = EF_MIN(offset + AFTER, len);
    char line[BEFORE + AFTER + 1];
    for (size_t i = from; i < to; i++) {
        line[i - from] = (unsigned char) text[i] < ' ' ? ' ' : text[i]; /* One column each, on one line. */
    }
    snprintf(buf, size, "%.*s\n%*s^\n%s", (int) (to - from), line, (int) (offset - from), "", err->text);
    return buf;
}
