/* SPDX-License-Identifier: Apache-2.0 */
/* A packet socket; see packet_port.h. */
#include <config.h>

#include "tools/packet_port.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/byteorder.h"
#include "io/netns.h"

enum { ADDRESSES_BYTES = 12, TAG_BYTES = 4, RECEIVE_BUFFER_BYTES = 64 << 20 };

static int
bind_to(const struct packet_port *port, const char *spec, size_t name_len)
{
    struct ifreq request = {0};
    int yes = 1, bytes = RECEIVE_BUFFER_BYTES;
    memcpy(request.ifr_name, spec, name_len);
    if (ioctl(port->fd, SIOCGIFINDEX, &request) || setsockopt(port->fd, SOL_PACKET, PACKET_AUXDATA, &yes, sizeof yes) ||
        setsockopt(port->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) ||
        setsockopt(port->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)) {
        return -errno;
    }
    struct packet_mreq promiscuous = {.mr_ifindex = request.ifr_ifindex, .mr_type = PACKET_MR_PROMISC};
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = ef_be16_of(ETH_P_ALL).raw,
        .sll_ifindex = request.ifr_ifindex,
    };
    if (setsockopt(port->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) ||
        bind(port->fd, (struct sockaddr *) &address, sizeof address)) {
        return -errno;
    }
    return 0;
}

int
packet_port_open(struct packet_port *port, const char *spec, struct ef_error *err)
{
    size_t n = strcspn(spec, "@");
    port->fd = -1;
    if (n >= IFNAMSIZ) {
        return ef_error_set(err, -EINVAL, "'%.40s' is too long for an interface", spec);
    }
    /* Protocol 0: nothing arrives before it is bound. */
    port->fd = ef_netns_socket(spec[n] ? spec + n + 1 : NULL, AF_PACKET, SOCK_RAW, 0, err);
    if (port->fd < 0) {
        return port->fd;
    }
    int rc = bind_to(port, spec, n);
    return rc ? ef_error_set(err, rc, "%s: %s", spec, strerror(-rc)) : 0;
}

void
packet_port_close(struct packet_port *port)
{
    if (port->fd >= 0) {
        close(port->fd);
        port->fd = -1;
    }
}

int
packet_port_send(const struct packet_port *port, const uint8_t *frame, uint32_t len)
{
    while (send(port->fd, frame, len, 0) < 0) {
        if (errno != ENOBUFS && errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* The kernel takes the outer VLAN tag out of the frame; this puts it back. */
static const uint8_t *
restore_tag(struct packet_port *port, const struct tpacket_auxdata *aux)
{
    uint16_t tpid = aux->tp_status & TP_STATUS_VLAN_TPID_VALID ? aux->tp_vlan_tpid : ETH_P_8021Q;
    memmove(port->buffer, port->buffer + TAG_BYTES, ADDRESSES_BYTES);
    ef_store_be16(port->buffer + ADDRESSES_BYTES, tpid);
    ef_store_be16(port->buffer + ADDRESSES_BYTES + 2, aux->tp_vlan_tci);
    return port->buffer;
}

int
packet_port_receive(struct packet_port *port, const uint8_t **frame)
{
    char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    struct iovec iov = {port->buffer + TAG_BYTES, PACKET_PORT_MAX_FRAME};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t len = recvmsg(port->fd, &msg, MSG_DONTWAIT);
    if (len < 0) {
        return errno == EAGAIN || errno == EINTR || errno == ENETDOWN ? 0 : -errno;
    }
    *frame = port->buffer + TAG_BYTES;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        struct tpacket_auxdata aux;
        if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA && len >= ADDRESSES_BYTES) {
            memcpy(&aux, CMSG_DATA(c), sizeof aux);
            if (aux.tp_status & TP_STATUS_VLAN_VALID) {
                *frame = restore_tag(port, &aux);
                len += TAG_BYTES;
            }
        }
    }
    return (int) len;
}

unsigned
packet_port_drops(const struct packet_port *port)
{
    struct tpacket_stats stats = {0};
    socklen_t len = sizeof stats;
    getsockopt(port->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len);
    return stats.tp_drops;
}
