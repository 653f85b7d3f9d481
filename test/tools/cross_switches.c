/* SPDX-License-Identifier: Apache-2.0 */
/* Sends numbered frames of all kinds through switches in a row, and notes what
 * comes out at the end and what each switch sent copies of:
 *
 *     cross_switches --count N --seed S --rate R --notes DIR IN OUT [COPIES]...
 *
 * IN, OUT and COPIES are IFACE[@NETNS]: where frames go in, where they come out,
 * and where the copies of the first, second, ... switch arrive. Writes
 *
 *     DIR/forwarded   for each frame, by number, 8 bytes: a hash of it as it came
 *                     out; 0: it did not
 *     DIR/copies.K    for each frame, by number, 1 byte: how many copies of it
 *                     switch K sent
 *
 * and prints one JSON object about it. Runs with the same N and S send the same
 * frames, so two runs are compared with cmp.
 *
 * No frame is lost between the switches, because there are never more than two
 * groups under way: each group ends with a marker, and the next but one waits
 * until it came out. A marker that does not come is told, and ends the run with
 * status 1, as does any frame that the kernel says it lost. */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/options.h"
#include "base/parse_number.h"
#include "base/time.h"
#include "base/util.h"
#include "packet/copy.h"
#include "tools/numbered_frame.h"
#include "tools/packet_port.h"

enum {
    MAX_SWITCHES = 8,
    GROUP = 48,
    MARKER_TIMEOUT_MS = 5000,
    QUIET_MS = 500, /* Longer than any switch holds a copy back. */
};

/* What arrived of one switch's copies. */
struct switch_notes {
    uint8_t *copies; /* By frame. */
    uint64_t n_copies, n_altered, n_foreign, n_repeated;
    uint8_t *sequence_seen; /* A bit for each number from the first on. */
    uint32_t first_sequence, last_sequence;
    struct ef_time first_time, last_time; /* By the switch's clock, if copies tell. */
};

struct run {
    uint64_t count, seed, rate;
    const char *directory;
    int n_switches;
    struct packet_port in, out, taps[MAX_SWITCHES];
    uint64_t *forwarded, *invariant; /* By frame. */
    uint64_t n_forwarded, n_foreign, n_again, n_drops;
    uint32_t markers_back;
    struct switch_notes notes[MAX_SWITCHES];
};

static int
set_count(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--count", 1, 100000000, &((struct run *) ctx)->count, err);
}

static int
set_seed(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--seed", 0, UINT64_MAX, &((struct run *) ctx)->seed, err);
}

static int
set_rate(void *ctx, const char *value, struct ef_error *err)
{
    return ef_parse_u64(value, "--rate", 1, 100000000, &((struct run *) ctx)->rate, err);
}

static int
set_notes(void *ctx, const char *value, struct ef_error *err)
{
    (void) err;
    ((struct run *) ctx)->directory = value;
    return 0;
}

static const struct ef_option options[] = {
    {"count", 0, "N", "how many frames (default 100000)", set_count},
    {"seed", 0, "S", "which ones (default 1)", set_seed},
    {"rate", 0, "R", "frames a second at most (default: as the switches forward them)", set_rate},
    {"notes", 0, "DIR", "where to write what happened to each (default .)", set_notes},
    {0},
};

static void
note_forwarded(struct run *r, const uint8_t *frame, uint32_t len)
{
    uint32_t number;
    enum numbered_kind kind = numbered_frame_of(frame, len, &number);
    if (kind == NUMBERED_MARKER) {
        r->markers_back = number;
    } else if (kind == NUMBERED_FOREIGN || number >= r->count) {
        r->n_foreign++;
    } else if (r->forwarded[number]) {
        r->n_again++;
    } else {
        r->forwarded[number] = ef_hash64(frame, len) | 1;
        r->n_forwarded++;
    }
}

/* There are never so many copies that a number comes twice rightly. */
static void
note_sequence(const struct run *r, struct switch_notes *s, uint32_t sequence)
{
    if (s->n_copies == 0) {
        s->first_sequence = s->last_sequence = sequence;
    }
    uint32_t offset = sequence - s->first_sequence;
    if (offset >= r->count || s->sequence_seen[offset / 8] & 1 << offset % 8) {
        s->n_repeated++;
        return;
    }
    s->sequence_seen[offset / 8] |= (uint8_t) (1 << offset % 8);
    s->last_sequence = EF_MAX(s->last_sequence, sequence);
}

static void
note_copy(struct run *r, struct switch_notes *s, const uint8_t *frame, uint32_t len)
{
    struct ef_copy copy;
    uint32_t number;
    if (ef_copy_parse(&copy, frame, len, len) ||
        numbered_frame_of(copy.original, copy.original_len, &number) != NUMBERED_FRAME || number >= r->count) {
        s->n_foreign++;
        return;
    }
    note_sequence(r, s, copy.sequence);
    if (copy.has_switch_time) {
        s->first_time = s->n_copies ? s->first_time : copy.switch_time;
        s->last_time = copy.switch_time;
    }
    s->n_copies++;
    s->copies[number] += s->copies[number] < UINT8_MAX;
    s->n_altered += numbered_frame_invariant(copy.original, copy.original_len) != r->invariant[number];
}

/* Takes what has arrived on all ports; returns how much, or a negative errno. */
static int
receive_all(struct run *r)
{
    const uint8_t *frame;
    int n = 0, len;
    while ((len = packet_port_receive(&r->out, &frame)) > 0) {
        note_forwarded(r, frame, (uint32_t) len);
        n++;
    }
    for (int k = 0; k < r->n_switches && len >= 0; k++) {
        while ((len = packet_port_receive(&r->taps[k], &frame)) > 0) {
            note_copy(r, &r->notes[k], frame, (uint32_t) len);
            n++;
        }
    }
    return len < 0 ? len : n;
}

/* Waits up to `timeout_ms` for something to arrive, and takes it. */
static int
wait_and_receive(struct run *r, int timeout_ms)
{
    struct pollfd fds[1 + MAX_SWITCHES] = {{.fd = r->out.fd, .events = POLLIN}};
    for (int k = 0; k < r->n_switches; k++) {
        fds[1 + k] = (struct pollfd){.fd = r->taps[k].fd, .events = POLLIN};
    }
    int n = receive_all(r);
    if (n == 0 && poll(fds, (nfds_t) (1 + r->n_switches), timeout_ms) > 0) {
        n = receive_all(r);
    }
    return n;
}

static int
wait_for_marker(struct run *r, uint32_t number, struct ef_error *err)
{
    struct ef_time deadline = {ef_time_mono().ns + MARKER_TIMEOUT_MS * EF_NS_PER_MS};
    while (r->markers_back < number) {
        int n = wait_and_receive(r, 100);
        if (n < 0) {
            return ef_error_set(err, n, "receiving: %s", strerror(-n));
        }
        if (n == 0 && ef_time_mono().ns > deadline.ns) {
            return ef_error_set(err, -ETIMEDOUT, "marker %u, after frame %u, did not come out: it was lost on the way",
                                number, number * GROUP - 1);
        }
    }
    return 0;
}

static int
send_group(struct run *r, struct crafter *c, uint32_t group, struct ef_error *err)
{
    uint8_t frame[NUMBERED_MAX_FRAME];
    uint64_t first = (uint64_t) group * GROUP, end = EF_MIN(first + GROUP, r->count);
    int rc = 0;
    for (uint64_t i = first; i < end && !rc; i++) {
        uint32_t len = numbered_frame_make(c, (uint32_t) i, frame);
        r->invariant[i] = numbered_frame_invariant(frame, len);
        rc = packet_port_send(&r->in, frame, len);
    }
    if (!rc) {
        rc = packet_port_send(&r->in, frame, numbered_marker_make(group + 1, frame));
    }
    return rc ? ef_error_set(err, rc, "sending: %s", strerror(-rc)) : 0;
}

static void
pace(const struct run *r, uint32_t group, struct ef_time start)
{
    if (r->rate) {
        int64_t due = start.ns + (int64_t) ((uint64_t) group * GROUP * (uint64_t) EF_NS_PER_S / r->rate);
        struct timespec ts = {due / EF_NS_PER_S, due % EF_NS_PER_S};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
    }
}

static int
cross(struct run *r, struct ef_error *err)
{
    static struct crafter c;
    c.random = r->seed;
    uint32_t n_groups = (uint32_t) ((r->count + GROUP - 1) / GROUP);
    struct ef_time start = ef_time_mono();
    int rc = 0;
    for (uint32_t group = 0; group < n_groups && !rc; group++) {
        pace(r, group, start);
        rc = send_group(r, &c, group, err);
        if (!rc) {
            rc = wait_for_marker(r, group, err);
        }
    }
    if (!rc) {
        rc = wait_for_marker(r, n_groups, err);
    }
    while (!rc && wait_and_receive(r, QUIET_MS) > 0) {
    }
    r->n_drops = packet_port_drops(&r->out);
    for (int k = 0; k < r->n_switches; k++) {
        r->n_drops += packet_port_drops(&r->taps[k]);
    }
    return rc || !r->n_drops ? rc : ef_error_set(err, -ENOBUFS, "the kernel lost what was to be noted");
}

static int
write_file(const struct run *r, const char *name, const void *data, size_t bytes, struct ef_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", r->directory, name);
    FILE *file = fopen(path, "w");
    bool bad = !file || fwrite(data, 1, bytes, file) != bytes;
    int code = errno;
    if (file && fclose(file)) {
        bad = true;
        code = errno;
    }
    return bad ? ef_error_set(err, -code, "%s: %s", path, strerror(code)) : 0;
}

static int
write_notes(const struct run *r, struct ef_error *err)
{
    int rc = write_file(r, "forwarded", r->forwarded, r->count * sizeof *r->forwarded, err);
    for (int k = 0; k < r->n_switches && !rc; k++) {
        char name[32];
        snprintf(name, sizeof name, "copies.%d", k + 1);
        rc = write_file(r, name, r->notes[k].copies, r->count, err);
    }
    return rc;
}

static void
print_switch(const struct run *r, const struct switch_notes *s)
{
    uint64_t distinct = 0, more = 0, numbers = s->n_copies ? (uint64_t) s->last_sequence - s->first_sequence + 1 : 0;
    for (uint64_t i = 0; i < r->count; i++) {
        distinct += s->copies[i] > 0;
        more += s->copies[i] > 1;
    }
    printf("{\"copies\":%llu,\"frames\":%llu,\"copied_twice\":%llu,\"altered\":%llu,\"foreign\":%llu,"
           "\"first_sequence\":%u,\"sequence_missing\":%lld,\"sequence_repeated\":%llu,\"switch_seconds\":%.6f}",
           (unsigned long long) s->n_copies, (unsigned long long) distinct, (unsigned long long) more,
           (unsigned long long) s->n_altered, (unsigned long long) s->n_foreign, s->first_sequence,
           (long long) (numbers - (s->n_copies - s->n_repeated)), (unsigned long long) s->n_repeated,
           (double) (s->last_time.ns - s->first_time.ns) / EF_NS_PER_S);
}

static void
print(const struct run *r, double seconds)
{
    printf("{\"sent\":%llu,\"forwarded\":%llu,\"forwarded_again\":%llu,\"foreign\":%llu,\"kernel_drops\":%llu,"
           "\"seconds\":%.1f,\"switches\":[",
           (unsigned long long) r->count, (unsigned long long) r->n_forwarded, (unsigned long long) r->n_again,
           (unsigned long long) r->n_foreign, (unsigned long long) r->n_drops, seconds);
    for (int k = 0; k < r->n_switches; k++) {
        fputs(k ? "," : "", stdout);
        print_switch(r, &r->notes[k]);
    }
    puts("]}");
}

static void *
allocate(uint64_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p) {
        fputs("cross_switches: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static int
open_all(struct run *r, char *argv[], struct ef_error *err)
{
    int rc = packet_port_open(&r->in, argv[0], err);
    if (!rc) {
        rc = packet_port_open(&r->out, argv[1], err);
    }
    r->forwarded = allocate(r->count, sizeof *r->forwarded);
    r->invariant = allocate(r->count, sizeof *r->invariant);
    for (int k = 0; k < r->n_switches && !rc; k++) {
        r->notes[k].copies = allocate(r->count, 1);
        r->notes[k].sequence_seen = allocate(r->count / 8 + 1, 1);
        rc = packet_port_open(&r->taps[k], argv[2 + k], err);
    }
    return rc;
}

int
main(int argc, char *argv[])
{
    static struct run r = {.count = 100000, .seed = 1, .directory = "."};
    struct ef_error err = EF_ERROR_INIT;
    struct ef_option_group groups[] = {{"Options", options, &r}, {0}};
    int first = ef_options_parse(groups, argc, argv, &err);
    r.n_switches = argc - first - 2;
    if (first < 0 || r.n_switches < 0 || r.n_switches > MAX_SWITCHES) {
        fprintf(stderr,
                "%s%susage: cross_switches [--count N] [--seed S] [--rate R] [--notes DIR] IN OUT [COPIES]...\n",
                err.text, err.text[0] ? "\n" : "");
        return 2;
    }
    struct ef_time start = ef_time_mono();
    int rc = open_all(&r, argv + first, &err);
    if (!rc) {
        rc = cross(&r, &err);
        print(&r, (double) (ef_time_mono().ns - start.ns) / EF_NS_PER_S);
    }
    if (!rc) {
        rc = write_notes(&r, &err);
    }
    if (rc) {
        fprintf(stderr, "cross_switches: %s\n", err.text);
    }
    return rc ? 1 : 0;
}
