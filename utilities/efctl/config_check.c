/* SPDX-License-Identifier: Apache-2.0 */
/* Asking ef-controller about a configuration; see config_check.h. */
#include <config.h>

#include "utilities/efctl/config_check.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char program[] = "ef-controller";

/* Starts it with `out` as its stderr. Returns 0 or a positive errno, as posix_spawn(). */
static int
start(const char *file, int out, pid_t *pid)
{
    char *argv[] = {(char *) program, (char *) "--config", (char *) file, (char *) "--check-config", NULL};
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc) {
        return rc;
    }
    rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    if (!rc) {
        rc = posix_spawnp(pid, program, &actions, NULL, argv, environ);
        rc = rc == ENOENT ? posix_spawn(pid, EF_SBINDIR "/ef-controller", &actions, NULL, argv, environ) : rc;
    }
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Reads to the end, and keeps the first line of it. */
static void
read_line(int fd, char *line, size_t size)
{
    char rest[512];
    size_t len = 0;
    ssize_t n;
    do {
        bool is_full = len + 1 >= size;
        n = is_full ? read(fd, rest, sizeof rest) : read(fd, line + len, size - 1 - len);
        len += n > 0 && !is_full ? (size_t) n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

/* How it ended: 0 if it found nothing wrong. */
static int
wait_for(pid_t pid, const char *said, struct ef_error *err)
{
    int status;
    pid_t rc;
    do {
        rc = waitpid(pid, &status, 0);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0 || !WIFEXITED(status)) {
        return ef_error_set(err, -EIO, "%s ended before it said anything", program);
    }
    if (!WEXITSTATUS(status)) {
        return 0;
    }
    size_t prefix = !strncmp(said, program, strlen(program)) ? strspn(said + strlen(program), ": ") : 0;
    return ef_error_set(err, -EINVAL, "%s", prefix ? said + strlen(program) + prefix : said);
}

int
efctl_config_check(const char *file, struct ef_error *err)
{
    int fds[2];
    pid_t pid;
    char said[sizeof err->text + sizeof program + 2];
    if (pipe2(fds, O_CLOEXEC)) {
        return ef_error_set(err, -errno, "pipe: %s", strerror(errno));
    }
    int rc = start(file, fds[1], &pid);
    close(fds[1]);
    if (rc) {
        close(fds[0]);
        return ef_error_set(err, -rc, "%s, which knows, cannot be run: %s; it is neither in PATH nor %s/%s", program,
                            strerror(rc), EF_SBINDIR, program);
    }
    read_line(fds[0], said, sizeof said);
    close(fds[0]);
    return wait_for(pid, said, err);
}
