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
#include "erspan_copy.h"
#include "io/sink_class.h"
#include "io/source.h"
#include "packet_ring.h"
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

static void
prepare(void)
{
    for (unsigned i = 0; i < N_COPIES; i++) {
        uint32_t len = ef_bench_make_copy(copies[i], MAX_COPY_BYTES, ORIGINAL_BYTES, i);
        if (!len) {
            die("cannot build a copy");
        }
        frames[i] = (struct ef_frame){.data = copies[i], .len = len, .wire_len = len};
    }
    if (ef_plan_add_vip(&plan, EF_BENCH_VIP, NULL) || ef_plan_add_analyzer(&plan, "a1=10.99.1.2", NULL) ||
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

/* Returns the seconds that it took. */
static double
fill_ring(int fd)
{
    double start = core_seconds();
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
    return core_seconds() - start;
}

/* Reads a full ring empty; forwards to `sink` if there is one. */
static double
drain_rate(int fd, struct ef_sink *sink, double *with_kernel)
{
    static struct ef_forwarder f;
    struct ef_source *source;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_source_open("afpacket:in0", RING_BYTES, &source, &err)) {
        die(err.text);
    }
    start_forwarder(&f, sink);
    double filled = fill_ring(fd);
    struct ef_frame burst[EF_BURST];
    uint64_t total = 0;
    double start = core_seconds();
    for (int n; total < RING_COPIES && (n = ef_source_receive(source, burst, EF_BURST, 1000)) > 0;) {
        total += (uint64_t) n;
        for (int i = 0; i < n && !sink; i++) {
            ef_bench_keep(burst[i].len);
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
    *with_kernel = (double) total / (seconds + filled);
    return (double) total / seconds;
}

/* What any program can get out of the same ring at best. With `*with_kernel`,
 * also the kernel's work for each frame, on the same core: sending it through
 * the pair, and putting it into the ring. */
static double
count_rate(int fd, double *with_kernel)
{
    struct ef_packet_ring ring;
    if (!ef_packet_ring_open(&ring, "in0", RING_BYTES)) {
        die("cannot open a ring");
    }
    double filled = fill_ring(fd), start = core_seconds();
    uint64_t n = ef_packet_ring_count(&ring, RING_COPIES);
    double seconds = core_seconds() - start;
    ef_packet_ring_close(&ring);
    if (n < RING_COPIES) { /* More if the other end said something of its own. */
        die("the ring lost frames");
    }
    *with_kernel = (double) n / (seconds + filled);
    return (double) n / seconds;
}

static void
bench_kernel(void)
{
    struct ef_bench count = {0};
    struct ef_bench share = {
        .name = "collect.afpacket_share", .unit = "of a loop that counts", .goal = 0.9, .bound = 1};
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
        double bound, rate, unused;
        ef_bench_add(&count, count_rate(fd, &bound));
        ef_bench_add(&receive, drain_rate(fd, NULL, &rate));
        ef_bench_add(&share, rate / bound);
        ef_bench_add(&stage, drain_rate(fd, &null_sink, &unused));
        ef_bench_add(&send, forward_rate(sink, RING_COPIES / N_COPIES));
        ef_bench_add(&all, drain_rate(fd, sink, &unused));
    }
    stage.bound = ef_bench_median(&receive);
    stage.bound_is = "reading the ring, nothing else";
    all.bound = ef_bench_median(&send);
    all.bound_is = "forwarding the same copies from memory through raw sockets";
    receive.bound = ef_bench_median(&count);
    receive.bound_is = "counting the frames of the ring, nothing else";
    share.bound_is = "as fast as counting alone, the kernel's work for each frame included in both";
    send.bound_is = "not known";
    add_params(&receive);
    add_params(&share);
    add_params(&stage);
    add_params(&send);
    add_params(&all);
    ef_bench_print(&receive);
    ef_bench_print(&share);
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
