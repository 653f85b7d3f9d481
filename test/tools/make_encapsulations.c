/* SPDX-License-Identifier: Apache-2.0 */
/* Writes every packet that the tests know (unit/packet/samples.h), and every
 * encapsulation of a copy over IPv4 and IPv6, with what lib/packet builds.
 *
 *     make_encapsulations pcapng FILE   one capture for tshark to judge; a frame's
 *                                       comment is its name
 *     make_encapsulations files DIR     one file per frame, as a fuzz corpus
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/copy.h"
#include "packet/pcapng.h"
#include "unit/packet/samples.h"

/* Takes one frame; returns 0 or -1. */
typedef int emit_fn(void *ctx, const char *name, const uint8_t *frame, uint32_t len);

static const struct {
    const char *name;
    struct ef_copy copy;
} copies[] = {
    {"copy-gre", {.encapsulation = EF_ENCAP_GRE}},
    {"copy-gre-key-sequence",
     {.encapsulation = EF_ENCAP_GRE, .has_port = true, .port = 3, .has_sequence = true, .sequence = 9}},
    {"copy-erspan1", {.encapsulation = EF_ENCAP_ERSPAN1}},
    {"copy-erspan2",
     {.encapsulation = EF_ENCAP_ERSPAN2, .has_port = true, .port = 3, .has_sequence = true, .session = 5}},
    {"copy-erspan3", {.encapsulation = EF_ENCAP_ERSPAN3, .has_sequence = true, .session = 5, .egress = true}},
    {"copy-erspan3-platform",
     {.encapsulation = EF_ENCAP_ERSPAN3,
      .has_port = true,
      .port = 3,
      .has_sequence = true,
      .has_switch_time = true,
      .switch_time = {1795228200123456789}}},
};

/* Emits a copy of a sample, cut to `cut` bytes if that is not 0. */
static int
emit_copy(size_t i, bool ipv6, const char *sample, uint32_t cut, emit_fn *emit, void *ctx)
{
    uint8_t frame[SAMPLE_MAX], original[SAMPLE_MAX];
    char name[64];
    struct ef_copy copy = copies[i].copy;
    int len = sample_build(sample, original, sizeof original);
    ef_address_parse(ipv6 ? "2001:db8:1::1" : "10.255.0.1", copy.switch_address);
    ef_address_parse(ipv6 ? "2001:db8:1::ff" : "10.255.255.1", copy.target_address);
    copy.truncated = cut != 0;
    copy.original_len = cut ? cut : (uint32_t) len;
    int outer_len = ef_copy_build_headers(&copy, frame, sizeof frame);
    if (len < 0 || outer_len < 0 || cut > (uint32_t) len) {
        return -1;
    }
    memcpy(frame + outer_len, original, copy.original_len);
    snprintf(name, sizeof name, "%s-%s%s-%s", copies[i].name, ipv6 ? "ipv6" : "ipv4", cut ? "-truncated" : "", sample);
    return emit(ctx, name, frame, (uint32_t) outer_len + copy.original_len);
}

static int
emit_all(emit_fn *emit, void *ctx)
{
    int rc = 0;
    for (size_t i = 0; i < n_samples && !rc; i++) {
        uint8_t frame[SAMPLE_MAX];
        int len = sample_build(samples[i].name, frame, sizeof frame);
        rc = len < 0 ? -1 : emit(ctx, samples[i].name, frame, (uint32_t) len);
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(copies) && !rc; i++) {
        rc = emit_copy(i, false, "tcp4", 0, emit, ctx);
        rc = rc ? rc : emit_copy(i, true, "vxlan", 0, emit, ctx);
        if (copies[i].copy.encapsulation >= EF_ENCAP_ERSPAN2) {
            rc = rc ? rc : emit_copy(i, false, "bgp", 60, emit, ctx);
        }
    }
    return rc;
}

static int
emit_file(void *ctx, const char *name, const uint8_t *frame, uint32_t len)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", (const char *) ctx, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(frame, 1, len, file) != len || fclose(file)) {
        perror(path);
        return -1;
    }
    return 0;
}

struct capture {
    struct ef_pcapng *w;
    struct ef_time time;
};

static int
emit_packet(void *ctx, const char *name, const uint8_t *frame, uint32_t len)
{
    struct capture *c = ctx;
    struct ef_pcapng_packet packet = {.time = c->time, .data = frame, .len = len, .wire_len = len, .comment = name};
    c->time.ns++;
    return ef_pcapng_packet(c->w, &packet);
}

static int
write_file(void *ctx, const void *data, size_t len)
{
    return fwrite(data, 1, len, ctx) == len ? 0 : -1;
}

static int
write_capture(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        return -1;
    }
    struct capture c = {.w = ef_pcapng_create(write_file, file), .time = {1795228200123456789}};
    ef_pcapng_section(c.w, "every packet that the tests know");
    ef_pcapng_interface(c.w, &(struct ef_pcapng_interface){.name = "made"});
    int rc = emit_all(emit_packet, &c);
    ef_pcapng_destroy(c.w);
    return fclose(file) || rc ? -1 : 0;
}

int
main(int argc, char *argv[])
{
    if (argc == 3 && !strcmp(argv[1], "pcapng")) {
        return write_capture(argv[2]) ? 1 : 0;
    }
    if (argc == 3 && !strcmp(argv[1], "files")) {
        return emit_all(emit_file, argv[2]) ? 1 : 0;
    }
    fprintf(stderr, "usage: make_encapsulations pcapng FILE | files DIR\n");
    return 2;
}
