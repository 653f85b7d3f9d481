/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets in named network namespaces; see netns.h. */
#include <config.h>

#include "io/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int
open_named(const char *netns, struct ef_error *err)
{
    char path[sizeof "/run/netns/" + NAME_MAX];
    if (!netns[0] || netns[0] == '.' || strchr(netns, '/') || strlen(netns) > NAME_MAX) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not the name of a network namespace", netns);
    }
    snprintf(path, sizeof path, "/run/netns/%s", netns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        return fd;
    }
    int code = errno;
    return code == ENOENT
               ? ef_error_set(err, -code, "no network namespace '%s'; `ip netns` lists those that exist", netns)
               : ef_error_set(err, -code, "cannot open %s: %s", path, strerror(code));
}

static int
enter(int fd, const char *netns, struct ef_error *err)
{
    if (!setns(fd, CLONE_NEWNET)) {
        return 0;
    }
    int code = errno;
    return code == EPERM
               ? ef_error_set(err, -code, "entering network namespace '%s' needs CAP_SYS_ADMIN (run as root)", netns)
               : ef_error_set(err, -code, "cannot enter network namespace '%s': %s", netns, strerror(code));
}

static int
open_socket(int domain, int type, int protocol, struct ef_error *err)
{
    int fd = socket(domain, type | SOCK_CLOEXEC, protocol);
    if (fd >= 0) {
        return fd;
    }
    int code = errno;
    return code == EPERM || code == EACCES ? ef_error_set(err, -EPERM, "a raw socket needs CAP_NET_RAW (run as root)")
                                           : ef_error_set(err, -code, "cannot open a socket: %s", strerror(code));
}

int
ef_netns_socket(const char *netns, int domain, int type, int protocol, struct ef_error *err)
{
    if (!netns) {
        return open_socket(domain, type, protocol, err);
    }
    int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0) {
        return ef_error_set(err, -errno, "cannot open /proc/thread-self/ns/net: %s", strerror(errno));
    }
    int there = open_named(netns, err);
    int rc = there < 0 ? there : enter(there, netns, err);
    if (!rc) {
        rc = open_socket(domain, type, protocol, err);
        if (setns(home, CLONE_NEWNET)) {
            int code = errno;
            if (rc >= 0) {
                close(rc);
            }
            rc = ef_error_set(err, -code, "cannot leave network namespace '%s': %s", netns, strerror(code));
        }
    }
    if (there >= 0) {
        close(there);
    }
    close(home);
    return rc;
}
