/* SPDX-License-Identifier: Apache-2.0 */
/* efctl switch: the switches under management; adding and removing some. The list
 * is that of efctl switches. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

enum { MAX_EDGE_PORTS = 256 };

struct switch_options {
    const char *name, *source_ip, *edge_ports[MAX_EDGE_PORTS];
    size_t n_edge_ports;
};

static int
set_name(void *ctx, const char *value, struct ef_error *err)
{
    ((struct switch_options *) ctx)->name = value;
    return 0;
}

static int
set_source_ip(void *ctx, const char *value, struct ef_error *err)
{
    ((struct switch_options *) ctx)->source_ip = value;
    return 0;
}

static int
add_edge_port(void *ctx, const char *value, struct ef_error *err)
{
    struct switch_options *o = ctx;
    if (o->n_edge_ports == MAX_EDGE_PORTS) {
        return ef_error_set(err, -EINVAL, "more than %d edge ports", MAX_EDGE_PORTS);
    }
    o->edge_ports[o->n_edge_ports++] = value;
    return 0;
}

static const struct ef_option options[] = {
    {"name", 0, "NAME", "add: what it is called (default: its source address)", set_name},
    {"source-ip", 0, "IP", "add: the address that its copies come from (default: that of its OVSDB)", set_source_ip},
    {"edge-port", 0, "PORT",
     "add: a port towards a host, where the debug bit is cleared if the controller's\nconfiguration says so; may be "
     "repeated",
     add_edge_port},
    {0},
};

/* --- One switch ----------------------------------------------------------------- */

static void
add_line(struct efctl_table *table, const char *label, const char *text)
{
    efctl_table_cell(table, EFCTL_BOLD, "%s", label);
    efctl_table_cell(table, *text ? EFCTL_PLAIN : EFCTL_DIM, "%s", *text ? text : "-");
    efctl_table_end_row(table);
}

static void
add_bridges(struct efctl_table *table, const json_t *bridges)
{
    size_t i;
    const json_t *bridge;
    json_array_foreach(bridges, i, bridge)
    {
        char *ports = efctl_get_text(bridge, "ports");
        efctl_table_cell(table, EFCTL_BOLD, "bridge");
        efctl_table_cell(table, EFCTL_PLAIN, "%s, datapath %s, ports %s", efctl_get_string(bridge, "name", "?"),
                         efctl_get_string(bridge, "datapath_type", "?"), *ports ? ports : "none");
        efctl_table_end_row(table);
        free(ports);
    }
}

static void
add_drift(struct efctl_table *table, const json_t *drift, const struct ef_time *now)
{
    char buf[EFCTL_TEXT_SIZE];
    const char *last = efctl_get_string(drift, "last", NULL);
    int64_t count = efctl_get_int(drift, "count", 0);
    efctl_table_cell(table, EFCTL_BOLD, "changed by others");
    if (count && last) {
        efctl_table_cell(table, EFCTL_WARN, "%" PRId64 " times, last %s: %s", count,
                         efctl_format_age(last, now->ns, buf), efctl_get_string(drift, "what", "?"));
    } else {
        efctl_table_cell(table, EFCTL_PLAIN, "never");
    }
    efctl_table_end_row(table);
}

void
efctl_switch_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const texts[][2] = {{"name", "name"},
                                           {"address", "address"},
                                           {"ovsdb", "ovsdb"},
                                           {"state", "state"},
                                           {"error", "error"},
                                           {"hostname", "host"},
                                           {"ovs_version", "Open vSwitch"}};
    struct efctl_table *table = efctl_table_create(0);
    for (size_t i = 0; i < EF_ARRAY_SIZE(texts); i++) {
        add_line(table, texts[i][1], efctl_get_string(document, texts[i][0], ""));
    }
    add_bridges(table, efctl_get_array(document, "bridges"));
    add_drift(table, efctl_get_object(document, "drift"), ctx);
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

/* --- Changes -------------------------------------------------------------------- */

static int
add(struct efctl_context *context, const struct switch_options *o, const char *remote)
{
    struct efctl_failure failure;
    json_t *answer,
        *document = json_pack("{s:s, s:s*, s:s*}", "ovsdb", remote, "name", o->name, "source_ip", o->source_ip);
    json_t *edge_ports = json_array();
    for (size_t i = 0; i < o->n_edge_ports; i++) {
        json_array_append_new(edge_ports, json_string(o->edge_ports[i]));
    }
    if (o->n_edge_ports) {
        json_object_set(document, "edge_ports", edge_ports);
    }
    json_decref(edge_ports);
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (!body) {
        struct ef_error err = EF_ERROR_INIT;
        ef_error_set(&err, -EINVAL, "the words should be UTF-8");
        return efctl_fail(&err);
    }
    int rc = efctl_client_send_json(&context->client, "POST", "/v1/switches", body, &answer, &failure);
    free(body);
    if (rc) {
        return efctl_fail(&failure.error);
    }
    efctl_output_printf(&context->out, EFCTL_PLAIN, "%s is managed now, with source address %s",
                        efctl_get_string(answer, "name", "?"), efctl_get_string(answer, "source_ip", "?"));
    efctl_output_newline(&context->out);
    json_decref(answer);
    return EFCTL_OK;
}

static int
about_one(struct efctl_context *context, bool removes, const char *name)
{
    char path[EFCTL_PATH_SIZE];
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real();
    if (efctl_command_path("/v1/switches/", "switch", name, path, &err)) {
        return efctl_fail(&err);
    }
    return removes ? efctl_command_remove(context, path)
                   : efctl_command_show(context, path, efctl_switch_view, &now, NULL);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct switch_options o = {0};
    const struct ef_option_group groups[] = {{"Switches", options, &o}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real();
    int status = efctl_command_parse(&efctl_switch, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (!argc || (argc == 1 && !strcmp(argv[0], "list"))) {
        return efctl_command_show(context, "/v1/switches", efctl_switches_view, &now, NULL);
    }
    if (argc == 2 && !strcmp(argv[0], "add")) {
        return add(context, &o, argv[1]);
    }
    if (argc == 2 && (!strcmp(argv[0], "remove") || !strcmp(argv[0], "show"))) {
        return about_one(context, !strcmp(argv[0], "remove"), argv[1]);
    }
    ef_error_set(&err, -EINVAL, "after switch comes nothing, list, show NAME, add REMOTE or remove NAME");
    return efctl_usage_error(&efctl_switch, &err);
}

const struct efctl_command efctl_switch = {
    "switch",
    "[list | show NAME | add REMOTE | remove NAME]",
    "Adds and removes switches at run time; shows what one has and whether others change it",
    "  efctl switch add tcp:10.0.0.5:6640 --name tor5\n"
    "  efctl switch add unix:/run/openvswitch/db.sock --source-ip 10.255.0.9\n"
    "  efctl switch show tor5\n",
    true,
    run,
};
