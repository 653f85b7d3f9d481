/* SPDX-License-Identifier: Apache-2.0 */
/* What a refused question looks like; see trace_errors.h. */
#include <config.h>

#include "utilities/efctl/trace_errors.h"

#include <string.h>

#include "filter/filter.h"
#include "utilities/efctl/command.h"

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
    if (!text || failure->error.offset < 0) {
        efctl_output_printf(out, EFCTL_PLAIN, "efctl: %s", failure->error.text);
        efctl_output_newline(out);
        return;
    }
    /* The text, a caret and the message, a line each. */
    char lines[1024], *save = NULL;
    ef_filter_error_format(text, &failure->error, lines, sizeof lines);
    efctl_output_printf(out, EFCTL_PLAIN, "efctl: the %s is wrong:", what);
    efctl_output_newline(out);
    for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        efctl_output_printf(out, EFCTL_PLAIN, "    %s", line);
        efctl_output_newline(out);
    }
}

int
efctl_trace_fail(const struct efctl_trace_query *query, const struct efctl_failure *failure)
{
    struct efctl_output out;
    efctl_output_init(&out, stderr);
    efctl_trace_draw_failure(&out, query, failure);
    return EFCTL_FAILED;
}
