/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces are asked for; see trace_options.h. */
#include <config.h>

#include "utilities/efctl/trace_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_number.h"
#include "base/time.h"

static int
set_condition(void *ctx, const char *value, struct ef_error *err)
{
    ((struct efctl_trace_options *) ctx)->query.condition = value;
    return 0;
}

/* The controller reads the time by its own clock; here only its form is checked. */
static int
set_start(void *ctx, const char *value, struct ef_error *err)
{
    struct ef_time time;
    ((struct efctl_trace_options *) ctx)->query.start = value;
    return ef_time_parse(value, ef_time_real(), &time, err);
}

static int
set_end(void *ctx, const char *value, struct ef_error *err)
{
    struct ef_time time;
    ((struct efctl_trace_options *) ctx)->query.end = value;
    return ef_time_parse(value, ef_time_real(), &time, err);
}

static int
set_last(void *ctx, const char *value, struct ef_error *err)
{
    struct efctl_trace_options *options = ctx;
    int64_t ns;
    int rc = ef_duration_parse(value, &ns, err);
    if (!rc && (ns <= 0 || strlen(value) + 2 > sizeof options->start)) {
        rc = ef_error_set(err, -EINVAL, "--last %.40s: the duration must be positive", value);
    }
    options->last = value;
    return rc;
}

static int
set_limit(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--limit", 0, UINT32_MAX, &((struct efctl_trace_options *) ctx)->query.limit, err);
}

static int
set_all(void *ctx, const char *value, struct ef_error *err)
{
    ((struct efctl_trace_options *) ctx)->query.limit = 0;
    return 0;
}

const struct ef_option efctl_trace_option_table[] = {
    {"condition", 0, "COND", "only traces for which COND holds, such as\n'trace.loop' or 'trace.hops > 5'",
     set_condition},
    {"last", 0, "DURATION", "only traces of the last 30s, 5m, 2h ...", set_last},
    {"start", 0, "TIME", "only traces that start at TIME or later\n(2026-11-21T02:30:00Z, or an age: -5m)", set_start},
    {"end", 0, "TIME", "only traces that start at TIME or earlier", set_end},
    {"limit", 'n', "N", "the newest N traces, 0 for all", set_limit},
    {"all", 0, NULL, "all of them, however many: --limit 0", set_all},
    {0},
};

int
efctl_trace_options_finish(struct efctl_trace_options *options, struct ef_error *err)
{
    if (options->last && (options->query.start || options->query.end)) {
        return ef_error_set(err, -EINVAL, "--last already says the time: leave out --start and --end");
    }
    if (options->last) {
        snprintf(options->start, sizeof options->start, "-%s", options->last);
        options->query.start = options->start;
    }
    return 0;
}

char *
efctl_join_words(int n, char *const words[])
{
    size_t len = 0;
    for (int i = 0; i < n; i++) {
        len += strlen(words[i]) + 1;
    }
    char *text = n ? calloc(1, len + 1) : NULL;
    for (int i = 0; i < n && text; i++) {
        strcat(i ? strcat(text, " ") : text, words[i]);
    }
    return text;
}
