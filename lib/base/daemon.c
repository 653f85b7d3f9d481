/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of a daemon; see daemon.h. */
#include <config.h>

#include "base/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse_number.h"
#include "base/privileges.h"
#include "base/service_notify.h"

static int
set_conf(void *ctx, const char *value, struct ef_error *err)
{
    return 0; /* Reading it is all. */
}

static int
set_check_config(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_daemon *) ctx)->check_only = true;
    return 0;
}

static int
set_user(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_daemon *) ctx)->user = value;
    return 0;
}

static int
set_detach(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_daemon *) ctx)->detach = true;
    return 0;
}

static int
set_pidfile(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_daemon *) ctx)->pidfile = value;
    return 0;
}

static int
set_log_file(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_daemon *) ctx)->log_file = value;
    return 0;
}

static int
set_control(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_daemon *) ctx)->control = value;
    return 0;
}

static int
set_max_connections(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--max-connections", 2, 1000000, &((struct ef_daemon *) ctx)->max_connections, err);
}

static int
set_log_level(void *ctx, const char *value, struct ef_error *err)
{
    enum ef_log_level level;
    if (ef_log_level_by_name(value, &level)) {
        return ef_error_set(err, -EINVAL, "--log-level: '%.40s' is not error, warn, info or debug", value);
    }
    ef_log_set_level(level);
    return 0;
}

const struct ef_option ef_daemon_option_table[] = {
    {"conf", 0, "FILE", "read options from FILE, one 'option = value' on a line; see everflow.conf(5)", set_conf, true},
    {"check-config", 0, NULL, "say whether options and files are in order, and exit", set_check_config},
    {"user", 0, "NAME", "give up root and become NAME, with the capabilities the work needs", set_user},
    {"detach", 0, NULL, "go to the background once ready", set_detach},
    {"pidfile", 0, "FILE", "write the process id to FILE; refuse to start if its owner runs", set_pidfile},
    {"log-file", 0, "FILE", "append the log to FILE instead of stderr", set_log_file},
    {"log-level", 0, "LEVEL", "error, warn, info (default) or debug", set_log_level},
    {"control", 0, "SOCKET", "answer `efctl daemon SOCKET COMMAND` on this Unix socket", set_control},
    {"max-connections", 0, "N", "have at most N HTTP clients at once (default 1024), half of them of one address",
     set_max_connections},
    {0},
};

/* Each client takes a descriptor, and so does what is asked on its behalf. The soft limit
 * is only there for programs that use select(). */
static void
raise_file_limit(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* The parent's wait: one byte means ready, end of file means the child died
 * and has already said why. */
static void
wait_for_child(int fd)
{
    char byte;
    ssize_t n;
    do {
        n = read(fd, &byte, 1);
    } while (n < 0 && errno == EINTR);
    _exit(n == 1 ? 0 : 1);
}

static int
detach(struct ef_daemon *daemon, struct ef_error *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC)) {
        return ef_error_set(err, -errno, "pipe: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid < 0) {
        int code = errno;
        close(fds[0]);
        close(fds[1]);
        return ef_error_set(err, -code, "fork: %s", strerror(code));
    }
    if (pid) {
        close(fds[1]);
        wait_for_child(fds[0]);
    }
    close(fds[0]);
    setsid();
    daemon->ready_fd = fds[1];
    return 0;
}

/* The file at the path may be another than the one we locked: its former owner
 * removes it when it ends, and may just have done so. */
static bool
is_still_there(const char *path, int fd)
{
    struct stat ours, there;
    return !fstat(fd, &ours) && !stat(path, &there) && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

static int
lock_pidfile(struct ef_daemon *daemon, struct ef_error *err)
{
    for (;;) {
        int fd = open(daemon->pidfile, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) {
            return ef_error_set(err, -errno, "cannot write pidfile %s: %s", daemon->pidfile, strerror(errno));
        }
        if (flock(fd, LOCK_EX | LOCK_NB)) {
            close(fd);
            return ef_error_set(err, -EBUSY, "%s already runs (pidfile %s is locked)", daemon->program,
                                daemon->pidfile);
        }
        if (is_still_there(daemon->pidfile, fd)) {
            daemon->pidfile_fd = fd;
            return 0;
        }
        close(fd);
    }
}

/* A daemon started with its standard streams closed would get their numbers for
 * files of its own, which whoever writes to them would then write into. */
static void
open_standard_streams(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

int
ef_daemon_begin(struct ef_daemon *daemon, struct ef_error *err)
{
    daemon->ready_fd = daemon->pidfile_fd = -1;
    open_standard_streams();
    raise_file_limit();
    int rc = ef_log_open(daemon->program, daemon->log_file, err);
    /* Locked before the fork: the waiting parent shares the lock, so that when
     * it reports a failed start, the lock is free again. */
    if (!rc && daemon->pidfile) {
        rc = lock_pidfile(daemon, err);
    }
    if (!rc && daemon->detach) {
        rc = detach(daemon, err);
    }
    if (!rc && daemon->user) {
        static const int none[] = {-1};
        rc = ef_privileges_drop(daemon->user, daemon->capabilities ? daemon->capabilities : none, err);
    }
    if (rc) {
        ef_daemon_end(daemon);
    }
    return rc;
}

int
ef_daemon_say_checked(const struct ef_daemon *daemon)
{
    printf("%s: the configuration is in order\n", daemon->program);
    return 0;
}

static void
leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        close(null);
    }
}

int
ef_daemon_ready(struct ef_daemon *daemon, struct ef_error *err)
{
    if (daemon->pidfile_fd >= 0) {
        char text[24];
        int n = snprintf(text, sizeof text, "%ld\n", (long) getpid());
        errno = ENOSPC; /* What a short write means, which sets none. */
        if (ftruncate(daemon->pidfile_fd, 0) || pwrite(daemon->pidfile_fd, text, (size_t) n, 0) != n) {
            return ef_error_set(err, -errno, "cannot write pidfile %s: %s", daemon->pidfile, strerror(errno));
        }
    }
    if (daemon->ready_fd >= 0) {
        leave_terminal();
        ssize_t n = write(daemon->ready_fd, "1", 1);
        close(daemon->ready_fd);
        daemon->ready_fd = -1;
        if (n != 1) {
            return ef_error_set(err, -EPIPE, "the starting process went away");
        }
    }
    int rc = ef_service_notify("READY=1");
    if (rc < 0) {
        ef_log_warn("daemon", "cannot tell the service manager at $NOTIFY_SOCKET: %s", strerror(-rc));
    }
    return 0;
}

void
ef_daemon_end(struct ef_daemon *daemon)
{
    if (daemon->pidfile_fd >= 0) {
        unlink(daemon->pidfile);
        close(daemon->pidfile_fd);
        daemon->pidfile_fd = -1;
    }
}
