/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarding threads; see worker.h. */
#include <config.h>

#include "reshuffler/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum { STOP_CHECK_MS = 100 };

struct ef_worker {
    const char *source_spec;
    struct ef_source *source;
    struct ef_sink *sink;
    struct ef_plan_cell *plans;
    struct ef_plan_reader *reader;
    int notify_fd;
    pthread_t thread;
    bool is_started;
    atomic_bool stop;
    atomic_int result;
    atomic_bool is_away;
    struct ef_forwarder forwarder;
    struct ef_port_responder responder;
};

void
ef_worker_stop(struct ef_worker *w)
{
    if (w->is_started) {
        atomic_store(&w->stop, true);
        pthread_join(w->thread, NULL);
        w->is_started = false;
    }
}

void
ef_worker_destroy(struct ef_worker *w)
{
    if (!w) {
        return;
    }
    ef_worker_stop(w);
    ef_ledger_deinit(&w->forwarder.ledger);
    ef_sink_close(w->sink);
    ef_source_close(w->source);
    free(w);
}

int
ef_worker_create(struct ef_plan_cell *plans, const char *source_spec, const char *sink_spec, uint64_t ring_bytes,
                 int notify_fd, struct ef_worker **out, struct ef_error *err)
{
    struct ef_worker *w = calloc(1, sizeof *w);
    if (!w) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    w->source_spec = source_spec;
    w->notify_fd = notify_fd;
    int rc = ef_sink_open(sink_spec, &w->sink, err);
    if (!rc && ef_ledger_init(&w->forwarder.ledger)) {
        rc = ef_error_set(err, -ENOMEM, "out of memory");
    }
    if (!rc) {
        rc = ef_source_open(source_spec, ring_bytes, &w->source, err);
    }
    if (rc) {
        ef_worker_destroy(w);
        return rc;
    }
    w->plans = plans;
    w->reader = ef_plan_cell_add_reader(plans);
    if (!w->reader) {
        ef_worker_destroy(w);
        return ef_error_set(err, -ENOSPC, "at most %d sources", EF_PLAN_CELL_MAX_READERS);
    }
    w->forwarder.sink = w->sink;
    *out = w;
    return 0;
}

int
ef_worker_answer(struct ef_worker *w, struct ef_error *err)
{
    int rc = ef_port_responder_init(&w->responder, w->source, err);
    w->forwarder.responder = rc ? NULL : &w->responder;
    return rc;
}

void
ef_worker_answer_stats(const struct ef_worker *w, struct ef_responder_stats *stats)
{
    ef_port_responder_stats(&w->responder, stats);
}

/* The interface went away, or is there again; the source looks for it. */
static void
note_away(struct ef_worker *w, bool is_away)
{
    if (is_away == atomic_load_explicit(&w->is_away, memory_order_relaxed)) {
        return;
    }
    atomic_store(&w->is_away, is_away);
    if (is_away) {
        ef_log_error("worker", "source %s: %s; waiting for it", w->source_spec, ef_source_error(w->source));
        return;
    }
    ef_log_info("worker", "source %s: the interface is there again", w->source_spec);
    /* Perhaps in another namespace of the same name, as then is what we send to. */
    struct ef_error err = EF_ERROR_INIT;
    if (ef_sink_reopen(w->sink, &err)) {
        ef_log_error("worker", "source %s: the sink stays as it was: %s", w->source_spec, err.text);
    }
}

static void *
run(void *arg)
{
    struct ef_worker *w = arg;
    struct ef_frame frames[EF_BURST];
    int n = 0;
    while ((n >= 0 || n == -ENODEV) && !atomic_load_explicit(&w->stop, memory_order_relaxed)) {
        n = ef_source_receive(w->source, frames, EF_BURST, STOP_CHECK_MS);
        note_away(w, n == -ENODEV);
        w->forwarder.plan = ef_plan_cell_read(w->plans, w->reader);
        if (n > 0) {
            ef_forward_burst(&w->forwarder, frames, n);
        }
        ef_forward_report_losses(&w->forwarder, ef_time_mono());
    }
    ef_plan_cell_leave(w->reader);
    if (n < 0 && n != -ENODEV) {
        static const uint64_t one = 1;
        atomic_store(&w->result, n);
        if (write(w->notify_fd, &one, sizeof one) < 0) {
            ef_log_error("worker", "cannot tell the main thread that %s ended: %s", w->source_spec, strerror(errno));
        }
    }
    return NULL;
}

/* Signals are for the main thread. */
int
ef_worker_start(struct ef_worker *w, struct ef_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code) {
        return ef_error_set(err, -code, "cannot start a thread: %s", strerror(code));
    }
    w->is_started = true;
    return 0;
}

void
ef_worker_add_totals(struct ef_worker *w, struct ef_totals *sum)
{
    struct ef_source_stats stats;
    ef_source_stats(w->source, &stats);
    ef_tally_add_to(&w->forwarder.tally, sum);
    sum->received += stats.overflows;
    sum->drops[EF_DROP_SOURCE_OVERFLOW] += stats.overflows;
}

const struct ef_ledger *
ef_worker_ledger(const struct ef_worker *w)
{
    return &w->forwarder.ledger;
}

uint64_t
ef_worker_reports(const struct ef_worker *w)
{
    return ef_counter_get(&w->forwarder.n_reports);
}

int
ef_worker_result(const struct ef_worker *w, const char **text)
{
    int result = atomic_load(&((struct ef_worker *) w)->result);
    *text = result ? ef_source_error(w->source) : "";
    return result;
}

bool
ef_worker_is_away(const struct ef_worker *w)
{
    return atomic_load(&((struct ef_worker *) w)->is_away);
}

const char *
ef_worker_source_spec(const struct ef_worker *w)
{
    return w->source_spec;
}
