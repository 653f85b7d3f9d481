/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of running programs and jobs, and of ending processes. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "utilities/fabric/process.h"
#include "utilities/fabric/run_command.h"

static void
programs_get_input_and_give_output(void **state)
{
    const char *argv[] = {"tr", "a-z", "A-Z", NULL};
    char *output = NULL;
    assert_int_equal(ef_run(argv, "hello\n", &output, NULL), 0);
    assert_string_equal(output, "HELLO\n");
    free(output);
}

static void
programs_fail_with_their_own_words(void **state)
{
    const char *say[] = {"sh", "-c", "echo 'sh: one' >&2; echo '2026-01-01T00:00:00Z|00001|x|ERR|two' >&2; exit 3",
                         NULL};
    const char *quiet[] = {"sh", "-c", "exit 3", NULL};
    const char *missing[] = {"/nonexistent/program", NULL};
    struct ef_error err = EF_ERROR_INIT;
    assert_int_equal(ef_run(say, NULL, NULL, &err), -EIO);
    assert_string_equal(err.text, "sh: one; two");
    assert_int_equal(ef_run(quiet, NULL, NULL, &err), -EIO);
    assert_string_equal(err.text, "sh: exit status 3");
    assert_int_equal(ef_run(missing, NULL, NULL, &err), -EIO);
    assert_string_equal(err.text, "program: cannot run: No such file or directory");
}

struct jobs {
    int fds[2];
    size_t bad; /* The job that fails. */
};

static int
job(size_t index, void *jobs_, struct ef_error *err)
{
    struct jobs *jobs = jobs_;
    char byte = (char) index;
    if (index == jobs->bad) {
        return ef_error_set(err, -EPERM, "job %zu is bad", index);
    }
    return write(jobs->fds[1], &byte, 1) == 1 ? 0 : -errno;
}

static void
jobs_run_all_or_say_why_not(void **state)
{
    struct jobs jobs = {.bad = 99};
    struct ef_error err = EF_ERROR_INIT;
    char bytes[32];
    assert_int_equal(pipe(jobs.fds), 0);
    assert_int_equal(ef_run_parallel(20, 3, job, &jobs, &err), 0);
    assert_int_equal(read(jobs.fds[0], bytes, sizeof bytes), 20);
    jobs.bad = 5;
    assert_int_equal(ef_run_parallel(20, 3, job, &jobs, &err), -EPERM);
    assert_string_equal(err.text, "job 5 is bad");
    assert_int_equal(ef_run_parallel(0, 3, job, &jobs, &err), 0);
    close(jobs.fds[0]);
    close(jobs.fds[1]);
}

/* A child that holds the lock of `path` (as our daemons or as those of Open
 * vSwitch do) and, if asked, does not listen to SIGTERM. */
static pid_t
start_locker(const char *path, int use_fcntl, int stubborn)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (!pid) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        if (stubborn) {
            signal(SIGTERM, SIG_IGN);
        }
        if (use_fcntl ? fcntl(fd, F_SETLK, &lock) : flock(fd, LOCK_EX)) {
            _exit(1);
        }
        dprintf(fd, "%d\n", getpid());
        if (write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void
owners_of_pidfiles_are_found_and_ended(void **state)
{
    char path[] = "/tmp/ef-test-XXXXXX";
    close(mkstemp(path));
    assert_int_equal(ef_pidfile_owner(path), 0);
    for (int use_fcntl = 0; use_fcntl <= 1; use_fcntl++) {
        assert_int_equal(truncate(path, 0), 0);
        pid_t pid = start_locker(path, use_fcntl, use_fcntl);
        assert_int_equal(ef_pidfile_owner(path), pid);
        ef_processes_stop(&pid, 1, 100);
        int status;
        assert_int_equal(waitpid(pid, &status, WNOHANG), pid);
        assert_int_equal(WTERMSIG(status), use_fcntl ? SIGKILL : SIGTERM);
        assert_int_equal(ef_pidfile_owner(path), 0); /* Its number is still in it. */
    }
    unlink(path);
    assert_int_equal(ef_pidfile_owner(path), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_get_input_and_give_output),
        cmocka_unit_test(programs_fail_with_their_own_words),
        cmocka_unit_test(jobs_run_all_or_say_why_not),
        cmocka_unit_test(owners_of_pidfiles_are_found_and_ended),
    };
    return cmocka_run_group_tests_name("fabric/run", tests, NULL, NULL);
}
