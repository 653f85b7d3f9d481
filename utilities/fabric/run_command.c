/* SPDX-License-Identifier: Apache-2.0 */
/* Running other programs; see run_command.h. */
#include <config.h>

#include "utilities/fabric/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "utilities/fabric/memory.h"

static volatile sig_atomic_t asked_to_end;

static void
note_signal(int sig)
{
    asked_to_end = 1;
}

void
ef_run_catch_signals(void)
{
    struct sigaction action = {.sa_handler = note_signal}; /* No SA_RESTART: waits must return. */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void
ef_run_ignore_signals(void)
{
    asked_to_end = 0;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

static int
interrupted(struct ef_error *err)
{
    return ef_error_set(err, -EINTR, "interrupted");
}

/* A memory file with `text` in it, at its start; or -1. */
static int
memory_file(const char *text)
{
    int fd = memfd_create("ef-fabric", MFD_CLOEXEC);
    size_t len = text ? strlen(text) : 0;
    for (size_t done = 0; fd >= 0 && done < len;) {
        ssize_t n = write(fd, text + done, len - done);
        if (n < 0) {
            close(fd);
            return -1;
        }
        done += (size_t) n;
    }
    if (fd >= 0) {
        lseek(fd, 0, SEEK_SET);
    }
    return fd;
}

/* Everything in `fd` as a text that the caller frees. */
static char *
read_back(int fd)
{
    off_t len = lseek(fd, 0, SEEK_END);
    char *text = ef_xzalloc((size_t) EF_MAX(len, 0) + 1);
    ssize_t n = pread(fd, text, (size_t) EF_MAX(len, 0), 0);
    text[EF_MAX(n, 0)] = '\0';
    return text;
}

/* What a program said, made one line: OVS programs put "PROGRAM: " in front,
 * which is kept once, and time stamps and levels, which are not. */
static int
program_failed(const char *program, int status, char *said, struct ef_error *err)
{
    char text[400] = "";
    for (char *save, *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *bar = line[0] == '2' ? strrchr(line, '|') : NULL; /* "2026-...Z|00001|bridge|ERR|text" */
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", used ? "; " : "", bar ? bar + 1 : line);
    }
    const char *name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
    size_t len = strlen(name);
    const char *shown = !strncmp(text, name, len) && text[len] == ':' ? text + len + 1 + (text[len + 1] == ' ') : text;
    if (!*shown) {
        return WIFSIGNALED(status) ? ef_error_set(err, -EIO, "%s: killed by signal %d", name, WTERMSIG(status))
                                   : ef_error_set(err, -EIO, "%s: exit status %d", name, WEXITSTATUS(status));
    }
    return ef_error_set(err, -EIO, "%s: %s", name, shown);
}

/* In a new child: it is killed when its parent dies. */
static void
die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(0); /* That was before we could ask. */
    }
}

static void
start_program(const char *const argv[], int in, int out, int error_out)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(error_out, STDERR_FILENO);
    execvp(argv[0], (char *const *) argv);
    dprintf(STDERR_FILENO, "cannot run: %s", strerror(errno));
    _exit(127);
}

static int
wait_for(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0) {
        if (errno != EINTR) {
            return -errno;
        }
        if (asked_to_end) {
            kill(pid, SIGTERM);
        }
    }
    return 0;
}

int
ef_run(const char *const argv[], const char *input, char **output, struct ef_error *err)
{
    int in = input ? memory_file(input) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = output ? memory_file(NULL) : open("/dev/null", O_WRONLY | O_CLOEXEC);
    int error_out = memory_file(NULL);
    int rc, status = 0;
    if (in < 0 || out < 0 || error_out < 0) {
        rc = ef_error_set(err, -errno, "%s: cannot open its files: %s", argv[0], strerror(errno));
        goto out;
    }
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        die_with(parent);
        start_program(argv, in, out, error_out);
    }
    rc = pid < 0 ? -errno : wait_for(pid, &status);
    if (rc) {
        ef_error_set(err, rc, "%s: %s", argv[0], strerror(-rc));
    } else if (asked_to_end) {
        rc = interrupted(err);
    } else if (status) {
        char *said = read_back(error_out);
        rc = program_failed(argv[0], status, said, err);
        free(said);
    } else if (output) {
        *output = read_back(out);
    }
out:
    close(in);
    close(out);
    close(error_out);
    return rc;
}

/* --- Jobs ------------------------------------------------------------------- */

/* What a job leaves for its parent, in memory that both share. */
struct job_result {
    int code;
    struct ef_error err;
};

static pid_t
start_job(size_t index, int (*job)(size_t, void *, struct ef_error *), void *ctx, struct job_result *result)
{
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        die_with(parent);
        result->err = EF_ERROR_INIT;
        result->code = job(index, ctx, &result->err);
        _exit(0);
    }
    return pid;
}

/* Waits for one of our `n` jobs; its index, or a negative errno. */
static ssize_t
wait_for_job(const pid_t *pids, size_t n)
{
    for (;;) {
        pid_t pid = waitpid(-1, NULL, 0);
        if (pid < 0) {
            return -errno;
        }
        for (size_t i = 0; i < n; i++) {
            if (pids[i] == pid) {
                return (ssize_t) i;
            }
        }
    }
}

static void
stop_jobs(pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR) {
            }
        }
    }
}

int
ef_run_parallel(size_t n, size_t width, int (*job)(size_t, void *, struct ef_error *), void *ctx, struct ef_error *err)
{
    struct job_result *results =
        mmap(NULL, EF_MAX(n, 1) * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED) {
        return ef_error_set(err, -errno, "out of memory: %s", strerror(errno));
    }
    pid_t *pids = ef_xzalloc(EF_MAX(n, 1) * sizeof *pids);
    size_t started = 0, running = 0;
    int rc = 0;
    while (!rc && (started < n || running)) {
        if (started < n && running < width) {
            results[started].code = -EIO; /* Unless it lives to say otherwise. */
            results[started].err = (struct ef_error){-1, "a helper process was killed"};
            pids[started] = start_job(started, job, ctx, &results[started]);
            rc = pids[started] < 0 ? ef_error_set(err, -errno, "fork: %s", strerror(errno)) : 0;
            started++;
            running++;
            continue;
        }
        ssize_t i = wait_for_job(pids, started);
        if (asked_to_end || i < 0) {
            rc = i < 0 && !asked_to_end ? ef_error_set(err, (int) i, "wait: %s", strerror((int) -i)) : interrupted(err);
            break;
        }
        pids[i] = 0;
        running--;
        if (results[i].code) {
            rc = results[i].code;
            *err = results[i].err;
        }
    }
    stop_jobs(pids, started);
    free(pids);
    munmap(results, EF_MAX(n, 1) * sizeof *results);
    return rc;
}
