/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as installed says what the controller does anyway: each value
 * that it shows is the default. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/configuration.h"

static const char installed[] = EF_TEST_SRCDIR "/../packaging/conf/controller.json";

/* What has no default, or is another than the program's own: who may ask, where the
 * state is. */
static const char least[] = "{\"topology\": \"topology.json\", \"everflow\": {\"targets\": [\"10.255.255.1\"],"
                            " \"classes\": [\"tcp_syn\", \"tcp_fin\", \"tcp_rst\", \"debug\"]}}";

struct both {
    struct configuration shown, defaults;
};

static int
set_up(void **state)
{
    char path[] = "/tmp/ef-test-configuration-XXXXXX";
    struct both *b = calloc(1, sizeof *b);
    struct ef_error err = EF_ERROR_INIT;
    int fd = mkstemp(path);
    if (!b || fd < 0 || write(fd, least, strlen(least)) != (ssize_t) strlen(least)) {
        return -1;
    }
    close(fd);
    int rc = configuration_load(path, &b->defaults, &err);
    unlink(path);
    rc = rc ? rc : configuration_load(installed, &b->shown, &err);
    if (rc) {
        fprintf(stderr, "%s\n", err.text);
    }
    *state = b;
    return rc;
}

static int
tear_down(void **state)
{
    struct both *b = *state;
    configuration_free(&b->shown);
    configuration_free(&b->defaults);
    free(b);
    return 0;
}

static void
check_empty(const json_t *list)
{
    assert_int_equal(json_array_size(list), 0);
}

static void
peers_and_addresses(void **state)
{
    const struct both *b = *state;
    assert_string_equal(b->shown.listen, b->defaults.listen);
    assert_int_equal(b->shown.n_analyzers + b->shown.n_reshufflers + b->shown.n_probers, 0);
    check_empty(b->shown.webhooks);
    assert_null(b->shown.tls);
}

static void
what_switches_are_told(void **state)
{
    const struct both *b = *state;
    const struct everflow_settings *s = &b->shown.everflow, *d = &b->defaults.everflow;
    assert_string_equal(s->encap, d->encap);
    assert_string_equal(s->routing, d->routing);
    assert_string_equal(s->drop_copies, d->drop_copies);
    assert_int_equal(s->edge_hosts, d->edge_hosts);
    assert_int_equal(s->decap, d->decap);
    assert_int_equal(s->egress, d->egress);
    assert_int_equal(s->ttl_exceeded, d->ttl_exceeded);
    assert_int_equal(s->ttl_exceeded_rate, d->ttl_exceeded_rate);
    assert_int_equal(s->debug_dscp, d->debug_dscp);
    assert_int_equal(s->sample_bits, d->sample_bits);
    assert_int_equal(s->sample_value, d->sample_value);
    assert_int_equal(s->truncate, d->truncate);
    assert_int_equal(s->rate_kpps, d->rate_kpps);
    assert_int_equal(s->burst, d->burst);
    check_empty(s->probe_sources);
    check_empty(d->probe_sources);
    assert_null(s->rules);
    assert_null(d->rules);
}

static void
the_watchers(void **state)
{
    const struct both *b = *state;
    const struct watcher_settings *s = &b->shown.watchers, *d = &b->defaults.watchers;
    assert_int_equal(s->drop, d->drop);
    assert_int_equal(s->loop, d->loop);
    assert_int_equal(s->switches, d->switches);
    assert_int_equal(s->poll_ms, d->poll_ms);
    assert_int_equal(s->recheck_s, d->recheck_s);
    assert_int_equal(s->diagnoses_per_minute, d->diagnoses_per_minute);
    assert_int_equal(s->probes_per_s, d->probes_per_s);
    assert_int_equal(s->orders, d->orders);
    assert_int_equal(s->latency_s, d->latency_s);
    assert_int_equal(s->ecmp_s, d->ecmp_s);
    assert_int_equal(s->rdma_s, d->rdma_s);
    assert_int_equal(s->corrupt_s, d->corrupt_s);
}

static void
what_debug_sessions_may_take(void **state)
{
    const struct both *b = *state;
    assert_memory_equal(&b->shown.capacity, &b->defaults.capacity, sizeof b->shown.capacity);
}

static void
who_may_ask(void **state)
{
    const struct both *b = *state;
    const struct access_settings *s = &b->shown.access, *d = &b->defaults.access;
    assert_int_equal(s->certificate, d->certificate);
    assert_int_equal(s->requests_per_s, d->requests_per_s);
    assert_int_equal(s->require_once, d->require_once);
    /* Safe as it is installed: nobody without a token. */
    assert_true(s->has_anonymous);
    assert_int_equal(s->anonymous, ROLE_NONE);
    assert_string_equal(s->admin_token, EF_TEST_SRCDIR "/../packaging/conf/admin.token");
    assert_string_equal(s->audit, "/var/log/everflow/audit.ndjson");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_and_addresses), cmocka_unit_test(what_switches_are_told),
        cmocka_unit_test(the_watchers),        cmocka_unit_test(what_debug_sessions_may_take),
        cmocka_unit_test(who_may_ask),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
