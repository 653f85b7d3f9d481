/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards bursts of copies; see forward.h. */
#include <config.h>

#include "reshuffler/forward.h"

#include <string.h>

#include "base/log.h"
#include "reshuffler/loss_reporter.h"
#include "reshuffler/outer_ip.h"

/* Frames ahead whose first bytes are fetched: they may still be where the
 * network card put them. */
enum { FETCH_AHEAD = 4, HEADER_BYTES = 128 };

static inline void
fetch(const struct ef_frame *frame)
{
    for (int at = 0; at < HEADER_BYTES; at += 64) {
        __builtin_prefetch(frame->data + at);
    }
}

/* A frame of a burst that is not discarded. */
struct chosen {
    const struct ef_frame *frame;
    struct ef_decision d;
};

/* Counts what is discarded and enters the rest into the ledger; returns how many
 * that are. */
static int
examine(struct ef_forwarder *f, const struct ef_frame frames[], int n, struct chosen chosen[])
{
    int n_chosen = 0;
    for (int i = 0; i < n; i++) {
        struct chosen *c = &chosen[n_chosen];
        if (i + FETCH_AHEAD < n) {
            fetch(&frames[i + FETCH_AHEAD]);
        }
        c->frame = &frames[i];
        enum ef_drop_reason why = ef_plan_examine(f->plan, frames[i].data, frames[i].len, frames[i].wire_len, &c->d);
        if (why) {
            f->totals.drops[why]++;
            if (why == EF_DROP_NOT_A_COPY && f->responder) {
                ef_port_responder_offer(f->responder, f->plan, frames[i].data, frames[i].len);
            }
        } else {
            ef_ledger_enter(&f->ledger, &c->d.copy, frames[i].arrival);
            n_chosen++;
        }
    }
    return n_chosen;
}

static void
forward_one(struct ef_forwarder *f, struct chosen *c)
{
    struct ef_decision *d = &c->d;
    ef_plan_choose(f->plan, d);
    uint8_t *packet = ef_sink_forward(f->sink, c->frame, d->copy.outer_ip_offset, d->len);
    ef_outer_ip_redirect(packet, f->plan->destinations[d->version][d->analyzer]);
    f->totals.steered[d->analyzer]++;
    if (EF_UNLIKELY(d->home != d->analyzer)) {
        bool drains = f->plan->states[d->home] == EF_ANALYZER_DRAINING;
        f->totals.redirected[drains ? EF_REDIRECT_DRAINING : EF_REDIRECT_DOWN]++;
    }
}

/* The sink knows the fate of each copy only after the flush. */
static void
count_sent(struct ef_forwarder *f)
{
    struct ef_sink_stats now;
    ef_sink_stats(f->sink, &now);
    uint64_t failed = now.failed - f->last_sink.failed, too_big = now.too_big - f->last_sink.too_big;
    f->totals.sent += now.packets - f->last_sink.packets;
    f->totals.drops[EF_DROP_SEND_FAILED] += failed;
    f->totals.drops[EF_DROP_TOO_BIG] += too_big;
    f->last_sink = now;
    if (EF_UNLIKELY(failed)) {
        EF_LOG_LIMITED(EF_LOG_WARN, "forward", "%llu copies could not be sent: %s", (unsigned long long) failed,
                       strerror(ef_sink_last_error(f->sink)));
    }
    if (EF_UNLIKELY(too_big)) {
        EF_LOG_LIMITED(EF_LOG_WARN, "forward",
                       "%llu copies are larger than the MTU towards the analyzers; raise it, or have switches truncate",
                       (unsigned long long) too_big);
    }
}

void
ef_forward_report_losses(struct ef_forwarder *f, struct ef_time now_mono)
{
    bool is_new_plan = f->plan->generation != f->reported_generation;
    if (!is_new_plan && ef_time_before(now_mono, f->next_report)) {
        return;
    }
    if (is_new_plan) {
        ef_report_break(&f->ledger, now_mono);
        f->reported_generation = f->plan->generation;
    }
    f->next_report = ef_time_add_ms(now_mono, EF_LOSS_REPORT_EVERY_MS);
    ef_report_losses(&f->ledger, f->plan, f->sink, now_mono);
    ef_counter_add(&f->n_reports, 1);
    /* Reports are no copies. */
    ef_sink_flush(f->sink);
    ef_sink_stats(f->sink, &f->last_sink);
}

void
ef_forward_burst(struct ef_forwarder *f, const struct ef_frame frames[], int n)
{
    struct chosen chosen[EF_BURST];
    for (int at = 0; at < n; at += EF_BURST) {
        int n_chosen = examine(f, frames + at, EF_MIN(n - at, EF_BURST), chosen);
        for (int i = 0; i < n_chosen; i++) {
            forward_one(f, &chosen[i]);
        }
    }
    f->totals.received += (uint64_t) n;
    ef_sink_flush(f->sink);
    count_sent(f);
    ef_tally_publish(&f->tally, &f->totals, f->plan->n_analyzers);
}
