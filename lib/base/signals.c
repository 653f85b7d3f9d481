/* SPDX-License-Identifier: Apache-2.0 */
/* The signals of a daemon; see signals.h. */
#include <config.h>

#include "base/signals.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"

enum { ON_TERMINATE, ON_INTERRUPT, ON_HANGUP, N_SIGNALS };

static const int numbers[N_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

struct ef_signals {
    struct event_base *base;
    struct event *events[N_SIGNALS];
};

static void
on_end(evutil_socket_t number, short what, void *ctx)
{
    struct ef_signals *s = ctx;
    ef_log_info("main", "ending on signal %d", (int) number);
    event_del(s->events[ON_TERMINATE]);
    event_del(s->events[ON_INTERRUPT]);
    event_base_loopbreak(s->base);
}

static void
on_hangup(evutil_socket_t number, short what, void *ctx)
{
    struct ef_error err = EF_ERROR_INIT;
    if (ef_log_reopen(&err)) {
        ef_log_error("main", "%s", err.text);
    } else {
        ef_log_info("main", "SIGHUP: the log file was opened anew; nothing else is read again");
    }
}

int
ef_signals_create(struct event_base *base, struct ef_signals **signals, struct ef_error *err)
{
    struct ef_signals *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    s->base = base;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < N_SIGNALS; i++) {
        s->events[i] = evsignal_new(base, numbers[i], i == ON_HANGUP ? on_hangup : on_end, s);
        if (!s->events[i] || event_add(s->events[i], NULL)) {
            ef_signals_destroy(s);
            return ef_error_set(err, -ENOMEM, "out of memory");
        }
    }
    *signals = s;
    return 0;
}

void
ef_signals_destroy(struct ef_signals *signals)
{
    for (int i = 0; signals && i < N_SIGNALS; i++) {
        if (signals->events[i]) {
            event_free(signals->events[i]);
        }
    }
    free(signals);
}
