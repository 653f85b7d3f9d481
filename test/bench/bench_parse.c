/* SPDX-License-Identifier: Apache-2.0 */
/* What one core does with received copies: outer headers, the original's
 * headers, flow hash and identity. The bound is hashing 64 bytes of each frame
 * over the same memory: reading it and doing about the least with it. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#include "base/byteorder.h"
#include "base/hash.h"
#include "bench/bench.h"
#include "packet/build.h"
#include "packet/copy.h"
#include "packet/identity.h"
#include "packet/packet.h"

enum { FRAME_SIZE = 256, TARGET_PACKETS = 1 << 21 };

struct frames {
    uint8_t *data; /* n frames of `stride` bytes each. */
    uint32_t n, stride, len;
};

/* --- Frames -------------------------------------------------------------------- */

static void
build_tcp4(struct ef_build *b, uint32_t i)
{
    ef_build_eth(b);
    uint8_t *ip = ef_build_ipv4(b, "10.0.0.0", "10.128.0.0");
    ef_store_be32(ip + 12, 10u << 24 | (i * 2654435761u & 0x7fffff));
    ef_store_be32(ip + 16, 10u << 24 | 1u << 23 | (i * 40503u & 0xffff));
    ef_store_be16(ip + 4, (uint16_t) i);
    uint8_t *tcp = ef_build_tcp(b, (uint16_t) (i * 7919), 80, EF_TCP_ACK);
    ef_store_be32(tcp + 4, i * 2246822519u);
}

static void
build_tcp6(struct ef_build *b, uint32_t i)
{
    ef_build_eth(b);
    uint8_t *ip = ef_build_ipv6(b, "2001:db8::1", "2001:db8::2");
    ef_store_be32(ip + 20, i * 2654435761u);
    ef_store_be32(ef_build_tcp(b, (uint16_t) i, 80, EF_TCP_ACK) + 4, i);
}

static void
build_vxlan(struct ef_build *b, uint32_t i)
{
    ef_build_eth(b);
    ef_build_ipv4(b, "10.255.0.1", "10.255.0.2");
    ef_build_udp(b, (uint16_t) i, EF_PORT_VXLAN);
    ef_build_vxlan(b, i & 0xfff);
    build_tcp4(b, i);
}

/* Builds `n` frames one behind the other in cache lines of their own. With
 * `copy`, they are copies of the originals that `build` makes. */
static struct frames
make_frames(uint32_t n, void (*build)(struct ef_build *, uint32_t), const struct ef_copy *copy, uint32_t min_len)
{
    struct frames f = {.n = n};
    for (uint32_t i = 0; i < n; i++) {
        uint8_t original[FRAME_SIZE], buf[2 * FRAME_SIZE];
        struct ef_build b;
        ef_build_start(&b, original, sizeof original);
        build(&b, i);
        if (b.len < min_len) {
            ef_build_payload(&b, NULL, min_len - b.len);
        }
        int len = ef_build_finish(&b);
        int outer_len = 0;
        if (copy) {
            struct ef_copy c = *copy;
            c.original_len = (uint32_t) len;
            c.sequence = i;
            outer_len = ef_copy_build_headers(&c, buf, sizeof buf);
        }
        if (len < 0 || outer_len < 0) {
            abort();
        }
        memcpy(buf + outer_len, original, (size_t) len);
        if (!f.data) {
            f.len = (uint32_t) (len + outer_len);
            f.stride = (f.len + 63) / 64 * 64;
            f.data = aligned_alloc(64, (size_t) n * f.stride);
            if (!f.data) {
                abort();
            }
        }
        memcpy(f.data + (size_t) i * f.stride, buf, f.len);
    }
    return f;
}

/* --- What is measured ------------------------------------------------------------ */

/* Each takes one pass over the frames and returns something that depends on all of them. */
typedef uint64_t pass_fn(const struct frames *f);

static uint64_t
pass_bound(const struct frames *f)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        sum += ef_hash64(f->data + (size_t) i * f->stride + (f->len > 64 ? f->len - 64 : 0), 64);
    }
    return sum;
}

static uint64_t
pass_copy_identity(const struct frames *f)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        struct ef_copy copy;
        struct ef_packet p;
        struct ef_identity id;
        if (ef_copy_parse(&copy, f->data + (size_t) i * f->stride, f->len, f->len) != EF_DROP_NONE) {
            abort();
        }
        ef_packet_parse(&p, copy.original, copy.original_len, copy.original_wire_len);
        ef_identity_of(&p, &id);
        sum += id.flow_hash ^ id.hash ^ id.check;
    }
    return sum;
}

static uint64_t
pass_copy_flow_hash(const struct frames *f)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        struct ef_copy copy;
        struct ef_packet p;
        if (ef_copy_parse(&copy, f->data + (size_t) i * f->stride, f->len, f->len) != EF_DROP_NONE) {
            abort();
        }
        ef_packet_parse(&p, copy.original, copy.original_len, copy.original_wire_len);
        sum += ef_flow_hash(&p);
    }
    return sum;
}

static uint64_t
pass_parse(const struct frames *f)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        struct ef_packet p;
        sum += ef_packet_parse(&p, f->data + (size_t) i * f->stride, f->len, f->len);
        sum += p.inner_l4;
    }
    return sum;
}

/* Packets per second of processor time of one pass, repeated until enough packets went by. */
static double
rate(pass_fn *pass, const struct frames *f)
{
    uint32_t passes = f->n >= TARGET_PACKETS ? 1 : TARGET_PACKETS / f->n;
    double start = ef_bench_cpu_seconds();
    for (uint32_t i = 0; i < passes; i++) {
        ef_bench_keep(pass(f));
    }
    return (double) f->n * passes / (ef_bench_cpu_seconds() - start);
}

static void
measure(const char *name, const char *format, double goal, pass_fn *pass, const struct frames *f)
{
    struct ef_bench bound = {0};
    struct ef_bench b = {.name = name,
                         .unit = "packets/s",
                         .goal = goal,
                         .bound_is = "hashing 64 bytes of each frame over the same memory"};
    ef_bench_param_text(&b, "format", format);
    ef_bench_param(&b, "packets", f->n);
    ef_bench_param(&b, "frame_bytes", f->len);
    rate(pass, f);
    /* Turn by turn, so that both see the same noise. */
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        ef_bench_add(&bound, rate(pass_bound, f));
        ef_bench_add(&b, rate(pass, f));
    }
    b.bound = ef_bench_median(&bound);
    ef_bench_print(&b);
}

/* --- The benchmark ------------------------------------------------------------------- */

static struct ef_copy
copy_of(enum ef_encapsulation encapsulation)
{
    struct ef_copy copy = {
        .encapsulation = (uint8_t) encapsulation,
        .has_sequence = true,
        .has_port = true,
        .port = 3,
        .has_switch_time = encapsulation == EF_ENCAP_ERSPAN3,
        .switch_time = {1795228200123456789},
    };
    ef_address_parse("10.255.0.1", copy.switch_address);
    ef_address_parse("10.255.255.1", copy.target_address);
    return copy;
}

int
main(void)
{
    struct ef_copy erspan3 = copy_of(EF_ENCAP_ERSPAN3), gre = copy_of(EF_ENCAP_GRE);
    static const uint32_t sizes[] = {4096, 1 << 20};
    for (size_t i = 0; i < 2; i++) {
        struct frames f = make_frames(sizes[i], build_tcp4, &erspan3, 64);
        measure("parse.copy_identity", "erspan3 tcp4", 30e6, pass_copy_identity, &f);
        measure("parse.copy_flow_hash", "erspan3 tcp4", 0, pass_copy_flow_hash, &f);
        free(f.data);
        f = make_frames(sizes[i], build_tcp4, &gre, 64);
        measure("parse.copy_identity", "gre tcp4", 30e6, pass_copy_identity, &f);
        free(f.data);
    }
    static const struct {
        const char *format;
        void (*build)(struct ef_build *, uint32_t);
    } others[] = {{"tcp4", build_tcp4}, {"tcp6", build_tcp6}, {"vxlan tcp4", build_vxlan}};
    for (size_t i = 0; i < 3; i++) {
        struct frames f = make_frames(4096, others[i].build, &erspan3, 64);
        if (i) {
            measure("parse.copy_identity", others[i].format, 0, pass_copy_identity, &f);
        }
        free(f.data);
        f = make_frames(4096, others[i].build, NULL, 64);
        measure("parse.packet", others[i].format, 0, pass_parse, &f);
        free(f.data);
    }
    return 0;
}
