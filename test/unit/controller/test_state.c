/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of controller/state: in memory, and against a real ovsdb-server
 * (EF_OVS_PREFIX says where it is, otherwise ovs/install in the build directory;
 * without one, only in memory). */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "controller/state.h"

enum { DEADLINE_MS = 20000 };

static const char schema_file[] = EF_TEST_SRCDIR "/../controller/everflow.ovsschema";
static const char *prefix;

struct fixture {
    struct event_base *base;
    char dir[32], remote[64];
    pid_t server;
};

/* One controller's view. */
struct view {
    struct fixture *f;
    struct state_store *state;
    char seen[2048]; /* "key=n " or "key- " for each change told. */
    unsigned n_role_changes;
    bool done;
    char error[900];
};

/* --- The server --------------------------------------------------------------- */

static void
shell(const char *fmt, ...)
{
    char command[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static void
start_server(struct fixture *f)
{
    f->server = fork();
    assert_true(f->server >= 0);
    if (!f->server) {
        char program[512], db[64], remote[96], ctl[96];
        snprintf(program, sizeof program, "%s/sbin/ovsdb-server", prefix);
        snprintf(db, sizeof db, "%s/state.db", f->dir);
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
        shell("rm -f %s/s %s/ctl %s/.state.db.~lock~", f->dir, f->dir, f->dir);
    }
}

static int
setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    f->base = event_base_new();
    strcpy(f->dir, "/tmp/ef-test-state-XXXXXX");
    if (!mkdtemp(f->dir)) {
        return -1;
    }
    snprintf(f->remote, sizeof f->remote, "unix:%s/s", f->dir);
    return 0;
}

static int
setup_server(void **state)
{
    if (setup(state)) {
        return -1;
    }
    struct fixture *f = *state;
    shell("%s/bin/ovsdb-tool create %s/state.db %s", prefix, f->dir, schema_file);
    start_server(f);
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    stop_server(f);
    shell("rm -rf %s", f->dir);
    event_base_free(f->base);
    free(f);
    libevent_global_shutdown();
    return 0;
}

/* --- A view ------------------------------------------------------------------- */

static void
on_changed(void *ctx, const char *key, json_t *document)
{
    struct view *v = ctx;
    size_t len = strlen(v->seen);
    if (document) {
        snprintf(v->seen + len, sizeof v->seen - len, "%s=%lld ", key,
                 json_integer_value(json_object_get(document, "n")));
    } else {
        snprintf(v->seen + len, sizeof v->seen - len, "%s- ", key);
    }
}

static void
on_role(void *ctx, bool is_active)
{
    struct view *v = ctx;
    v->n_role_changes++;
    assert_int_equal(state_is_active(v->state), is_active);
}

static void
open_view(struct fixture *f, struct view *v, bool durable)
{
    struct state_config config = {.database = durable ? f->remote : NULL, .self = "127.0.0.1:1"};
    memset(v, 0, sizeof *v);
    v->f = f;
    assert_int_equal(state_create(f->base, &config, &v->state, NULL), 0);
    assert_int_equal(state_is_durable(v->state), durable);
    state_watch(v->state, STATE_COUNTER, on_changed, v);
    state_watch_role(v->state, on_role, v);
}

static void
step(struct fixture *f, struct ef_time deadline)
{
    assert_true(ef_time_before(ef_time_mono(), deadline));
    struct timeval tick = {.tv_usec = 100000};
    event_base_loopexit(f->base, &tick); /* The deadline is looked at now and then. */
    event_base_loop(f->base, EVLOOP_ONCE);
}

#define WAIT_FOR(v, condition)                                                 \
    do {                                                                       \
        struct ef_time deadline = ef_time_add_ms(ef_time_mono(), DEADLINE_MS); \
        while (!(condition)) {                                                 \
            step((v)->f, deadline);                                            \
        }                                                                      \
    } while (0)

static void
on_done(void *ctx, const char *error)
{
    struct view *v = ctx;
    assert_false(v->done);
    v->done = true;
    snprintf(v->error, sizeof v->error, "%s", error ? error : "");
}

static void
put(struct view *v, const char *key, int n)
{
    v->done = false;
    state_put(v->state, STATE_COUNTER, key, json_pack("{s:i, s:s}", "n", n, "filter", "ip"), on_done, v);
    assert_false(v->done); /* Never from inside. */
    WAIT_FOR(v, v->done);
}

static void delete (struct view *v, const char *key)
{
    v->done = false;
    state_delete(v->state, STATE_COUNTER, key, on_done, v);
    WAIT_FOR(v, v->done);
}

static json_int_t
number(const struct view *v, const char *key)
{
    json_t *document = state_get(v->state, STATE_COUNTER, key);
    return document ? json_integer_value(json_object_get(document, "n")) : -1;
}

/* --- Tests -------------------------------------------------------------------- */

/* What holds with a database and without. */
static void
rows_come_and_go(struct fixture *f, bool durable)
{
    struct view v;
    char long_key[STATE_MAX_KEY_BYTES + 2];
    open_view(f, &v, durable);
    WAIT_FOR(&v, state_is_active(v.state));
    assert_false(state_refuses(v.state, v.error, sizeof v.error));
    put(&v, "a", 1);
    assert_string_equal(v.error, "");
    assert_int_equal(number(&v, "a"), 1);
    put(&v, "a", 2);
    put(&v, "b", 3);
    put(&v, "b", 3); /* As it was: nobody is told. */
    delete (&v, "a");
    delete (&v, "a");
    assert_string_equal(v.error, "");
    assert_int_equal(number(&v, "a"), -1);
    assert_int_equal(json_object_size(state_rows(v.state, STATE_COUNTER)), 1);
    assert_int_equal(json_object_size(state_rows(v.state, STATE_TOKEN)), 0);
    assert_string_equal(v.seen, "a=1 a=2 b=3 a- ");
    put(&v, "", 1);
    assert_non_null(strstr(v.error, "a key has"));
    memset(long_key, 'x', sizeof long_key - 1);
    long_key[sizeof long_key - 1] = '\0';
    put(&v, long_key, 1);
    assert_non_null(strstr(v.error, "a key has"));
    /* Two of one moment: the later wins. */
    state_put(v.state, STATE_COUNTER, "c", json_pack("{s:i}", "n", 1), NULL, NULL);
    put(&v, "c", 2);
    assert_int_equal(number(&v, "c"), 2);
    json_t *shown = state_show(v.state);
    assert_string_equal(json_string_value(json_object_get(shown, "role")), "active");
    assert_string_equal(json_string_value(json_object_get(shown, "kept")), durable ? "database" : "memory");
    json_decref(shown);
    /* One on its way when we end is forgotten. */
    v.done = true;
    state_put(v.state, STATE_COUNTER, "d", json_object(), on_done, &v);
    state_destroy(v.state);
}

static void
memory_works(void **state)
{
    rows_come_and_go(*state, false);
}

static void
database_works(void **state)
{
    rows_come_and_go(*state, true);
}

static void
rows_survive_the_server(void **state)
{
    struct fixture *f = *state;
    struct view v;
    open_view(f, &v, true);
    WAIT_FOR(&v, state_is_active(v.state));
    put(&v, "a", 1);
    stop_server(f);
    WAIT_FOR(&v, !state_is_active(v.state));
    assert_int_equal(number(&v, "a"), 1); /* Still readable. */
    put(&v, "b", 2);
    assert_non_null(strstr(v.error, "nothing was changed; start its ovsdb-server"));
    assert_int_equal(number(&v, "b"), -1);
    start_server(f);
    WAIT_FOR(&v, state_is_active(v.state));
    put(&v, "b", 2);
    assert_string_equal(v.error, "");
    assert_string_equal(v.seen, "a=1 b=2 "); /* What came back as it was is no change. */
    state_destroy(v.state);
    open_view(f, &v, true);
    WAIT_FOR(&v, state_is_active(v.state));
    assert_int_equal(number(&v, "a"), 1);
    assert_int_equal(number(&v, "b"), 2);
    state_destroy(v.state);
}

/* A server that does not answer: the outcome is not known, and said so. */
static void
frozen_server_is_no_acknowledgement(void **state)
{
    struct fixture *f = *state;
    struct view v;
    open_view(f, &v, true);
    WAIT_FOR(&v, state_is_active(v.state));
    kill(f->server, SIGSTOP);
    put(&v, "a", 1);
    assert_non_null(strstr(v.error, "is not known"));
    kill(f->server, SIGCONT);
    WAIT_FOR(&v, state_is_active(v.state));
    put(&v, "a", 2);
    assert_string_equal(v.error, "");
    assert_int_equal(number(&v, "a"), 2);
    state_destroy(v.state);
}

static void
standby_follows_and_takes_over(void **state)
{
    struct fixture *f = *state;
    struct view a, b;
    open_view(f, &a, true);
    WAIT_FOR(&a, state_is_active(a.state));
    open_view(f, &b, true);
    put(&a, "x", 1);
    WAIT_FOR(&b, number(&b, "x") == 1);
    assert_false(state_is_active(b.state));
    put(&b, "y", 1);
    assert_non_null(strstr(b.error, "is the standby: nothing was changed; ask the active one, 127.0.0.1:1"));
    put(&a, "x", 2);
    state_destroy(a.state);
    WAIT_FOR(&b, state_is_active(b.state));
    assert_int_equal(b.n_role_changes, 1);
    assert_int_equal(number(&b, "x"), 2);
    put(&b, "y", 1);
    assert_string_equal(b.error, "");
    state_destroy(b.state);
}

static void
changes_by_hand_are_followed(void **state)
{
    struct fixture *f = *state;
    struct view v;
    open_view(f, &v, true);
    WAIT_FOR(&v, state_is_active(v.state));
    put(&v, "a", 1);
    shell("%s/bin/ovsdb-client transact %s '[\"Everflow_State\", {\"op\":\"update\", \"table\":\"Counter\", "
          "\"where\":[[\"filter\",\"==\",\"ip\"]], \"row\":{\"document\":\"{\\\"n\\\":7}\"}}]' >/dev/null",
          prefix, f->remote);
    WAIT_FOR(&v, number(&v, "a") == 7);
    /* What is no document is not shown, and may be replaced. */
    shell("%s/bin/ovsdb-client transact %s '[\"Everflow_State\", {\"op\":\"update\", \"table\":\"Counter\", "
          "\"where\":[], \"row\":{\"document\":\"[]\"}}]' >/dev/null",
          prefix, f->remote);
    WAIT_FOR(&v, number(&v, "a") == -1);
    put(&v, "a", 8);
    assert_string_equal(v.error, "");
    assert_string_equal(v.seen, "a=1 a=7 a- a=8 ");
    state_destroy(v.state);
}

/* The schema has what state_tables.h says, no more and no less. */
static void
schema_is_as_the_tables_say(void **state)
{
    json_t *schema = json_load_file(schema_file, 0, NULL), *tables = json_object_get(schema, "tables");
    assert_int_equal(json_object_size(tables), STATE_N_TABLES);
    for (size_t i = 0; i < STATE_N_TABLES; i++) {
        json_t *columns = json_object_get(json_object_get(tables, state_tables[i].name), "columns");
        size_t n = 2;
        assert_non_null(json_object_get(columns, "key"));
        assert_non_null(json_object_get(columns, "document"));
        for (const char *const *c = state_tables[i].columns; *c; c++, n++) {
            assert_non_null(json_object_get(columns, *c));
        }
        assert_int_equal(json_object_size(columns), n);
    }
    json_decref(schema);
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

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup_server, teardown)

int
main(void)
{
    static const struct CMUnitTest in_memory[] = {
        cmocka_unit_test(schema_is_as_the_tables_say),
        cmocka_unit_test_setup_teardown(memory_works, setup, teardown),
    };
    static const struct CMUnitTest all[] = {
        cmocka_unit_test(schema_is_as_the_tables_say),
        cmocka_unit_test_setup_teardown(memory_works, setup, teardown),
        TEST(database_works),
        TEST(rows_survive_the_server),
        TEST(frozen_server_is_no_acknowledgement),
        TEST(standby_follows_and_takes_over),
        TEST(changes_by_hand_are_followed),
    };
    signal(SIGPIPE, SIG_IGN); /* As the daemon does. */
    if (!find_server()) {
        printf("# no ovsdb-server below %s (`make ovs` builds it): only in memory\n", prefix);
        return cmocka_run_group_tests(in_memory, NULL, NULL);
    }
    return cmocka_run_group_tests(all, NULL, NULL);
}
