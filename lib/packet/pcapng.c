/* SPDX-License-Identifier: Apache-2.0 */
/* pcapng blocks. Each is assembled at the end of one growing buffer: type and
 * length, a fixed part, options, the length again. */
#include <config.h>

#include "packet/pcapng.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/headers.h"

enum { BLOCK_SECTION = 0x0a0d0d0a, BLOCK_INTERFACE = 1, BLOCK_NAMES = 4, BLOCK_PACKET = 6 };
enum { OPT_END = 0, OPT_COMMENT = 1, OPT_SECTION_APPLICATION = 4 };
enum { OPT_IF_NAME = 2, OPT_IF_DESCRIPTION = 3, OPT_IF_IPV4 = 4, OPT_IF_IPV6 = 5, OPT_IF_TSRESOL = 9 };
enum { OPT_PACKET_FLAGS = 2, OPT_PACKET_ID = 5 };
enum { LINKTYPE_ETHERNET = 1, MAX_PACKET = 16 << 20 };

struct ef_pcapng {
    ef_pcapng_write_cb *write;
    void *ctx;
    uint8_t *buf;
    size_t len, size;
    size_t block; /* Where the block that is being assembled starts. */
    int n_interfaces;
    bool started;
    int error; /* Sticky. */
};

struct ef_pcapng *
ef_pcapng_create(ef_pcapng_write_cb *write, void *ctx)
{
    struct ef_pcapng *w = calloc(1, sizeof *w);
    if (!w) {
        abort(); /* Control path. */
    }
    w->write = write;
    w->ctx = ctx;
    return w;
}

void
ef_pcapng_destroy(struct ef_pcapng *w)
{
    if (w) {
        free(w->buf);
        free(w);
    }
}

/* Appends `len` bytes, padded with zeros to a multiple of four. */
static void
put(struct ef_pcapng *w, const void *data, size_t len)
{
    size_t padded = (len + 3) & ~(size_t) 3;
    if (w->error) {
        return;
    }
    if (w->size - w->len < padded) {
        size_t size = EF_MAX(w->size * 2, w->len + padded + 4096);
        uint8_t *buf = realloc(w->buf, size);
        if (!buf) {
            w->error = -ENOMEM;
            return;
        }
        w->buf = buf;
        w->size = size;
    }
    if (len) {
        memcpy(w->buf + w->len, data, len);
        memset(w->buf + w->len + len, 0, padded - len);
    }
    w->len += padded;
}

static void
put32(struct ef_pcapng *w, uint32_t v)
{
    put(w, &v, sizeof v);
}

static void
put_option(struct ef_pcapng *w, uint16_t code, const void *value, size_t len)
{
    uint16_t head[2] = {code, (uint16_t) len};
    put(w, head, sizeof head);
    put(w, value, len);
}

/* NULL is left out. */
static void
put_text(struct ef_pcapng *w, uint16_t code, const char *text)
{
    if (text) {
        put_option(w, code, text, strlen(text));
    }
}

static bool
is_too_long(const char *text)
{
    return text && strlen(text) > UINT16_MAX;
}

static void
start_block(struct ef_pcapng *w, uint32_t type)
{
    w->block = w->len;
    put32(w, type);
    put32(w, 0);
}

/* Ends the block: the length goes to both its ends. Returns 0 or the error. */
static int
end_block(struct ef_pcapng *w)
{
    put_option(w, OPT_END, NULL, 0);
    put32(w, 0);
    if (w->error) {
        return w->error;
    }
    uint32_t len = (uint32_t) (w->len - w->block);
    memcpy(w->buf + w->block + 4, &len, sizeof len);
    memcpy(w->buf + w->len - 4, &len, sizeof len);
    if (w->write) {
        w->error = w->write(w->ctx, w->buf, w->len);
        w->len = 0;
    }
    return w->error;
}

int
ef_pcapng_section(struct ef_pcapng *w, const char *comment)
{
    if (w->error) {
        return w->error;
    }
    if (is_too_long(comment)) {
        return -E2BIG;
    }
    static const uint32_t unknown_len[2] = {UINT32_MAX, UINT32_MAX};
    w->started = true;
    w->n_interfaces = 0;
    start_block(w, BLOCK_SECTION);
    put32(w, 0x1a2b3c4d); /* Tells the byte order. */
    put32(w, 1);          /* Version 1.0. */
    put(w, unknown_len, sizeof unknown_len);
    put_text(w, OPT_COMMENT, comment);
    put_text(w, OPT_SECTION_APPLICATION, PACKAGE_STRING);
    return end_block(w);
}

static void
put_address(struct ef_pcapng *w, const uint8_t address[16])
{
    uint8_t value[17];
    if (ef_address_is_ipv4(address)) {
        memcpy(value, address + 12, 4);
        memset(value + 4, 0xff, 4); /* The mask: one host. */
        put_option(w, OPT_IF_IPV4, value, 8);
    } else {
        memcpy(value, address, 16);
        value[16] = 128;
        put_option(w, OPT_IF_IPV6, value, 17);
    }
}

int
ef_pcapng_interface(struct ef_pcapng *w, const struct ef_pcapng_interface *interface)
{
    static const uint8_t nanoseconds = 9;
    if (w->error || !w->started) {
        return w->error ? w->error : -EINVAL;
    }
    if (is_too_long(interface->name) || is_too_long(interface->description)) {
        return -E2BIG;
    }
    start_block(w, BLOCK_INTERFACE);
    put32(w, LINKTYPE_ETHERNET);
    put32(w, 0); /* No snapshot length. */
    put_text(w, OPT_IF_NAME, interface->name);
    put_text(w, OPT_IF_DESCRIPTION, interface->description);
    if (interface->address) {
        put_address(w, interface->address);
    }
    put_option(w, OPT_IF_TSRESOL, &nanoseconds, 1);
    int rc = end_block(w);
    return rc < 0 ? rc : w->n_interfaces++;
}

int
ef_pcapng_packet(struct ef_pcapng *w, const struct ef_pcapng_packet *packet)
{
    if (w->error || packet->interface < 0 || packet->interface >= w->n_interfaces) {
        return w->error ? w->error : -EINVAL;
    }
    if (packet->len > MAX_PACKET || is_too_long(packet->comment)) {
        return -E2BIG;
    }
    start_block(w, BLOCK_PACKET);
    put32(w, (uint32_t) packet->interface);
    put32(w, (uint32_t) ((uint64_t) packet->time.ns >> 32));
    put32(w, (uint32_t) packet->time.ns);
    put32(w, packet->len);
    put32(w, EF_MAX(packet->len, packet->wire_len));
    put(w, packet->data, packet->len);
    put_text(w, OPT_COMMENT, packet->comment);
    if (packet->direction != EF_PCAPNG_UNKNOWN) {
        uint32_t flags = packet->direction;
        put_option(w, OPT_PACKET_FLAGS, &flags, sizeof flags);
    }
    if (packet->packet_id) {
        put_option(w, OPT_PACKET_ID, &packet->packet_id, sizeof packet->packet_id);
    }
    return end_block(w);
}

int
ef_pcapng_idle(struct ef_pcapng *w)
{
    if (w->error || !w->started) {
        return w->error ? w->error : -EINVAL;
    }
    start_block(w, BLOCK_NAMES);
    put32(w, 0); /* The end of the list of names. */
    return end_block(w);
}

const void *
ef_pcapng_data(const struct ef_pcapng *w, size_t *len)
{
    *len = w->len;
    return w->buf;
}
