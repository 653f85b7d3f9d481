/* SPDX-License-Identifier: Apache-2.0 */
/* efctl debug: marks what servers send, for a time, so that all switches copy it. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_number.h"
#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/views.h"

enum { WATCH_MS = 1000, MAX_SAMPLE = 65536 };

struct debug_options {
    const char *filter, *start, *end;
    int64_t duration_s;
    uint64_t sample;
    bool watch;
};

static int
set_filter(void *ctx, const char *value, struct ef_error *err)
{
    ((struct debug_options *) ctx)->filter = value;
    return 0;
}

static int
set_start(void *ctx, const char *value, struct ef_error *err)
{
    ((struct debug_options *) ctx)->start = value;
    return 0;
}

static int
set_end(void *ctx, const char *value, struct ef_error *err)
{
    ((struct debug_options *) ctx)->end = value;
    return 0;
}

static int
set_for(void *ctx, const char *value, struct ef_error *err)
{
    int64_t ns;
    struct ef_error why = EF_ERROR_INIT;
    if (ef_duration_parse(value, &ns, &why) || ns < EF_NS_PER_S) {
        return ef_error_set(err, -EINVAL, "--for: not a duration of 1s or more, such as 10m");
    }
    ((struct debug_options *) ctx)->duration_s = ns / EF_NS_PER_S;
    return 0;
}

static int
set_sample(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--sample", 1, MAX_SAMPLE, &((struct debug_options *) ctx)->sample, err);
}

static int
set_watch(void *ctx, const char *value, struct ef_error *err)
{
    ((struct debug_options *) ctx)->watch = true;
    return 0;
}

static const struct ef_option options[] = {
    {"filter", 0, "FILTER", "mark only these packets (default: all IP packets)", set_filter},
    {"for", 0, "DURATION", "how long, such as 10m (default), 7d at most", set_for},
    {"start", 0, "TIME", "when to begin (default: now)", set_start},
    {"end", 0, "TIME", "when to end, instead of --for", set_end},
    {"sample", 0, "N", "mark 1 packet of N, a power of two (default 1)", set_sample},
    {"watch", 'w', NULL, "list again each second, until interrupted", set_watch},
    {0},
};

static int
list(struct efctl_context *context, const struct debug_options *o)
{
    for (;;) {
        if (o->watch && context->out.colour) {
            fputs("\033[H\033[J", context->out.file); /* A terminal's screen anew; ours, not from outside. */
        }
        int status = efctl_command_show(context, "/v1/debug", efctl_debug_sessions_view, NULL, NULL);
        if (status != EFCTL_OK || !o->watch || efctl_output_pause(&context->out, WATCH_MS)) {
            return status;
        }
    }
}

/* As the controller wants it; NULL if a word is not UTF-8. */
static char *
body_of(const struct debug_options *o, int n_servers, char *servers[])
{
    json_t *list = json_array(), *document;
    for (int i = 0; i < n_servers; i++) {
        json_array_append_new(list, json_string(servers[i]));
    }
    bool is_right = (int) json_array_size(list) == n_servers;
    document =
        json_pack("{s:o, s:s*, s:s*, s:s*}", "servers", list, "filter", o->filter, "start", o->start, "end", o->end);
    if (document && o->duration_s) {
        json_object_set_new(document, "duration_s", json_integer(o->duration_s));
    }
    if (document && o->sample) {
        json_object_set_new(document, "sample", json_integer((json_int_t) o->sample));
    }
    char *body = document && is_right ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    return body;
}

static int
change(struct efctl_context *context, const char *method, const char *path, const char *body)
{
    struct efctl_failure failure;
    json_t *session;
    if (efctl_client_send_json(&context->client, method, path, body, &session, &failure)) {
        return efctl_fail(&failure.error);
    }
    efctl_output_document(&context->out, session, efctl_debug_session_view, NULL);
    json_decref(session);
    return EFCTL_OK;
}

static int
enable(struct efctl_context *context, const struct debug_options *o, int n_servers, char *servers[])
{
    struct ef_error err = EF_ERROR_INIT;
    char *body = body_of(o, n_servers, servers);
    if (!body) {
        ef_error_set(&err, -EINVAL, "names, filter and times should be UTF-8");
        return efctl_fail(&err);
    }
    fputs("Measuring what it would cost, for some seconds ...\n", stderr);
    int status = change(context, "POST", "/v1/debug", body);
    free(body);
    return status;
}

static int
about_one(struct efctl_context *context, const char *verb, const char *id)
{
    char path[64];
    struct ef_error err = EF_ERROR_INIT;
    if (strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16) {
        ef_error_set(&err, -EINVAL, "'%.40s' is not the id of a debug session, 16 digits of 0-9 and a-f", id);
        return efctl_usage_error(&efctl_debug, &err);
    }
    snprintf(path, sizeof path, "/v1/debug/%s", id);
    return !strcmp(verb, "show") ? efctl_command_show(context, path, efctl_debug_session_view, NULL, NULL)
                                 : change(context, "DELETE", path, NULL);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct debug_options o = {0};
    const struct ef_option_group groups[] = {{"Debug sessions", options, &o}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    int status = efctl_command_parse(&efctl_debug, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (!argc || (argc == 1 && !strcmp(argv[0], "list"))) {
        return list(context, &o);
    }
    if (argc >= 2 && !strcmp(argv[0], "enable")) {
        return enable(context, &o, argc - 1, argv + 1);
    }
    if (argc == 2 && (!strcmp(argv[0], "show") || !strcmp(argv[0], "disable"))) {
        return about_one(context, argv[0], argv[1]);
    }
    ef_error_set(&err, -EINVAL, "after debug comes nothing, list, enable SERVER..., show ID or disable ID");
    return efctl_usage_error(&efctl_debug, &err);
}

const struct efctl_command efctl_debug = {
    "debug",
    "[list | enable SERVER... | show ID | disable ID]",
    "Has switches mark and copy what servers send, for a time",
    "  efctl debug enable h1 --filter 'tcp.port == 443' --for 5m\n"
    "  efctl debug enable 10.1.0.11 10.1.0.12 --sample 16\n"
    "  efctl debug --watch\n"
    "  efctl debug disable 01d9e3bae6024b81\n",
    true,
    run,
};
