/* SPDX-License-Identifier: Apache-2.0 */
/* A process that outlives its command; see worker.h. */
#include <config.h>

#include "utilities/fabric/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "utilities/fabric/process.h"

#define READY_MS 10000
#define REPORT_FD 3 /* In the child: where it says how it went. */
#define GRACE_MS 1000

/* --- The child -------------------------------------------------------------- */

/* Nothing of the command may live on in it: least of all the fabric's lock. */
static void
leave_command(int report)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(report, REPORT_FD);
    syscall(SYS_close_range, REPORT_FD + 1, UINT_MAX, 0);
    setsid();
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* The file stays open, and so locked, until the process ends. */
static int
hold_pidfile(const char *path, struct ef_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || dprintf(fd, "%d\n", (int) getpid()) < 0) {
        return ef_error_set(err, -errno, "cannot write %s: %s", path, strerror(errno));
    }
    return 0;
}

/* Reports "+" or what went wrong. */
static void
be_child(const char *pidfile, const struct ef_work *work)
{
    struct ef_error err = EF_ERROR_INIT;
    int rc = hold_pidfile(pidfile, &err);
    if (!rc) {
        rc = work->prepare(work->ctx, &err);
    }
    const char *report = rc ? err.text : "+";
    if (write(REPORT_FD, report, strlen(report)) < 0 || rc) {
        _exit(1);
    }
    close(REPORT_FD);
    work->run(work->ctx);
    _exit(0);
}

/* --- The command ------------------------------------------------------------ */

static int
wait_for_report(int fd, struct ef_error *err)
{
    char report[sizeof err->text] = "";
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t n = poll(&ready, 1, READY_MS) > 0 ? read(fd, report, sizeof report - 1) : -1;
    if (n <= 0) {
        return ef_error_set(err, -EIO, "the process did not start within %d s", READY_MS / 1000);
    }
    return strcmp(report, "+") ? ef_error_set(err, -EIO, "%s", report) : 0;
}

int
ef_worker_start(const char *pidfile, const struct ef_work *work, struct ef_error *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC)) {
        return ef_error_set(err, -errno, "pipe: %s", strerror(errno));
    }
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        leave_command(report[1]);
        be_child(pidfile, work);
    }
    close(report[1]);
    int rc = pid < 0 ? ef_error_set(err, -errno, "fork: %s", strerror(errno)) : wait_for_report(report[0], err);
    close(report[0]);
    return rc;
}

void
ef_worker_stop(const char *pidfile)
{
    pid_t pid = ef_pidfile_owner(pidfile);
    if (pid) {
        ef_processes_stop(&pid, 1, GRACE_MS);
    }
    unlink(pidfile);
}
