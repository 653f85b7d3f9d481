/* SPDX-License-Identifier: Apache-2.0 */
/* How fast copies are collected and passed on by one core: the reshuffler's
 * stage from memory, the AF_PACKET ring, the raw IP sink, and all three at
 * once. The parts that need the kernel run in a network namespace of their own
 * and are left out without root.
 *
 * A ring is filled first and then read, so that what is timed is the thread of
 * the reshuffler and not a race with a sender on the same cores. */
#include <config.h>

#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "io/sink_class.h"
#include "io/source.h"
#include "packet/build.h"
#include "reshuffler/forward.h"

enum {
    N_COPIES = 4096,
    MAX_COPY_BYTES = 256,
    ORIGINAL_BYTES = 64,
    MEMORY_LOOPS = 200,
    RING_BYTES = 32 << 20,
    RING_COPIES = 64000, /* Fit into the ring; a multiple of BATCH. */
    BATCH = 64,
};

#define VIP "10.255.255.1"

static uint8_t copies[N_COPIES][MAX_COPY_BYTES];
static struct ef_frame frames[N_COPIES];
static struct ef_plan plan;

/* Time that this thread had a core: what else runs does not count. */
static double
core_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static void
die(const char *what)
{
    fprintf(stderr, "bench_collect: %s\n", what);
    exit(1);
}

/* A TCP packet of 64 bytes in ERSPAN III; each copy is of a flow of its own. */
static void
make_copy(uint8_t copy[MAX_COPY_BYTES], struct ef_frame *frame, unsigned i)
{
    struct ef_copy c = {.encapsulation = EF_ENCAP_ERSPAN3,
                        .has_sequence = true,
                        .sequence = i,
                        .has_port = true,
                        .port = 1,
                        .original_len = ORIGINAL_BYTES};
    struct ef_build b;
    ef_address_parse("10.255.0.1", c.switch_address);
    ef_address_parse(VIP, c.target_address);
    int headers_len = ef_copy_build_headers(&c, copy, MAX_COPY_BYTES);
    if (headers_len < 0) {
        die("cannot build a copy");
    }
    ef_build_start(&b, copy + headers_len, MAX_COPY_BYTES - (uint32_t) headers_len);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, (uint16_t) (1024 + i), 80, EF_TCP_SYN);
    ef_build_payload(&b, NULL, ORIGINAL_BYTES - 14 - 20 - 20);
    uint32_t len = (uint32_t) (headers_len + ef_build_finish(&b));
    *frame = (struct ef_frame){.data = copy, .len = len, .wire_len = len};
}

static void
prepare(void)
{
    for (unsigned i = 0; i < N_COPIES; i++) {
        make_copy(copies[i], &frames[i], i);
    }
    if (ef_plan_add_vip(&plan, VIP, NULL) || ef_plan_add_analyzer(&plan, "a1=10.99.1.2", NULL) ||
        ef_plan_add_analyzer(&plan, "a2=10.99.1.3", NULL) || ef_plan_add_analyzer(&plan, "a3=10.99.1.4", NULL) ||
        ef_plan_finish(&plan, NULL)) {
        die("cannot make a plan");
    }
}

/* --- From memory --------------------------------------------------------------- */

/* A sink that only counts. */
static void
null_send(struct ef_sink *sink, const struct ef_sink_packet packets[], int n)
{
    for (int i = 0; i < n; i++) {
        ef_sink_count(sink, packets[i].len, 0);
    }
}

static const struct ef_sink_class null_class = {.scheme = "null", .send = null_send};
static uint8_t null_buffer[EF_SINK_BUFFER_BYTES];
static struct ef_sink null_sink = {.class = &null_class, .buffer = null_buffer};

static double
copy_rate(void)
{
    double start = core_seconds();
    for (int loop = 0; loop < MEMORY_LOOPS; loop++) {
        for (int i = 0; i < N_COPIES; i++) {
            memcpy(null_buffer + i % BATCH * MAX_COPY_BYTES, frames[i].data, frames[i].len);
            ef_bench_keep(null_buffer[0]);
        }
    }
    return MEMORY_LOOPS * (double) N_COPIES / (core_seconds() - start);
}

static double
decide_rate(void)
{
    double start = core_seconds();
    for (int loop = 0; loop < MEMORY_LOOPS; loop++) {
        for (int i = 0; i < N_COPIES; i++) {
            struct ef_decision d;
            if (ef_plan_decide(&plan, frames[i].data, frames[i].len, frames[i].wire_len, &d)) {
                die("a copy was discarded");
            }
            ef_bench_keep(d.analyzer);
        }
    }
    return MEMORY_LOOPS * (double) N_COPIES / (core_seconds() - start);
}

static void
start_forwarder(struct ef_forwarder *f, struct ef_sink *sink)
{
    ef_ledger_deinit(&f->ledger);
    memset(f, 0, sizeof *f);
    f->plan = &plan;
    f->sink = sink;
    if (ef_ledger_init(&f->ledger)) {
        die("out of memory");
    }
    if (sink) {
        ef_sink_stats(sink, &f->last_sink);
    }
}

static double
forward_rate(struct ef_sink *sink, int n_loops)
{
    static struct ef_forwarder f;
    start_forwarder(&f, sink);
    double start = core_seconds();
    for (int loop = 0; loop < n_loops; loop++) {
        for (int i = 0; i < N_COPIES; i += BATCH) {
            ef_forward_burst(&f, frames + i, BATCH);
        }
    }
    double seconds = core_seconds() - start;
    if (f.totals.sent != f.totals.received) {
        die("copies were discarded");
    }
    return (double) f.totals.sent / seconds;
}

static void
add_params(struct ef_bench *b)
{
    ef_bench_param_text(b, "encapsulation", "erspan3");
    ef_bench_param(b, "original_bytes", ORIGINAL_BYTES);
}

static void
bench_memory(void)
{
    struct ef_bench bound = {0};
    struct ef_bench decide = {.name = "collect.decide", .unit = "copies/s/core"};
    struct ef_bench forward = {.name = "collect.forward", .unit = "copies/s/core"};
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        ef_bench_add(&bound, copy_rate());
        ef_bench_add(&decide, decide_rate());
        ef_bench_add(&forward, forward_rate(&null_sink, MEMORY_LOOPS));
    }
    decide.bound = forward.bound = ef_bench_median(&bound);
    decide.bound_is = forward.bound_is = "copying the frames, nothing else";
    add_params(&decide);
    add_params(&forward);
    ef_bench_print(&decide);
    ef_bench_print(&forward);
}

/* --- With the kernel ------------------------------------------------------------ */

/* in1 -> in0: received; out0 -> out1: sent. */
static bool
make_namespace(void)
{
    static const char set_up[] =
        "ip link add in0 type veth peer name in1 && ip link add out0 type veth peer name out1 && "
        "ip link set in0 up && ip link set in1 up && ip address add 10.99.1.1/24 dev out0 && "
        "ip link set out0 up && ip link set out1 up && "
        "for i in 2 3 4; do ip neighbour add 10.99.1.$i lladdr 02:00:00:00:00:01 dev out0 || exit 1; done";
    return !unshare(CLONE_NEWNET) && !system(set_up);
}

static void
fill_ring(int fd)
{
    static struct mmsghdr messages[BATCH];
    static struct iovec iov[BATCH];
    for (unsigned n = 0; n < RING_COPIES; n += BATCH) {
        for (unsigned i = 0; i < BATCH; i++) {
            const struct ef_frame *f = &frames[(n + i) % N_COPIES];
            iov[i] = (struct iovec){(void *) f->data, f->len};
            messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov[i], .msg_iovlen = 1}};
        }
        if (sendmmsg(fd, messages, BATCH, 0) != BATCH) {
            die("cannot send into the veth pair");
        }
    }
}

/* Reads a full ring empty; forwards to `sink` if there is one. */
static double
drain_rate(int fd, struct ef_sink *sink)
{
    static struct ef_forwarder f;
    struct ef_source *source;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_source_open("afpacket:in0", RING_BYTES, &source, &err)) {
        die(err.text);
    }
    start_forwarder(&f, sink);
    fill_ring(fd);
    struct ef_frame burst[EF_BURST];
    uint64_t total = 0;
    double start = core_seconds();
    for (int n; total < RING_COPIES && (n = ef_source_receive(source, burst, EF_BURST, 1000)) > 0;) {
        total += (uint64_t) n;
        for (int i = 0; i < n && !sink; i++) {
            ef_bench_keep(burst[i].data[0]);
        }
        if (sink) {
            ef_forward_burst(&f, burst, n);
        }
    }
    double seconds = core_seconds() - start;
    ef_source_close(source);
    if (total != RING_COPIES || (sink && f.totals.sent != total)) {
        die("copies were lost");
    }
    return (double) total / seconds;
}

static void
bench_kernel(void)
{
    struct ef_bench receive = {.name = "collect.afpacket", .unit = "copies/s/core"};
    struct ef_bench stage = {.name = "collect.afpacket_forward", .unit = "copies/s/core"};
    struct ef_bench send = {.name = "collect.sink_ip", .unit = "copies/s/core"};
    struct ef_bench all = {.name = "collect.reshuffle", .unit = "copies/s/core"};
    struct ef_sink *sink;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int) if_nametoindex("in1")};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof address) || ef_sink_open("ip", &sink, NULL)) {
        die("cannot open sockets");
    }
    for (int run = 0; run < EF_BENCH_RUNS; run++) {
        ef_bench_add(&receive, drain_rate(fd, NULL));
        ef_bench_add(&stage, drain_rate(fd, &null_sink));
        ef_bench_add(&send, forward_rate(sink, RING_COPIES / N_COPIES));
        ef_bench_add(&all, drain_rate(fd, sink));
    }
    stage.bound = ef_bench_median(&receive);
    stage.bound_is = "reading the ring, nothing else";
    all.bound = ef_bench_median(&send);
    all.bound_is = "forwarding the same copies from memory through raw sockets";
    receive.bound_is = send.bound_is = "not known";
    add_params(&receive);
    add_params(&stage);
    add_params(&send);
    add_params(&all);
    ef_bench_print(&receive);
    ef_bench_print(&stage);
    ef_bench_print(&send);
    ef_bench_print(&all);
    ef_sink_close(sink);
    close(fd);
}

int
main(void)
{
    prepare();
    bench_memory();
    if (make_namespace()) {
        bench_kernel();
    } else {
        fprintf(stderr, "bench_collect: without root and `ip`, the parts with AF_PACKET are left out\n");
    }
    ef_plan_deinit(&plan);
    return 0;
}
