/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the service manager; see service_notify.h. */
#include <config.h>

#include "base/service_notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int
ef_service_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || !*path) {
        return 0;
    }
    size_t len = strlen(path);
    if ((*path != '/' && *path != '@') || len >= sizeof to.sun_path) {
        return -EINVAL;
    }
    memcpy(to.sun_path, path, len);
    if (*path == '@') {
        to.sun_path[0] = '\0'; /* An abstract socket. */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    socklen_t size = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len);
    int rc = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *) &to, size) < 0 ? -errno : 1;
    close(fd);
    return rc;
}
