/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the namespace that the thread is in; see netns.h. */
#include <config.h>

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "utilities/fabric/netns.h"

struct ef_link
ef_link_get(const char *interface)
{
    struct ef_link link = {0};
    struct ifaddrs *all, *ifa;
    if (getifaddrs(&all)) {
        return link;
    }
    for (ifa = all; ifa; ifa = ifa->ifa_next) {
        if (!strcmp(ifa->ifa_name, interface) && ifa->ifa_addr && ifa->ifa_addr->sa_family == AF_PACKET) {
            const struct rtnl_link_stats *s = ifa->ifa_data;
            link.exists = true;
            link.up = (ifa->ifa_flags & IFF_UP) && (ifa->ifa_flags & IFF_RUNNING);
            link.rx_packets = s->rx_packets;
            link.tx_packets = s->tx_packets;
            link.rx_dropped = s->rx_dropped;
            link.tx_dropped = s->tx_dropped;
        }
    }
    freeifaddrs(all);
    return link;
}

int
ef_link_offloads_off(const char *interface, struct ef_error *err)
{
    static const __u32 features[] = {ETHTOOL_STXCSUM, ETHTOOL_SRXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return ef_error_set(err, -errno, "socket: %s", strerror(errno));
    }
    int rc = 0;
    for (size_t i = 0; !rc && i < EF_ARRAY_SIZE(features); i++) {
        struct ethtool_value value = {.cmd = features[i], .data = 0};
        struct ifreq request = {.ifr_data = (void *) &value};
        snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
        if (ioctl(fd, SIOCETHTOOL, &request)) {
            rc = ef_error_set(err, -errno, "cannot turn off offloads of %s: %s", interface, strerror(errno));
        }
    }
    close(fd);
    return rc;
}
