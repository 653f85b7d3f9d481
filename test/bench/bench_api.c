/* SPDX-License-Identifier: Apache-2.0 */
/* The API of the real daemons, over plain HTTP and TLS, as processes of their own:
 * - api.stream: GetTrace of 100,000 traces from one analyzer, and from the controller,
 *   which merges two analyzers' and names the switches: bytes (and traces) for each second of
 *   processor time of that daemon, and of the clock for the whole. The bound is
 *   the same bytes over a socket by a loop that does nothing else, in its processor time;
 * - api.small: 2,000 GetTrace of one trace a second from the controller: the 50th and the 99th
 *   percentile of the time from when the request was due, and what a request takes of the
 *   controller's, both analyzers' and this client's processor time;
 * - api.held: what GET /v1/topology takes while 10,000 connections are only held: half of
 *   them silent, the others with half a request or half a handshake;
 * - api.memory: of the controller when it has just started.
 *
 *     bench_api [stream | small | held]      only these */
#include <config.h>

#include <sys/resource.h>

#include "bench/api_load.h"

enum { N_TRACES = 100000, RUNS = 5, N_SMALL = 10000, N_HELD = 10000, BLOCK = 65536 };

static const char *
daemon_of(const struct api_daemon *d)
{
    return strncmp(d->name, "analyzer", 8) ? d->name : "analyzer";
}

static void
describe(struct ef_bench *b, const struct api_daemons *d, const struct api_daemon *daemon)
{
    ef_bench_param_text(b, "daemon", daemon_of(daemon));
    ef_bench_param_text(b, "over", d->is_tls ? "TLS" : "plain");
}

/* --- The bound -------------------------------------------------------------- */

/* Bytes a second of its processor time, of who only writes `n` bytes to a socket of
 * TCP over loopback that another process reads. */
static double
measure_bound(size_t n)
{
    static char block[BLOCK];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *) &address, len) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *) &address, &len)) {
        api_fail("listen");
    }
    pid_t reader = fork();
    if (!reader) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *) &address, len)) {
            _exit(1);
        }
        while (read(fd, block, sizeof block) > 0) {
        }
        _exit(0);
    }
    int fd = accept(listener, NULL, NULL);
    memset(block, 'x', sizeof block);
    double start = ef_bench_cpu_seconds();
    for (size_t sent = 0; sent < n;) {
        ssize_t k = send(fd, block, EF_MIN(sizeof block, n - sent), MSG_NOSIGNAL);
        if (k < 0) {
            api_fail("send");
        }
        sent += (size_t) k;
    }
    double seconds = ef_bench_cpu_seconds() - start;
    close(fd);
    close(listener);
    waitpid(reader, NULL, 0);
    return (double) n / seconds;
}

/* --- Long answers ------------------------------------------------------------ */

struct taken {
    size_t n_bytes, n_lines;
};

static void
take(void *ctx, const char *data, size_t len)
{
    struct taken *t = ctx;
    t->n_bytes += len;
    for (const char *p = data; (p = memchr(p, '\n', (size_t) (data + len - p))); p++) {
        t->n_lines++;
    }
}

static void
bench_stream(const struct api_daemons *d, const struct api_daemon *daemon, uint64_t n_traces)
{
    struct ef_bench bytes = {.name = "api.stream", .unit = "bytes/CPU s", .goal = 300e6};
    struct ef_bench traces = {.name = "api.stream", .unit = "traces/CPU s", .goal = 500e3};
    struct ef_bench wall = {.name = "api.stream", .unit = "bytes/s"}, bound = {.name = "api.stream_bound"};
    struct ef_http_call_spec spec = {
        .server = daemon->url, .tls = d->tls, .target = "/v1/traces?limit=0&format=ndjson", .timeout_ms = 60000};
    for (int run = 0; run < RUNS; run++) {
        struct ef_http_answer answer;
        struct ef_error err = EF_ERROR_INIT;
        struct taken taken = {0};
        spec.on_data = take;
        spec.ctx = &taken;
        double cpu = api_cpu_seconds(daemon), start = ef_bench_seconds();
        if (ef_http_fetch(&spec, &answer, &err) || taken.n_lines != n_traces + 1) {
            fprintf(stderr, "bench_api: %s: %zu lines, %s\n", daemon->name, taken.n_lines, err.text);
            abort();
        }
        double seconds = ef_bench_seconds() - start;
        cpu = api_cpu_seconds(daemon) - cpu;
        ef_http_answer_deinit(&answer);
        ef_bench_add(&bytes, (double) taken.n_bytes / cpu);
        ef_bench_add(&traces, (double) n_traces / cpu);
        ef_bench_add(&wall, (double) taken.n_bytes / seconds);
        ef_bench_add(&bound, measure_bound(taken.n_bytes));
    }
    struct ef_bench *all[] = {&bytes, &traces, &wall};
    for (size_t i = 0; i < EF_ARRAY_SIZE(all); i++) {
        describe(all[i], d, daemon);
        ef_bench_param(all[i], "traces", (double) n_traces);
    }
    bytes.bound = wall.bound = ef_bench_median(&bound);
    bytes.bound_is = wall.bound_is = "the same bytes written to a loopback socket, plain, per CPU second";
    for (size_t i = 0; i < EF_ARRAY_SIZE(all); i++) {
        ef_bench_print(all[i]);
    }
}

/* --- Small answers ------------------------------------------------------------ */

static void
print_percentile(const struct api_daemons *d, struct ef_bench *b, const char *percentile)
{
    b->unit = "ms";
    b->lower_is_better = true;
    describe(b, d, &d->controller);
    ef_bench_param_text(b, "percentile", percentile);
    ef_bench_print(b);
}

static SSL_CTX *
client_context(const struct api_daemons *d)
{
    char cert[96], key[96];
    if (!d->is_tls) {
        return NULL;
    }
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    snprintf(cert, sizeof cert, "%s/pki/one.crt", d->folder);
    snprintf(key, sizeof key, "%s/pki/one.key", d->folder);
    if (!context || SSL_CTX_use_certificate_chain_file(context, cert) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        api_fail("TLS");
    }
    return context;
}

enum { ASKED, ASKING, BEHIND, N_PARTIES }; /* The controller, this client, all analyzers. */

static double
own_cpu_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* The askers are threads. */
    return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static void
read_cpu(const struct api_daemons *d, double seconds[N_PARTIES])
{
    seconds[ASKED] = api_cpu_seconds(&d->controller);
    seconds[ASKING] = own_cpu_seconds();
    seconds[BEHIND] = 0;
    for (int i = 0; i < API_N_ANALYZERS; i++) {
        seconds[BEHIND] += api_cpu_seconds(&d->analyzers[i]);
    }
}

static void
print_cpu(const struct api_daemons *d, const char *name, struct ef_bench cpu[N_PARTIES])
{
    static const char *const who[N_PARTIES] = {"controller", "client", "analyzers"};
    for (int i = 0; i < N_PARTIES; i++) {
        cpu[i].name = name;
        cpu[i].unit = "CPU us/request";
        cpu[i].lower_is_better = true;
        ef_bench_param_text(&cpu[i], "daemon", who[i]);
        ef_bench_param_text(&cpu[i], "over", d->is_tls ? "TLS" : "plain");
        ef_bench_print(&cpu[i]);
    }
}

/* Runs the load some times; medians of the percentiles over the runs. */
static void
bench_load(const struct api_daemons *d, struct api_load load, const char *name, double goal_ms)
{
    struct ef_bench p50 = {.name = name}, p99 = {.name = name, .goal = goal_ms},
                    failed = {.name = name, .unit = "failed"}, cpu[N_PARTIES] = {{0}};
    load.tls = client_context(d);
    load.port = d->controller.port;
    for (int run = 0; run < RUNS; run++) {
        double before[N_PARTIES], after[N_PARTIES];
        read_cpu(d, before);
        api_load_run(&load);
        read_cpu(d, after);
        for (int i = 0; i < N_PARTIES; i++) {
            ef_bench_add(&cpu[i], (after[i] - before[i]) / (double) load.n * 1e6);
        }
        ef_bench_add(&p50, load.seconds[load.n / 2] * 1e3);
        ef_bench_add(&p99, load.seconds[load.n * 99 / 100] * 1e3);
        ef_bench_add(&failed, (double) load.n_failed);
        free(load.seconds);
    }
    ef_bench_param(&p50, "per_s", load.rate);
    ef_bench_param(&p99, "per_s", load.rate);
    print_percentile(d, &p50, "50");
    print_percentile(d, &p99, "99");
    describe(&failed, d, &d->controller);
    failed.lower_is_better = true;
    ef_bench_print(&failed);
    print_cpu(d, name, cpu);
    SSL_CTX_free(load.tls);
}

/* --- Connections that are only held -------------------------------------------- */

static int
hold(const struct api_daemons *d, int i)
{
    static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                      half[] = "GET /v1/status HTTP/1.1\r\nX-";
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002 + (uint32_t) i % 50)},
                       to = {.sin_family = AF_INET,
                             .sin_port = htons(d->controller.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &from, sizeof from) || connect(fd, (struct sockaddr *) &to, sizeof to)) {
        api_fail("a connection that is held; is the limit of open files too low?");
    }
    if (i % 2) {
        send(fd, d->is_tls ? hello : half, (d->is_tls ? sizeof hello : sizeof half) - 1, MSG_NOSIGNAL);
    }
    return fd;
}

static void
bench_held(const struct api_daemons *d)
{
    static int fds[N_HELD];
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    for (int i = 0; i < N_HELD; i++) {
        fds[i] = hold(d, i);
    }
    struct api_load load = {.target = "/v1/topology", .rate = 100, .n = 200};
    bench_load(d, load, "api.held", 100);
    struct ef_bench memory = {.name = "api.held", .unit = "bytes", .lower_is_better = true};
    describe(&memory, d, &d->controller);
    ef_bench_add(&memory, api_status_kib(&d->controller, "VmHWM") * 1024);
    ef_bench_print(&memory);
    for (int i = 0; i < N_HELD; i++) {
        close(fds[i]);
    }
}

static void
bench_memory(const struct api_daemons *d)
{
    struct ef_bench b = {.name = "api.memory", .unit = "bytes", .goal = 20e6, .lower_is_better = true};
    describe(&b, d, &d->controller);
    ef_bench_add(&b, api_status_kib(&d->controller, "VmRSS") * 1024);
    ef_bench_print(&b);
}

int
main(int argc, char *argv[])
{
    char build[256];
    const char *only = argc > 1 ? argv[1] : "", *slash = strrchr(argv[0], '/');
    snprintf(build, sizeof build, "%.*s/../..", slash ? (int) (slash - argv[0]) : 1, slash ? argv[0] : ".");
    char *path = realpath(build, NULL);
    if (!path) {
        api_fail(build);
    }
    signal(SIGPIPE, SIG_IGN);
    for (int is_tls = 0; is_tls <= 1; is_tls++) {
        struct api_daemons d;
        api_daemons_start(&d, path, is_tls, N_TRACES);
        bench_memory(&d);
        if (!*only || !strcmp(only, "stream")) {
            bench_stream(&d, &d.analyzers[0], N_TRACES / API_N_ANALYZERS);
            bench_stream(&d, &d.controller, N_TRACES);
        }
        if (!*only || !strcmp(only, "small")) {
            struct api_load load = {.target = "/v1/traces?limit=1", .rate = 2000, .n = N_SMALL};
            bench_load(&d, load, "api.small", 10);
        }
        if (!*only || !strcmp(only, "held")) {
            bench_held(&d);
        }
        api_daemons_stop(&d);
    }
    free(path);
    return 0;
}
