/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of stream sockets; see address.h. */
#include <config.h>

#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/parse_number.h"

static int
parse_unix(const char *path, struct ef_net_address *address, struct ef_error *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *) &address->storage;
    size_t len = strlen(path);
    if (!len) {
        return ef_error_set(err, -EINVAL, "'unix:' without a path; write unix:/run/name.sock");
    }
    if (len >= sizeof un->sun_path) {
        return ef_error_set(err, -EINVAL, "unix:%.100s...: the path of a Unix socket has at most %zu bytes", path,
                            sizeof un->sun_path - 1);
    }
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, len + 1);
    address->len = sizeof *un;
    return 0;
}

static int
set_host(const char *host, uint16_t port, struct ef_net_address *address)
{
    struct sockaddr_in *in = (struct sockaddr_in *) &address->storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *) &address->storage;
    if (!strcmp(host, "localhost") || inet_pton(AF_INET, host, &in->sin_addr) == 1) {
        if (!strcmp(host, "localhost")) {
            in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        address->len = sizeof *in;
        return 0;
    }
    struct in6_addr addr6;
    if (inet_pton(AF_INET6, host, &addr6) != 1) {
        return -EINVAL;
    }
    *in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = addr6};
    address->len = sizeof *in6;
    return 0;
}

int
ef_net_address_parse(const char *text, struct ef_net_address *address, struct ef_error *err)
{
    memset(address, 0, sizeof *address);
    if (!strncmp(text, "unix:", 5)) {
        return parse_unix(text + 5, address, err);
    }
    const char *colon = strrchr(text, ':');
    size_t host_len = colon ? (size_t) (colon - text) : 0;
    char host[INET6_ADDRSTRLEN + 2];
    if (!colon || !host_len || host_len >= sizeof host) {
        return ef_error_set(err, -EINVAL, "'%.80s' is not an address; write 127.0.0.1:PORT, [::1]:PORT or unix:/path",
                            text);
    }
    memcpy(host, text, host_len);
    host[host_len] = '\0';
    bool bracketed = host[0] == '[' && host[host_len - 1] == ']';
    if (bracketed) {
        memmove(host, host + 1, host_len - 2);
        host[host_len - 2] = '\0';
    }
    uint64_t port;
    int rc = ef_parse_u64(colon + 1, "port", 0, 65535, &port, err);
    if (rc) {
        return ef_error_prefix(err, -EINVAL, "%.80s", text);
    }
    /* An IPv6 address needs its brackets: in "::1:80" the port is anyone's guess. */
    if (bracketed != (strchr(host, ':') != NULL) || set_host(host, (uint16_t) port, address)) {
        return ef_error_set(err, -EINVAL,
                            "'%.80s': '%s' is not an IP address; write 127.0.0.1:PORT, [::1]:PORT or unix:/path", text,
                            host);
    }
    return 0;
}

char *
ef_net_address_format(const struct ef_net_address *address, char *buf)
{
    char host[INET6_ADDRSTRLEN];
    switch (address->storage.ss_family) {
    case AF_INET: {
        const struct sockaddr_in *in = (const struct sockaddr_in *) &address->storage;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(buf, EF_NET_ADDRESS_TEXT_SIZE, "%s:%u", host, ntohs(in->sin_port));
        break;
    }
    case AF_INET6: {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *) &address->storage;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(buf, EF_NET_ADDRESS_TEXT_SIZE, "[%s]:%u", host, ntohs(in6->sin6_port));
        break;
    }
    case AF_UNIX:
        snprintf(buf, EF_NET_ADDRESS_TEXT_SIZE, "unix:%s", ((const struct sockaddr_un *) &address->storage)->sun_path);
        break;
    default:
        snprintf(buf, EF_NET_ADDRESS_TEXT_SIZE, "(none)");
    }
    return buf;
}

bool
ef_net_address_is_local(const struct ef_net_address *address)
{
    switch (address->storage.ss_family) {
    case AF_INET:
        return ntohl(((const struct sockaddr_in *) &address->storage)->sin_addr.s_addr) >> 24 == 127;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *) &address->storage)->sin6_addr);
    default:
        return address->storage.ss_family == AF_UNIX;
    }
}

/* A Unix socket file that nobody listens on is left over from a killed
 * process, and would make bind() fail for ever. */
static void
remove_stale(const struct ef_net_address *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    if (connect(fd, (const struct sockaddr *) &address->storage, address->len) && errno == ECONNREFUSED) {
        ef_net_unlink(address);
    }
    close(fd);
}

static int
bind_and_listen(int fd, struct ef_net_address *address, int backlog)
{
    static const int on = 1;
    if (address->storage.ss_family == AF_UNIX) {
        remove_stale(address);
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        /* Accepted sockets inherit it. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (bind(fd, (struct sockaddr *) &address->storage, address->len) || listen(fd, backlog)) {
        return -errno;
    }
    if (address->storage.ss_family != AF_UNIX) {
        socklen_t len = sizeof address->storage;
        getsockname(fd, (struct sockaddr *) &address->storage, &len);
    }
    return 0;
}

int
ef_net_listen(struct ef_net_address *address, int backlog, struct ef_error *err)
{
    char text[EF_NET_ADDRESS_TEXT_SIZE];
    ef_net_address_format(address, text);
    int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -errno : bind_and_listen(fd, address, backlog);
    if (!rc) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return rc == -EADDRINUSE
               ? ef_error_set(err, rc,
                              "cannot listen on %s: another process already does; choose another port or stop it", text)
               : ef_error_set(err, rc, "cannot listen on %s: %s", text, strerror(-rc));
}

int
ef_net_connect(const struct ef_net_address *address)
{
    static const int on = 1;
    int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    if (address->storage.ss_family != AF_UNIX) {
        /* Head and body of a request are two writes: Nagle's algorithm and the
         * peer's delayed acknowledgement would cost 40 ms each time. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (connect(fd, (const struct sockaddr *) &address->storage, address->len) && errno != EINPROGRESS) {
        int code = errno;
        close(fd);
        return -code;
    }
    return fd;
}

void
ef_net_unlink(const struct ef_net_address *address)
{
    if (address->storage.ss_family == AF_UNIX) {
        unlink(((const struct sockaddr_un *) &address->storage)->sun_path);
    }
}
