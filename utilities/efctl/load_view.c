/* SPDX-License-Identifier: Apache-2.0 */
/* What efctl load draws; see load.c. */
#include <config.h>

#include <stdlib.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

static void
add_count(struct efctl_table *table, const json_t *entry, const char *key)
{
    char buf[EFCTL_TEXT_SIZE];
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_count(efctl_get_int(entry, key, 0), buf));
}

/* Packets, bytes, and packets a second of the span. */
static void
add_load(struct efctl_table *table, const json_t *entry, double span_s)
{
    char buf[EFCTL_TEXT_SIZE];
    double packets = (double) efctl_get_int(entry, "packets", 0);
    add_count(table, entry, "packets");
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", efctl_format_bytes(efctl_get_int(entry, "bytes", 0), buf));
    efctl_table_cell_right(table, EFCTL_PLAIN, "%.1f", span_s > 0 ? packets / span_s : 0);
}

/* The name that the topology has, or the address. */
static void
add_node(struct efctl_table *table, const json_t *entry, const char *name_key, const char *address_key)
{
    efctl_table_cell(table, EFCTL_BOLD, "%s",
                     efctl_get_string(entry, name_key, efctl_get_string(entry, address_key, "?")));
}

static void
print_and_destroy(struct efctl_table *table, struct efctl_output *out)
{
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static void
view_switches(struct efctl_output *out, const json_t *list, double span_s)
{
    static const char *const head[] = {"SWITCH", ">COPIES", ">PACKETS IN", ">BYTES", ">PER SECOND", NULL};
    struct efctl_table *table = efctl_table_create(0);
    size_t i;
    const json_t *entry;
    efctl_table_head(table, head);
    json_array_foreach(list, i, entry)
    {
        add_node(table, entry, "name", "switch");
        add_count(table, entry, "copies");
        add_load(table, entry, span_s);
        efctl_table_end_row(table);
    }
    print_and_destroy(table, out);
}

static void
add_port(struct efctl_table *table, const json_t *entry, double span_s)
{
    char *port = efctl_get_text(entry, "port");
    add_node(table, entry, "name", "switch");
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", *port ? port : "-");
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "peer", "-"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "direction", "-"));
    add_load(table, entry, span_s);
    efctl_table_end_row(table);
    free(port);
}

static void
view_ports(struct efctl_output *out, const json_t *list, double span_s)
{
    static const char *const head[] = {"SWITCH", ">PORT", "TO", "DIRECTION", ">PACKETS", ">BYTES", ">PER SECOND", NULL};
    struct efctl_table *table = efctl_table_create(0);
    size_t i;
    const json_t *entry;
    efctl_table_head(table, head);
    json_array_foreach(list, i, entry)
    {
        add_port(table, entry, span_s);
    }
    print_and_destroy(table, out);
}

static void
view_links(struct efctl_output *out, const json_t *list, double span_s)
{
    static const char *const head[] = {"FROM", "TO", ">PACKETS", ">BYTES", ">PER SECOND", NULL};
    struct efctl_table *table = efctl_table_create(0);
    size_t i;
    const json_t *entry;
    efctl_table_head(table, head);
    json_array_foreach(list, i, entry)
    {
        add_node(table, entry, "from_name", "from");
        add_node(table, entry, "to_name", "to");
        add_load(table, entry, span_s);
        efctl_table_end_row(table);
    }
    print_and_destroy(table, out);
}

void
efctl_load_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    char from[EFCTL_TEXT_SIZE], to[EFCTL_TEXT_SIZE];
    double span_s = 0;
    const json_t *ports = efctl_get_array(document, "ports");
    efctl_get_number(document, "span_s", &span_s);
    efctl_output_printf(out, EFCTL_PLAIN, "Traced packets from %s to %s",
                        efctl_format_time(efctl_get_string(document, "start", "?"), 0, from),
                        efctl_format_time(efctl_get_string(document, "end", "?"), 0, to));
    efctl_output_newline(out);
    if (!json_array_size(ports)) {
        efctl_output_text(out, EFCTL_PLAIN, "None.");
        efctl_output_newline(out);
    } else {
        efctl_output_newline(out);
        view_switches(out, efctl_get_array(document, "switches"), span_s);
        efctl_output_newline(out);
        view_ports(out, ports, span_s);
        efctl_output_newline(out);
        view_links(out, efctl_get_array(document, "links"), span_s);
    }
    if (efctl_get_int(document, "uncounted", 0)) {
        efctl_output_printf(out, EFCTL_WARN, "not counted for want of room: %s",
                            efctl_format_count(efctl_get_int(document, "uncounted", 0), from));
        efctl_output_newline(out);
    }
    efctl_incomplete_view(out, document, NULL);
}

static void
add_time(struct efctl_table *table, const json_t *link, const char *key)
{
    char buf[EFCTL_TEXT_SIZE];
    double us;
    bool is_there = efctl_get_number(link, key, &us);
    efctl_table_cell_right(table, EFCTL_PLAIN, "%s", is_there ? efctl_format_duration_us(us, buf) : "-");
}

void
efctl_latency_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"FROM",  "TO",    ">PROBES", ">LEAST", ">MEDIAN",
                                       ">90 %", ">99 %", ">99.9 %", ">MOST",  NULL};
    static const char *const keys[] = {"min_us", "median_us", "p90_us", "p99_us", "p999_us", "max_us"};
    const json_t *links = efctl_get_array(document, "links"), *link;
    size_t i;
    if (!json_array_size(links)) {
        efctl_output_text(out, EFCTL_PLAIN, "No probe has measured a link; see efctl help probe");
        efctl_output_newline(out);
        efctl_incomplete_view(out, document, NULL);
        return;
    }
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(links, i, link)
    {
        add_node(table, link, "from_name", "from");
        add_node(table, link, "to_name", "to");
        add_count(table, link, "probes");
        for (size_t k = 0; k < EF_ARRAY_SIZE(keys); k++) {
            add_time(table, link, keys[k]);
        }
        efctl_table_end_row(table);
    }
    print_and_destroy(table, out);
    efctl_incomplete_view(out, document, NULL);
}
