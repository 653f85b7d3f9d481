/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of giving up root, in a child process, and of telling the service
 * manager. Without root only the refusals are tested. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/privileges.h"
#include "base/service_notify.h"

/* The value of a line such as "CapEff:" of this thread's status. */
static unsigned long long
status_bits(const char *name)
{
    unsigned long long bits = ~0ull;
    char line[256];
    FILE *f = fopen("/proc/thread-self/status", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (!strncmp(line, name, strlen(name))) {
            bits = strtoull(line + strlen(name), NULL, 16);
        }
    }
    if (f) {
        fclose(f);
    }
    return bits;
}

static bool
has_only(unsigned long long wanted)
{
    return status_bits("CapEff:") == wanted && status_bits("CapPrm:") == wanted && !status_bits("CapInh:") &&
           !status_bits("CapAmb:");
}

static void *
look_in_a_thread(void *arg)
{
    *(bool *) arg = has_only(1ull << CAP_NET_RAW) && geteuid() != 0;
    return NULL;
}

/* What the child finds wrong, as its exit status. */
static int
in_child(void)
{
    static const int needed[] = {CAP_NET_RAW, -1};
    struct ef_error err = EF_ERROR_INIT;
    pthread_t thread;
    bool thread_is_bound = false;
    if (ef_privileges_drop("nobody", needed, &err)) {
        return 1;
    }
    if (!getuid() || !geteuid() || !getgid() || !getegid()) {
        return 2;
    }
    if (!has_only(1ull << CAP_NET_RAW)) {
        return 3;
    }
    if (!setuid(0) || !access("/etc/shadow", R_OK)) {
        return 4;
    }
    int raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    if (raw < 0) {
        return 5;
    }
    close(raw);
    if (pthread_create(&thread, NULL, look_in_a_thread, &thread_is_bound) || pthread_join(thread, NULL) ||
        !thread_is_bound) {
        return 6;
    }
    return 0;
}

static void
only_what_is_needed_is_left(void **state)
{
    struct ef_error err = EF_ERROR_INIT;
    static const int none[] = {-1};
    if (geteuid()) {
        assert_int_equal(ef_privileges_drop("nobody", none, &err), -EPERM);
        return;
    }
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        _exit(in_child());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void
a_user_that_is_not_there_is_refused(void **state)
{
    struct ef_error err = EF_ERROR_INIT;
    static const int none[] = {-1};
    uid_t before = geteuid();
    assert_int_equal(ef_privileges_drop("no-such-user-here", none, &err), -ENOENT);
    assert_string_equal(err.text, "there is no user 'no-such-user-here'; make it with: adduser --system");
    assert_int_equal(geteuid(), before);
}

static void
the_service_manager_is_told(void **state)
{
    char directory[] = "/tmp/ef-test-notify-XXXXXX", text[32] = "";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_non_null(mkdtemp(directory));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s", directory);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    assert_int_equal(ef_service_notify("READY=1"), 1);
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), 7);
    assert_string_equal(text, "READY=1");
    close(fd);
    assert_int_equal(ef_service_notify("READY=1"), -ECONNREFUSED);
    unlink(address.sun_path);
    rmdir(directory);
    setenv("NOTIFY_SOCKET", "relative", 1);
    assert_int_equal(ef_service_notify("READY=1"), -EINVAL);
    char longer[200];
    memset(longer, '/', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    setenv("NOTIFY_SOCKET", longer, 1);
    assert_int_equal(ef_service_notify("READY=1"), -EINVAL);
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(ef_service_notify("READY=1"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_needed_is_left),
        cmocka_unit_test(a_user_that_is_not_there_is_refused),
        cmocka_unit_test(the_service_manager_is_told),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("privileges", tests, NULL, NULL);
}
