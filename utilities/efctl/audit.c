/* SPDX-License-Identifier: Apache-2.0 */
/* efctl audit: who changed what, and who was refused. */
#include <config.h>

#include <stdio.h>

#include "base/parse_number.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/table.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/views.h"

enum { DEFAULT_LIMIT = 20, MAX_LIMIT = 1000 };

static int
set_limit(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--limit", 1, MAX_LIMIT, ctx, err);
}

static const struct ef_option options[] = {
    {"limit", 'n', "N", "the newest N, at most 1000 (default 20)", set_limit},
    {0},
};

void
efctl_audit_view(struct efctl_output *out, const json_t *document, const void *ctx)
{
    static const char *const head[] = {"TIME", "WHO", "FROM", ">STATUS", "WHAT", NULL};
    const json_t *entry;
    size_t i;
    char buf[EFCTL_TEXT_SIZE];
    struct efctl_table *table = efctl_table_create(0);
    efctl_table_head(table, head);
    json_array_foreach(efctl_get_array(document, "entries"), i, entry)
    {
        int64_t code = efctl_get_int(entry, "status", 0);
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_format_time(efctl_get_string(entry, "time", "?"), 0, buf));
        efctl_table_cell(table, EFCTL_BOLD, "%s", efctl_get_string(entry, "actor", "?"));
        efctl_table_cell(table, EFCTL_PLAIN, "%s", efctl_get_string(entry, "address", "?"));
        efctl_table_cell_right(table, code >= 400 ? EFCTL_WARN : EFCTL_PLAIN, "%lld", (long long) code);
        const char *body = efctl_get_string(entry, "body", "");
        efctl_table_cell(table, EFCTL_PLAIN, "%s %s%s%s", efctl_get_string(entry, "method", "?"),
                         efctl_get_string(entry, "path", "?"), *body ? " " : "", body);
        efctl_table_end_row(table);
    }
    efctl_table_print(table, out);
    efctl_table_destroy(table);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    uint64_t limit = DEFAULT_LIMIT;
    char path[64];
    const struct ef_option_group groups[] = {{"Options", options, &limit}, {0}};
    int status = efctl_command_parse(&efctl_audit, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    snprintf(path, sizeof path, "/v1/audit?limit=%llu", (unsigned long long) limit);
    return efctl_command_show(context, path, efctl_audit_view, NULL, NULL);
}

const struct efctl_command efctl_audit = {
    "audit", "",  "Shows who changed what through the controller, and who was refused", "  efctl audit --limit 100\n",
    true,    run,
};
