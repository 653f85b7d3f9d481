/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets are dropped; see drop_class.h. */
#include <config.h>

#include "controller/drop_class.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "controller/drop_lengths.h"
#include "controller/drop_run.h"
#include "controller/drop_verdict.h"

enum {
    N_PORT = 4,
    N_CONFIRM = 12,
    LOOK_MS = 500,
    STATISTICS_MS = 7000, /* So old may be what a switch says of itself. */
};

static void on_varied(void *ctx);

static void
end_pattern(struct drop *a)
{
    if (a->pattern.matters[DROP_SIZE] == DROP_MATTERS) {
        drop_tell_so_far(a);
        drop_lengths_start(a);
    } else {
        drop_finish_persistent(a);
    }
}

static void
retry_pattern(struct drop *a)
{
    drop_round_begin(a);
    a->pattern.is_retry = true;
    a->n_variations = drop_pattern_variations(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    if (!a->n_variations) {
        end_pattern(a);
        return;
    }
    drop_tell_so_far(a);
    diagnosis_progress(a->d, "some took another way: %zu more variations", a->n_variations);
    drop_round_add_variations(a, DROP_N_VARIED);
    probe_round_start(a->round, on_varied, a);
}

bool
drop_is_confirmed(const struct probe_round_order *again)
{
    return !again->is_doubtful && again->failed > again->passed && 2 * again->failed >= again->count;
}

static void
on_confirmed(void *ctx)
{
    struct drop *a = ctx;
    const struct probe_round_order *o = probe_round_order(a->round, 0);
    drop_round_keep(a);
    if (drop_has_ended(a)) {
        return;
    }
    if (!drop_is_confirmed(o)) {
        diagnosis_fail(a->d, "of %u probes once more only %u were seen to be dropped at %s: nothing can be told",
                       o->count, o->failed, a->at);
        return;
    }
    a->pattern.next_is_heard = true;
    drop_pattern_solve(&a->pattern);
    retry_pattern(a);
}

/* Copies of the next switch come: perhaps only since then, and those that tell of the
 * probes so far were lost. What is sent now would be seen. */
static void
confirm(struct drop *a)
{
    drop_round_begin(a);
    a->variations[0] = (struct drop_variation){DROP_BASE, a->flow, a->at};
    a->n_variations = 1;
    diagnosis_progress(a->d, "copies of %s come: %d probes like it once more", a->pattern.next, N_CONFIRM);
    drop_round_add_variations(a, N_CONFIRM);
    probe_round_start(a->round, on_confirmed, a);
}

/* --- Is the next switch heard at all? ---------------------------------------- */

/* It is configured over its database, which does not go over the fabric. */
static bool
is_managed(const struct drop *a, const char *name)
{
    for (size_t i = 0; i < a->c->n_switches; i++) {
        if (!strcmp(managed_switch_name(a->c->switches[i]), name)) {
            return managed_switch_is_configured(a->c->switches[i]);
        }
    }
    return false;
}

static void
fail_unheard(struct drop *a, enum drop_heard heard)
{
    const char *why = heard == DROP_WITNESS_LOST ? "makes copies, but none arrives" : "loses many of its copies";
    diagnosis_fail(a->d, "%s %s: nothing can be told of packets to it", a->pattern.next, why);
}

/* Probes of which the next switch should have told, and many of its copies were lost
 * meanwhile: that is as good an explanation. */
static bool
is_in_doubt(struct drop *a)
{
    const struct drop_pattern *p = &a->pattern;
    bool is_seen = !p->next || p->seen[DROP_ALIVE].passed || p->beyond_link;
    if (is_seen || drop_witnesses_ask(&a->witnesses, a->c->collection, p->next) != DROP_WITNESS_LOSSY) {
        return false;
    }
    fail_unheard(a, DROP_WITNESS_LOSSY);
    return true;
}

static void
on_wait(evutil_socket_t fd, short what, void *ctx)
{
    struct drop *a = ctx;
    static const struct timeval look = {0, LOOK_MS * 1000};
    enum drop_heard heard = drop_witnesses_ask(&a->witnesses, a->c->collection, a->pattern.next);
    bool is_late = ef_time_before(a->wait_until, ef_time_mono()) || !is_managed(a, a->pattern.next);
    if (heard == DROP_WITNESS_HEARD) {
        confirm(a);
    } else if (heard == DROP_WITNESS_LOST || heard == DROP_WITNESS_LOSSY) {
        fail_unheard(a, heard);
    } else if (is_late) {
        a->pattern.next_is_silent = true;
        drop_pattern_solve(&a->pattern);
        drop_finish_persistent(a);
    } else {
        evtimer_add(a->timer, &look);
    }
}

/* No probe was seen at the next switch while all the variations were tried: either it
 * gets none, or its copies get lost. If nothing else of it came, it knows. */
static bool
asks_about_next(struct drop *a)
{
    if (!a->pattern.next || drop_pattern_next_is_seen(&a->pattern)) {
        return false;
    }
    enum drop_heard heard = drop_witnesses_ask(&a->witnesses, a->c->collection, a->pattern.next);
    if (heard == DROP_WITNESS_UNKNOWN) {
        return false;
    }
    if (heard == DROP_WITNESS_HEARD) {
        confirm(a);
        return true;
    }
    diagnosis_progress(a->d, "no copy of %s has come meanwhile: waiting for what it says itself", a->pattern.next);
    a->wait_until = ef_time_add_ms(ef_time_mono(), STATISTICS_MS);
    a->timer = evtimer_new(a->c->base, on_wait, a);
    if (!a->timer) {
        abort(); /* Control path. */
    }
    on_wait(-1, 0, a);
    return true;
}

/* --- Other fields, other ports -------------------------------------------------- */

static void
on_varied(void *ctx)
{
    struct drop *a = ctx;
    char what[256];
    drop_round_keep(a);
    if (drop_has_ended(a)) {
        return;
    }
    a->pattern.n_unheard = drop_witnesses_unheard(&a->witnesses, a->c->collection, a->pattern.unheard);
    drop_round_note(a, 0);
    drop_pattern_text(&a->pattern, what, sizeof what);
    diagnosis_progress(a->d, "dropped: %s", what);
    if (is_in_doubt(a)) {
        return;
    }
    if (a->pattern.is_retry) {
        end_pattern(a);
    } else if (!asks_about_next(a)) {
        retry_pattern(a);
    }
}

static void
start_varying(struct drop *a)
{
    const char *next = a->pattern.next;
    drop_round_begin(a);
    drop_witnesses_begin(&a->witnesses, a->c->collection, a->map, a->at);
    a->n_variations = drop_pattern_variations(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    diagnosis_progress(a->d, "persistent: all %u probes like it were dropped at %s%s%s; varying fields, %zu ways",
                       a->n_probed, a->at, next ? " before " : "", next ? next : "", a->n_variations);
    drop_round_add_variations(a, DROP_N_VARIED);
    probe_round_start(a->round, on_varied, a);
}

static void
on_more_ports(void *ctx)
{
    struct drop *a = ctx;
    drop_round_keep(a);
    drop_round_note(a, 0);
    start_varying(a);
}

/* Which link it is, other source ports tell, if some take another way: enough of them. */
void
drop_class_start(struct drop *a)
{
    size_t n = drop_pattern_more_ports(&a->pattern, a->variations, EF_ARRAY_SIZE(a->variations));
    if (!n) {
        start_varying(a);
        return;
    }
    drop_round_begin(a);
    a->n_variations = n;
    diagnosis_progress(a->d,
                       "persistent: all %u probes like it were dropped at %s; %zu more source ports, for other ways",
                       a->n_probed, a->at, n);
    drop_round_add_variations(a, N_PORT);
    probe_round_start(a->round, on_more_ports, a);
}
