/* SPDX-License-Identifier: Apache-2.0 */
/* efctl daemon: a command for a daemon's control socket (lib/base/control_socket.h). */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "utilities/efctl/command.h"

enum { TIMEOUT_S = 10 };

static int
connect_to(const char *path, struct ef_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return ef_error_set(err, -ENAMETOOLONG, "%.100s...: the path of a Unix socket has at most %zu bytes", path,
                            sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof address)) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        return ef_error_set(err, -code, "%s: %s; does the daemon run, with --control %s?", path, strerror(code), path);
    }
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    return fd;
}

/* "COMMAND ARGUMENT...\n"; the caller frees it. NULL if a word holds what the
 * line cannot. */
static char *
make_line(int n, char *const words[])
{
    char *line;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    bool good = true;
    if (!out) {
        abort();
    }
    for (int i = 0; i < n; i++) {
        good = good && !strpbrk(words[i], "\r\n");
        fprintf(out, "%s%c", words[i], i + 1 < n ? ' ' : '\n');
    }
    if (fclose(out)) {
        abort();
    }
    if (!good) {
        free(line);
        return NULL;
    }
    return line;
}

/* Returns 0 or a negative errno with `err`. */
static int
send_line(int fd, const char *path, const char *line, struct ef_error *err)
{
    for (size_t len = strlen(line), done = 0; done < len;) {
        ssize_t n = send(fd, line + done, len - done, MSG_NOSIGNAL);
        if (n < 0) {
            return ef_error_set(err, -errno, "%s: cannot send: %s", path, strerror(errno));
        }
        done += (size_t) n;
    }
    return 0;
}

/* Reads to the end of the answer; the caller frees it. */
static char *
receive(int fd, const char *path, struct ef_error *err)
{
    char *answer, buf[4096];
    size_t size;
    ssize_t n;
    FILE *out = open_memstream(&answer, &size);
    if (!out) {
        abort();
    }
    while ((n = recv(fd, buf, sizeof buf, 0)) > 0) {
        fwrite(buf, 1, (size_t) n, out);
    }
    int code = errno;
    if (fclose(out)) {
        abort();
    }
    if (n < 0) {
        free(answer);
        ef_error_set(err, -code, code == EAGAIN ? "%s: no answer within 10 s" : "%s: connection lost", path);
        return NULL;
    }
    return answer;
}

/* Prints the lines of the answer. One that begins with "error: " is the
 * daemon's refusal. */
static int
print_answer(struct efctl_context *context, char *answer)
{
    static const char refusal[] = "error: ";
    char *save = NULL;
    if (!strncmp(answer, refusal, sizeof refusal - 1)) {
        struct ef_error err;
        answer[strcspn(answer, "\n")] = '\0';
        ef_error_set(&err, -EINVAL, "%s", answer + sizeof refusal - 1);
        return efctl_fail(&err);
    }
    for (char *line = strtok_r(answer, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        efctl_output_text(&context->out, EFCTL_PLAIN, line);
        efctl_output_newline(&context->out);
    }
    return EFCTL_OK;
}

/* Sends the words and prints the answer. Returns an exit status. */
static int
talk(struct efctl_context *context, const char *path, int n, char *const words[])
{
    struct ef_error err;
    char *line = make_line(n, words), *answer = NULL;
    if (!line) {
        ef_error_set(&err, -EINVAL, "a command is one line");
        return efctl_usage_error(&efctl_daemon, &err);
    }
    int fd = connect_to(path, &err);
    if (fd >= 0 && !send_line(fd, path, line, &err)) {
        answer = receive(fd, path, &err);
    }
    int status = answer ? print_answer(context, answer) : efctl_fail(&err);
    free(answer);
    if (fd >= 0) {
        close(fd);
    }
    free(line);
    return status;
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    int status = efctl_command_parse(&efctl_daemon, context, NULL, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (argc < 2) {
        struct ef_error err;
        ef_error_set(&err, -EINVAL,
                     argc ? "which COMMAND for the daemon? 'help' lists them"
                          : "needs the SOCKET of a daemon and a COMMAND");
        return efctl_usage_error(&efctl_daemon, &err);
    }
    return talk(context, argv[0], argc - 1, argv + 1);
}

const struct efctl_command efctl_daemon = {
    "daemon",
    "SOCKET COMMAND [ARGUMENT]...",
    "Gives a command to a daemon through its control socket",
    "  efctl daemon /run/everflow/analyzer1.ctl help\n"
    "  efctl daemon /run/everflow/analyzer1.ctl counters\n"
    "  efctl daemon /run/everflow/analyzer1.ctl log-level debug\n",
    false,
    run,
};
