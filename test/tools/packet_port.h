/* SPDX-License-Identifier: Apache-2.0 */
/* A packet socket that sends and receives whole frames, VLAN tags as they were
 * on the wire, and says how many the kernel lost because they were not taken in
 * time. Never blocks in receiving. One thread per port. */
#ifndef EF_TEST_TOOLS_PACKET_PORT_H
#define EF_TEST_TOOLS_PACKET_PORT_H

#include <stdint.h>

#include "base/error.h"

enum { PACKET_PORT_MAX_FRAME = 9216 };

struct packet_port {
    int fd;
    uint8_t buffer[4 + PACKET_PORT_MAX_FRAME]; /* Room for a tag in front. */
};

/* `spec` is IFACE[@NETNS]. Returns 0 or a negative errno with `err`. */
int packet_port_open(struct packet_port *port, const char *spec, struct ef_error *err);
void packet_port_close(struct packet_port *port);

/* Returns 0 or a negative errno. */
int packet_port_send(const struct packet_port *port, const uint8_t *frame, uint32_t len);

/* The next frame, borrowed until the next call; returns its length, 0 if there
 * is none, or a negative errno. */
int packet_port_receive(struct packet_port *port, const uint8_t **frame);

/* Frames that the kernel lost since the last call. */
unsigned packet_port_drops(const struct packet_port *port);

#endif
