/* SPDX-License-Identifier: Apache-2.0 */
/* ef-fabric path: the switches that the fabric's own forwarding gives a packet. */
#include <config.h>

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_number.h"
#include "utilities/fabric/commands.h"
#include "utilities/fabric/state.h"
#include "utilities/fabric/trace_path.h"

static struct path_options {
    uint16_t sport, dport;
    uint8_t proto, ttl;
    const char *batch;
    bool json;
} options = {.sport = 40000, .dport = 80, .proto = 6, .ttl = 64};

static int
parse_port(const char *text, const char *what, uint16_t *port, struct ef_error *err)
{
    uint64_t number;
    int rc = ef_parse_u64(text, what, 0, 65535, &number, err);
    *port = rc ? 0 : (uint16_t) number;
    return rc;
}

static int
parse_proto(const char *text, uint8_t *proto, struct ef_error *err)
{
    static const struct {
        const char *name;
        uint8_t number;
    } names[] = {{"tcp", 6}, {"udp", 17}, {"icmp", 1}, {"gre", 47}};
    uint64_t number;
    for (size_t i = 0; i < EF_ARRAY_SIZE(names); i++) {
        if (!strcmp(text, names[i].name)) {
            *proto = names[i].number;
            return 0;
        }
    }
    if (ef_parse_u64(text, "--proto", 0, 255, &number, NULL)) {
        return ef_error_set(err, -EINVAL, "'%.20s' is not tcp, udp, icmp, gre or a number from 0 to 255", text);
    }
    *proto = (uint8_t) number;
    return 0;
}

static int
set_sport(void *ctx, const char *value, struct ef_error *err)
{
    return parse_port(value, "--sport", &options.sport, err);
}
static int
set_dport(void *ctx, const char *value, struct ef_error *err)
{
    return parse_port(value, "--dport", &options.dport, err);
}
static int
set_proto(void *ctx, const char *value, struct ef_error *err)
{
    return parse_proto(value, &options.proto, err);
}
static int
set_ttl(void *ctx, const char *value, struct ef_error *err)
{
    uint64_t ttl;
    int rc = ef_parse_u64(value, "--ttl", 0, 255, &ttl, err);
    options.ttl = rc ? 0 : (uint8_t) ttl;
    return rc;
}
static int
set_batch(void *ctx, const char *value, struct ef_error *err)
{
    options.batch = value;
    return 0;
}
static int
set_json(void *ctx, const char *value, struct ef_error *err)
{
    options.json = true;
    return 0;
}

static const struct ef_option path_option_table[] = {
    {"sport", 0, "PORT", "source port (default 40000)", set_sport},
    {"dport", 0, "PORT", "destination port (default 80)", set_dport},
    {"proto", 0, "PROTO", "tcp (default), udp, icmp, gre or a number", set_proto},
    {"ttl", 0, "TTL", "TTL of the packet as it is sent (default 64)", set_ttl},
    {"batch", 'b', "FILE", "read packets from FILE (- is stdin), one a line:\n\"SRC DST [SPORT [DPORT [PROTO]]]\"",
     set_batch},
    {"json", 'j', NULL, "one JSON object per packet and line", set_json},
    {0},
};

/* A node's address by its name, or an address itself, which `*node` (may be
 * NULL) then gets the owner of. */
static int
find_address(const struct ef_topology *t, const char *word, uint32_t *address, const char **node, struct ef_error *err)
{
    bool is_address = !ef_address_parse(word, address, NULL);
    for (size_t i = 0; i < t->n_hosts; i++) {
        if (is_address ? t->hosts[i].address == *address : !strcmp(t->hosts[i].name, word)) {
            *address = t->hosts[i].address;
            *node = t->hosts[i].name;
            return 0;
        }
    }
    for (size_t i = 0; i < t->n_switches; i++) {
        if (is_address ? t->switches[i].loopback == *address : !strcmp(t->switches[i].name, word)) {
            *address = t->switches[i].loopback;
            *node = t->switches[i].name;
            return 0;
        }
    }
    *node = NULL;
    return is_address ? 0 : ef_error_set(err, -ENOENT, "fabric '%s' has no host or switch '%.40s'", t->name, word);
}

static int
find_packet(const struct ef_topology *t, const char *src, const char *dst, struct ef_packet_key *packet,
            struct ef_error *err)
{
    const char *to;
    int rc = find_address(t, src, &packet->src, &packet->from, err);
    if (!rc && !packet->from) {
        rc = ef_error_set(err, -ENOENT, "no host or switch of fabric '%s' has the address %s", t->name, src);
    }
    return rc ? rc : find_address(t, dst, &packet->dst, &to, err);
}

static json_t *
path_to_json(const struct ef_packet_key *packet, const struct ef_path *path)
{
    char src[EF_ADDRESS_TEXT_SIZE], dst[EF_ADDRESS_TEXT_SIZE];
    json_t *hops = json_array();
    for (size_t i = 0; i < path->n_hops; i++) {
        const struct ef_path_hop *hop = &path->hops[i];
        char loopback[EF_ADDRESS_TEXT_SIZE];
        json_t *json = json_pack("{s:s, s:s, s:i}", "name", hop->sw->name, "switch",
                                 ef_address_format(hop->sw->loopback, loopback), "ttl", hop->ttl);
        json_object_set_new(json, "in_port", hop->in_port ? json_integer(hop->in_port) : json_null());
        json_object_set_new(json, "out_port", hop->out_port ? json_integer(hop->out_port) : json_null());
        json_array_append_new(hops, json);
    }
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:s, s:s?}", "src", ef_address_format(packet->src, src), "dst",
                     ef_address_format(packet->dst, dst), "proto", packet->proto, "srcport", packet->sport, "dstport",
                     packet->dport, "hops", hops, "end", ef_path_end_name(path->end), "to", path->to);
}

static void
print_path(const struct ef_packet_key *packet, const struct ef_path *path)
{
    if (options.json) {
        json_t *json = path_to_json(packet, path);
        json_dumpf(json, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(json);
        return;
    }
    printf("%s", packet->from);
    for (size_t i = 0; i < path->n_hops; i++) {
        printf(" > %s", path->hops[i].sw->name);
    }
    if (path->end == EF_PATH_DELIVERED) {
        printf(" > %s\n", path->to);
    } else {
        printf(" (%s)\n", ef_path_end_name(path->end));
    }
}

static int
trace_one(struct ef_tracer *tracer, const struct ef_packet_key *packet, struct ef_error *err)
{
    struct ef_path path;
    int rc = ef_tracer_trace(tracer, packet, &path, err);
    if (!rc) {
        print_path(packet, &path);
    }
    return rc;
}

static int
parse_line(const struct ef_topology *t, char *line, struct ef_packet_key *packet, struct ef_error *err)
{
    char *words[5] = {NULL}, *save, *extra = NULL;
    size_t n = 0;
    for (char *word = strtok_r(line, " \t\r\n", &save); word && !extra; word = strtok_r(NULL, " \t\r\n", &save)) {
        if (n < EF_ARRAY_SIZE(words)) {
            words[n++] = word;
        } else {
            extra = word;
        }
    }
    if (n < 2 || extra) {
        return ef_error_set(err, -EINVAL, "not \"SRC DST [SPORT [DPORT [PROTO]]]\"");
    }
    int rc = find_packet(t, words[0], words[1], packet, err);
    if (!rc && words[2]) {
        rc = parse_port(words[2], "source port", &packet->sport, err);
    }
    if (!rc && words[3]) {
        rc = parse_port(words[3], "destination port", &packet->dport, err);
    }
    return rc || !words[4] ? rc : parse_proto(words[4], &packet->proto, err);
}

static int
trace_batch(const struct ef_topology *t, struct ef_tracer *tracer, const struct ef_packet_key *defaults,
            struct ef_error *err)
{
    bool is_stdin = !strcmp(options.batch, "-");
    FILE *in = is_stdin ? stdin : fopen(options.batch, "re");
    char *line = NULL;
    size_t size = 0;
    int rc = 0;
    if (!in) {
        return ef_error_set(err, -errno, "cannot read %s: %s", options.batch, strerror(errno));
    }
    for (int number = 1; !rc && getline(&line, &size, in) >= 0; number++) {
        struct ef_packet_key packet = *defaults;
        if (line[strspn(line, " \t\r\n")] && line[0] != '#') {
            rc = parse_line(t, line, &packet, err);
            rc = rc ? ef_error_prefix(err, rc, "line %d", number) : trace_one(tracer, &packet, err);
        }
    }
    free(line);
    if (!is_stdin) {
        fclose(in);
    }
    return rc;
}

static int
run_path(const struct ef_fabric_options *common, int n_words, char *const words[], struct ef_error *err)
{
    struct ef_packet_key packet = {
        .proto = options.proto, .sport = options.sport, .dport = options.dport, .ttl = options.ttl};
    struct ef_topology *t;
    if (n_words != (options.batch ? 0 : 2)) {
        ef_error_set(err, -EINVAL, "say from where to where; usage: ef-fabric path %s", ef_command_path.usage);
        return EF_EXIT_USAGE;
    }
    if (geteuid()) {
        ef_error_set(err, -EPERM, "needs root (the switches' control sockets); run it with sudo");
        return EF_EXIT_FAILURE;
    }
    int rc = ef_state_load(ef_fabric_name_of(common), &t, err);
    if (rc) {
        return EF_EXIT_FAILURE;
    }
    struct ef_tracer *tracer = ef_tracer_create(t);
    if (options.batch) {
        rc = trace_batch(t, tracer, &packet, err);
    } else {
        rc = find_packet(t, words[0], words[1], &packet, err);
        rc = rc ? rc : trace_one(tracer, &packet, err);
    }
    ef_tracer_destroy(tracer);
    ef_topology_destroy(t);
    return rc ? EF_EXIT_FAILURE : 0;
}

const struct ef_fabric_command ef_command_path = {
    .name = "path",
    .usage = "SRC DST [--sport PORT --dport PORT --proto PROTO] [--json], or --batch FILE",
    .help = "ask the switches which way a packet goes",
    .options = path_option_table,
    .max_words = 2,
    .run = run_path,
};
