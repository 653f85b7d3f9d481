/* SPDX-License-Identifier: Apache-2.0 */
/* What a refused question looks like; see trace_errors.h. */
#include <config.h>

#include "utilities/efctl/trace_errors.h"

#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/command.h"
#include "utilities/efctl/text.h"

/* Which of the texts the controller could not read; NULL: none, or unknown. */
static const char *
refused_text(const struct efctl_trace_query *query, const struct efctl_failure *failure, const char **what)
{
    if (!strcmp(failure->code, "bad_filter")) {
        *what = "filter";
        return query->filter;
    }
    if (!strcmp(failure->code, "bad_condition")) {
        *what = "condition";
        return query->condition;
    }
    return NULL;
}

void
efctl_trace_draw_failure(struct efctl_output *out, const struct efctl_trace_query *query,
                         const struct efctl_failure *failure)
{
    const char *what, *text = refused_text(query, failure, &what);
    int offset = failure->error.offset;
    if (!text || offset < 0 || (size_t) offset > strlen(text)) {
        efctl_output_printf(out, EFCTL_PLAIN, "efctl: %s", failure->error.text);
        efctl_output_newline(out);
        return;
    }
    char *before = strndup(text, (size_t) offset), *escaped = before ? efctl_escape(before) : NULL;
    if (!escaped) {
        abort();
    }
    efctl_output_printf(out, EFCTL_PLAIN, "efctl: wrong %s: %s", what, failure->error.text);
    efctl_output_newline(out);
    efctl_output_printf(out, EFCTL_PLAIN, "    %s", text);
    efctl_output_newline(out);
    efctl_output_printf(out, EFCTL_BAD, "    %*s^", (int) efctl_text_width(escaped), "");
    efctl_output_newline(out);
    free(escaped);
    free(before);
}

int
efctl_trace_fail(const struct efctl_trace_query *query, const struct efctl_failure *failure)
{
    struct efctl_output out;
    efctl_output_init(&out, stderr);
    efctl_trace_draw_failure(&out, query, failure);
    return EFCTL_FAILED;
}
