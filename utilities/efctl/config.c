/* SPDX-License-Identifier: Apache-2.0 */
/* efctl config: what the controller was configured with, and from where; and whether
 * the controller would take another file. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/efctl/command.h"
#include "utilities/efctl/config_check.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/views.h"

enum { MAX_DEPTH = 8, MAX_PATH = 200 };

static void add_setting(struct efctl_table *table, const char *path, const json_t *value, int depth);

static void
add_members(struct efctl_table *table, const char *path, const json_t *object, int depth)
{
    char below[MAX_PATH];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *) object, key, value)
    {
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", key);
        add_setting(table, below, value, depth + 1);
    }
}

static void
add_elements(struct efctl_table *table, const char *path, const json_t *array, int depth)
{
    char below[MAX_PATH];
    size_t i;
    const json_t *value;
    json_array_foreach((json_t *) array, i, value)
    {
        snprintf(below, sizeof below, "%s[%zu]", path, i);
        add_setting(table, below, value, depth + 1);
    }
}

/* Objects, and lists of them, a line for each member; everything else as JSON writes it. */
static void
add_setting(struct efctl_table *table, const char *path, const json_t *value, int depth)
{
    if (json_is_object(value) && depth < MAX_DEPTH) {
        add_members(table, path, value, depth);
        return;
    }
    if (json_is_object(json_array_get(value, 0)) && depth < MAX_DEPTH) {
        add_elements(table, path, value, depth);
        return;
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    efctl_table_cell(table, EFCTL_PLAIN, "%s", path);
    efctl_table_cell(table, EFCTL_BOLD, "%s", json_is_string(value) ? json_string_value(value) : text ? text : "?");
    efctl_table_end_row(table);
    free(text);
}

void
efctl_config_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"SETTING", "VALUE", NULL};
    efctl_output_printf(out, EFCTL_PLAIN,
                        "In force since the controller started, from %s:", efctl_get_string(document, "file", "?"));
    efctl_output_newline(out);
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    add_members(table, "", json_object_get(document, "configuration"), 0);
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

/* --- A file that is not in force yet ------------------------------------------- */

static void
view_check(struct efctl_output *out, const json_t *document, const void *ctx)
{
    efctl_output_printf(out, EFCTL_PLAIN, "%s: the configuration is in order", efctl_get_string(document, "file", "?"));
    efctl_output_newline(out);
}

static int
check(struct efctl_context *context, const char *file)
{
    struct ef_error err = EF_ERROR_INIT;
    if (efctl_config_check(file, &err)) {
        return efctl_fail(&err);
    }
    json_t *document = json_pack("{s:s, s:b}", "file", file, "in_order", 1);
    if (!document) {
        ef_error_set(&err, -EINVAL, "the file's name is not UTF-8");
        return efctl_fail(&err);
    }
    efctl_output_document(&context->out, document, view_check, NULL);
    json_decref(document);
    return efctl_finish(context, EFCTL_OK);
}

/* --- The command ------------------------------------------------------------------ */

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct ef_error err = EF_ERROR_INIT;
    int status = efctl_command_parse(&efctl_config, context, NULL, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (!argc) {
        return efctl_command_show(context, "/v1/config", efctl_config_view, NULL, NULL);
    }
    if (strcmp(argv[0], "check")) {
        ef_error_set(&err, -EINVAL, "'%.60s' is not expected here; there is: check FILE", argv[0]);
    } else if (argc != 2) {
        ef_error_set(&err, -EINVAL, "check needs one FILE");
    } else {
        return check(context, argv[1]);
    }
    return efctl_usage_error(&efctl_config, &err);
}

const struct efctl_command efctl_config = {
    "config",
    "[check FILE]",
    "Shows the controller's configuration, without secrets, and where it is from; or checks another FILE",
    "  efctl config\n"
    "  efctl config --json | jq .configuration.everflow\n"
    "  efctl config check /etc/everflow/controller.json\n",
    true,
    run,
};
