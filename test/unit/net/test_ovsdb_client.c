/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/net/ovsdb_client against a real ovsdb-server of the patched Open
 * vSwitch: EF_OVS_PREFIX says where it is, otherwise ovs/install in the build
 * directory. Without one there is nothing to test. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "net/ovsdb_client.h"
#include "net/ovsdb_value.h"

enum { DEADLINE_MS = 10000 };

static const char *prefix;

struct fixture {
    struct event_base *base;
    struct ef_ovsdb_client *client;
    char dir[32], remote[64];
    pid_t server;
    unsigned n_changes;
    bool done;
    char error[512];
};

static const char *const root_columns[] = {"everflow", NULL};
static const char *const everflow_columns[] = {"source_ip", "classes", "statistics", "external_ids", NULL};
static const char *const wrong_columns[] = {"no_such_column", NULL};
static const struct ef_ovsdb_table tables[] = {
    {"Open_vSwitch", root_columns, NULL}, {"Everflow", everflow_columns, "it needs the patched build"}, {0}};
static const struct ef_ovsdb_table wrong_table[] = {{"Nonsense", root_columns, "it has no Nonsense"}, {0}};
static const struct ef_ovsdb_table wrong_column[] = {{"Everflow", wrong_columns, NULL}, {0}};

/* --- The server ----------------------------------------------------------- */

static void
shell(const char *fmt, ...)
{
    char command[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static void
create_database(struct fixture *f)
{
    shell("rm -f %s/conf.db && %s/bin/ovsdb-tool create %s/conf.db %s/share/openvswitch/vswitch.ovsschema", f->dir,
          prefix, f->dir, prefix);
    shell("%s/bin/ovsdb-tool transact %s/conf.db '[\"Open_vSwitch\",{\"op\":\"insert\",\"table\":\"Open_vSwitch\","
          "\"row\":{}}]' >/dev/null",
          prefix, f->dir);
}

static void
start_server(struct fixture *f)
{
    f->server = fork();
    assert_true(f->server >= 0);
    if (!f->server) {
        char program[512], db[64], remote[96], ctl[96];
        snprintf(program, sizeof program, "%s/sbin/ovsdb-server", prefix);
        snprintf(db, sizeof db, "%s/conf.db", f->dir);
        snprintf(remote, sizeof remote, "--remote=punix:%s/s", f->dir);
        snprintf(ctl, sizeof ctl, "--unixctl=%s/ctl", f->dir);
        execl(program, program, "-vconsole:off", "-vsyslog:off", "-vfile:off", remote, ctl, db, (char *) NULL);
        _exit(127);
    }
}

static void
stop_server(struct fixture *f)
{
    if (f->server) {
        kill(f->server, SIGKILL);
        waitpid(f->server, NULL, 0);
        f->server = 0;
        shell("rm -f %s/s %s/ctl %s/.conf.db.~lock~", f->dir, f->dir, f->dir);
    }
}

/* --- The client ----------------------------------------------------------- */

static void
changed(void *ctx)
{
    ((struct fixture *) ctx)->n_changes++;
}

static void
create_client(struct fixture *f, const struct ef_ovsdb_table *wanted, const char *database)
{
    struct ef_ovsdb_config config = {.remote = f->remote,
                                     .database = database,
                                     .tables = wanted,
                                     .changed = changed,
                                     .ctx = f,
                                     .backoff_min_ms = 5,
                                     .backoff_max_ms = 50};
    ef_ovsdb_client_destroy(f->client);
    assert_int_equal(ef_ovsdb_client_create(f->base, &config, &f->client, NULL), 0);
}

static int
setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    f->base = event_base_new();
    strcpy(f->dir, "/tmp/ef-test-ovsdb-XXXXXX");
    if (!mkdtemp(f->dir)) {
        return -1;
    }
    snprintf(f->remote, sizeof f->remote, "unix:%s/s", f->dir);
    create_database(f);
    start_server(f);
    create_client(f, tables, "Open_vSwitch");
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    ef_ovsdb_client_destroy(f->client);
    stop_server(f);
    shell("rm -rf %s", f->dir);
    event_base_free(f->base);
    free(f);
    libevent_global_shutdown();
    return 0;
}

static void
wait_for_state(struct fixture *f, enum ef_ovsdb_state state)
{
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), DEADLINE_MS);
    while (ef_ovsdb_client_state(f->client) != state) {
        assert_true(ef_time_before(ef_time_mono(), deadline));
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

static void
wait_for_rows(struct fixture *f, const char *table, size_t n)
{
    struct ef_time deadline = ef_time_add_ms(ef_time_mono(), DEADLINE_MS);
    while (json_object_size(ef_ovsdb_client_rows(f->client, table)) != n) {
        assert_true(ef_time_before(ef_time_mono(), deadline));
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

static void
done(void *ctx, const char *error)
{
    struct fixture *f = ctx;
    f->done = true;
    snprintf(f->error, sizeof f->error, "%s", error ? error : "");
}

static void
transact(struct fixture *f, const char *operations)
{
    f->done = false;
    json_t *json = json_loads(operations, 0, NULL);
    assert_non_null(json);
    assert_int_equal(ef_ovsdb_client_transact(f->client, json, done, f), 0);
    while (!f->done) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

#define INSERT                                                                                                \
    "[{\"op\":\"insert\",\"table\":\"Everflow\",\"uuid-name\":\"e\",\"row\":{\"source_ip\":\"10.255.0.1\"}}," \
    "{\"op\":\"update\",\"table\":\"Open_vSwitch\",\"where\":[],\"row\":{\"everflow\":[\"named-uuid\",\"e\"]}}]"

/* --- Tests ---------------------------------------------------------------- */

static void
rows_follow_the_database(void **state)
{
    struct fixture *f = *state;
    wait_for_state(f, EF_OVSDB_READY);
    assert_string_equal(ef_ovsdb_client_error(f->client), "");
    assert_int_equal(json_object_size(ef_ovsdb_client_rows(f->client, "Open_vSwitch")), 1);
    assert_int_equal(json_object_size(ef_ovsdb_client_rows(f->client, "Everflow")), 0);
    assert_null(ef_ovsdb_client_rows(f->client, "Bridge"));
    transact(f, INSERT);
    assert_string_equal(f->error, "");
    wait_for_rows(f, "Everflow", 1);
    json_t *row = json_object_iter_value(json_object_iter(ef_ovsdb_client_rows(f->client, "Everflow")));
    assert_string_equal(json_string_value(json_object_get(row, "source_ip")), "10.255.0.1");
    transact(f, "[{\"op\":\"update\",\"table\":\"Everflow\",\"where\":[],\"row\":{\"source_ip\":\"10.255.0.2\"}}]");
    row = json_object_iter_value(json_object_iter(ef_ovsdb_client_rows(f->client, "Everflow")));
    assert_string_equal(json_string_value(json_object_get(row, "source_ip")), "10.255.0.2");
    /* Nothing refers to it: the server drops the row. */
    transact(f, "[{\"op\":\"update\",\"table\":\"Open_vSwitch\",\"where\":[],\"row\":{\"everflow\":[\"set\",[]]}}]");
    wait_for_rows(f, "Everflow", 0);
}

static void
refused_transactions_say_why(void **state)
{
    struct fixture *f = *state;
    wait_for_state(f, EF_OVSDB_READY);
    transact(f, "[{\"op\":\"insert\",\"table\":\"Everflow\",\"row\":{\"classes\":\"nonsense\"}}]");
    assert_non_null(strstr(f->error, "constraint violation"));
    transact(f, "[{\"op\":\"insert\",\"table\":\"Nonsense\",\"row\":{}}]");
    assert_true(f->error[0]);
    transact(f, "[17]");
    assert_true(f->error[0]);
}

static void
restarted_server_is_found_again(void **state)
{
    struct fixture *f = *state;
    wait_for_state(f, EF_OVSDB_READY);
    transact(f, INSERT);
    wait_for_rows(f, "Everflow", 1);
    stop_server(f);
    wait_for_state(f, EF_OVSDB_UNREACHABLE);
    assert_non_null(strstr(ef_ovsdb_client_error(f->client), f->remote));
    assert_null(ef_ovsdb_client_rows(f->client, "Everflow"));
    json_t *nothing = json_array();
    assert_int_equal(ef_ovsdb_client_transact(f->client, nothing, done, f), -ENOTCONN);
    create_database(f); /* It comes back empty. */
    start_server(f);
    wait_for_state(f, EF_OVSDB_READY);
    assert_int_equal(json_object_size(ef_ovsdb_client_rows(f->client, "Everflow")), 0);
    assert_int_equal(json_object_size(ef_ovsdb_client_rows(f->client, "Open_vSwitch")), 1);
}

static void
frozen_server_is_noticed(void **state)
{
    struct fixture *f = *state;
    wait_for_state(f, EF_OVSDB_READY);
    struct ef_ovsdb_config config = {.remote = f->remote,
                                     .database = "Open_vSwitch",
                                     .tables = tables,
                                     .changed = changed,
                                     .ctx = f,
                                     .probe_ms = 100};
    ef_ovsdb_client_destroy(f->client);
    assert_int_equal(ef_ovsdb_client_create(f->base, &config, &f->client, NULL), 0);
    wait_for_state(f, EF_OVSDB_READY);
    kill(f->server, SIGSTOP);
    f->done = false;
    assert_int_equal(ef_ovsdb_client_transact(f->client, json_array(), done, f), 0);
    wait_for_state(f, EF_OVSDB_UNREACHABLE);
    assert_true(f->done); /* The transaction's owner was told. */
    assert_true(f->error[0]);
    kill(f->server, SIGCONT);
    wait_for_state(f, EF_OVSDB_READY);
}

static void
unsuitable_databases_are_named(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const struct ef_ovsdb_table *tables;
        const char *database, *error;
    } cases[] = {
        {wrong_table, "Open_vSwitch", "it has no Nonsense"},
        {wrong_column, "Open_vSwitch", "table Everflow has no column no_such_column"},
        {tables, "No_such_db", "unknown database"},
    };
    wait_for_state(f, EF_OVSDB_READY);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        create_client(f, cases[i].tables, cases[i].database);
        wait_for_state(f, EF_OVSDB_UNSUITABLE);
        assert_non_null(strstr(ef_ovsdb_client_error(f->client), cases[i].error));
    }
}

static void
remotes_are_checked(void **state)
{
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_ovsdb_remote_check("unix:/x", NULL), 0);
    assert_int_equal(ef_ovsdb_remote_check("tcp:127.0.0.1:6640", NULL), 0);
    assert_int_equal(ef_ovsdb_remote_check("tcp:[::1]:6640", NULL), 0);
    assert_int_equal(ef_ovsdb_remote_check("ssl:127.0.0.1:6640", NULL), 0);
    assert_int_equal(ef_ovsdb_remote_check("tcp:127.0.0.1:1,unix:/x,ssl:[::1]:2", NULL), 0);
    assert_int_equal(ef_ovsdb_remote_check("tcp:127.0.0.1:1,", NULL), 0);
    assert_int_equal(ef_ovsdb_remote_check("", &err), -EINVAL);
    assert_int_equal(ef_ovsdb_remote_check("tcp:127.0.0.1:1,x", &err), -EINVAL);
    assert_int_equal(ef_ovsdb_remote_check("127.0.0.1:6640", &err), -EINVAL);
    assert_int_equal(ef_ovsdb_remote_check("tcp:127.0.0.1", &err), -EINVAL);
}

static bool
find_server(void)
{
    static char path[512];
    prefix = getenv("EF_OVS_PREFIX");
    prefix = prefix ? prefix : "ovs/install";
    snprintf(path, sizeof path, "%s/sbin/ovsdb-server", prefix);
    return !access(path, X_OK);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(rows_follow_the_database), TEST(refused_transactions_say_why),   TEST(restarted_server_is_found_again),
        TEST(frozen_server_is_noticed), TEST(unsuitable_databases_are_named), cmocka_unit_test(remotes_are_checked),
    };
    if (!find_server()) {
        printf("1..1\nok 1 - ovsdb client # SKIP no ovsdb-server below %s (`make ovs` builds it)\n", prefix);
        return 0;
    }
    signal(SIGPIPE, SIG_IGN); /* As every daemon does. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
