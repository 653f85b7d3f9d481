/* SPDX-License-Identifier: Apache-2.0 */
/* From a source to the workers; see ingest.h. */
#include <config.h>

#include "analyzer/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum {
    RECEIVE_TIMEOUT_MS = 50,
    FULL_WAIT_US = 100,
    PREFETCH_SLOTS = 4, /* So far ahead: some hundred ns, what a line takes that another core has. */
    OVERFLOW_CHECK_BURSTS = 64,
};

/* A difference of the machine's clock up to this is adjusting, not setting. */
#define CLOCK_STEP_NS (50 * EF_NS_PER_MS)

static int64_t
real_less_mono(void)
{
    return ef_time_diff_ns(ef_time_real(), ef_time_mono());
}

static int
init_feeds(struct ef_ingest *in)
{
    size_t bytes = in->config.n_workers * sizeof *in->feeds;
    in->feeds = aligned_alloc(EF_CACHE_LINE, bytes);
    if (!in->feeds) {
        return -ENOMEM;
    }
    memset(in->feeds, 0, bytes);
    for (unsigned i = 0; i < in->config.n_workers; i++) {
        if (ef_ring_init(&in->feeds[i].ring, in->config.feed_slots, sizeof(struct ef_copy_record))) {
            return -ENOMEM;
        }
    }
    return 0;
}

int
ef_ingest_init(struct ef_ingest *in, const struct ef_ingest_config *config, struct ef_error *err)
{
    memset(in, 0, sizeof *in);
    in->config = *config;
    in->stamp = (struct ef_time){INT64_MIN};
    atomic_init(&in->clock, INT64_MIN);
    in->start_offset = real_less_mono();
    in->source = config->source;
    int rc = in->source ? 0 : ef_source_open(config->spec, config->ring_bytes, &in->source, err);
    if (!rc && (init_feeds(in) || ef_switch_table_init(&in->switches) ||
                (config->takes_loss_reports && ef_loss_table_init(&in->losses)))) {
        rc = ef_error_set(err, -ENOMEM, "no memory for the rings of source '%.60s'", config->spec);
    }
    if (rc) {
        ef_ingest_deinit(in);
    }
    return rc;
}

void
ef_ingest_deinit(struct ef_ingest *in)
{
    ef_source_close(in->source);
    in->source = NULL;
    for (unsigned i = 0; in->feeds && i < in->config.n_workers; i++) {
        ef_ring_deinit(&in->feeds[i].ring);
    }
    free(in->feeds);
    in->feeds = NULL;
    ef_switch_table_deinit(&in->switches);
    ef_loss_table_deinit(&in->losses);
}

/* --- Time ------------------------------------------------------------------- */

/* What has to be added to real time now to undo what was set since the start. */
static int64_t
clock_correction(const struct ef_ingest *in)
{
    int64_t correction = in->start_offset - real_less_mono();
    return llabs(correction) > CLOCK_STEP_NS ? correction : 0;
}

static struct ef_time
next_stamp(struct ef_ingest *in, struct ef_time arrival, int64_t correction)
{
    in->stamp.ns = EF_MAX(in->stamp.ns, arrival.ns + correction);
    return in->stamp;
}

static void
publish_clock(struct ef_ingest *in, int64_t ns)
{
    atomic_store_explicit(&in->clock, ns, memory_order_release);
}

/* --- Frames ------------------------------------------------------------------- */

static void
flush(struct ef_ingest *in)
{
    for (uint64_t rest = in->touched; rest; rest &= rest - 1) {
        unsigned worker = (unsigned) __builtin_ctzll(rest);
        ef_ring_flush(&in->feeds[worker].ring);
        ef_bell_ring(&in->config.bells[worker]);
    }
    in->touched = 0;
}

/* A free slot for the worker, or NULL: the copy is lost. */
static struct ef_copy_record *
reserve(struct ef_ingest *in, unsigned worker)
{
    struct ef_ring *ring = &in->feeds[worker].ring;
    struct ef_copy_record *slot = ef_ring_reserve(ring);
    while (!slot && ef_source_is_lossless(in->source) && !atomic_load_explicit(&in->stop, memory_order_relaxed)) {
        flush(in);
        usleep(FULL_WAIT_US);
        slot = ef_ring_reserve(ring);
    }
    return slot;
}

/* The worker has read the slot, and its lines are in its cache: they are asked for
 * before they are needed. Most packets fill no more than these. */
static void
prefetch_slot(void *slot)
{
    for (size_t i = 0; i < 3; i++) {
        __builtin_prefetch((uint8_t *) slot + i * EF_CACHE_LINE, 1);
    }
}

static void
hand_over(struct ef_ingest *in, const struct ef_copy_record *record, uint64_t flow_hash)
{
    unsigned worker = ef_ingest_worker_of(flow_hash, in->config.n_workers);
    struct ef_copy_record *slot = reserve(in, worker);
    if (!slot) {
        ef_counter_add(&in->feeds[worker].busy, 1);
        return;
    }
    prefetch_slot(ef_ring_later(&in->feeds[worker].ring, PREFETCH_SLOTS));
    memcpy(slot, record, offsetof(struct ef_copy_record, bytes) + record->n_bytes);
    ef_ring_commit(&in->feeds[worker].ring);
    in->touched |= (uint64_t) 1 << worker;
}

/* True if it was a reshuffler's report and no copy. */
static bool
take_loss_report(struct ef_ingest *in, const struct ef_frame *frame)
{
    struct ef_loss_reader reader;
    struct ef_loss_entry entry;
    if (ef_loss_report_open(&reader, frame->data, frame->len)) {
        return false;
    }
    while (in->losses.streams && ef_loss_report_next(&reader, &entry)) {
        ef_loss_table_enter(&in->losses, reader.sender, &entry, frame->arrival);
    }
    ef_counter_add(&in->loss_reports, 1);
    ef_report_senders_note(&in->report_senders, reader.sender);
    return true;
}

/* True if it was a copy, or should have been one. */
static bool
take_frame(struct ef_ingest *in, const struct ef_frame *frame, int64_t correction)
{
    struct ef_copy_record record;
    uint64_t flow_hash;
    record.stamp = next_stamp(in, frame->arrival, correction);
    enum ef_drop_reason reason =
        ef_copy_record_of_frame(&record, &flow_hash, frame->data, frame->len, frame->wire_len, frame->arrival);
    if (reason) {
        if (take_loss_report(in, frame)) {
            return false;
        }
        ef_counter_add(&in->drops[reason], 1);
        return true;
    }
    ef_switch_table_count(&in->switches, &record.hop);
    hand_over(in, &record, flow_hash);
    return true;
}

static void
take_burst(struct ef_ingest *in, const struct ef_frame *frames, int n)
{
    int64_t correction = clock_correction(in);
    uint64_t n_copies = 0;
    if (!in->has_begun) { /* Before its time is known nothing is closed. */
        in->has_begun = true;
        publish_clock(in, INT64_MIN);
    }
    for (int i = 0; i < n; i++) {
        n_copies += take_frame(in, &frames[i], correction);
    }
    ef_counter_add(&in->frames, n_copies);
    flush(in);
    if (ef_source_is_lossless(in->source)) {
        in->quiet = ef_time_mono();
    }
    publish_clock(in, in->stamp.ns);
}

/* Nothing was waiting: all until `asked` (monotonic) was handed over. */
static void
note_quiet(struct ef_ingest *in, struct ef_time asked)
{
    if (!ef_source_is_lossless(in->source)) {
        publish_clock(in, EF_MAX(asked.ns + in->start_offset, in->stamp.ns));
        return;
    }
    int64_t clock, silence = EF_MAX(ef_time_diff_ns(asked, in->quiet), 0);
    bool is_known = in->has_begun && !__builtin_add_overflow(in->stamp.ns, silence, &clock);
    publish_clock(in, is_known ? clock : INT64_MAX);
}

/* --- The thread ----------------------------------------------------------------- */

static void
note_overflows(struct ef_ingest *in)
{
    struct ef_source_stats stats;
    ef_source_stats(in->source, &stats);
    if (stats.overflows != ef_counter_get(&in->overflows)) {
        ef_counter_set(&in->overflows, stats.overflows);
    }
}

/* The interface went away, or is there again; the source looks for it. */
static void
note_away(struct ef_ingest *in, bool is_away)
{
    bool was_away = atomic_load(&in->state) == EF_INGEST_AWAY;
    if (is_away) {
        ef_counter_add(&in->gaps, 1);
    }
    if (is_away && !was_away) {
        ef_log_error("ingest", "source %s: %s; waiting for it", in->config.spec, ef_source_error(in->source));
        atomic_store(&in->state, EF_INGEST_AWAY);
    } else if (!is_away && was_away) {
        ef_log_info("ingest", "source %s: the interface is there again", in->config.spec);
        atomic_store(&in->state, EF_INGEST_RUNS);
    }
}

static void
finish(struct ef_ingest *in, int code)
{
    if (code == -ENODATA) {
        ef_log_info("ingest", "source %s: end of file", in->config.spec);
    } else {
        ef_log_error("ingest", "source %s: %s", in->config.spec, ef_source_error(in->source));
    }
    atomic_store(&in->state, code == -ENODATA ? EF_INGEST_ENDED : EF_INGEST_FAILED);
    publish_clock(in, INT64_MAX);
    for (unsigned i = 0; i < in->config.n_workers; i++) {
        ef_bell_ring(&in->config.bells[i]);
    }
}

int
ef_ingest_turn(struct ef_ingest *in, int timeout_ms)
{
    struct ef_frame frames[EF_BURST];
    struct ef_time asked = ef_time_mono();
    int n = ef_source_receive(in->source, frames, EF_BURST, timeout_ms);
    note_away(in, n == -ENODEV);
    if (n > 0) {
        take_burst(in, frames, n);
    } else if (n == 0 || n == -ENODEV) {
        note_quiet(in, asked);
    }
    if (n <= 0 || in->n_turns++ % OVERFLOW_CHECK_BURSTS == 0) {
        note_overflows(in);
    }
    return n;
}

static void *
run(void *arg)
{
    struct ef_ingest *in = arg;
    int n = 0;
    while ((n >= 0 || n == -ENODEV) && !atomic_load_explicit(&in->stop, memory_order_relaxed)) {
        n = ef_ingest_turn(in, RECEIVE_TIMEOUT_MS);
    }
    note_overflows(in);
    if (n < 0 && n != -ENODEV) {
        finish(in, n);
    }
    return NULL;
}

int
ef_ingest_start(struct ef_ingest *in, struct ef_error *err)
{
    int rc = pthread_create(&in->thread, NULL, run, in);
    if (rc) {
        return ef_error_set(err, -rc, "cannot start a thread: %s", strerror(rc));
    }
    in->is_running = true;
    return 0;
}

void
ef_ingest_stop(struct ef_ingest *in)
{
    if (in->is_running) {
        atomic_store(&in->stop, true);
        pthread_join(in->thread, NULL);
        in->is_running = false;
    }
}
