/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric fault add, list, clear: options and messages; fault.h does the work. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/parse_number.h"
#include "utilities/fabric/commands.h"
#include "utilities/fabric/fault.h"
#include "utilities/fabric/fault_match.h"
#include "utilities/fabric/state.h"

static struct fault_options {
    const char *kind, *at, *match, *rate, *delay, *type;
    uint64_t seed;
    bool json;
} options = {.seed = 1};

static int
set_kind(void *ctx, const char *value, struct ef_error *err)
{
    options.kind = value;
    return 0;
}
static int
set_at(void *ctx, const char *value, struct ef_error *err)
{
    options.at = value;
    return 0;
}
static int
set_match(void *ctx, const char *value, struct ef_error *err)
{
    options.match = value;
    return strlen(value) < EF_FAULT_TEXT_SIZE
               ? 0
               : ef_error_set(err, -EINVAL, "--match: more than %d characters", EF_FAULT_TEXT_SIZE - 1);
}
static int
set_rate(void *ctx, const char *value, struct ef_error *err)
{
    options.rate = value;
    return 0;
}
static int
set_delay(void *ctx, const char *value, struct ef_error *err)
{
    options.delay = value;
    return 0;
}
static int
set_seed(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--seed", 0, INT64_MAX, &options.seed, err);
}
static int
set_type(void *ctx, const char *value, struct ef_error *err)
{
    options.type = value;
    return 0;
}
static int
set_json(void *ctx, const char *value, struct ef_error *err)
{
    options.json = true;
    return 0;
}

static const struct ef_option fault_option_table[] = {
    {"kind", 'k', "KIND",
     "blackhole, random-drop, size-drop, corrupt, mirror-loss, delay, queue,\n"
     "loop, ecmp-skew, pfc-storm, rdma-nack, switch-crash, link-down",
     set_kind},
    {"at", 'a', "SWITCH[:PORT]", "where; PORT is a number or a name, without it all ports; some\nkinds take a HOST",
     set_at},
    {"match", 'm', "FILTER", "which packets (default: all), such as \"tcp.dstport == 443\"", set_match},
    {"rate", 'r', "RATE", "how much: a probability (0.01, 1%), a bandwidth (5mbit) or\nframes a second", set_rate},
    {"delay", 'd', "TIME", "how long, such as 200us", set_delay},
    {"seed", 's', "N", "the same chance again (default 1)", set_seed},
    {"type", 'y', "TYPE", "of what is injected; see ef-fabric(8)", set_type},
    {"json", 'j', NULL, "list: as a JSON document", set_json},
    {0},
};

/* --- add -------------------------------------------------------------------- */

static int
check_place(const struct ef_fault *fault, struct ef_error *err)
{
    const struct ef_fault_kind *kind = fault->kind;
    if (fault->at_host && !kind->takes_host) {
        return ef_error_set(err, -EINVAL, "%s is a fault of a switch, and %s is a host", kind->name, fault->node);
    }
    if (kind->needs_port && !fault->port && !fault->at_host) {
        return ef_error_set(err, -EINVAL, "%s needs a port: --at %s:PORT", kind->name, fault->node);
    }
    if (!kind->takes_port && fault->port) {
        return ef_error_set(err, -EINVAL, "%s is a fault of the whole switch: --at %s", kind->name, fault->node);
    }
    return 0;
}

static int
read_delay(struct ef_fault *fault, struct ef_error *err)
{
    if (!options.delay != !fault->kind->needs_delay) {
        return ef_error_set(err, -EINVAL, options.delay ? "%s has no --delay; leave it out" : "%s needs a --delay",
                            fault->kind->name);
    }
    int rc = options.delay ? ef_duration_parse(options.delay, &fault->delay_ns, err) : 0;
    return !rc && options.delay && (fault->delay_ns < EF_NS_PER_US || fault->delay_ns > 10 * EF_NS_PER_S)
               ? ef_error_set(err, -EINVAL, "--delay: not between 1us and 10s")
               : rc;
}

static int
read_rate(struct ef_fault *fault, struct ef_error *err)
{
    fault->rate = fault->kind->default_rate;
    if (options.rate) {
        return ef_fault_rate_parse(options.rate, fault, err);
    }
    return fault->kind->rate != EF_FAULT_NO_RATE && fault->rate <= 0
               ? ef_error_set(err, -EINVAL, "%s needs a --rate", fault->kind->name)
               : 0;
}

static int
read_match(struct ef_fault *fault, struct ef_error *err)
{
    if (options.match && !fault->kind->takes_match) {
        return ef_error_set(err, -EINVAL, "%s has no --match; leave it out", fault->kind->name);
    }
    if (!options.match && fault->kind->needs_match) {
        return ef_error_set(err, -EINVAL, "%s needs a --match", fault->kind->name);
    }
    snprintf(fault->match_text, sizeof fault->match_text, "%s", options.match ? options.match : "");
    int rc = ef_fault_match_parse(fault->match_text, &fault->match, err);
    return rc ? ef_error_prefix(err, rc, "--match") : 0;
}

static int
read_type(struct ef_fault *fault, struct ef_error *err)
{
    const char *const *types = fault->kind->types;
    if (!types) {
        return options.type ? ef_error_set(err, -EINVAL, "%s has no --type; leave it out", fault->kind->name) : 0;
    }
    for (size_t i = 0; options.type && types[i]; i++) {
        if (!strcmp(types[i], options.type)) {
            snprintf(fault->type, sizeof fault->type, "%s", types[i]);
            return 0;
        }
    }
    snprintf(fault->type, sizeof fault->type, "%s", types[0]);
    return options.type
               ? ef_error_set(err, -EINVAL, "%s has no type '%.40s'; see ef-fabric(8)", fault->kind->name, options.type)
               : 0;
}

static int
read_fault(const struct ef_topology *t, struct ef_fault *fault, struct ef_error *err)
{
    if (!options.kind || !options.at) {
        return ef_error_set(err, -EINVAL, "say which and where: fault add --kind KIND --at SWITCH[:PORT]");
    }
    *fault = (struct ef_fault){.seed = options.seed, .kind = ef_fault_kind_find(options.kind, err)};
    int rc = fault->kind ? ef_fault_place(t, options.at, fault, err) : -EINVAL;
    int (*const readers[])(struct ef_fault *, struct ef_error *) = {read_delay, read_rate, read_match, read_type};
    if (!rc) {
        rc = check_place(fault, err);
    }
    for (size_t i = 0; !rc && i < EF_ARRAY_SIZE(readers); i++) {
        rc = readers[i](fault, err);
    }
    return rc;
}

static int
run_add(const struct ef_topology *t, const char *argument, struct ef_error *err)
{
    struct ef_fault fault;
    int rc = argument ? ef_error_set(err, -EINVAL, "too many arguments; see `ef-fabric fault --help`")
                      : read_fault(t, &fault, err);
    if (rc) {
        return EF_EXIT_USAGE;
    }
    rc = ef_faults_add(t, &fault, err);
    if (!rc) {
        printf("fault %u: %s at %s\n", fault.id, fault.kind->name, options.at);
    }
    return rc == -EINVAL ? EF_EXIT_USAGE : rc ? EF_EXIT_FAILURE : 0;
}

/* --- list, clear ------------------------------------------------------------ */

static void
print_list(const json_t *list)
{
    size_t i;
    json_t *json;
    printf("%-4s %-13s %-18s %-8s %-8s %8s  %s\n", "ID", "KIND", "AT", "RATE", "DELAY", "HIT", "MATCH");
    json_array_foreach(list, i, json)
    {
        const json_t *at = json_object_get(json, "at"), *rate = json_object_get(json, "rate");
        const json_t *delay = json_object_get(json, "delay_us"), *hit = json_object_get(json, "hit");
        const char *port = json_string_value(json_object_get(at, "port_name"));
        char place[40], rate_text[24] = "-", delay_text[24] = "-", hit_text[24] = "-";
        snprintf(place, sizeof place, "%s%s%s", json_string_value(json_object_get(at, "node")), port ? ":" : "",
                 port ? port : "");
        if (rate) {
            snprintf(rate_text, sizeof rate_text, "%g", json_number_value(rate));
        }
        if (delay) {
            snprintf(delay_text, sizeof delay_text, "%gus", json_number_value(delay));
        }
        if (hit) {
            snprintf(hit_text, sizeof hit_text, "%" JSON_INTEGER_FORMAT, json_integer_value(hit));
        }
        printf("%-4d %-13s %-18s %-8s %-8s %8s  %s\n", (int) json_integer_value(json_object_get(json, "id")),
               json_string_value(json_object_get(json, "kind")), place, rate_text, delay_text, hit_text,
               json_string_value(json_object_get(json, "match")));
    }
}

static int
run_list(const struct ef_topology *t, const char *argument, struct ef_error *err)
{
    if (argument) {
        ef_error_set(err, -EINVAL, "too many arguments; usage: ef-fabric fault list [--json]");
        return EF_EXIT_USAGE;
    }
    json_t *list = ef_faults_to_json(t);
    if (options.json) {
        json_dumpf(list, stdout, JSON_INDENT(1) | EF_JSON_REALS);
        putchar('\n');
    } else {
        print_list(list);
    }
    json_decref(list);
    return 0;
}

static int
run_clear(const struct ef_topology *t, const char *argument, struct ef_error *err)
{
    uint64_t id = 0;
    if (argument && strcmp(argument, "all") && ef_parse_u64(argument, "the fault", 1, EF_MAX_FAULTS, &id, err)) {
        return EF_EXIT_USAGE;
    }
    return ef_faults_clear(t, (uint32_t) id, err) ? EF_EXIT_FAILURE : 0;
}

static const struct action {
    const char *name;
    int (*run)(const struct ef_topology *t, const char *argument, struct ef_error *err);
} actions[] = {{"add", run_add}, {"list", run_list}, {"clear", run_clear}};

static const struct action *
find_action(const char *name, struct ef_error *err)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(actions); i++) {
        if (!strcmp(actions[i].name, name)) {
            return &actions[i];
        }
    }
    ef_error_set(err, -EINVAL, "unknown action '%.40s'; say fault add, fault list or fault clear", name);
    return NULL;
}

static int
run_fault(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    const char *name = ef_fabric_name_of(common);
    const struct action *action = find_action(words[0], err);
    struct ef_topology *t;
    if (!action) {
        return EF_EXIT_USAGE;
    }
    if (geteuid()) {
        ef_error_set(err, -EPERM, "needs root (network namespaces); run it with sudo");
        return EF_EXIT_FAILURE;
    }
    if (ef_state_load(name, &t, err)) {
        return EF_EXIT_FAILURE;
    }
    int code = EF_EXIT_FAILURE, lock = ef_state_lock(name, err);
    if (lock >= 0) {
        code = action->run(t, n_words > 1 ? words[1] : NULL, err);
        close(lock);
    } else if (lock == -ENOENT) {
        ef_error_set(err, lock, "fabric '%s' was removed meanwhile", name);
    }
    ef_topology_destroy(t);
    return code;
}

const struct ef_fabric_command ef_command_fault = {
    .name = "fault",
    .usage = "add --kind KIND --at SWITCH[:PORT] [OPTION...] | list [--json] | clear [ID | all]",
    .help = "put faults into the fabric, silently, and take them out again",
    .options = fault_option_table,
    .min_words = 1,
    .max_words = 2,
    .run = run_fault,
};
