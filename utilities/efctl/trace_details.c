/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known of one trace; see trace_details.h. */
#include <config.h>

#include "utilities/efctl/trace_details.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/json_get.h"
#include "utilities/efctl/text.h"

struct field {
    const char *key, *label;
    bool is_time; /* Its date stands in the trace's first line. */
};

/* Appends "label value" unless the document has no such field. */
static void
add_field(struct efctl_table *table, const json_t *object, const struct field *field)
{
    char buf[EFCTL_TEXT_SIZE];
    char *text = efctl_get_text(object, field->key);
    const char *value = text, *clock = NULL;
    if (field->is_time) {
        value = efctl_format_time(text, 9, buf);
        clock = strchr(value, 'T');
    }
    if (*text) {
        efctl_table_append(table, EFCTL_DIM, "  %s ", field->label);
        efctl_table_append(table, EFCTL_PLAIN, "%s", clock ? clock + 1 : value);
    }
    free(text);
}

static void
add_fields(struct efctl_table *table, const char *title, const json_t *object, const struct field *fields)
{
    efctl_table_cell(table, EFCTL_DIM, "  %-6s", title);
    for (; fields->key; fields++) {
        add_field(table, object, fields);
    }
    efctl_table_end_line(table);
}

static int
hex_digit(char c)
{
    return isdigit((unsigned char) c)    ? c - '0'
           : isxdigit((unsigned char) c) ? tolower((unsigned char) c) - 'a' + 10
                                         : -1;
}

/* The next byte of `*hex`, or -1 at its end or where it is no hex. */
static int
next_byte(const char **hex)
{
    int high = hex_digit(**hex), low = high < 0 ? -1 : hex_digit((*hex)[1]);
    if (low < 0) {
        return -1;
    }
    *hex += 2;
    return high << 4 | low;
}

/* "  0010    45 00 00 3c ...  E..<" */
static void
add_hex_dump(struct efctl_table *table, const char *hex)
{
    enum { PER_LINE = 16 };
    for (unsigned offset = 0;; offset += PER_LINE) {
        char left[3 * PER_LINE + 2] = "", right[PER_LINE + 1] = "";
        unsigned n = 0;
        for (int byte; n < PER_LINE && (byte = next_byte(&hex)) >= 0; n++) {
            snprintf(left + 3 * n, sizeof left - 3 * n, "%02x ", (unsigned) byte);
            right[n] = (char) (byte < 0x80 && isprint(byte) ? byte : '.');
        }
        if (!n) {
            return;
        }
        efctl_table_cell(table, EFCTL_DIM, "  %04x    ", offset);
        efctl_table_append(table, EFCTL_PLAIN, "%-*s", 3 * PER_LINE + 1, left);
        efctl_table_append(table, EFCTL_DIM, "%s", right);
        efctl_table_end_line(table);
    }
}

void
efctl_trace_add_details(struct efctl_table *table, const json_t *trace)
{
    static const struct field hop_fields[] = {
        {"switch_time", "switch", true},
        {"arrival", "analyzer", true},
        {"src_mac", "from"},
        {"sequence", "sequence"},
        {0},
    };
    static const struct field trace_fields[] = {
        {"start", "start", true}, {"end", "end", true}, {"time_source", "clock of"},
        {"n_copies", "copies"},   {"analyzer", "at"},   {0},
    };
    static const struct field packet_fields[] = {
        {"length", "length"}, {"proto", "protocol"}, {"ip_id", "IP ID"}, {"tcp_flags", "flags"}, {0},
    };
    size_t i;
    const json_t *hop, *packet = efctl_get_object(trace, "packet");
    json_array_foreach(efctl_get_array(trace, "hops"), i, hop)
    {
        char title[32];
        snprintf(title, sizeof title, "hop %zu", i + 1);
        add_fields(table, title, hop, hop_fields);
    }
    add_fields(table, "trace", trace, trace_fields);
    add_fields(table, "packet", packet, packet_fields);
    add_hex_dump(table, efctl_get_string(packet, "hex", ""));
}
