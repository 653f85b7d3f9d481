/* SPDX-License-Identifier: Apache-2.0 */
/* DPDK's own forwarding program, run as a child between two net_memif ports of
 * the benchmark: what plain forwarding costs when DPDK does it. It counts the
 * cycles that its forwarding loop takes for bursts that are not empty.
 *
 *     struct testpmd t;
 *     if (testpmd_start(&t, "net_memif0,...", "net_memif1,...")) {
 *         fill the ring;  testpmd_say(&t, "start");  wait for the packets;
 *         ns = testpmd_stop(&t);
 *         testpmd_end(&t);
 *     }
 *
 * Where the program is not installed (Debian's package dpdk), start says so and
 * returns false. */
#ifndef EF_TEST_BENCH_TESTPMD_H
#define EF_TEST_BENCH_TESTPMD_H

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct testpmd {
    pid_t pid;
    FILE *in, *out;
    char line[512];
};

/* With huge pages if the machine has any, as the benchmark itself. */
static inline const char *
testpmd_memory(void)
{
    char line[128];
    unsigned long n = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "HugePages_Total: %lu", &n) != 1) {
    }
    if (f) {
        fclose(f);
    }
    return n ? "--in-memory" : "--no-huge";
}

/* Reads up to a line with `text`; returns what stands there from it on, or NULL
 * at the end. */
static inline const char *
testpmd_read(struct testpmd *t, const char *text)
{
    while (fgets(t->line, sizeof t->line, t->out)) {
        const char *at = strstr(t->line, text);
        if (at) {
            return at;
        }
    }
    return NULL;
}

static inline bool
testpmd_start(struct testpmd *t, const char *in_port, const char *out_port)
{
    char in[300], out[300], prefix[64];
    int to[2], from[2];
    snprintf(in, sizeof in, "--vdev=%s", in_port);
    snprintf(out, sizeof out, "--vdev=%s", out_port);
    snprintf(prefix, sizeof prefix, "--file-prefix=bench%d", (int) getpid());
    const char *argv[] = {"stdbuf",
                          "-oL",
                          "dpdk-testpmd",
                          "-l",
                          "0,1",
                          testpmd_memory(),
                          "-m",
                          "256",
                          "--no-pci",
                          "--no-telemetry",
                          prefix,
                          "--log-level=error",
                          in,
                          out,
                          "--",
                          "-i",
                          "--forward-mode=macswap",
                          "--burst=64",
                          "--record-core-cycles",
                          "--nb-cores=1",
                          "--no-flush-rx",
                          "--total-num-mbufs=16384",
                          NULL};
    posix_spawn_file_actions_t actions;
    if (pipe(to) || pipe(from) || posix_spawn_file_actions_init(&actions)) {
        return false;
    }
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn_file_actions_addclose(&actions, to[1]);
    posix_spawn_file_actions_addclose(&actions, from[0]);
    int code = posix_spawnp(&t->pid, argv[0], &actions, NULL, (char *const *) (uintptr_t) argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    t->in = fdopen(to[1], "w");
    t->out = fdopen(from[0], "r");
    if (code || !t->in || !t->out || !testpmd_read(t, "Checking link statuses")) {
        fprintf(stderr, "no comparison with testpmd, which does not start; is Debian's package dpdk installed?\n");
        return false;
    }
    return true;
}

static inline void
testpmd_say(struct testpmd *t, const char *command)
{
    fprintf(t->in, "%s\n", command);
    fflush(t->in);
}

/* The time that a packet took since "start", in ns, or 0 if it does not say. */
static inline double
testpmd_stop(struct testpmd *t)
{
    double each, cycles, packets, mhz;
    testpmd_say(t, "stop");
    const char *at = testpmd_read(t, "CPU cycles/packet=");
    if (!at || sscanf(at, "CPU cycles/packet=%lf (total cycles=%lf / total macswap packets=%lf) at %lf", &each, &cycles,
                      &packets, &mhz) != 4) {
        return 0;
    }
    return packets > 0 && mhz > 0 ? cycles / packets / mhz * 1e3 : 0;
}

static inline void
testpmd_end(struct testpmd *t)
{
    int status;
    kill(t->pid, SIGKILL);
    waitpid(t->pid, &status, 0);
    fclose(t->in);
    fclose(t->out);
}

#endif
