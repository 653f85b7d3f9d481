/* SPDX-License-Identifier: Apache-2.0 */
/* Loss reports to the analyzers; see loss_reporter.h. */
#include <config.h>

#include "reshuffler/loss_reporter.h"

#include <string.h>

#include "base/util.h"
#include "packet/loss_report.h"

/* To every analyzer, also one that is away and may still hold traces; with its
 * address as the last thing filled in. One that says nothing goes to those that
 * are asked whether it came. */
static void
send_to_all(const struct ef_loss_report *report, const struct ef_plan *plan, struct ef_sink *sink)
{
    /* Over the version of IP of the first VIP, from which it comes. */
    enum ef_ip_version version = plan->vip_versions[0];
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        if (plan->states[i] == EF_ANALYZER_NONE || (!report->n_entries && !*plan->analyzers[i].url)) {
            continue;
        }
        struct ef_loss_report one = *report;
        ef_loss_report_readdress(&one, plan->destinations[version][i]);
        uint32_t len = ef_loss_report_finish(&one);
        ef_sink_queue(sink, one.packet, len);
    }
}

/* Where a report is full, it is sent, and another begun. */
struct teller {
    const struct ef_plan *plan;
    struct ef_sink *sink;
    struct ef_loss_report report;
};

static void
start(struct teller *t)
{
    ef_loss_report_start(&t->report, t->plan->sender, t->plan->vips[0], t->plan->vips[0]);
}

static void
tell(struct teller *t, const struct ef_loss_entry *entry)
{
    if (ef_loss_report_add(&t->report, entry)) {
        send_to_all(&t->report, t->plan, t->sink);
        start(t);
        ef_loss_report_add(&t->report, entry); /* One always fits. */
    }
}

/* Tells of the first `n` of the stream's holes. Only with the last of them can
 * it be said until when all is settled. */
static void
tell_holes(struct teller *t, const struct ef_ledger_entry *stream, unsigned n, struct ef_time settled)
{
    struct ef_loss_entry entry = {.settled = {INT64_MIN}};
    memcpy(entry.switch_address, stream->switch_address, 16);
    memcpy(entry.target_address, stream->target_address, 16);
    for (unsigned at = 0; at < n || !at; at += EF_LOSS_REPORT_MAX_HOLES) {
        entry.n_holes = EF_MIN(n - at, (unsigned) EF_LOSS_REPORT_MAX_HOLES);
        memcpy(entry.holes, stream->told + at, entry.n_holes * sizeof entry.holes[0]);
        if (at + EF_LOSS_REPORT_MAX_HOLES >= n) {
            entry.settled = settled;
        }
        tell(t, &entry);
    }
}

/* The holes of the last time again, then the new ones. */
static void
tell_stream(struct teller *t, struct ef_ledger_entry *stream)
{
    if (stream->n_told) {
        tell_holes(t, stream, stream->n_told, (struct ef_time){INT64_MIN});
        stream->n_told = 0;
    }
    while (stream->n_told < EF_ARRAY_SIZE(stream->told) &&
           ef_hole_finder_take(&stream->holes, &stream->told[stream->n_told])) {
        stream->n_told++;
    }
    tell_holes(t, stream, stream->n_told, stream->holes.settled);
}

void
ef_report_break(struct ef_ledger *ledger, struct ef_time now_mono)
{
    for (uint32_t i = 0; i < ef_ledger_size(ledger); i++) {
        struct ef_ledger_entry *stream = &ledger->entries[i];
        ef_hole_finder_break(&stream->holes, &stream->sequence, now_mono);
    }
}

void
ef_report_losses(struct ef_ledger *ledger, const struct ef_plan *plan, struct ef_sink *sink, struct ef_time now_mono)
{
    struct teller teller = {.plan = plan, .sink = sink};
    start(&teller);
    for (uint32_t i = 0; i < ef_ledger_size(ledger); i++) {
        struct ef_ledger_entry *stream = &ledger->entries[i];
        ef_hole_finder_settle(&stream->holes, &stream->sequence, now_mono);
        if (stream->holes.has_settled) {
            tell_stream(&teller, stream);
        }
    }
    send_to_all(&teller.report, plan, sink);
}
