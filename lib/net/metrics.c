/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text; see metrics.h. */
#include <config.h>

#include "net/metrics.h"

#include <event2/buffer.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

void
ef_metrics_init(struct ef_metrics *metrics)
{
    metrics->text = evbuffer_new();
    metrics->name = "";
    if (!metrics->text) {
        abort(); /* Control path. */
    }
}

void
ef_metrics_deinit(struct ef_metrics *metrics)
{
    evbuffer_free(metrics->text);
    metrics->text = NULL;
}

/* In label values a backslash, a quote and a line feed are escaped; in help
 * texts the quote stays. */
static void
add_escaped(struct evbuffer *out, const char *text, bool quoted)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\n') {
            evbuffer_add(out, "\\n", 2);
            continue;
        }
        if (*p == '\\' || (quoted && *p == '"')) {
            evbuffer_add(out, "\\", 1);
        }
        evbuffer_add(out, p, 1);
    }
}

void
ef_metrics_family(struct ef_metrics *metrics, const char *name, const char *type, const char *help)
{
    metrics->name = name;
    evbuffer_add_printf(metrics->text, "# HELP %s ", name);
    add_escaped(metrics->text, help, false);
    evbuffer_add_printf(metrics->text, "\n# TYPE %s %s\n", name, type);
}

static void
add_number(struct evbuffer *out, double value)
{
    if (isnan(value)) {
        evbuffer_add_printf(out, " NaN\n");
    } else if (isinf(value)) {
        evbuffer_add_printf(out, value > 0 ? " +Inf\n" : " -Inf\n");
    } else {
        /* Counters exactly, as far as a double is exact; others as people read. */
        bool whole = value > -9e15 && value < 9e15 && (double) (int64_t) value == value;
        evbuffer_add_printf(out, whole ? " %.0f\n" : " %.9g\n", value);
    }
}

void
ef_metrics_value(struct ef_metrics *metrics, double value, ...)
{
    evbuffer_add_printf(metrics->text, "%s", metrics->name);
    va_list args;
    va_start(args, value);
    const char *separator = "{", *label;
    for (label = va_arg(args, const char *); label; label = va_arg(args, const char *)) {
        evbuffer_add_printf(metrics->text, "%s%s=\"", separator, label);
        add_escaped(metrics->text, va_arg(args, const char *), true);
        evbuffer_add(metrics->text, "\"", 1);
        separator = ",";
    }
    va_end(args);
    if (*separator == ',') {
        evbuffer_add(metrics->text, "}", 1);
    }
    add_number(metrics->text, value);
}

void
ef_metrics_single(struct ef_metrics *metrics, const char *name, const char *type, const char *help, double value)
{
    ef_metrics_family(metrics, name, type, help);
    ef_metrics_value(metrics, value, NULL);
}

void
ef_metrics_reply(struct ef_metrics *metrics, struct ef_http_request *req)
{
    ef_http_reply(req, 200, "text/plain; version=0.0.4; charset=utf-8", metrics->text);
    ef_metrics_deinit(metrics);
}
