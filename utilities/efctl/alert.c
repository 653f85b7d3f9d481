/* SPDX-License-Identifier: Apache-2.0 */
/* efctl alert: what an operator should look at. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/views.h"

enum { WATCH_MS = 1000 };

struct alert_options {
    bool all, watch;
    const char *by;
};

static int
set_all(void *ctx, const char *value, struct ef_error *err)
{
    ((struct alert_options *) ctx)->all = true;
    return 0;
}

static int
set_watch(void *ctx, const char *value, struct ef_error *err)
{
    ((struct alert_options *) ctx)->watch = true;
    return 0;
}

static int
set_by(void *ctx, const char *value, struct ef_error *err)
{
    ((struct alert_options *) ctx)->by = value;
    return 0;
}

static const struct ef_option options[] = {
    {"all", 'a', NULL, "list those that are resolved, too", set_all},
    {"watch", 'w', NULL, "list them anew each second, until interrupted", set_watch},
    {"by", 0, "NAME", "who acknowledges (default: the environment's USER)", set_by},
    {0},
};

static int
list(struct efctl_context *context, const struct alert_options *o)
{
    const char *path = o->all ? "/v1/alerts" : "/v1/alerts?state=active";
    for (;;) {
        struct ef_time now = ef_time_real();
        if (o->watch && context->out.colour) {
            fputs("\033[H\033[J", context->out.file); /* A terminal's screen anew; ours, not from outside. */
        }
        int status = efctl_command_show(context, path, efctl_alerts_view, &now, NULL);
        if (status != EFCTL_OK || !o->watch || efctl_output_pause(&context->out, WATCH_MS)) {
            return status;
        }
    }
}

static bool
is_id(const char *text)
{
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

/* "acknowledge" and "resolve". */
static int
change(struct efctl_context *context, const struct alert_options *o, const char *path, bool acknowledges)
{
    struct efctl_failure failure;
    const char *user = o->by ? o->by : getenv("USER");
    json_t *alert, *document = acknowledges && user && *user ? json_pack("{s:s}", "by", user) : NULL;
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    int rc = efctl_client_send_json(&context->client, "POST", path, body, &alert, &failure);
    json_decref(document);
    free(body);
    if (rc) {
        return efctl_fail(&failure.error);
    }
    efctl_output_document(&context->out, alert, efctl_alert_view, NULL);
    json_decref(alert);
    return EFCTL_OK;
}

static int
about_one(struct efctl_context *context, const struct alert_options *o, const char *verb, const char *id)
{
    char path[64];
    struct ef_error err;
    bool shows = !strcmp(verb, "show");
    if (!is_id(id)) {
        ef_error_set(&err, -EINVAL, "'%.40s' is not the id of an alert, 16 digits of 0-9 and a-f", id);
        return efctl_usage_error(&efctl_alert, &err);
    }
    snprintf(path, sizeof path, "/v1/alerts/%s%s%s", id, shows ? "" : "/", shows ? "" : verb);
    return shows ? efctl_command_show(context, path, efctl_alert_view, NULL, NULL)
                 : change(context, o, path, *verb == 'a');
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct alert_options o = {0};
    const struct ef_option_group groups[] = {{"Alerts", options, &o}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    int status = efctl_command_parse(&efctl_alert, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (!argc || (argc == 1 && !strcmp(argv[0], "list"))) {
        return list(context, &o);
    }
    if (argc == 2 && (!strcmp(argv[0], "show") || !strcmp(argv[0], "acknowledge") || !strcmp(argv[0], "resolve"))) {
        return about_one(context, &o, argv[0], argv[1]);
    }
    ef_error_set(&err, -EINVAL, "after alert comes nothing, list, show ID, acknowledge ID or resolve ID");
    return efctl_usage_error(&efctl_alert, &err);
}

const struct efctl_command efctl_alert = {
    "alert",
    "[list | show ID | acknowledge ID | resolve ID]",
    "Lists what the controller found wrong",
    "  efctl alert\n"
    "  efctl alert show 5883d986fafae47a\n"
    "  efctl alert --all --json | jq -r '.alerts[].summary'\n",
    true,
    run,
};
