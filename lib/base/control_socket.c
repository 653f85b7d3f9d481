/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket of a daemon; see control_socket.h. */
#include <config.h>

#include "base/control_socket.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"

enum { MAX_COMMANDS = 32, MAX_WORDS = 64, MAX_LINE_BYTES = 65536, IDLE_TIMEOUT_S = 10, ACCEPT_AGAIN_MS = 500 };

struct command {
    const char *name, *usage, *help;
    ef_control_handler *handler;
    void *ctx;
};

struct ef_control {
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *accept_again;
    struct sockaddr_un address;
    struct command commands[MAX_COMMANDS];
    size_t n_commands;
};

static int
show_help(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    struct ef_control *control = ctx;
    for (size_t i = 0; i < control->n_commands; i++) {
        const struct command *c = &control->commands[i];
        char left[80];
        snprintf(left, sizeof left, "%s %s", c->name, c->usage);
        evbuffer_add_printf(reply, "%-32s %s\n", left, c->help);
    }
    return 0;
}

static int
log_level(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    enum ef_log_level level;
    if (argc > 1) {
        if (ef_log_level_by_name(argv[1], &level)) {
            return ef_error_set(err, -EINVAL, "'%.40s' is not error, warn, info or debug", argv[1]);
        }
        ef_log_set_level(level);
    }
    evbuffer_add_printf(reply, "%s\n", ef_log_level_name(ef_log_get_level()));
    return 0;
}

static int
show_version(void *ctx, int argc, char *const argv[], struct evbuffer *reply, struct ef_error *err)
{
    evbuffer_add_printf(reply, "%s\n", PACKAGE_STRING);
    return 0;
}

static int
unknown_command(const struct ef_control *control, const char *word, struct ef_error *err)
{
    const char *names[MAX_COMMANDS + 1] = {NULL};
    for (size_t i = 0; i < control->n_commands; i++) {
        names[i] = control->commands[i].name;
    }
    const char *near = ef_nearest_word(word, names);
    return near ? ef_error_set(err, -ENOENT, "unknown command '%.40s'; did you mean %s?", word, near)
                : ef_error_set(err, -ENOENT, "unknown command '%.40s'; try help", word);
}

static int
execute(struct ef_control *control, char *line, struct evbuffer *reply, struct ef_error *err)
{
    char *words[MAX_WORDS], *save = NULL;
    int n = 0;
    for (char *w = strtok_r(line, " \t\r\n", &save); w && n < MAX_WORDS; w = strtok_r(NULL, " \t\r\n", &save)) {
        words[n++] = w;
    }
    if (!n) {
        return ef_error_set(err, -EINVAL, "no command; try help");
    }
    for (size_t i = 0; i < control->n_commands; i++) {
        struct command *c = &control->commands[i];
        if (!strcmp(c->name, words[0])) {
            return c->handler(c->ctx, n, words, reply, err);
        }
    }
    return unknown_command(control, words[0], err);
}

static void
close_connection(struct bufferevent *bev, void *ctx)
{
    bufferevent_free(bev);
}

static void
on_event(struct bufferevent *bev, short what, void *ctx)
{
    bufferevent_free(bev);
}

static void
on_readable(struct bufferevent *bev, void *ctx)
{
    struct evbuffer *in = bufferevent_get_input(bev);
    char *line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF);
    if (!line) {
        if (evbuffer_get_length(in) > MAX_LINE_BYTES) {
            bufferevent_free(bev);
        }
        return;
    }
    struct ef_error err = EF_ERROR_INIT;
    struct evbuffer *reply = evbuffer_new();
    if (execute(ctx, line, reply, &err)) {
        evbuffer_drain(reply, evbuffer_get_length(reply));
        evbuffer_add_printf(reply, "error: %s\n", err.text);
    }
    free(line);
    bufferevent_disable(bev, EV_READ);
    bufferevent_setcb(bev, NULL, close_connection, on_event, NULL);
    if (evbuffer_get_length(reply)) {
        bufferevent_write_buffer(bev, reply);
    } else {
        bufferevent_free(bev);
    }
    evbuffer_free(reply);
}

static void
on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int len, void *ctx)
{
    struct ef_control *control = ctx;
    struct bufferevent *bev = bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!bev) {
        close(fd);
        return;
    }
    static const struct timeval timeout = {.tv_sec = IDLE_TIMEOUT_S};
    bufferevent_set_timeouts(bev, &timeout, &timeout);
    bufferevent_setcb(bev, on_readable, NULL, on_event, control);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
}

/* Without free file descriptors the next client stays in the backlog, and the
 * socket readable: looking again at once would take a whole core. */
static void
on_accept_error(struct evconnlistener *listener, void *ctx)
{
    static const struct timeval later = {.tv_usec = ACCEPT_AGAIN_MS * 1000};
    struct ef_control *control = ctx;
    EF_LOG_LIMITED(EF_LOG_WARN, "control", "cannot accept on %s: %s", control->address.sun_path, strerror(errno));
    evconnlistener_disable(listener);
    event_add(control->accept_again, &later);
}

static void
on_accept_again(evutil_socket_t fd, short what, void *ctx)
{
    evconnlistener_enable(((struct ef_control *) ctx)->listener);
}

/* A socket file that nobody listens on is left over from a killed process. */
static int
remove_stale(const struct sockaddr_un *address, struct ef_error *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return ef_error_set(err, -errno, "socket: %s", strerror(errno));
    }
    int rc = connect(fd, (const struct sockaddr *) address, sizeof *address);
    int code = errno;
    close(fd);
    if (!rc) {
        return ef_error_set(err, -EADDRINUSE, "%s: another process answers on this control socket", address->sun_path);
    }
    if (code == ECONNREFUSED) {
        unlink(address->sun_path);
    }
    return 0;
}

int
ef_control_create(struct event_base *base, const char *path, struct ef_control **out, struct ef_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return ef_error_set(err, -ENAMETOOLONG, "%.100s...: the path of a Unix socket has at most %zu bytes", path,
                            sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int rc = remove_stale(&address, err);
    if (rc) {
        return rc;
    }
    struct ef_control *control = calloc(1, sizeof *control);
    if (!control) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    control->base = base;
    control->address = address;
    mode_t mask = umask(0177);
    control->listener = evconnlistener_new_bind(base, on_accept, control, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
                                                16, (struct sockaddr *) &address, sizeof address);
    int code = errno;
    umask(mask);
    if (!control->listener) {
        free(control);
        return ef_error_set(err, -code, "cannot listen on control socket %s: %s", path, strerror(code));
    }
    control->accept_again = evtimer_new(base, on_accept_again, control);
    if (!control->accept_again) {
        ef_control_destroy(control);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    evconnlistener_set_error_cb(control->listener, on_accept_error);
    ef_control_add(control, "help", "", "this list", show_help, control);
    ef_control_add(control, "log-level", "[LEVEL]", "show or set: error, warn, info, debug", log_level, NULL);
    ef_control_add(control, "version", "", "the version that runs", show_version, NULL);
    *out = control;
    return 0;
}

void
ef_control_destroy(struct ef_control *control)
{
    if (control) {
        if (control->accept_again) {
            event_free(control->accept_again);
        }
        evconnlistener_free(control->listener);
        unlink(control->address.sun_path);
        free(control);
    }
}

void
ef_control_add(struct ef_control *control, const char *name, const char *usage, const char *help,
               ef_control_handler *handler, void *ctx)
{
    if (control && control->n_commands < MAX_COMMANDS) {
        control->commands[control->n_commands++] = (struct command){name, usage, help, handler, ctx};
    }
}
