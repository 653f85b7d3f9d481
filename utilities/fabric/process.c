/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that we did not wait for; see process.h. */
#include <config.h>

#include "utilities/fabric/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/time.h"
#include "utilities/fabric/memory.h"

static pid_t
read_pid(int fd)
{
    char text[32] = "";
    return pread(fd, text, sizeof text - 1, 0) > 0 ? (pid_t) strtol(text, NULL, 10) : 0;
}

pid_t
ef_pidfile_owner(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    pid_t pid = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    if (!fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK) {
        pid = lock.l_pid;
    } else if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        pid = read_pid(fd);
    }
    close(fd);
    return pid > 1 ? pid : 0;
}

/* Waits until all are gone (their descriptors are readable then) or `deadline`. */
static bool
wait_until_gone(struct pollfd *fds, size_t n, struct ef_time deadline)
{
    size_t left = n;
    for (size_t i = 0; i < n; i++) {
        left -= fds[i].fd < 0;
    }
    while (left) {
        int64_t ms = (ef_time_diff_ns(deadline, ef_time_mono()) + EF_NS_PER_MS - 1) / EF_NS_PER_MS;
        int ready = ms > 0 ? poll(fds, n, (int) ms) : 0;
        if (!ready) {
            return false;
        }
        for (size_t i = 0; ready > 0 && i < n; i++) {
            if (fds[i].fd >= 0 && fds[i].revents) {
                close(fds[i].fd);
                fds[i].fd = -1;
                left--;
            }
        }
    }
    return true;
}

/* A pidfd names the process that has the number now, and no later one. */
static void
signal_all(const struct pollfd *fds, size_t n, int sig)
{
    for (size_t i = 0; i < n; i++) {
        if (fds[i].fd >= 0) {
            syscall(SYS_pidfd_send_signal, fds[i].fd, sig, NULL, 0);
        }
    }
}

void
ef_processes_stop(const pid_t *pids, size_t n, int grace_ms)
{
    struct pollfd *fds = ef_xzalloc((n + 1) * sizeof *fds);
    for (size_t i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = (int) syscall(SYS_pidfd_open, pids[i], 0), .events = POLLIN};
    }
    signal_all(fds, n, SIGTERM);
    signal_all(fds, n, SIGCONT); /* A stopped process could not end. */
    if (!wait_until_gone(fds, n, ef_time_add_ms(ef_time_mono(), grace_ms))) {
        signal_all(fds, n, SIGKILL);
        wait_until_gone(fds, n, ef_time_add_ms(ef_time_mono(), 5000));
    }
    for (size_t i = 0; i < n; i++) {
        if (fds[i].fd >= 0) {
            close(fds[i].fd);
        }
    }
    free(fds);
}
