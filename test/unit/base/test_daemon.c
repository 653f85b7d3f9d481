/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what every daemon does alike: going to the background only when
 * ready, the pidfile, and the control socket. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/control_socket.h"
#include "base/daemon.h"
#include "base/log.h"
#include "base/signals.h"

static char directory[] = "/tmp/ef-test-XXXXXX";

static const char *
path_of(const char *name)
{
    static char path[100];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int
make_directory(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int
remove_directory(void **state)
{
    return rmdir(directory);
}

struct client {
    const char *request;
    char answer[4096];
    size_t len;
    _Atomic bool done;
};

/* Sends one request and reads to the end of file. */
static void *
ask(void *arg)
{
    struct client *client = arg;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/ctl", directory);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (!connect(fd, (struct sockaddr *) &address, sizeof address) &&
        write(fd, client->request, strlen(client->request)) > 0) {
        ssize_t n;
        while ((n = read(fd, client->answer + client->len, sizeof client->answer - 1 - client->len)) > 0) {
            client->len += (size_t) n;
        }
    }
    close(fd);
    client->done = true;
    return NULL;
}

static int
echo_words(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    if (argc < 2) {
        return ef_error_set(err, -EINVAL, "echo what?");
    }
    for (int i = 1; i < argc; i++) {
        evbuffer_add_printf(reply, "%s;", argv[i]);
    }
    return 0;
}

static void
control_socket_answers(void **state)
{
    static const struct {
        const char *request, *answer;
    } cases[] = {
        {"echo a  b\n", "a;b;"},
        {"echo\n", "error: echo what?\n"},
        {"ehco a\n", "error: unknown command 'ehco'; did you mean echo?\n"},
        {"\n", "error: no command; try help\n"},
        {"log-level loud\n", "error: 'loud' is not error, warn, info or debug\n"},
        {"log-level\n", "info\n"},
    };
    struct event_base *base = event_base_new();
    struct ef_control *control;
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_control_create(base, path_of("ctl"), &control, &err), 0);
    ef_control_add(control, "echo", "WORD...", "the words again", echo_words, NULL);
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct client client = {.request = cases[i].request};
        pthread_t thread;
        pthread_create(&thread, NULL, ask, &client);
        while (!client.done) {
            event_base_loop(base, EVLOOP_NONBLOCK);
        }
        pthread_join(thread, NULL);
        assert_string_equal(client.answer, cases[i].answer);
    }
    struct ef_control *second;
    assert_int_equal(ef_control_create(base, path_of("ctl"), &second, &err), -EADDRINUSE);
    ef_control_destroy(control);
    assert_int_not_equal(access(path_of("ctl"), F_OK), 0);
    event_base_free(base);
}

static void
note_fired(evutil_socket_t fd, short what, void *fired)
{
    *(bool *) fired = true;
}

/* Rounds that the event loop makes within 100 ms. */
static unsigned
rounds_in_100_ms(struct event_base *base)
{
    static const struct timeval interval = {.tv_usec = 100000};
    bool fired = false;
    unsigned rounds = 0;
    event_base_once(base, -1, EV_TIMEOUT, note_fired, &fired, &interval);
    while (!fired) {
        event_base_loop(base, EVLOOP_ONCE);
        rounds++;
    }
    return rounds;
}

static void
control_socket_waits_for_file_descriptors(void **state)
{
    struct event_base *base = event_base_new();
    struct ef_control *control;
    assert_int_equal(ef_control_create(base, path_of("ctl"), &control, NULL), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of("ctl"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct rlimit old, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = (rlim_t) fd + 1; /* The next one would be beyond it. */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(connect(fd, (struct sockaddr *) &address, sizeof address), 0);
    unsigned rounds = rounds_in_100_ms(base);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_true(rounds < 10);

    /* It is served when there are some again. */
    assert_int_equal(write(fd, "version\n", 8), 8);
    char answer[64];
    ssize_t n;
    while ((n = recv(fd, answer, sizeof answer, MSG_DONTWAIT)) < 0) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_true(n > 0 && !memcmp(answer, PACKAGE_STRING, strlen(PACKAGE_STRING)));
    close(fd);
    ef_control_destroy(control);
    event_base_free(base);
}

static void
stale_control_socket_is_replaced(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of("stale"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
    close(fd);
    struct event_base *base = event_base_new();
    struct ef_control *control;
    assert_int_equal(ef_control_create(base, path_of("stale"), &control, NULL), 0);
    ef_control_destroy(control);
    event_base_free(base);
}

/* Runs `daemon` in a child, with the standard streams below `n_closed` closed;
 * returns the exit status of the process that was started, as a shell would see
 * it. */
static int
start_detached(const char *pidfile, bool becomes_ready, int n_closed)
{
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        for (int fd = 0; fd < n_closed; fd++) {
            close(fd);
        }
        struct ef_daemon daemon = {.program = "test", .detach = true, .pidfile = pidfile};
        struct ef_error err = EF_ERROR_INIT;
        int rc = ef_daemon_begin(&daemon, &err);
        if (!rc && becomes_ready) {
            rc = ef_daemon_ready(&daemon, &err);
            pause();
        }
        _exit(rc ? 3 : 4);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void
kill_detached(const char *pidfile)
{
    FILE *file = fopen(pidfile, "r");
    long pid = 0;
    assert_int_equal(fscanf(file, "%ld", &pid), 1);
    fclose(file);
    assert_int_equal(kill((pid_t) pid, SIGKILL), 0);
    assert_int_equal(unlink(pidfile), 0);
}

static void
detached_daemon_reports_readiness(void **state)
{
    char pidfile[100];
    snprintf(pidfile, sizeof pidfile, "%s", path_of("pid"));
    assert_int_equal(start_detached(pidfile, false, 0), 1);
    assert_int_equal(start_detached(pidfile, true, 0), 0);
    /* Refused before it forks, so by its own exit status. */
    assert_int_equal(start_detached(pidfile, true, 0), 3);
    kill_detached(pidfile);
}

static void
closed_standard_streams_are_no_hindrance(void **state)
{
    char pidfile[100];
    snprintf(pidfile, sizeof pidfile, "%s", path_of("pid"));
    for (int n_closed = 1; n_closed <= 3; n_closed++) {
        assert_int_equal(start_detached(pidfile, true, n_closed), 0);
        kill_detached(pidfile);
    }
}

static void
send_signal(evutil_socket_t fd, short what, void *ctx)
{
    kill(getpid(), *(const int *) ctx);
}

static void
expect_line(const char *name, const char *text)
{
    char line[200] = "";
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(strstr(line, text));
    fclose(file);
    unlink(path_of(name));
}

/* As logrotate does it: the file is renamed, then comes SIGHUP, then SIGTERM. */
static void
signals_reopen_the_log_and_end_the_loop(void **state)
{
    static const int hangup = SIGHUP, terminate = SIGTERM;
    static const struct timeval first = {0, 1}, later = {0, 50000};
    static char log[100], old[100];
    snprintf(log, sizeof log, "%s", path_of("log"));
    snprintf(old, sizeof old, "%s", path_of("log.1"));
    struct event_base *base = event_base_new();
    struct ef_signals *signals;
    assert_int_equal(ef_log_open("test", log, NULL), 0);
    ef_log_info("test", "before");
    assert_int_equal(rename(log, old), 0);
    ef_log_info("test", "still there");
    assert_int_equal(ef_signals_create(base, &signals, NULL), 0);
    event_base_once(base, -1, EV_TIMEOUT, send_signal, (void *) &hangup, &first);
    event_base_once(base, -1, EV_TIMEOUT, send_signal, (void *) &terminate, &later);
    assert_int_equal(event_base_dispatch(base), 0);
    assert_true(event_base_got_break(base));
    ef_signals_destroy(signals);
    event_base_free(base);
    assert_int_equal(ef_log_open("test", NULL, NULL), 0);
    expect_line("log.1", "before");
    expect_line("log", "opened anew");
}

static void
log_limit_counts_what_it_leaves_out(void **state)
{
    struct ef_log_limit limit = {0};
    uint64_t left_out = 99;
    assert_true(ef_log_limit_ok(&limit, &left_out));
    assert_int_equal(left_out, 0);
    assert_false(ef_log_limit_ok(&limit, &left_out));
    assert_false(ef_log_limit_ok(&limit, &left_out));
    limit.next_mono_ns = 0;
    assert_true(ef_log_limit_ok(&limit, &left_out));
    assert_int_equal(left_out, 2);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_socket_answers),
        cmocka_unit_test(control_socket_waits_for_file_descriptors),
        cmocka_unit_test(stale_control_socket_is_replaced),
        cmocka_unit_test(detached_daemon_reports_readiness),
        cmocka_unit_test(closed_standard_streams_are_no_hindrance),
        cmocka_unit_test(signals_reopen_the_log_and_end_the_loop),
        cmocka_unit_test(log_limit_counts_what_it_leaves_out),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
