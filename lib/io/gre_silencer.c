/* SPDX-License-Identifier: Apache-2.0 */
/* Raw GRE sockets that keep nothing; see gre_silencer.h. */
#include <config.h>

#include "io/gre_silencer.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/copy_filter.h"
#include "io/netns.h"

static int
open_one(const char *netns, int domain, struct ef_error *err)
{
    int fd = ef_netns_socket(netns, domain, SOCK_RAW, IPPROTO_GRE, err);
    if (fd < 0) {
        return fd;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &ef_drop_all_filter, sizeof ef_drop_all_filter)) {
        int code = errno;
        close(fd);
        return ef_error_set(err, -code, "cannot attach a filter to the raw GRE socket: %s", strerror(code));
    }
    return fd;
}

int
ef_gre_silencer_init(struct ef_gre_silencer *silencer, const char *netns, struct ef_error *err)
{
    *silencer = (struct ef_gre_silencer){-1, -1};
    silencer->ipv4_fd = open_one(netns, AF_INET, err);
    if (silencer->ipv4_fd < 0) {
        return silencer->ipv4_fd;
    }
    silencer->ipv6_fd = open_one(netns, AF_INET6, err);
    if (silencer->ipv6_fd < 0 && silencer->ipv6_fd != -EAFNOSUPPORT) {
        int rc = silencer->ipv6_fd;
        ef_gre_silencer_deinit(silencer);
        return rc;
    }
    return 0;
}

void
ef_gre_silencer_deinit(struct ef_gre_silencer *silencer)
{
    if (silencer->ipv4_fd >= 0) {
        close(silencer->ipv4_fd);
    }
    if (silencer->ipv6_fd >= 0) {
        close(silencer->ipv6_fd);
    }
    *silencer = (struct ef_gre_silencer){-1, -1};
}
