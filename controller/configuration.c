/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's configuration file; see configuration.h. */
#include <config.h>

#include "controller/configuration.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_number.h"
#include "controller/debug_settings.h"
#include "controller/document.h"
#include "controller/everflow_rules.h"
#include "controller/webhooks.h"
#include "net/address.h"
#include "net/http_client.h"
#include "net/ovsdb_remotes.h"
#include "packet/packet.h"

enum {
    MAX_PEERS = 1024,
    MAX_WATCHER_S = 3600,
    MAX_DSCP_BIT = 5,
    MAX_SAMPLE_BITS = 16,
    MAX_RATE_KPPS = 100000,
    MAX_BURST = 1000000,
    MAX_TTL_EXCEEDED_RATE = 1000000,
    MAX_WEIGHT = 1000
};

static const char *const encaps[] = {"gre", "erspan2", "erspan3", NULL};
static const char *const edges[] = {"none", "hosts", NULL};
static const char *const routings[] = {"openflow", "native", NULL};
static const char *const drop_copies[] = {"none", "chosen", "all", NULL};
static const char *const classes[] = {"tcp_syn", "tcp_fin", "tcp_rst", "debug", "bgp", "pfc", "rdma_nack", "cnp", NULL};

static const char *const analyzer_keys[] = {"name", "url", "address", "address6", "weight", NULL};
static const char *const prober_keys[] = {"name", "url", NULL};
static const char *const reshuffler_keys[] = {"name", "url", "vips", NULL};

/* --- Peers ---------------------------------------------------------------- */

static int
read_peer(const struct doc_place *place, const char *const known[], const struct peer *before, size_t n_before,
          struct peer *peer, struct ef_error *err)
{
    struct ef_error why = EF_ERROR_INIT;
    if (doc_check_keys(place, known, err) || doc_string(place, "name", NULL, &peer->name, err) ||
        doc_string(place, "url", NULL, &peer->url, err)) {
        return -EINVAL;
    }
    if (ef_http_server_url_check(peer->url, &why)) {
        struct doc_place url = doc_member(place, "url");
        return doc_error(&url, err, "%s", why.text);
    }
    for (size_t i = 0; i < n_before; i++) {
        if (!strcmp(before[i].name, peer->name)) {
            struct doc_place name = doc_member(place, "name");
            return doc_error(&name, err, "'%s' is there twice", peer->name);
        }
    }
    return 0;
}

static int
check_address(const struct doc_place *place, struct ef_error *err)
{
    const char *text = json_string_value(place->value);
    uint8_t address[16];
    if (!text || ef_address_parse(text, address)) {
        return doc_error(place, err, "'%.60s' is not an IP address", text ? text : "");
    }
    return 0;
}

/* What only analyzers, or only reshufflers have. */
typedef int read_rest(const struct doc_place *place, struct peer *peer, struct ef_error *err);

/* Where an analyzer takes copies, which reshufflers are told. */
static int
read_analyzer(const struct doc_place *place, struct peer *peer, struct ef_error *err)
{
    struct doc_place address = doc_member(place, "address"), address6 = doc_member(place, "address6");
    peer->address = json_string_value(address.value);
    peer->address6 = json_string_value(address6.value);
    if ((address.value && check_address(&address, err)) || (address6.value && check_address(&address6, err))) {
        return -EINVAL;
    }
    return doc_integer(place, "weight", 1, MAX_WEIGHT, 100, &peer->weight, err);
}

static int
read_prober(const struct doc_place *place, struct peer *peer, struct ef_error *err)
{
    return 0; /* No more than all peers have. */
}

/* Which targets lead to a reshuffler. */
static int
read_reshuffler(const struct doc_place *place, struct peer *peer, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(place, "vips", false, &list, err)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        struct doc_place vip = doc_element(&list, i);
        if (check_address(&vip, err)) {
            return -EINVAL;
        }
    }
    peer->vips = list.value;
    return 0;
}

static int
read_peers(const struct doc_place *root, const char *key, const char *const known[], read_rest *rest,
           struct peer **peers, size_t *n, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(root, key, false, &list, err)) {
        return -EINVAL;
    }
    size_t size = json_array_size(list.value);
    if (size > MAX_PEERS) {
        return doc_error(&list, err, "more than %d entries", MAX_PEERS);
    }
    *peers = calloc(size + 1, sizeof **peers);
    if (!*peers) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    for (*n = 0; *n < size; ++*n) {
        struct doc_place place = doc_element(&list, *n);
        if (read_peer(&place, known, *peers, *n, &(*peers)[*n], err) || rest(&place, &(*peers)[*n], err)) {
            return -EINVAL;
        }
    }
    return 0;
}

/* --- What switches are told ----------------------------------------------- */

static int
check_word(const struct doc_place *place, const char *const words[], struct ef_error *err)
{
    const char *text = json_string_value(place->value);
    for (size_t i = 0; text && words[i]; i++) {
        if (!strcmp(words[i], text)) {
            return 0;
        }
    }
    char list[128] = "";
    size_t n = 0;
    for (size_t i = 0; words[i] && n < sizeof list; i++) {
        n += (size_t) snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", words[i]);
    }
    return doc_error(place, err, "must be one of %s", list);
}

static int
read_classes(const struct doc_place *everflow, json_t **out, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(everflow, "classes", true, &list, err)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        struct doc_place place = doc_element(&list, i);
        if (check_word(&place, classes, err)) {
            return -EINVAL;
        }
        for (size_t j = 0; j < i; j++) {
            if (json_equal(json_array_get(list.value, j), place.value)) {
                return doc_error(&place, err, "'%s' is there twice", json_string_value(place.value));
            }
        }
    }
    *out = list.value;
    return 0;
}

static int
read_targets(const struct doc_place *everflow, json_t **out, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(everflow, "targets", true, &list, err)) {
        return -EINVAL;
    }
    if (!json_array_size(list.value)) {
        return doc_error(&list, err, "empty; copies need at least one address to go to");
    }
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        struct doc_place place = doc_element(&list, i);
        const char *text = json_string_value(place.value);
        uint8_t address[16];
        if (!text || ef_address_parse(text, address)) {
            return doc_error(&place, err, "'%s' is not an IP address", text ? text : "");
        }
    }
    *out = list.value;
    return 0;
}

/* "10.0.0.1", "10.0.0.0/8", "fd00::1" or "fd00::/8". */
static bool
is_ip_prefix(const char *text)
{
    char address[sizeof "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"];
    size_t len = strcspn(text, "/");
    uint8_t bytes[16];
    uint64_t bits;
    if (len >= sizeof address) {
        return false;
    }
    snprintf(address, sizeof address, "%.*s", (int) len, text);
    return !ef_address_parse(address, bytes) &&
           (!text[len] || !ef_parse_u64(text + len + 1, "", 0, strchr(address, ':') ? 128 : 32, &bits, NULL));
}

static int
read_probe_sources(const struct doc_place *everflow, json_t **out, struct ef_error *err)
{
    struct doc_place list;
    if (doc_array(everflow, "probe_sources", false, &list, err)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        struct doc_place place = doc_element(&list, i);
        const char *text = json_string_value(place.value);
        if (!text || !is_ip_prefix(text)) {
            return doc_error(&place, err, "'%.60s' is not an IP address or prefix", text ? text : "");
        }
    }
    *out = list.value;
    return 0;
}

static int
read_everflow(const struct doc_place *root, struct everflow_settings *s, struct ef_error *err)
{
    static const char *const known[] = {
        "targets",   "encap",       "classes", "debug_dscp",    "sample_bits", "sample_value", "truncate",
        "rate_kpps", "burst",       "decap",   "probe_sources", "routing",     "ttl_exceeded", "ttl_exceeded_rate",
        "egress",    "drop_copies", "rules",   "edge_ports",    NULL};
    struct doc_place place;
    const char *edge;
    if (doc_object(root, "everflow", true, &place, err) || doc_check_keys(&place, known, err) ||
        read_targets(&place, &s->targets, err) || read_classes(&place, &s->classes, err) ||
        doc_string(&place, "encap", "erspan3", &s->encap, err) ||
        doc_string(&place, "routing", "openflow", &s->routing, err) ||
        doc_string(&place, "drop_copies", "none", &s->drop_copies, err) ||
        doc_string(&place, "edge_ports", "none", &edge, err) ||
        doc_integer(&place, "debug_dscp", 0, MAX_DSCP_BIT, 1, &s->debug_dscp, err) ||
        doc_integer(&place, "sample_bits", 0, MAX_SAMPLE_BITS, 0, &s->sample_bits, err) ||
        doc_integer(&place, "sample_value", 1, 65535, 1, &s->sample_value, err) ||
        doc_integer(&place, "truncate", 0, 65535, 0, &s->truncate, err) ||
        doc_integer(&place, "rate_kpps", 0, MAX_RATE_KPPS, 0, &s->rate_kpps, err) ||
        doc_integer(&place, "burst", 0, MAX_BURST, 0, &s->burst, err) ||
        doc_boolean(&place, "egress", false, &s->egress, err) ||
        doc_boolean(&place, "ttl_exceeded", false, &s->ttl_exceeded, err) ||
        doc_integer(&place, "ttl_exceeded_rate", 1, MAX_TTL_EXCEEDED_RATE, 100, &s->ttl_exceeded_rate, err) ||
        doc_boolean(&place, "decap", false, &s->decap, err) || read_probe_sources(&place, &s->probe_sources, err)) {
        return -EINVAL;
    }
    struct doc_place edge_place = doc_member(&place, "edge_ports");
    if (edge_place.value && check_word(&edge_place, edges, err)) {
        return -EINVAL;
    }
    s->edge_hosts = !strcmp(edge, "hosts");
    struct doc_place encap = doc_member(&place, "encap"), routing = doc_member(&place, "routing"),
                     drops = doc_member(&place, "drop_copies"), value = doc_member(&place, "sample_value");
    if ((encap.value && check_word(&encap, encaps, err)) || (routing.value && check_word(&routing, routings, err)) ||
        (drops.value && check_word(&drops, drop_copies, err))) {
        return -EINVAL;
    }
    if (s->sample_bits && s->sample_value >> s->sample_bits) {
        return doc_error(&value, err, "%lld does not fit into %lld bits", (long long) s->sample_value,
                         (long long) s->sample_bits);
    }
    return everflow_rules_read(&place, s->sample_value, &s->rules, err);
}

/* --- The watchers ---------------------------------------------------------- */

static int
read_watchers(const struct doc_place *root, bool has_probers, struct watcher_settings *s, struct ef_error *err)
{
    static const char *const known[] = {
        "drop",      "loop",   "switches", "poll_ms",   "recheck_s", "diagnoses_per_minute", "probes_per_s", "orders",
        "latency_s", "ecmp_s", "rdma_s",   "corrupt_s", NULL};
    json_t *none = json_object();
    struct doc_place place;
    int rc = doc_object(root, "watchers", false, &place, err);
    place.value = !rc && !place.value ? none : place.value;
    rc = rc || doc_check_keys(&place, known, err) || doc_boolean(&place, "drop", has_probers, &s->drop, err) ||
         doc_boolean(&place, "loop", has_probers, &s->loop, err) ||
         doc_boolean(&place, "switches", true, &s->switches, err) ||
         doc_integer(&place, "poll_ms", 100, 60000, 500, &s->poll_ms, err) ||
         doc_integer(&place, "recheck_s", 1, 3600, 5, &s->recheck_s, err) ||
         doc_integer(&place, "diagnoses_per_minute", 1, 1000, 30, &s->diagnoses_per_minute, err) ||
         doc_integer(&place, "probes_per_s", 10, 1000000, 800, &s->probes_per_s, err) ||
         doc_integer(&place, "orders", 1, 256, 60, &s->orders, err) ||
         doc_integer(&place, "latency_s", 0, MAX_WATCHER_S, 3, &s->latency_s, err) ||
         doc_integer(&place, "ecmp_s", 0, MAX_WATCHER_S, 1, &s->ecmp_s, err) ||
         doc_integer(&place, "rdma_s", 0, MAX_WATCHER_S, 2, &s->rdma_s, err) ||
         doc_integer(&place, "corrupt_s", 0, MAX_WATCHER_S, 2, &s->corrupt_s, err);
    json_decref(none);
    return rc ? -EINVAL : 0;
}

/* --- The file ------------------------------------------------------------- */

static char *
relative_to(const char *base_file, const char *path)
{
    const char *slash = strrchr(base_file, '/');
    char *out = NULL;
    if (*path == '/' || !slash) {
        return strdup(path);
    }
    return asprintf(&out, "%.*s/%s", (int) (slash - base_file), base_file, path) < 0 ? NULL : out;
}

/* One file of "tls"; `*path` stays NULL if it is not named. */
static int
read_tls_file(const struct doc_place *tls, const char *key, const char *file, char **path, struct ef_error *err)
{
    const char *name;
    if (!doc_member(tls, key).value) {
        return 0;
    }
    if (doc_string(tls, key, NULL, &name, err)) {
        return -EINVAL;
    }
    *path = relative_to(file, name);
    return *path ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
}

static int
read_tls(const struct doc_place *root, const char *file, struct ef_tls **tls, struct ef_error *err)
{
    static const char *const known[] = {"cert", "key", "ca", "client_certificates", NULL};
    static const char *const demands[] = {"required", "optional", NULL};
    const char *demand;
    struct doc_place place;
    char *cert = NULL, *key = NULL, *ca = NULL;
    if (doc_object(root, "tls", false, &place, err)) {
        return -EINVAL;
    }
    if (!place.value) {
        return 0;
    }
    int rc = doc_check_keys(&place, known, err);
    rc = rc ? rc : read_tls_file(&place, "cert", file, &cert, err);
    rc = rc ? rc : read_tls_file(&place, "key", file, &key, err);
    rc = rc ? rc : read_tls_file(&place, "ca", file, &ca, err);
    rc = rc ? rc : doc_string(&place, "client_certificates", demands[0], &demand, err);
    struct doc_place demand_place = doc_member(&place, "client_certificates");
    rc = rc || !demand_place.value ? rc : check_word(&demand_place, demands, err);
    if (!rc) {
        struct ef_error why = EF_ERROR_INIT;
        const struct ef_tls_files files = {cert, key, ca, !strcmp(demand, "optional")};
        rc = ef_tls_create(&files, tls, &why) ? doc_error(&place, err, "%s", why.text) : 0;
    }
    free(cert);
    free(key);
    free(ca);
    return rc;
}

/* Daemons are asked with our certificate. */
static int
give_tls(const struct doc_place *root, const char *key, struct peer *peers, size_t n, const struct ef_tls *tls,
         struct ef_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!tls && !strncmp(peers[i].url, "https:", 6)) {
            struct doc_place array = doc_member(root, key), peer = doc_element(&array, i),
                             url = doc_member(&peer, "url");
            return doc_error(&url, err, "https needs \"tls\" with at least \"ca\"");
        }
        peers[i].tls = tls;
    }
    return 0;
}

/* A file that "access" names counts from the configuration's folder, too. */
static int
own_path(const char *file, const char **name, char **path, struct ef_error *err)
{
    if (!*name) {
        return 0;
    }
    *path = relative_to(file, *name);
    *name = *path;
    return *path ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
}

static int
read_access(const struct doc_place *root, const char *file, struct configuration *c, struct ef_error *err)
{
    int rc = access_settings_read(root, &c->access, err);
    rc = rc ? rc : own_path(file, &c->access.audit, &c->audit_file, err);
    return rc ? rc : own_path(file, &c->access.admin_token, &c->admin_token_file, err);
}

/* One remote, or a list of them; together in one text. */
static int
read_database(const struct doc_place *root, const struct ef_tls *tls, char **out, struct ef_error *err)
{
    struct doc_place place = doc_member(root, "database");
    struct ef_error why = EF_ERROR_INIT;
    struct ef_ovsdb_remotes remotes;
    json_t *list = json_is_string(place.value) ? json_pack("[O]", place.value) : json_incref(place.value), *item;
    char *text = NULL;
    size_t i;
    int rc = 0;
    if (place.value && (!json_is_array(list) || !json_array_size(list))) {
        rc = doc_error(&place, err, "must be a text such as \"unix:/run/everflow/state.sock\", or a list of such");
    }
    json_array_foreach(list, i, item)
    {
        char *longer = NULL;
        const char *one = json_string_value(item);
        if (!rc && asprintf(&longer, "%s%s%s", text ? text : "", text ? "," : "", one ? one : "") < 0) {
            rc = ef_error_set(err, -ENOMEM, "out of memory");
        }
        free(text);
        text = longer;
    }
    json_decref(list);
    if (!rc && text && ef_ovsdb_remotes_parse(text, &remotes, &why)) {
        rc = doc_error(&place, err, "%s", why.text);
    }
    if (!rc && text && !tls && strstr(text, "ssl:")) {
        rc = doc_error(&place, err, "ssl: needs \"tls\" with \"cert\", \"key\" and \"ca\"");
    }
    *out = text;
    return rc;
}

/* Where there is a capacity, no switch alone makes more copies, whatever traffic does. */
static void
limit_switches(const struct doc_place *root, struct configuration *c)
{
    bool is_given = json_object_get(json_object_get(root->value, "everflow"), "rate_kpps");
    if (json_object_get(root->value, "capacity") && !is_given) {
        c->everflow.rate_kpps = (int64_t) EF_MIN(ceil(c->capacity.copies_per_s / 1000), MAX_RATE_KPPS);
    }
}

static int
read_document(const struct doc_place *root, const char *file, struct configuration *c, struct ef_error *err)
{
    static const char *const known[] = {"listen",   "topology", "analyzers", "reshufflers", "probers",
                                        "everflow", "tls",      "database",  "watchers",    "access",
                                        "webhooks", "capacity", NULL};
    struct ef_error why = EF_ERROR_INIT;
    struct ef_net_address address;
    const char *topology;
    if (doc_check_keys(root, known, err) || doc_string(root, "listen", "127.0.0.1:8780", &c->listen, err) ||
        doc_string(root, "topology", NULL, &topology, err) ||
        read_peers(root, "analyzers", analyzer_keys, read_analyzer, &c->analyzers, &c->n_analyzers, err) ||
        read_peers(root, "reshufflers", reshuffler_keys, read_reshuffler, &c->reshufflers, &c->n_reshufflers, err) ||
        read_peers(root, "probers", prober_keys, read_prober, &c->probers, &c->n_probers, err) ||
        read_tls(root, file, &c->tls, err) || read_database(root, c->tls, &c->database, err) ||
        give_tls(root, "analyzers", c->analyzers, c->n_analyzers, c->tls, err) ||
        give_tls(root, "reshufflers", c->reshufflers, c->n_reshufflers, c->tls, err) ||
        give_tls(root, "probers", c->probers, c->n_probers, c->tls, err) || read_everflow(root, &c->everflow, err) ||
        read_watchers(root, c->n_probers, &c->watchers, err) || read_access(root, file, c, err) ||
        webhooks_read(root, &c->webhooks, err)) {
        return -EINVAL;
    }
    const struct debug_collectors collectors = {c->analyzers, c->reshufflers, c->n_analyzers, c->n_reshufflers};
    if (debug_settings_read(root, &collectors, &c->capacity, err)) {
        return -EINVAL;
    }
    limit_switches(root, c);
    if (ef_net_address_parse(c->listen, &address, &why)) {
        struct doc_place listen = doc_member(root, "listen");
        return doc_error(&listen, err, "%s", why.text);
    }
    c->topology_file = relative_to(file, topology);
    return c->topology_file ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
}

int
configuration_load(const char *file, struct configuration *c, struct ef_error *err)
{
    struct doc_place root;
    memset(c, 0, sizeof *c);
    int rc = doc_load(file, &root, err);
    if (rc) {
        return rc;
    }
    c->document = root.value;
    c->file = strdup(file);
    rc = c->file ? read_document(&root, file, c, err) : ef_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        configuration_free(c);
        return ef_error_prefix(err, rc, "%s", file);
    }
    return 0;
}

bool
everflow_has_class(const struct everflow_settings *everflow, const char *name)
{
    size_t i;
    const json_t *class;
    json_array_foreach(everflow->classes, i, class)
    {
        if (!strcmp(json_string_value(class), name)) {
            return true;
        }
    }
    return false;
}

void
configuration_free(struct configuration *c)
{
    free(c->file);
    free(c->analyzers);
    free(c->reshufflers);
    free(c->probers);
    free(c->database);
    free(c->topology_file);
    free(c->audit_file);
    free(c->admin_token_file);
    ef_tls_destroy(c->tls);
    json_decref(c->everflow.rules);
    json_decref(c->document);
    memset(c, 0, sizeof *c);
}
