/* SPDX-License-Identifier: Apache-2.0 */
/* efctl topology: the fabric as the controller knows it. */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

/* The ports' cell is broken into lines of about this many columns. */
enum { PORTS_WIDTH = 60 };

/* "3 h1", or "3 -" for a port without a neighbour; the neighbour's port where
 * two switches meet: "1 spine1:4". */
static void
format_port(const json_t *port, char *buf, size_t size)
{
    const json_t *peer = efctl_get_object(port, "peer");
    const char *node = efctl_get_string(peer, "node", "-");
    int64_t peer_port = efctl_get_int(peer, "port", -1);
    int n = snprintf(buf, size, "%" PRId64 " %s", efctl_get_int(port, "number", 0), node);
    if (peer_port >= 0 && n > 0 && (size_t) n < size) {
        snprintf(buf + n, size - (size_t) n, ":%" PRId64, peer_port);
    }
}

static void
add_switch(struct efctl_table *table, const json_t *node)
{
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(node, "name", "?"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(node, "role", "-"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(node, "loopback", "-"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", "");
    size_t i, width = 0;
    const json_t *port;
    json_array_foreach(efctl_get_array(node, "ports"), i, port)
    {
        char text[128];
        format_port(port, text, sizeof text);
        if (width && width + strlen(text) > PORTS_WIDTH) {
            efctl_table_end_row(table);
            for (int skip = 0; skip < 4; skip++) {
                efctl_table_cell(table, EFCTL_PLAIN, "%s", "");
            }
            width = 0;
        }
        efctl_table_append(table, EFCTL_PLAIN, "%s%s", width ? "   " : "", text);
        width += strlen(text) + 3;
    }
    efctl_table_end_row(table);
}

/* Switches of one role stand together, in the order in which the roles and
 * the switches appear in the document. */
static void
add_switches(struct efctl_table *table, const json_t *switches)
{
    size_t i, j;
    const json_t *node, *other;
    json_array_foreach(switches, i, node)
    {
        const char *role = efctl_get_string(node, "role", "");
        bool first = true;
        for (j = 0; j < i && first; j++) {
            first = strcmp(role, efctl_get_string(json_array_get(switches, j), "role", ""));
        }
        json_array_foreach(switches, j, other)
        {
            if (first && !strcmp(role, efctl_get_string(other, "role", ""))) {
                add_switch(table, other);
            }
        }
    }
}

static void
add_host(struct efctl_table *table, const json_t *host)
{
    int64_t port = efctl_get_int(host, "port", -1);
    efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(host, "name", "?"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(host, "role", "host"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(host, "address", "-"));
    efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(host, "switch", "-"));
    if (port >= 0) {
        efctl_table_append(table, EFCTL_PLAIN, ":%" PRId64, port);
    }
    efctl_table_end_row(table);
}

static void
view_title(struct efctl_output *out, const json_t *document, size_t n_switches, size_t n_hosts)
{
    const char *name = efctl_get_string(document, "name", NULL), *vip = efctl_get_string(document, "vip", NULL);
    if (name) {
        efctl_output_printf(out, EFCTL_BOLD, "%s", name);
        efctl_output_text(out, EFCTL_PLAIN, ": ");
    }
    efctl_output_printf(out, EFCTL_PLAIN, "%zu switch%s, %zu host%s", n_switches, n_switches == 1 ? "" : "es", n_hosts,
                        n_hosts == 1 ? "" : "s");
    if (vip) {
        efctl_output_printf(out, EFCTL_PLAIN, "; copies go to %s", vip);
    }
    efctl_output_newline(out);
}

void
efctl_topology_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const switch_head[] = {"SWITCH", "ROLE", "LOOPBACK", "PORT AND NEIGHBOUR (:ITS PORT)", NULL};
    static const char *const host_head[] = {"HOST", "ROLE", "ADDRESS", "AT SWITCH:PORT", NULL};
    const json_t *switches = efctl_get_array(document, "switches"), *hosts = efctl_get_array(document, "hosts");
    view_title(out, document, json_array_size(switches), json_array_size(hosts));
    struct efctl_table *table = efctl_table_create(0);
    if (json_array_size(switches)) {
        efctl_table_end_line(table);
        efctl_table_head(table, switch_head);
        add_switches(table, switches);
    }
    if (json_array_size(hosts)) {
        size_t i;
        const json_t *host;
        efctl_table_end_line(table);
        efctl_table_head(table, host_head);
        json_array_foreach(hosts, i, host)
        {
            add_host(table, host);
        }
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    int status = efctl_command_parse_no_words(&efctl_topology, context, argc, argv);
    return status != EFCTL_GO_ON ? status
                                 : efctl_command_show(context, "/v1/topology", efctl_topology_view, NULL, NULL);
}

const struct efctl_command efctl_topology = {
    "topology",
    "",
    "Shows the fabric: switches with their ports and neighbours, and hosts",
    "  efctl topology\n"
    "  efctl topology --json | jq -r '.hosts[] | [.name, .address] | @tsv'\n",
    true,
    run,
};
