/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC to an Open vSwitch daemon; see unixctl.h. */
#include <config.h>

#include "utilities/fabric/unixctl.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "utilities/fabric/memory.h"
#include "utilities/fabric/ovs.h"
#include "utilities/fabric/process.h"
#include "utilities/fabric/state.h"

#define TIMEOUT_S 5

struct ef_unixctl {
    int fd;
    int read_errno; /* Why the last answer could not be read, or 0. */
};

static int
connect_to(const char *path, struct ef_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof address)) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        return ef_error_set(err, -code, "cannot connect to %s: %s", path, strerror(code));
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return fd;
}

int
ef_unixctl_open(const char *name, const char *sw, struct ef_unixctl **unixctl, struct ef_error *err)
{
    char path[EF_STATE_PATH_SIZE], file[32];
    pid_t pid = ef_pidfile_owner(ef_state_path(name, sw, EF_VSWITCHD_PIDFILE, path));
    if (!pid) {
        return ef_error_set(err, -ESRCH, "switch %s: ovs-vswitchd does not run", sw);
    }
    snprintf(file, sizeof file, "ovs-vswitchd.%d.ctl", (int) pid);
    int fd = connect_to(ef_state_path(name, sw, file, path), err);
    if (fd < 0) {
        return fd;
    }
    *unixctl = ef_xzalloc(sizeof **unixctl);
    (*unixctl)->fd = fd;
    return 0;
}

void
ef_unixctl_close(struct ef_unixctl *u)
{
    if (u) {
        close(u->fd);
        free(u);
    }
}

static int
send_request(struct ef_unixctl *u, const char *method, const char *const params[], struct ef_error *err)
{
    json_t *array = json_array();
    for (; *params; params++) {
        json_array_append_new(array, json_string(*params));
    }
    json_t *request = json_pack("{s:i, s:s, s:o}", "id", 0, "method", method, "params", array);
    char *text = json_dumps(request, JSON_COMPACT);
    size_t len = strlen(text), done = 0;
    int rc = 0;
    while (!rc && done < len) {
        ssize_t n = send(u->fd, text + done, len - done, MSG_NOSIGNAL);
        if (n < 0) {
            rc = ef_error_set(err, -errno, "cannot ask ovs-vswitchd: %s", strerror(errno));
        } else {
            done += (size_t) n;
        }
    }
    free(text);
    json_decref(request);
    return rc;
}

static size_t
read_some(void *buffer, size_t len, void *u_)
{
    struct ef_unixctl *u = u_;
    ssize_t n = recv(u->fd, buffer, len, 0);
    if (n < 0) {
        u->read_errno = errno == EAGAIN ? ETIMEDOUT : errno;
        return (size_t) -1;
    }
    return (size_t) n;
}

int
ef_unixctl_call(struct ef_unixctl *u, const char *method, const char *const params[], char **answer,
                struct ef_error *err)
{
    json_error_t json_err;
    int rc = send_request(u, method, params, err);
    if (rc) {
        return rc;
    }
    u->read_errno = 0;
    json_t *reply = json_load_callback(read_some, u, JSON_DISABLE_EOF_CHECK, &json_err);
    const char *result = json_string_value(json_object_get(reply, "result"));
    const char *error = json_string_value(json_object_get(reply, "error"));
    if (result) {
        *answer = ef_xasprintf("%s", result);
    } else if (error) {
        rc = ef_error_set(err, -EINVAL, "%s: %.*s", method, (int) strcspn(error, "\n"), error);
    } else if (u->read_errno) {
        rc = ef_error_set(err, -u->read_errno, "no answer from ovs-vswitchd: %s", strerror(u->read_errno));
    } else {
        rc = ef_error_set(err, -EPROTO, "ovs-vswitchd closed the connection without an answer");
    }
    json_decref(reply);
    return rc;
}
