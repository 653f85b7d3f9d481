/* SPDX-License-Identifier: Apache-2.0 */
/* efctl diagnose: has an application of the controller look into something,
 * follows what it does, and prints its verdict. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/views.h"

enum { LOOK_MS = 250, PATH_SIZE = 64, ID_LEN = 16, FOUND = 3 /* Exit status. */ };

struct diagnose_options {
    int64_t deadline_ns;
    bool no_wait;
};

static int
set_deadline(void *ctx, const char *value, struct ef_error *err)
{
    return ef_duration_parse(value, &((struct diagnose_options *) ctx)->deadline_ns, err);
}

static int
set_no_wait(void *ctx, const char *value, struct ef_error *err)
{
    ((struct diagnose_options *) ctx)->no_wait = true;
    return 0;
}

static const struct ef_option options[] = {
    {"deadline", 0, "TIME", "give up after this long, in whole seconds (default 60s)", set_deadline},
    {"no-wait", 0, NULL, "start it and say its id, no more", set_no_wait},
    {0},
};

/* --- The order ------------------------------------------------------------ */

/* What an application takes as a number or a truth is written so; the rest is text,
 * ids of 16 digits, too. */
static json_t *
value_of(const char *text)
{
    json_t *value = strlen(text) < ID_LEN ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    if (json_is_number(value) || json_is_boolean(value)) {
        return value;
    }
    json_decref(value);
    return json_string(text);
}

/* "src=h1" */
static int
add_field(json_t *order, const char *word, struct ef_error *err)
{
    char name[64];
    const char *equal = strchr(word, '=');
    size_t len = equal ? (size_t) (equal - word) : 0;
    if (!len || len >= sizeof name) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not an option like src=h1", word);
    }
    snprintf(name, sizeof name, "%.*s", (int) len, word);
    for (char *p = name; *p; p++) {
        *p = *p == '-' ? '_' : *p;
    }
    if (json_object_get(order, name) || json_object_set_new(order, name, value_of(equal + 1))) {
        return ef_error_set(err, -EINVAL, "'%.60s' is there twice or not UTF-8", word);
    }
    return 0;
}

static int
build_order(const struct diagnose_options *o, int n, char *const words[], char **body, struct ef_error *err)
{
    json_t *order = json_pack("{s:s}", "app", words[0]);
    int rc = order ? 0 : ef_error_set(err, -EINVAL, "'%.60s' is not the name of an application", words[0]);
    for (int i = 1; !rc && i < n; i++) {
        rc = add_field(order, words[i], err);
    }
    if (o->deadline_ns) {
        json_object_set_new(order, "deadline_s", json_integer(o->deadline_ns / EF_NS_PER_S));
    }
    *body = rc ? NULL : json_dumps(order, JSON_COMPACT | EF_JSON_REALS);
    json_decref(order);
    return rc;
}

/* --- Following ------------------------------------------------------------ */

static int
exit_status(const json_t *diagnosis)
{
    return strcmp(efctl_get_string(diagnosis, "state", ""), "done") ? EFCTL_FAILED
           : efctl_diagnosis_found(diagnosis)                       ? FOUND
                                                                    : EFCTL_OK;
}

/* Until it is over, which its deadline sees to. */
static int
follow(struct efctl_context *context, const char *path)
{
    size_t n_shown = 0;
    for (;;) {
        struct efctl_failure failure;
        json_t *diagnosis;
        if (efctl_client_get_json(&context->client, path, &diagnosis, &failure)) {
            return efctl_fail(&failure.error);
        }
        bool is_over = efctl_diagnosis_is_over(diagnosis);
        if (!context->out.json) {
            efctl_diagnosis_progress(&context->out, diagnosis, n_shown);
            n_shown = json_array_size(efctl_get_array(diagnosis, "progress"));
        }
        if (is_over) {
            if (context->out.json) {
                efctl_output_json(&context->out, diagnosis);
            } else {
                efctl_diagnosis_end(&context->out, diagnosis);
            }
        }
        int status = exit_status(diagnosis);
        json_decref(diagnosis);
        if (is_over || efctl_output_pause(&context->out, LOOK_MS)) {
            return status;
        }
    }
}

static int
start(struct efctl_context *context, const struct diagnose_options *o, const char *body)
{
    struct efctl_failure failure;
    char path[PATH_SIZE];
    json_t *diagnosis;
    if (efctl_client_send_json(&context->client, "POST", "/v1/diagnoses", body, &diagnosis, &failure)) {
        return efctl_fail(&failure.error);
    }
    snprintf(path, sizeof path, "/v1/diagnoses/%.16s", efctl_get_string(diagnosis, "id", ""));
    if (o->no_wait) {
        efctl_output_document(&context->out, diagnosis, efctl_diagnosis_view, NULL);
    }
    json_decref(diagnosis);
    return o->no_wait ? EFCTL_OK : follow(context, path);
}

/* --- Commands ------------------------------------------------------------- */

static int
about_one(struct efctl_context *context, const char *method, const char *id)
{
    struct efctl_failure failure;
    struct ef_error err;
    char path[PATH_SIZE];
    json_t *diagnosis;
    if (strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16) {
        ef_error_set(&err, -EINVAL, "'%.40s' is not the id of a diagnosis, 16 digits of 0-9 and a-f", id);
        return efctl_usage_error(&efctl_diagnose, &err);
    }
    snprintf(path, sizeof path, "/v1/diagnoses/%s", id);
    if (efctl_client_send_json(&context->client, method, path, NULL, &diagnosis, &failure)) {
        return efctl_fail(&failure.error);
    }
    efctl_output_document(&context->out, diagnosis, efctl_diagnosis_view, NULL);
    json_decref(diagnosis);
    return EFCTL_OK;
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct diagnose_options o = {0};
    const struct ef_option_group groups[] = {{"Diagnoses", options, &o}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real();
    char *body;
    int status = efctl_command_parse(&efctl_diagnose, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (argc == 1 && !strcmp(argv[0], "list")) {
        return efctl_command_show(context, "/v1/diagnoses", efctl_diagnoses_view, &now, NULL);
    }
    if (argc == 2 && (!strcmp(argv[0], "show") || !strcmp(argv[0], "stop"))) {
        return about_one(context, !strcmp(argv[0], "show") ? "GET" : "DELETE", argv[1]);
    }
    if (!argc) {
        ef_error_set(&err, -EINVAL, "which application: drop or loop with options, or list, show ID, stop ID");
        return efctl_usage_error(&efctl_diagnose, &err);
    }
    if (build_order(&o, argc, argv, &body, &err)) {
        return efctl_usage_error(&efctl_diagnose, &err);
    }
    status = start(context, &o, body);
    free(body);
    return status;
}

const struct efctl_command efctl_diagnose = {
    "diagnose",
    "APP [OPTION=VALUE...] | list | show ID | stop ID",
    "Looks into a fault, by traces and guided probes, and says what it is",
    "  efctl diagnose drop trace=d32b245e12a35f1b\n"
    "  efctl diagnose drop src=h1 dst=h8 proto=tcp dst-port=443\n"
    "  efctl diagnose loop filter='ip.dst == 10.4.0.12'\n"
    "  efctl diagnose list\n"
    "Exit status: 0 nothing is wrong, 3 a fault was found, 1 there is no verdict, 2 wrong usage.\n",
    true,
    run,
};
