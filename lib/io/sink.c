/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the back end that a spec names, queues packets for it; see sink.h. */
#include <config.h>

#include "io/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/sink_class.h"
#include "io/spec.h"

static const struct ef_sink_class *const classes[] = {
    &ef_sink_ip_class,
    &ef_sink_pcap_class,
    &ef_sink_dpdk_class,
};

enum { N_CLASSES = EF_ARRAY_SIZE(classes) };

static int
unknown_scheme(const char *spec, struct ef_error *err)
{
    const char *schemes[N_CLASSES + 1] = {NULL}, *usages[N_CLASSES + 1] = {NULL};
    for (size_t i = 0; i < N_CLASSES; i++) {
        schemes[i] = classes[i]->scheme;
        usages[i] = classes[i]->usage;
    }
    return ef_spec_unknown("sink", spec, schemes, usages, err);
}

static int
open_class(const struct ef_sink_class *class, const char *where, struct ef_sink **out, struct ef_error *err)
{
    uint8_t *buffer = malloc(EF_SINK_BUFFER_BYTES);
    if (!buffer) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = class->open(where, out, err);
    if (rc) {
        free(buffer);
        return rc;
    }
    (*out)->class = class;
    (*out)->buffer = buffer;
    return 0;
}

int
ef_sink_open(const char *spec, struct ef_sink **out, struct ef_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < N_CLASSES; i++) {
        const char *where = ef_spec_match(spec, classes[i]->scheme);
        if (where) {
            int rc = open_class(classes[i], where, out, err);
            return rc ? ef_error_prefix(err, rc, "sink '%.60s'", spec) : 0;
        }
    }
    return unknown_scheme(spec, err);
}

void
ef_sink_close(struct ef_sink *sink)
{
    if (sink) {
        ef_sink_flush(sink);
        free(sink->buffer);
        sink->class->close(sink);
    }
}

void
ef_sink_flush(struct ef_sink *sink)
{
    if (sink->n_queued) {
        sink->class->send(sink, sink->queue, sink->n_queued);
        sink->n_queued = 0;
        sink->used = 0;
    }
}

uint8_t *
ef_sink_reserve(struct ef_sink *sink, uint32_t len)
{
    if (sink->n_queued == EF_SINK_BATCH || len > EF_SINK_BUFFER_BYTES - sink->used) {
        ef_sink_flush(sink);
    }
    return sink->buffer + sink->used;
}

void
ef_sink_commit(struct ef_sink *sink, uint32_t len)
{
    sink->queue[sink->n_queued++] = (struct ef_sink_packet){sink->buffer + sink->used, len, NULL};
    sink->used += len;
}

void
ef_sink_queue(struct ef_sink *sink, const uint8_t *packet, uint32_t len)
{
    if (len > EF_SINK_MAX_PACKET) {
        ef_sink_count(sink, len, EMSGSIZE);
        return;
    }
    memcpy(ef_sink_reserve(sink, len), packet, len);
    ef_sink_commit(sink, len);
}

/* The frame's buffer, if it can be sent as it is; it is the sink's then. */
static struct rte_mbuf *
take_buffer(const struct ef_sink *sink, const struct ef_frame *frame, uint32_t offset)
{
    if (!frame->buffer || !sink->class->buffer_room || offset < sink->class->buffer_room) {
        return NULL;
    }
    struct rte_mbuf *buffer = *frame->buffer;
    *frame->buffer = NULL;
    return buffer;
}

uint8_t *
ef_sink_forward(struct ef_sink *sink, const struct ef_frame *frame, uint32_t offset, uint32_t len)
{
    struct rte_mbuf *buffer = take_buffer(sink, frame, offset);
    if (!buffer) {
        uint8_t *packet = memcpy(ef_sink_reserve(sink, len), frame->data + offset, len);
        ef_sink_commit(sink, len);
        return packet;
    }
    if (sink->n_queued == EF_SINK_BATCH) {
        ef_sink_flush(sink);
    }
    uint8_t *packet = (uint8_t *) (uintptr_t) (frame->data + offset); /* Whose buffer it is may write. */
    sink->queue[sink->n_queued++] = (struct ef_sink_packet){packet, len, buffer};
    return packet;
}

void
ef_sink_count(struct ef_sink *sink, uint32_t len, int code)
{
    if (!code) {
        ef_counter_add(&sink->packets, 1);
        ef_counter_add(&sink->bytes, len);
    } else if (code == EMSGSIZE) {
        ef_counter_add(&sink->too_big, 1);
    } else {
        ef_counter_add(&sink->failed, 1);
        ef_counter_set(&sink->last_error, (uint64_t) code);
    }
}

void
ef_sink_stats(const struct ef_sink *sink, struct ef_sink_stats *stats)
{
    stats->packets = ef_counter_get(&sink->packets);
    stats->bytes = ef_counter_get(&sink->bytes);
    stats->too_big = ef_counter_get(&sink->too_big);
    stats->failed = ef_counter_get(&sink->failed);
}

int
ef_sink_reopen(struct ef_sink *sink, struct ef_error *err)
{
    return sink->class->reopen ? sink->class->reopen(sink, err) : 0;
}

int
ef_sink_last_error(const struct ef_sink *sink)
{
    return (int) ef_counter_get(&sink->last_error);
}
