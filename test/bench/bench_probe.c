/* SPDX-License-Identifier: Apache-2.0 */
/* How many distinct probes ef-prober sends in a second of one core's time: through a raw
 * socket into a veth link of a network namespace of its own, whose other end
 * nobody listens to. The bound is the same socket sending one packet of the same
 * length again and again. Without the right to make a namespace only the making
 * of probes is measured. */
#include <config.h>

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#include "bench.h"
#include "guided-prober/craft.h"
#include "guided-prober/output.h"
#include "unit/prober/probe.h"

enum { N = 100000, N_IN_MEMORY = 2000000, RUNS = 9 };

static const struct {
    const char *name, *fields;
} kinds[] = {
    {"UDP", "dst=h2"},
    {"TCP", "dst=h2 proto=tcp"},
    {"UDP, by 3 switches", "dst=h2 via=leaf1,spine1,leaf1"},
    {"TCP of 1000 bytes", "dst=h2 proto=tcp length=1000"},
};

/* Everything is routed to the other end, which the packets are not for. */
static int
make_network(void)
{
    return unshare(CLONE_NEWNET) ||
                   system(
                       "ip link set lo up && ip link add probe0 type veth peer name probe1 && ip link set probe1 up && "
                       "ip link set probe0 up && ip address add 10.1.0.11/24 dev probe0 && "
                       "ip neighbour add 10.1.0.1 lladdr 02:00:00:00:00:01 dev probe0 && "
                       "ip route add 10.0.0.0/8 via 10.1.0.1")
               ? -1
               : 0;
}

static double
send_distinct(const struct prober_craft *craft, struct prober_output *out, uint64_t *sequence)
{
    double start = ef_bench_cpu_seconds();
    for (int i = 0; i < N; i++) {
        prober_craft_write(craft, (*sequence)++, ef_time_real(), prober_output_reserve(out, craft->len));
        prober_output_commit(out, craft->len, craft->start);
    }
    prober_output_flush(out);
    return N / (ef_bench_cpu_seconds() - start);
}

static double
send_same(const struct prober_craft *craft, struct prober_output *out)
{
    uint8_t *room = prober_output_reserve(out, craft->len);
    prober_craft_write(craft, 0, ef_time_real(), room);
    double start = ef_bench_cpu_seconds();
    for (int i = 0; i < N; i++) {
        prober_output_commit(out, craft->len, craft->start);
    }
    prober_output_flush(out);
    return N / (ef_bench_cpu_seconds() - start);
}

static uint64_t
n_failed(const struct prober_output *out)
{
    struct ef_sink_stats stats;
    prober_output_stats(out, &stats);
    return stats.failed + stats.too_big;
}

static void
bench_sending(const struct prober_craft *craft, const char *kind)
{
    struct ef_error err = EF_ERROR_INIT;
    struct prober_output *out;
    struct ef_bench bound = {.name = "probe.bound"};
    struct ef_bench b = {.name = "probe.send", .unit = "probes/s", .goal = 300e3};
    uint64_t sequence = 0;
    if (prober_output_open("ip", &out, &err)) {
        fprintf(stderr, "probe.send: %s\n", err.text);
        exit(1);
    }
    ef_bench_param_text(&b, "kind", kind);
    ef_bench_param(&b, "bytes", craft->len - craft->start);
    for (int run = 0; run < RUNS; run++) {
        ef_bench_add(&bound, send_same(craft, out));
        ef_bench_add(&b, send_distinct(craft, out, &sequence));
    }
    ef_bench_param(&b, "failed", (double) n_failed(out));
    b.bound = ef_bench_median(&bound);
    b.bound_is = "the same raw socket sends one packet of this length over and over";
    ef_bench_print(&b);
    prober_output_close(out);
}

static void
bench_making(const struct prober_craft *craft, const char *kind)
{
    static uint8_t frame[PROBER_MAX_FRAME];
    struct ef_bench bound = {.name = "probe.bound"}, b = {.name = "probe.make", .unit = "probes/s"};
    ef_bench_param_text(&b, "kind", kind);
    ef_bench_param(&b, "bytes", craft->len - craft->start);
    for (int run = 0; run < RUNS; run++) {
        double start = ef_bench_cpu_seconds();
        for (int i = 0; i < N_IN_MEMORY; i++) {
            memcpy(frame, craft->bytes, craft->len);
            ef_bench_keep(ef_time_real().ns);
            ef_bench_keep(frame[i & 63]);
        }
        ef_bench_add(&bound, N_IN_MEMORY / (ef_bench_cpu_seconds() - start));
        start = ef_bench_cpu_seconds();
        for (int i = 0; i < N_IN_MEMORY; i++) {
            prober_craft_write(craft, (uint64_t) i, ef_time_real(), frame);
            ef_bench_keep(frame[i & 63]);
        }
        ef_bench_add(&b, N_IN_MEMORY / (ef_bench_cpu_seconds() - start));
    }
    b.bound = ef_bench_median(&bound);
    b.bound_is = "copying as many bytes and reading the clock";
    ef_bench_print(&b);
}

int
main(void)
{
    static struct prober_craft craft;
    bool can_send = !make_network();
    if (!can_send) {
        fprintf(stderr, "probe.send: left out: cannot make a network namespace (needs root and iproute2)\n");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct prober_format f;
        struct ef_error err = EF_ERROR_INIT;
        if (format_of(&f, kinds[i].fields, &err) || prober_craft_init(&craft, &f, 1, &err)) {
            fprintf(stderr, "%s: %s\n", kinds[i].name, err.text);
            return 1;
        }
        bench_making(&craft, kinds[i].name);
        if (can_send) {
            bench_sending(&craft, kinds[i].name);
        }
    }
    return 0;
}
