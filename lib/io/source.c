/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the back end that a spec names and counts what it gives; see source.h. */
#include <config.h>

#include "io/source.h"

#include <errno.h>

#include "io/source_class.h"
#include "io/spec.h"

static const struct ef_source_class *const classes[] = {
    &ef_source_afpacket_class,
    &ef_source_pcap_class,
    &ef_source_dpdk_class,
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
    return ef_spec_unknown("source", spec, schemes, usages, err);
}

int
ef_source_open(const char *spec, uint64_t ring_bytes, struct ef_source **out, struct ef_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < N_CLASSES; i++) {
        const char *where = ef_spec_match(spec, classes[i]->scheme);
        if (where && (!*where || *where == '@')) {
            return ef_error_set(err, -EINVAL, "source '%.60s': should read %s", spec, classes[i]->usage);
        }
        if (where) {
            int rc = classes[i]->open(where, ring_bytes, out, err);
            if (rc) {
                return ef_error_prefix(err, rc, "source '%.60s'", spec);
            }
            (*out)->class = classes[i];
            return 0;
        }
    }
    return unknown_scheme(spec, err);
}

void
ef_source_close(struct ef_source *source)
{
    if (source) {
        source->class->close(source);
    }
}

int
ef_source_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    int n = source->class->receive(source, frames, max, timeout_ms);
    if (n > 0) {
        uint64_t bytes = 0;
        for (int i = 0; i < n; i++) {
            bytes += frames[i].len;
        }
        ef_counter_add(&source->frames, (uint64_t) n);
        ef_counter_add(&source->bytes, bytes);
    }
    return n;
}

const char *
ef_source_error(const struct ef_source *source)
{
    return source->error.text;
}

bool
ef_source_is_lossless(const struct ef_source *source)
{
    return !source->class->overflows;
}

int
ef_source_enable_replies(struct ef_source *source, uint8_t mac[6], struct ef_error *err)
{
    if (!source->class->enable_replies) {
        return ef_error_set(err, -EOPNOTSUPP, "a source %s sends nothing", source->class->usage);
    }
    return source->class->enable_replies(source, mac, err);
}

int
ef_source_reply(struct ef_source *source, const uint8_t *frame, uint32_t len)
{
    return source->class->reply(source, frame, len);
}

void
ef_source_stats(const struct ef_source *source, struct ef_source_stats *stats)
{
    stats->frames = ef_counter_get(&source->frames);
    stats->bytes = ef_counter_get(&source->bytes);
    stats->overflows = source->class->overflows ? source->class->overflows((struct ef_source *) source) : 0;
}
