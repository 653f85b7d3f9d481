/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's configuration file, read once at the start:
 *
 *     {"listen": "127.0.0.1:8780", "topology": "topology.json",
 *      "analyzers": [{"name": "analyzer1", "url": "http://127.0.0.1:8781"}],
 *      "reshufflers": [{"name": "reshuffler1", "url": "http://127.0.0.1:8790"}],
 *      "probers": [{"name": "prober1", "url": "http://127.0.0.1:8795"}],
 *      "everflow": {"targets": ["10.255.255.1"], "encap": "erspan3", "classes": ["tcp_syn"],
 *                   "debug_dscp": 1, "sample_bits": 0, "sample_value": 1, "truncate": 0,
 *                   "rules": [{"name": "web", "match": "tcp,tp_dst=80"}]}}
 *
 * "database": "unix:/run/everflow/state.sock" (or "tcp:A:P", "ssl:A:P"; a list for a
 * cluster) is where the state is kept (state.h); without it, in memory only.
 *
 * "tls": {"cert": "controller.crt", "key": "controller.key", "ca": "ca.crt"} is what
 * the controller listens with and asks https:// daemons and ssl: databases with.
 *
 * (This header is not called config.h, which is what configure writes.) */
#ifndef CONTROLLER_CONFIGURATION_H
#define CONTROLLER_CONFIGURATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "controller/access.h"
#include "controller/debug_capacity.h"
#include "net/tls.h"

/* A daemon that we ask. */
struct peer {
    const char *name, *url;
    const char *address;  /* Analyzers: where copies go to; NULL: not our concern. */
    const char *address6; /* Beside an IPv4 address, where those go that come over IPv6; or NULL. */
    int64_t weight;
    json_t *vips;              /* Reshufflers: targets that lead to it; NULL: it is left alone. */
    const struct ef_tls *tls;  /* Borrowed from the configuration; NULL: none. */
    struct ef_http_pool *pool; /* Of connections to it and others, borrowed; NULL: none. */
};

/* What every switch is told, beside its own address. */
struct everflow_settings {
    json_t *targets, *classes;                    /* Arrays of strings. */
    json_t *probe_sources;                        /* The same, or NULL. */
    json_t *rules;                                /* See everflow_rules.h. A reference of its own. */
    bool decap, egress, ttl_exceeded, edge_hosts; /* edge_hosts: "edge_ports" is "hosts". */
    const char *encap, *routing, *drop_copies;    /* drop_copies: "none", ... */
    int64_t debug_dscp, sample_bits, sample_value, truncate, rate_kpps, burst, ttl_exceeded_rate;
};

/* The watchers (watchers.h): which are on, and what they may cost. */
struct watcher_settings {
    bool drop, loop; /* Default: on if there are probers. */
    bool switches;   /* Default: on. */
    int64_t poll_ms, recheck_s, diagnoses_per_minute;
    int64_t probes_per_s, orders;                 /* For diagnoses by hand, too. */
    int64_t latency_s, ecmp_s, rdma_s, corrupt_s; /* How often those look; 0: never. */
};

struct configuration {
    char *file;       /* Where it was read. */
    json_t *document; /* Owns all texts below but those that are not const. */
    const char *listen;
    char *database;         /* Remotes, as ovsdb_remotes.h has them; NULL: none. */
    char *topology_file;    /* A relative path counts from the configuration's folder. */
    char *audit_file;       /* The same; what access.audit says. NULL: none. */
    char *admin_token_file; /* Of access.admin_token. NULL: none. */
    struct ef_tls *tls;     /* NULL: plain HTTP. */
    struct peer *analyzers, *reshufflers, *probers;
    size_t n_analyzers, n_reshufflers, n_probers;
    struct everflow_settings everflow;
    struct watcher_settings watchers;
    struct access_settings access;
    struct debug_load capacity; /* Of all that collects copies; see debug_settings.h. */
    json_t *webhooks;           /* Borrowed; see webhooks.h. NULL: none. */
};

/* Reads and checks `file`. Returns 0, or -EINVAL with `err`, which names the
 * file and the place in it. */
int configuration_load(const char *file, struct configuration *configuration, struct ef_error *err);

/* Whether switches copy packets of the class. */
bool everflow_has_class(const struct everflow_settings *everflow, const char *name);

/* Releases what configuration_load() filled; a zeroed struct is fine. */
void configuration_free(struct configuration *configuration);

#endif
