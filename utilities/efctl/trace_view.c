/* SPDX-License-Identifier: Apache-2.0 */
/* Draws traces for people; see trace_view.h. */
#include <config.h>

#include "utilities/efctl/trace_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/neighbours.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/trace_details.h"

/* When the packet was at its first switch, by that switch's clock. Where copies
 * carry no time, when the first of them reached the analyzer: its "start". */
static const char *
time_of(const json_t *trace)
{
    const char *start = efctl_get_string(trace, "start", "(no time)");
    const json_t *first = json_array_get(efctl_get_array(trace, "hops"), 0);
    bool by_switch = !strcmp(efctl_get_string(trace, "time_source", ""), "switch");
    return by_switch ? efctl_get_string(first, "switch_time", start) : start;
}

static void
add_time_and_summary(struct efctl_table *table, const json_t *trace, bool details)
{
    char when[EFCTL_TEXT_SIZE];
    const json_t *packet = efctl_get_object(trace, "packet");
    efctl_format_time(time_of(trace), details ? 9 : 6, when);
    efctl_table_cell(table, EFCTL_DIM, "%s  ", when);
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(packet, "summary", "(packet not known)"));
    efctl_table_end_line(table);
}

static void
add_latency(struct efctl_table *table, const json_t *trace)
{
    double latency_us;
    char buf[EFCTL_TEXT_SIZE];
    if (efctl_get_number(trace, "latency_us", &latency_us)) {
        efctl_table_append(table, EFCTL_PLAIN, ", %s", efctl_format_duration_us(latency_us, buf));
        if (!strcmp(efctl_get_string(trace, "time_source", ""), "analyzer")) {
            efctl_table_append(table, EFCTL_DIM, " by the analyzer's clock");
        }
    }
}

/* "DROPPED at spine1: meter, " */
static void
add_drop(struct efctl_table *table, const char *where, const char *reason)
{
    efctl_table_append(table, EFCTL_BAD, "DROPPED at %s: %s", where, reason);
    efctl_table_append(table, EFCTL_PLAIN, ", ");
}

/* "DROPPED after spine1, expected at leaf4, " */
static void
add_fate(struct efctl_table *table, const json_t *trace)
{
    const char *fate = efctl_get_string(trace, "fate", "");
    bool dropped = !strcmp(fate, "dropped"), unsure = !strcmp(fate, "unsure");
    const json_t *hops = json_object_get(trace, "hops"), *last = json_array_get(hops, json_array_size(hops) - 1);
    const char *after = efctl_get_string(last, "name", efctl_get_string(last, "switch", "?"));
    const char *reason = efctl_get_string(last, "drop_reason", NULL);
    if (reason) {
        add_drop(table, after, reason);
        return;
    }
    if (!strcmp(fate, "expired")) {
        efctl_table_append(table, EFCTL_WARN, "TTL expired, ");
    }
    if (!dropped && !unsure) {
        return;
    }
    const char *expected = efctl_get_string(trace, "expected_name", efctl_get_string(trace, "expected", "?"));
    efctl_table_append(table, dropped ? EFCTL_BAD : EFCTL_WARN, "%s after %s",
                       dropped ? "DROPPED" : "dropped or a copy lost", after);
    efctl_table_append(table, EFCTL_PLAIN, ", expected at %s, ", expected);
}

static void
add_mux(struct efctl_table *table, const json_t *trace)
{
    double latency_us;
    char buf[EFCTL_TEXT_SIZE];
    if (efctl_get_number(efctl_get_object(trace, "mux"), "latency_us", &latency_us)) {
        efctl_table_append(table, EFCTL_PLAIN, ", into a tunnel in %s", efctl_format_duration_us(latency_us, buf));
    }
}

/* "LOOP, 12 hops, 120.4 us, debug, 2 duplicate copies, id 00f3..." */
static void
add_verdict(struct efctl_table *table, const json_t *trace)
{
    int64_t n_hops = efctl_get_int(trace, "n_hops", (int64_t) json_array_size(json_object_get(trace, "hops")));
    int64_t n_duplicates = efctl_get_int(trace, "n_duplicates", 0);
    bool loop = efctl_get_bool(trace, "loop"), full = efctl_get_bool(trace, "hops_full");
    efctl_table_cell(table, EFCTL_BAD, "%s", loop ? "LOOP" : "");
    efctl_table_append(table, EFCTL_PLAIN, "%s", loop ? ", " : "");
    if (efctl_get_bool(trace, "corrupt")) {
        efctl_table_append(table, EFCTL_BAD, "CORRUPTED");
        efctl_table_append(table, EFCTL_PLAIN, ", ");
    }
    add_fate(table, trace);
    efctl_table_append(table, EFCTL_PLAIN, "%s%" PRId64 " hop%s", full ? "more than " : "", n_hops,
                       n_hops == 1 ? "" : "s");
    if (n_hops > 1) {
        add_latency(table, trace);
    }
    add_mux(table, trace);
    if (efctl_get_bool(trace, "debug")) {
        efctl_table_append(table, EFCTL_PLAIN, ", debug");
    }
    if (n_duplicates > 0) {
        efctl_table_append(table, EFCTL_PLAIN, ", %" PRId64 " duplicate cop%s", n_duplicates,
                           n_duplicates == 1 ? "y" : "ies");
    }
    efctl_table_append(table, EFCTL_DIM, ", id %s", efctl_get_string(trace, "id", "?"));
    if (efctl_get_bool(trace, "copies_lost")) {
        efctl_table_append(table, EFCTL_WARN, ", copies lost: a hop may be missing");
    }
    efctl_table_end_line(table);
}

static void
add_switch(struct efctl_table *table, const json_t *hop)
{
    const char *address = efctl_get_string(hop, "switch", "?"), *name = efctl_get_string(hop, "name", NULL);
    if (name && strcmp(name, address)) {
        efctl_table_cell(table, EFCTL_BOLD, "%s", name);
        efctl_table_append(table, EFCTL_PLAIN, " (%s)", address);
    } else {
        efctl_table_cell(table, EFCTL_BOLD, "%s", address);
    }
}

static void
add_port(struct efctl_table *table, const json_t *hop, const struct efctl_neighbours *neighbours)
{
    int64_t port = efctl_get_int(hop, "port", -1);
    if (port < 0) {
        efctl_table_cell(table, EFCTL_DIM, "-");
        return;
    }
    bool egress = !strcmp(efctl_get_string(hop, "direction", ""), "egress");
    const char *peer = efctl_neighbour(neighbours, efctl_get_string(hop, "switch", ""), port);
    efctl_table_cell(table, EFCTL_PLAIN, "port %" PRId64 "%s%s", port, peer ? egress ? " to " : " from " : "",
                     peer     ? peer
                     : egress ? " out"
                              : "");
}

static void
add_time_since_first(struct efctl_table *table, const json_t *hop, bool first)
{
    double us;
    char buf[EFCTL_TEXT_SIZE];
    if (efctl_get_number(hop, "since_first_us", &us)) {
        efctl_format_duration_us(us, buf);
        efctl_table_cell_right(table, EFCTL_PLAIN, "%s%s", first || us < 0 ? "" : "+", buf);
    } else {
        efctl_table_cell_right(table, EFCTL_DIM, "-");
    }
}

static bool
same_tunnel_state(const json_t *a, const json_t *b)
{
    return efctl_get_bool(a, "encapsulated") == efctl_get_bool(b, "encapsulated");
}

static bool
is_dropped(const json_t *hop)
{
    return efctl_get_string(hop, "drop_reason", NULL) != NULL;
}

/* Index of the last hop before at the same switch with a higher TTL (see
 * ef_trace_finish()), or -1. */
static int
seen_before(const json_t *hops, size_t index)
{
    const json_t *hop = json_array_get(hops, index);
    for (size_t i = index; i-- > 0;) {
        const json_t *other = json_array_get(hops, i);
        if (!strcmp(efctl_get_string(other, "switch", "?"), efctl_get_string(hop, "switch", "??")) &&
            !strcmp(efctl_get_string(other, "direction", ""), efctl_get_string(hop, "direction", "")) &&
            same_tunnel_state(hop, other) && is_dropped(hop) == is_dropped(other) &&
            efctl_get_int(other, "ttl", -1) > efctl_get_int(hop, "ttl", -1)) {
            return (int) i;
        }
    }
    return -1;
}

/* Switches that the packet crossed since the hop before and that sent no
 * copy, as the TTL tells. */
static int64_t
n_not_seen(const json_t *hops, size_t index)
{
    const json_t *hop = json_array_get(hops, index), *before = index ? json_array_get(hops, index - 1) : NULL;
    int64_t ttl = efctl_get_int(hop, "ttl", -1), ttl_before = efctl_get_int(before, "ttl", -1);
    bool comparable = ttl >= 0 && ttl_before >= 0 && same_tunnel_state(hop, before);
    return comparable && ttl_before - ttl > 1 ? ttl_before - ttl - 1 : 0;
}

static void
add_mark(struct efctl_table *table, enum efctl_style style, bool *any, const char *text)
{
    efctl_table_append(table, EFCTL_PLAIN, "%s", *any ? ", " : "");
    efctl_table_append(table, style, "%s", text);
    *any = true;
}

static void
add_marks(struct efctl_table *table, const json_t *hops, size_t index)
{
    const json_t *hop = json_array_get(hops, index);
    int64_t dscp = efctl_get_int(hop, "dscp", 0), missing = n_not_seen(hops, index);
    int before = seen_before(hops, index);
    const char *reason = efctl_get_string(hop, "drop_reason", NULL);
    bool any = false;
    char text[64];
    efctl_table_cell(table, EFCTL_PLAIN, "%s", "");
    if (reason) {
        snprintf(text, sizeof text, "DROPPED: %s", reason);
        add_mark(table, EFCTL_BAD, &any, text);
    }
    if (efctl_get_bool(hop, "corrupt")) {
        add_mark(table, EFCTL_BAD, &any, index ? "CORRUPTED since the hop before" : "CORRUPTED before");
    }
    if (before >= 0) {
        snprintf(text, sizeof text, "same switch as hop %d", before + 1);
        add_mark(table, EFCTL_BAD, &any, text);
    }
    if (missing) {
        snprintf(text, sizeof text, "%" PRId64 " hop%s before not seen", missing, missing == 1 ? "" : "s");
        add_mark(table, EFCTL_WARN, &any, text);
    }
    if (dscp) {
        snprintf(text, sizeof text, "dscp %" PRId64, dscp);
        add_mark(table, EFCTL_PLAIN, &any, text);
    }
    if (efctl_get_int(hop, "ecn", 0) == 3) {
        add_mark(table, EFCTL_WARN, &any, "ecn CE");
    }
    if (efctl_get_bool(hop, "encapsulated")) {
        snprintf(text, sizeof text, "encapsulated, outer ttl %" PRId64, efctl_get_int(hop, "outer_ttl", 0));
        add_mark(table, EFCTL_PLAIN, &any, efctl_has_number(hop, "outer_ttl") ? text : "encapsulated");
    }
    if (efctl_get_bool(hop, "truncated")) {
        add_mark(table, EFCTL_PLAIN, &any, "truncated");
    }
}

static void
add_hop(struct efctl_table *table, const json_t *hops, size_t index, const struct efctl_neighbours *neighbours)
{
    const json_t *hop = json_array_get(hops, index);
    efctl_table_cell_right(table, EFCTL_DIM, "%zu", index + 1);
    add_switch(table, hop);
    add_port(table, hop, neighbours);
    if (efctl_has_number(hop, "ttl")) {
        efctl_table_cell(table, EFCTL_PLAIN, "ttl %" PRId64, efctl_get_int(hop, "ttl", 0));
    } else {
        efctl_table_cell(table, EFCTL_DIM, "-");
    }
    add_time_since_first(table, hop, !index);
    add_marks(table, hops, index);
    efctl_table_end_row(table);
}

void
efctl_trace_blocks(struct efctl_output *out, const json_t *traces, const struct efctl_trace_query *query)
{
    struct efctl_neighbours *neighbours = efctl_neighbours_create(query->topology);
    struct efctl_table *table = efctl_table_create(2);
    size_t i, h;
    const json_t *trace, *hop;
    json_array_foreach(traces, i, trace)
    {
        const json_t *hops = efctl_get_array(trace, "hops");
        add_time_and_summary(table, trace, query->details);
        add_verdict(table, trace);
        json_array_foreach(hops, h, hop)
        {
            add_hop(table, hops, h, neighbours);
        }
        if (query->details) {
            efctl_trace_add_details(table, trace);
        }
        efctl_table_end_line(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
    efctl_neighbours_destroy(neighbours);
}

void
efctl_trace_incomplete(struct efctl_output *out, const json_t *incomplete)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(incomplete, i, entry)
    {
        efctl_output_printf(out, EFCTL_WARN, "Incomplete: %s did not answer: %s",
                            efctl_get_string(entry, "analyzer", "an analyzer"),
                            efctl_get_string(entry, "error", "no reason given"));
        efctl_output_newline(out);
    }
}

/* The documents as they are: they are for people who want to know why an answer
 * took long, and their names may change. */
static void
view_explanations(struct efctl_output *out, const json_t *explanations)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(explanations, i, entry)
    {
        char *text = json_dumps(json_object_get(entry, "explain"), JSON_INDENT(2));
        efctl_output_printf(out, EFCTL_BOLD, "How %s found it", efctl_get_string(entry, "analyzer", "an analyzer"));
        efctl_output_newline(out);
        efctl_output_text(out, EFCTL_PLAIN, text ? text : "{}");
        efctl_output_newline(out);
        free(text);
    }
}

static void
line(struct efctl_output *out, const char *fmt, const char *text)
{
    if (text) {
        efctl_output_printf(out, EFCTL_PLAIN, fmt, text);
        efctl_output_newline(out);
    }
}

/* Why the answer may be empty, most likely reason last. */
static void
view_nothing(struct efctl_output *out, const struct efctl_trace_query *query)
{
    const json_t *switches = efctl_get_object(query->status, "switches");
    int64_t total = efctl_get_int(switches, "total", -1), configured = efctl_get_int(switches, "configured", -1);
    efctl_output_text(out, EFCTL_BOLD, "No trace matches.");
    efctl_output_newline(out);
    line(out, "  filter     %s", query->filter);
    line(out, "  condition  %s", query->condition);
    line(out, "  start      %s", query->start);
    line(out, "  end        %s", query->end);
    if (total >= 0 && configured < total) {
        efctl_output_printf(out, EFCTL_WARN,
                            "Only %" PRId64 " of %" PRId64
                            " switches are configured to send copies: see efctl switches",
                            configured, total);
        efctl_output_newline(out);
    } else if (total < 0) {
        line(out, "%s", "Are the switches configured? See efctl switches");
    } else if (query->filter || query->condition || query->start || query->end) {
        line(out, "%s", "Traces appear one second after their last copy. Is there any: efctl trace");
    } else {
        line(out, "%s", "Traces appear one second after their last copy. Do copies arrive: efctl status");
    }
}

/* How the page of those before these is asked for. */
static void
view_next(struct efctl_output *out, const json_t *document)
{
    const char *next = efctl_get_string(document, "next", NULL);
    if (next) {
        efctl_output_printf(out, EFCTL_DIM, "Those before them: the same with --cursor %s", next);
        efctl_output_newline(out);
    }
}

void
efctl_trace_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    const struct efctl_trace_query *query = ctx;
    const json_t *traces = efctl_get_array(document, "traces");
    size_t n = json_array_size(traces);
    if (n) {
        efctl_trace_blocks(out, traces, query);
    } else {
        view_nothing(out, query);
    }
    if (n && efctl_get_bool(document, "more")) {
        efctl_output_printf(out, EFCTL_DIM, "These are the newest %zu; for more --limit %zu, for all --all", n, 10 * n);
        efctl_output_newline(out);
        view_next(out, document);
    }
    efctl_trace_incomplete(out, efctl_get_array(document, "incomplete"));
    view_explanations(out, efctl_get_array(document, "explanations"));
}
