/* SPDX-License-Identifier: Apache-2.0 */
/* efctl probe: orders guided probes, waits for them, and shows what became of
 * them. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/parse_number.h"
#include "base/time.h"
#include "utilities/efctl/command.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/views.h"

enum { LOOK_MS = 300, TRACES_MS = 4000, PATH_SIZE = 128 };

struct probe_options {
    uint64_t count;
    int64_t interval_ns;
    const char *prober;
    bool no_wait;
};

static int
set_count(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--count", 1, 1000000, &((struct probe_options *) ctx)->count, err);
}

static int
set_interval(void *ctx, const char *value, struct ef_error *err)
{
    return ef_duration_parse(value, &((struct probe_options *) ctx)->interval_ns, err);
}

static int
set_prober(void *ctx, const char *value, struct ef_error *err)
{
    ((struct probe_options *) ctx)->prober = value;
    return 0;
}

static int
set_no_wait(void *ctx, const char *value, struct ef_error *err)
{
    ((struct probe_options *) ctx)->no_wait = true;
    return 0;
}

static const struct ef_option options[] = {
    {"count", 'n', "N", "how many probes (default 10)", set_count},
    {"interval", 'i', "TIME", "between two of them (default 10ms)", set_interval},
    {"prober", 0, "NAME", "who sends them (default: the controller's first)", set_prober},
    {"no-wait", 0, NULL, "order them and say their id, no more", set_no_wait},
    {0},
};

/* --- The order ------------------------------------------------------------ */

/* "dst=h3", or "same" for "same=true"; a field that is there twice becomes an
 * array. */
static int
add_field(json_t *packet, const char *word, struct ef_error *err)
{
    char name[64];
    const char *equal = strchr(word, '=');
    size_t len = equal ? (size_t) (equal - word) : strlen(word);
    if (!len || len >= sizeof name) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not a field like dst=h3", word);
    }
    snprintf(name, sizeof name, "%.*s", (int) len, word);
    json_t *value = json_string(equal ? equal + 1 : "true"), *before = json_object_get(packet, name);
    if (!value) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not UTF-8", word);
    }
    if (json_is_array(before)) {
        json_array_append_new(before, value);
    } else {
        json_object_set_new(packet, name, before ? json_pack("[O, o]", before, value) : value);
    }
    return 0;
}

static int
build_order(const struct probe_options *o, int n, char *const words[], char **body, struct ef_error *err)
{
    json_t *packet = json_object();
    for (int i = 0; i < n; i++) {
        int rc = add_field(packet, words[i], err);
        if (rc) {
            json_decref(packet);
            return rc;
        }
    }
    json_t *order = json_pack("{s:o, s:I, s:f}", "packet", packet, "count", (json_int_t) o->count, "interval_ms",
                              (double) o->interval_ns / EF_NS_PER_MS);
    if (o->prober) {
        json_object_set_new(order, "prober", json_string(o->prober));
    }
    *body = json_dumps(order, JSON_COMPACT | EF_JSON_REALS);
    json_decref(order);
    return *body ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
}

/* --- Waiting -------------------------------------------------------------- */

static bool
all_are_traced(const json_t *order)
{
    return efctl_get_int(efctl_get_object(order, "results"), "traced", 0) >= efctl_get_int(order, "sent", 0);
}

/* Until it is over (the controller sees to that), and then until all traces are
 * there or it is late for the rest. */
static int
wait_for(struct efctl_context *context, const char *path, json_t **order)
{
    struct efctl_failure failure;
    struct ef_time last = {INT64_MAX};
    for (;;) {
        if (efctl_client_get_json(&context->client, path, order, &failure)) {
            return efctl_fail(&failure.error);
        }
        struct ef_time now = ef_time_mono();
        if (efctl_probe_is_over(*order)) {
            last = last.ns == INT64_MAX ? ef_time_add_ms(now, TRACES_MS) : last;
            if (all_are_traced(*order) || ef_time_before(last, now)) {
                return EFCTL_OK;
            }
        }
        json_decref(*order);
        *order = NULL;
        if (efctl_output_pause(&context->out, LOOK_MS)) {
            return EFCTL_OK; /* The reader has gone. */
        }
    }
}

static int
show(struct efctl_context *context, const json_t *order)
{
    efctl_output_document(&context->out, order, efctl_probe_view, NULL);
    return efctl_probe_is_bad(order) ? EFCTL_FAILED : EFCTL_OK;
}

static int
give(struct efctl_context *context, const struct probe_options *o, const char *body)
{
    struct efctl_failure failure;
    char path[PATH_SIZE];
    json_t *order;
    if (efctl_client_send_json(&context->client, "POST", "/v1/probes", body, &order, &failure)) {
        return efctl_fail(&failure.error);
    }
    int status = EFCTL_OK;
    if (!o->no_wait) {
        snprintf(path, sizeof path, "/v1/probes/%.64s", efctl_get_string(order, "id", ""));
        json_decref(order);
        order = NULL;
        status = wait_for(context, path, &order);
    }
    status = order && status == EFCTL_OK ? show(context, order) : status;
    json_decref(order);
    return status;
}

/* --- Commands ------------------------------------------------------------- */

static bool
is_id(const char *text)
{
    size_t len = strlen(text);
    return len && len <= 16 && strspn(text, "0123456789abcdef") == len;
}

/* "show ID" and "stop ID". */
static int
one_order(struct efctl_context *context, const char *method, const char *id)
{
    struct efctl_failure failure;
    struct ef_error err;
    char path[PATH_SIZE];
    json_t *order;
    if (!is_id(id)) {
        ef_error_set(&err, -EINVAL, "'%.40s' is not the id of probes, 16 digits of 0-9 and a-f", id);
        return efctl_usage_error(&efctl_probe, &err);
    }
    snprintf(path, sizeof path, "/v1/probes/%s", id);
    if (efctl_client_send_json(&context->client, method, path, NULL, &order, &failure)) {
        return efctl_fail(&failure.error);
    }
    int status = show(context, order);
    json_decref(order);
    return status;
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    struct probe_options o = {.count = 10, .interval_ns = 10 * EF_NS_PER_MS};
    const struct ef_option_group groups[] = {{"Probes", options, &o}, {0}};
    struct ef_error err = EF_ERROR_INIT;
    struct ef_time now = ef_time_real();
    char *body;
    int status = efctl_command_parse(&efctl_probe, context, groups, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (argc == 1 && !strcmp(argv[0], "list")) {
        return efctl_command_show(context, "/v1/probes", efctl_probes_view, &now, NULL);
    }
    if (argc == 2 && (!strcmp(argv[0], "show") || !strcmp(argv[0], "stop"))) {
        return one_order(context, *argv[0] == 's' && argv[0][1] == 'h' ? "GET" : "DELETE", argv[1]);
    }
    if (!argc) {
        ef_error_set(&err, -EINVAL, "what should be sent: dst=TARGET and other fields, or list, show ID, stop ID");
        return efctl_usage_error(&efctl_probe, &err);
    }
    if (build_order(&o, argc, argv, &body, &err)) {
        return efctl_usage_error(&efctl_probe, &err);
    }
    status = give(context, &o, body);
    free(body);
    return status;
}

const struct efctl_command efctl_probe = {
    "probe",
    "FIELD=VALUE... | list | show ID | stop ID",
    "Sends guided probes and shows what became of them",
    "  efctl probe dst=h3 via=leaf1,spine1 --count 100\n"
    "  efctl probe dst=h3 via=leaf1,spine1,leaf1 proto=tcp dst-port=443 length=1400\n"
    "  efctl probe show 5883d986fafae47a --json | jq .results.round_trips\n"
    "The fields are the options of ef-prober(8) under \"What to send\".\n",
    true,
    run,
};
