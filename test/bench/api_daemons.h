/* SPDX-License-Identifier: Apache-2.0 */
/* The real daemons for bench_api: two analyzers with made-up traces and a controller,
 * over plain HTTP or TLS, in a folder of their own.
 *
 *     struct api_daemons d;
 *     api_daemons_start(&d, "/build", true, 100000);     all or abort()
 *     ... ask d.controller.url ...
 *     api_daemons_stop(&d); */
#ifndef EF_TEST_BENCH_API_DAEMONS_H
#define EF_TEST_BENCH_API_DAEMONS_H

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "tools/copies.h"

enum { API_N_ANALYZERS = 2, API_N_SWITCHES = 4, API_N_FLOWS = 1000, API_START_S = 120 };

struct api_daemon {
    char name[16], url[64];
    uint16_t port;
    pid_t pid;
};

struct api_daemons {
    const char *build;
    char folder[64];
    bool is_tls;
    struct ef_tls *tls; /* Whom we are, to them. */
    struct api_daemon analyzers[API_N_ANALYZERS], controller;
    uint64_t n_traces; /* Of all analyzers. */
};

static inline void
api_fail(const char *what)
{
    fprintf(stderr, "bench_api: %s: %s\n", what, strerror(errno));
    abort();
}

/* --- The folder ----------------------------------------------------------- */

/* `n` packets, seen by API_N_SWITCHES. */
static inline void
api_write_capture(const char *path, uint64_t n)
{
    pcap_t *pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *dumper = pcap ? pcap_dump_open(pcap, path) : NULL;
    if (!dumper) {
        api_fail(path);
    }
    struct test_copy c = {.vip = "10.255.255.1", .encapsulation = EF_ENCAP_ERSPAN3};
    for (uint64_t i = 0; i < n * API_N_SWITCHES; i++) {
        uint8_t frame[TEST_COPY_MAX_BYTES];
        unsigned k = (unsigned) (i / API_N_SWITCHES % API_N_FLOWS);
        c.flow = k + k / 15; /* Not those whose packets are all the same. */
        c.packet = (unsigned) (i / API_N_SWITCHES / API_N_FLOWS);
        c.switch_number = (unsigned) (i % API_N_SWITCHES);
        int len = test_copy_build(&c, frame);
        struct pcap_pkthdr hdr = {.ts = {1795228200, (long) i * 100}, .caplen = (uint32_t) len, .len = (uint32_t) len};
        pcap_dump((u_char *) dumper, &hdr, frame);
    }
    pcap_dump_close(dumper);
    pcap_close(pcap);
}

static inline void
api_write_json(const struct api_daemons *d, const char *name, json_t *json)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", d->folder, name);
    if (!json || json_dump_file(json, path, JSON_COMPACT)) {
        api_fail(path);
    }
    json_decref(json);
}

static inline json_t *
api_topology(void)
{
    json_t *switches = json_array();
    for (int i = 1; i <= API_N_SWITCHES; i++) {
        char name[16], loopback[16];
        snprintf(name, sizeof name, "leaf%d", i);
        snprintf(loopback, sizeof loopback, "10.255.0.%d", i);
        json_array_append_new(switches, json_pack("{s:s, s:s, s:s, s:s, s:[]}", "name", name, "loopback", loopback,
                                                  "ovsdb", "unix:nowhere.sock", "bridge", "br0", "ports"));
    }
    return json_pack("{s:s, s:o, s:[]}", "name", "bench", "switches", switches, "hosts");
}

static inline json_t *
api_configuration(const struct api_daemons *d)
{
    json_t *analyzers = json_array(), *conf;
    for (int i = 0; i < API_N_ANALYZERS; i++) {
        json_array_append_new(analyzers,
                              json_pack("{s:s, s:s}", "name", d->analyzers[i].name, "url", d->analyzers[i].url));
    }
    conf = json_pack("{s:s, s:s, s:o, s:{s:[s], s:[s]}, s:{s:b, s:i, s:i, s:i}}", "listen",
                     strstr(d->controller.url, "//") + 2, "topology", "topology.json", "analyzers", analyzers,
                     "everflow", "targets", "10.255.255.1", "classes", "tcp_syn", "watchers", "switches", 0,
                     "latency_s", 0, "ecmp_s", 0, "rdma_s", 0);
    if (d->is_tls) {
        json_object_set_new(
            conf, "tls", json_pack("{s:s, s:s, s:s}", "cert", "pki/one.crt", "key", "pki/one.key", "ca", "pki/ca.crt"));
    }
    return conf;
}

static inline void
api_shell(const char *format, const char *a, const char *b)
{
    char command[512];
    snprintf(command, sizeof command, format, a, b);
    if (system(command)) {
        api_fail(command);
    }
}

/* --- Processes ------------------------------------------------------------ */

static inline void
api_choose_port(const struct api_daemons *d, struct api_daemon *daemon)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *) &address, len) || getsockname(fd, (struct sockaddr *) &address, &len)) {
        api_fail("no port");
    }
    close(fd);
    daemon->port = ntohs(address.sin_port);
    snprintf(daemon->url, sizeof daemon->url, "%s://127.0.0.1:%u", d->is_tls ? "https" : "http", daemon->port);
}

static inline void
api_run(const struct api_daemons *d, struct api_daemon *daemon, const char *program, const char *const arguments[])
{
    char path[256];
    const char *argv[24] = {path};
    snprintf(path, sizeof path, "%s/%s", d->build, program);
    for (size_t n = 0; arguments[n]; n++) {
        argv[n + 1] = arguments[n];
    }
    daemon->pid = fork();
    if (!daemon->pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!chdir(d->folder)) {
            execv(path, (char *const *) argv);
        }
        perror(path);
        _exit(1);
    }
}

/* The daemon's status (new reference), or NULL if it does not answer yet. */
static inline json_t *
api_status(const struct api_daemons *d, const struct api_daemon *daemon)
{
    struct ef_http_call_spec spec = {.server = daemon->url, .tls = d->tls, .target = "/v1/status"};
    struct ef_http_answer answer;
    json_t *status = NULL;
    if (!ef_http_fetch(&spec, &answer, NULL)) {
        status = json_loadb(answer.body, answer.body_len, 0, NULL);
        ef_http_answer_deinit(&answer);
    }
    return status;
}

static inline void
api_wait_for(const struct api_daemons *d, const struct api_daemon *daemon, const char *key, uint64_t value)
{
    double end = ef_bench_seconds() + API_START_S;
    for (;;) {
        json_t *status = api_status(d, daemon);
        bool is_there = status && (!key || (uint64_t) json_integer_value(json_object_get(status, key)) >= value);
        json_decref(status);
        if (is_there) {
            return;
        }
        if (ef_bench_seconds() > end) {
            api_fail(daemon->name);
        }
        usleep(20000);
    }
}

static inline void
api_start_analyzer(struct api_daemons *d, int i)
{
    struct api_daemon *a = &d->analyzers[i];
    const char *arguments[] = {"--name", a->name, "--source", "pcap:copies.pcap", "--memory", "512M", "--http",
                               strstr(a->url, "//") + 2, "--log-level", "error",
                               /* With TLS: */
                               "--tls-cert", "pki/one.crt", "--tls-key", "pki/one.key", "--tls-ca", "pki/ca.crt", NULL};
    if (!d->is_tls) {
        arguments[10] = NULL;
    }
    api_run(d, a, "analyzer/ef-analyzer", arguments);
}

static inline void
api_daemons_start(struct api_daemons *d, const char *build, bool is_tls, uint64_t n_traces)
{
    static const char *const arguments[] = {"--config", "controller.json", "--log-level", "error", NULL};
    char path[128];
    *d = (struct api_daemons){.build = build, .is_tls = is_tls, .n_traces = n_traces};
    snprintf(d->folder, sizeof d->folder, "/tmp/bench_api.XXXXXX");
    if (!mkdtemp(d->folder)) {
        api_fail(d->folder);
    }
    snprintf(path, sizeof path, "%s/copies.pcap", d->folder);
    api_write_capture(path, n_traces / API_N_ANALYZERS);
    if (is_tls) {
        api_shell("%s/utilities/efctl/efctl pki init %s/pki >/dev/null", build, d->folder);
        api_shell("%s/utilities/efctl/efctl pki sign %s/pki one 127.0.0.1 >/dev/null", build, d->folder);
        char cert[96], key[96], ca[96];
        snprintf(cert, sizeof cert, "%s/pki/one.crt", d->folder);
        snprintf(key, sizeof key, "%s/pki/one.key", d->folder);
        snprintf(ca, sizeof ca, "%s/pki/ca.crt", d->folder);
        struct ef_tls_files files = {.cert = cert, .key = key, .ca = ca};
        if (ef_tls_create(&files, &d->tls, NULL)) {
            api_fail("TLS");
        }
    }
    for (int i = 0; i < API_N_ANALYZERS; i++) {
        snprintf(d->analyzers[i].name, sizeof d->analyzers[i].name, "analyzer%d", i + 1);
        api_choose_port(d, &d->analyzers[i]);
        api_start_analyzer(d, i);
    }
    snprintf(d->controller.name, sizeof d->controller.name, "controller");
    api_choose_port(d, &d->controller);
    api_write_json(d, "topology.json", api_topology());
    api_write_json(d, "controller.json", api_configuration(d));
    api_run(d, &d->controller, "controller/ef-controller", arguments);
    api_wait_for(d, &d->controller, NULL, 0);
    for (int i = 0; i < API_N_ANALYZERS; i++) {
        api_wait_for(d, &d->analyzers[i], "traces_stored", n_traces / API_N_ANALYZERS);
    }
}

static inline void
api_daemons_stop(struct api_daemons *d)
{
    kill(d->controller.pid, SIGTERM);
    waitpid(d->controller.pid, NULL, 0);
    for (int i = 0; i < API_N_ANALYZERS; i++) {
        kill(d->analyzers[i].pid, SIGTERM);
        waitpid(d->analyzers[i].pid, NULL, 0);
    }
    ef_tls_destroy(d->tls);
    api_shell("rm -r %s%s", d->folder, "");
}

/* --- What they take ------------------------------------------------------- */

/* Seconds of processor time of all threads. */
static inline double
api_cpu_seconds(const struct api_daemon *daemon)
{
    char path[300];
    double ns, sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int) daemon->pid);
    DIR *tasks = opendir(path);
    struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int) daemon->pid, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        sum += file && fscanf(file, "%lf", &ns) == 1 ? ns * 1e-9 : 0;
        if (file) {
            fclose(file);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return sum;
}

/* A number of /proc/PID/status, such as "VmRSS", in KiB. */
static inline double
api_status_kib(const struct api_daemon *daemon, const char *key)
{
    char path[64], line[256];
    double value = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int) daemon->pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') {
            value = strtod(line + strlen(key) + 1, NULL);
        }
    }
    if (file) {
        fclose(file);
    }
    return value;
}

#endif
