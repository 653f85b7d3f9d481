/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of copies compared; see collection.h. */
#include <config.h>

#include "controller/collection.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/controller.h"
#include "controller/copy_delays.h"
#include "controller/fan_out.h"

enum {
    EVERY_MS = 500,
    STATISTICS_MS = 12000, /* Switches tell their statistics each 5 s, by default. */
    TOLERANCE = 1,         /* Copies: one that is just on its way. */
    SHORT_WINDOW = 4,
    DELAYED_STEPS = 3, /* How uneven the delay of statistics is, in EVERY_MS. */
    BEFORE_MS = 4000,  /* What is outstanding usually, the seconds before tell. */
    FEW_MISSING = 3,
    MISSING_PART = 20, /* One of so many that were sent. */
};

/* What reshufflers miss of a switch's copies. */
struct holes {
    int64_t before, told, lost; /* At the last look; at both last looks; new ones since we began. */
    struct ef_time last;        /* Monotonic: when there were new ones; 0: never. */
    bool is_known;
};

/* What is known of a switch's copies. */
struct collected {
    char *name;
    struct collection_gap inside;  /* Reshufflers to analyzers, of its copies. */
    struct collection_gap uplink;  /* It to reshufflers, by what it says that it made. */
    struct holes sequence;         /* The same, by the copies' numbers, */
    struct collection_gap numbers; /* and as a difference. */
    int64_t heard;                 /* Copies at reshufflers, */
    struct ef_time last_heard;     /* when it was seen that some came, */
    struct ef_time heard_after;    /* and these came later than this; monotonic. */
};

struct collection {
    struct controller *controller;
    struct event *timer;
    struct fan_out *asking;
    struct copy_delays *delays;
    json_t *sent;                     /* By analyzer: what reshufflers sent to it. */
    json_t *gathered;                 /* By switch address: what they got of it. */
    json_t *holes;                    /* By switch address: what they miss of it, by its numbers. */
    int64_t n_sent, n_unsendable;     /* Copies, all analyzers together; those that were too large for the way there. */
    bool is_whole;                    /* All reshufflers answered. */
    struct ef_time asked;             /* When they were asked, */
    struct ef_time whole[2];          /* and when for the last two whole answers; monotonic. */
    struct collection_gap all;        /* All reshufflers to all analyzers: the exact one. */
    struct collection_gap *analyzers; /* As the configuration has them. */
    struct collected **switches;      /* As the controller has them. */
    size_t n_switches;
};

/* --- The switches -------------------------------------------------------------- */

/* The one of that name, taken out of `list`, or a new one. */
static struct collected *
take_collected(struct collected **list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        struct collected *s = list[i];
        if (s && !strcmp(s->name, name)) {
            list[i] = NULL;
            return s;
        }
    }
    struct collected *s = calloc(1, sizeof *s);
    if (!s || !(s->name = strdup(name))) {
        abort(); /* Control path. */
    }
    return s;
}

static void
collected_free(struct collected *s)
{
    if (s) {
        free(s->name);
        free(s);
    }
}

void
collection_follow_switches(struct collection *o)
{
    const struct controller *c = o ? o->controller : NULL;
    struct collected **list = o ? calloc(c->n_switches + 1, sizeof *list) : NULL;
    if (!list) {
        if (o) {
            abort(); /* Control path. */
        }
        return;
    }
    for (size_t i = 0; i < c->n_switches; i++) {
        const char *name = managed_switch_name(c->switches[i]);
        bool is_same = i < o->n_switches && o->switches[i] && !strcmp(o->switches[i]->name, name);
        /* Those in front most often stay where they are. */
        list[i] = take_collected(is_same ? o->switches + i : o->switches, is_same ? 1 : o->n_switches, name);
    }
    for (size_t i = 0; i < o->n_switches; i++) {
        collected_free(o->switches[i]);
    }
    free(o->switches);
    o->switches = list;
    o->n_switches = c->n_switches;
}

static const struct topology_switch *
node_of(const struct topology *t, size_t i)
{
    return i < t->n_switches ? &t->switches[i] : t->added[i - t->n_switches];
}

/* --- One difference ---------------------------------------------------------- */

static int64_t
largest_recent(const struct collection_gap *g, unsigned window)
{
    int64_t most = INT64_MIN;
    for (unsigned i = 1; i <= EF_MIN(g->n, window); i++) {
        most = EF_MAX(most, g->looks[(g->n - i) % COLLECTION_LOOKS].gap);
    }
    return most;
}

void
collection_gap_note(struct collection_gap *g, int64_t first, int64_t second, int64_t delay_ms, struct ef_time now)
{
    int64_t gap = first - second;
    bool begins = !g->n, began_anew = g->n && second < g->second;
    g->step = EF_MAX(g->step - g->step / 8, begins || began_anew ? 0 : second - g->second);
    int64_t tolerance = TOLERANCE + (delay_ms ? DELAYED_STEPS * g->step : g->step / 2);
    if (begins || began_anew) {
        g->n = 0;
        g->learn_until = ef_time_add_ms(now, delay_ms);
        g->last = began_anew ? now : g->last; /* Who begins anew has lost what was on its way. */
    } else if (!ef_time_before(now, g->learn_until)) {
        int64_t growth = gap - largest_recent(g, delay_ms ? COLLECTION_WINDOW : SHORT_WINDOW);
        g->lost += growth > tolerance ? growth : 0;
        g->last = growth > tolerance ? now : g->last;
    }
    g->first = first;
    g->second = second;
    g->looks[g->n++ % COLLECTION_LOOKS] = (struct collection_look){now, first, gap};
}

bool
collection_gap_explains(const struct collection_gap *g, const struct collection_lack *lack)
{
    struct ef_time from = ef_time_add_ms(lack->since, -BEFORE_MS);
    int64_t outstanding = INT64_MAX, usual = INT64_MAX, sent = 0;
    for (unsigned i = 1; i <= EF_MIN(g->n, (unsigned) COLLECTION_LOOKS); i++) {
        const struct collection_look *look = &g->looks[(g->n - i) % COLLECTION_LOOKS];
        if (ef_time_before(look->at, from)) {
            break;
        }
        outstanding = i <= 2 ? EF_MIN(outstanding, look->gap) : outstanding; /* Once it may be on its way. */
        sent = look->gap < usual ? g->first - look->first : sent; /* Since the last time that it was usual. */
        usual = EF_MIN(usual, look->gap);
    }
    int64_t missing = outstanding - usual;
    double part = sent ? (double) missing / (double) sent : 1; /* Numbers come from outside: no product of them. */
    bool is_large = part * MISSING_PART >= 1 || part * 4 * lack->of >= lack->n;
    return missing >= FEW_MISSING && missing >= lack->n / 2 && is_large;
}

static bool
is_after(struct ef_time at, struct ef_time since)
{
    return at.ns && !ef_time_before(at, since);
}

static bool
grew_after(const struct collection_gap *g, struct ef_time since)
{
    return is_after(g->last, since);
}

/* --- Answers ----------------------------------------------------------------- */

static void
add(json_t *sums, const char *key, json_int_t n)
{
    json_object_set_new(sums, key, json_integer(json_integer_value(json_object_get(sums, key)) + n));
}

static void
add_reshuffler(struct collection *o, const json_t *status)
{
    size_t i;
    const json_t *entry;
    const char *address;
    json_array_foreach(json_object_get(status, "analyzers"), i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (name) {
            add(o->sent, name, json_integer_value(json_object_get(entry, "copies")));
        }
    }
    const json_t *drops = json_object_get(status, "drops");
    o->n_sent += json_integer_value(json_object_get(status, "copies_sent"));
    o->n_unsendable += json_integer_value(json_object_get(drops, "too_big")) +
                       json_integer_value(json_object_get(drops, "send_failed"));
    json_object_foreach(json_object_get(status, "switches"), address, entry)
    {
        add(o->gathered, address, json_integer_value(json_object_get(entry, "received")));
        add(o->holes, address, json_integer_value(json_object_get(entry, "lost")));
    }
}

/* A statistic of a switch may be a number or its text. */
static bool
statistic(const struct managed_switch *s, const char *key, int64_t *n)
{
    json_t *all = managed_switch_statistics(s);
    const json_t *value = json_object_get(all, key);
    const char *text = json_string_value(value);
    bool is_there = text || json_is_integer(value);
    *n = text ? strtoll(text, NULL, 10) : json_integer_value(value);
    json_decref(all);
    return is_there;
}

/* By the numbers of copies losses are known at once, where the switch itself says
 * seconds later how many it made. A hole that is filled by the next look was a
 * copy that another overtook. */
static void
note_holes(struct holes *h, int64_t holes, struct ef_time now)
{
    int64_t sure = h->is_known ? EF_MIN(holes, h->before) : holes;
    if (h->is_known && sure > h->told) {
        h->lost += sure - h->told;
        h->last = now;
    }
    h->told = sure;
    h->before = holes;
    h->is_known = true;
}

static void
note_switch(struct collection *o, size_t i, const json_t *received, struct ef_time now)
{
    const struct controller *c = o->controller;
    const char *address = node_of(&c->topology, i)->loopback;
    struct collected *s = o->switches[i];
    json_int_t gathered = json_integer_value(json_object_get(o->gathered, address));
    int64_t made;
    if (gathered != s->heard) {
        s->heard = gathered;
        s->last_heard = now;
        s->heard_after = o->whole[1];
    }
    if (received) {
        collection_gap_note(&s->inside, gathered - o->n_unsendable,
                            json_integer_value(json_object_get(received, address)), 0, now);
    }
    if (statistic(c->switches[i], "copies", &made)) {
        collection_gap_note(&s->uplink, made, gathered, STATISTICS_MS, now);
    }
    note_holes(&s->sequence, json_integer_value(json_object_get(o->holes, address)), now);
    collection_gap_note(&s->numbers, gathered + s->sequence.lost, gathered, 0, now);
}

static void
again(struct collection *o)
{
    struct timeval tv = {0, EVERY_MS * 1000};
    evtimer_add(o->timer, &tv);
}

static void
on_analyzers(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct collection *o = ctx;
    struct ef_time now = ef_time_mono();
    json_t *received = json_object(); /* By switch address. */
    int64_t n_received = 0;
    bool all = true;
    o->asking = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *address;
        const json_t *entry, *sent = json_object_get(o->sent, answers[i].peer->name);
        all = all && !*answers[i].error;
        n_received += json_integer_value(json_object_get(answers[i].body, "copies_received"));
        if (*answers[i].error || !sent) {
            continue;
        }
        collection_gap_note(&o->analyzers[i], json_integer_value(sent) - o->n_unsendable,
                            json_integer_value(json_object_get(answers[i].body, "copies_received")), 0, now);
        json_object_foreach(json_object_get(answers[i].body, "switches"), address, entry)
        {
            add(received, address, json_integer_value(json_object_get(entry, "copies")));
        }
    }
    if (o->is_whole && all) {
        collection_gap_note(&o->all, o->n_sent, n_received, 0, now);
    }
    for (size_t i = 0; o->is_whole && i < o->n_switches; i++) {
        note_switch(o, i, all ? received : NULL, now);
    }
    if (o->is_whole) {
        o->whole[0] = o->whole[1];
        o->whole[1] = o->asked;
    }
    json_decref(received);
    again(o);
}

static void
ask(struct collection *o, const struct peer *peers, size_t n, fan_out_done *done)
{
    const struct fan_out_request request = {.method = "GET", .target = "/v1/status"};
    o->asking = fan_out_start(o->controller->base, peers, n, &request, done, o);
}

static void
on_reshufflers(void *ctx, const struct fan_out_answer answers[], size_t n)
{
    struct collection *o = ctx;
    json_object_clear(o->sent);
    json_object_clear(o->gathered);
    json_object_clear(o->holes);
    o->n_sent = o->n_unsendable = 0;
    o->is_whole = true;
    for (size_t i = 0; i < n; i++) {
        if (*answers[i].error) {
            o->is_whole = false;
        } else {
            add_reshuffler(o, answers[i].body);
        }
    }
    if (!o->is_whole) {
        json_object_clear(o->sent); /* A sum that lacks one says nothing. */
    }
    ask(o, o->controller->configuration.analyzers, o->controller->configuration.n_analyzers, on_analyzers);
}

static void
on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct collection *o = ctx;
    o->asked = ef_time_mono();
    ask(o, o->controller->configuration.reshufflers, o->controller->configuration.n_reshufflers, on_reshufflers);
}

/* --- Asking ------------------------------------------------------------------ */

/* What is known of the way of copies to a switch's traces. */
struct doubts {
    bool is_lost, is_heard; /* Copies of the switch: some were lost behind reshufflers, some came to them. */
    bool is_sure;           /* They get lost before. */
};

static struct doubts
doubts_of(const struct collection *o, const char *switch_name, const struct collection_lack *lack)
{
    struct doubts doubts = {0};
    for (size_t i = 0; i < o->n_switches; i++) {
        const struct collected *s = o->switches[i];
        if (!strcmp(s->name, switch_name) || !strcmp(node_of(&o->controller->topology, i)->loopback, switch_name)) {
            doubts.is_lost = grew_after(&s->inside, lack->since);
            doubts.is_heard = !ef_time_before(s->last_heard, lack->since);
            doubts.is_sure = grew_after(&s->uplink, lack->since) || collection_gap_explains(&s->numbers, lack);
        }
    }
    return doubts;
}

bool
collection_is_doubtful(const struct collection *o, const char *analyzer, const char *switch_name,
                       const struct collection_lack *lack)
{
    if (!o) {
        return false;
    }
    struct doubts doubts = doubts_of(o, switch_name, lack);
    bool is_lost = false, is_missing = false;
    for (size_t i = 0; i < o->controller->configuration.n_analyzers; i++) {
        if (!strcmp(o->controller->configuration.analyzers[i].name, analyzer)) {
            is_lost = grew_after(&o->analyzers[i], lack->since);
            is_missing = collection_gap_explains(&o->analyzers[i], lack);
        }
    }
    bool may_be_its = grew_after(&o->all, lack->since) && is_lost && (doubts.is_lost || !doubts.is_heard);
    bool is_late = copy_delays_are_long(o->delays, analyzer, switch_name, lack->since);
    return doubts.is_sure || is_missing || may_be_its || is_late;
}

void
collection_take(struct collection *o, const json_t *trace)
{
    if (o) {
        copy_delays_take(o->delays, trace, ef_time_mono());
    }
}

bool
collection_tell(const struct collection *o, const char *switch_name, struct ef_time since, struct collection_told *told)
{
    for (size_t i = 0; o && i < o->n_switches; i++) {
        const struct collected *s = o->switches[i];
        if (!strcmp(s->name, switch_name)) {
            *told = (struct collection_told){
                .gathered = s->heard,
                .made = s->uplink.first,
                .missed = s->uplink.first - s->uplink.second,
                .most_missed = largest_recent(&s->uplink, COLLECTION_WINDOW),
                .lost = EF_MAX(s->sequence.lost, s->uplink.lost),
                .is_looked = is_after(o->whole[0], since),
                .is_heard = is_after(s->heard_after, since),
            };
            return s->uplink.n;
        }
    }
    return false;
}

static void
show_loss(json_t *list, const char *role, const char *name, int64_t lost, struct ef_time last, struct ef_time now)
{
    if (last.ns) {
        json_array_append_new(list, json_pack("{s:s, s:I, s:f}", role, name, "lost", (json_int_t) lost, "last_s_ago",
                                              (double) ef_time_diff_ns(now, last) / 1e9));
    }
}

json_t *
collection_show(const struct collection *o)
{
    json_t *list = json_array();
    struct ef_time now = ef_time_mono();
    if (o) {
        show_loss(list, "analyzer", COLLECTION_ALL, o->all.lost, o->all.last, now);
    }
    for (size_t i = 0; o && i < o->controller->configuration.n_analyzers; i++) {
        show_loss(list, "analyzer", o->controller->configuration.analyzers[i].name, o->analyzers[i].lost,
                  o->analyzers[i].last, now);
    }
    for (size_t i = 0; o && i < o->n_switches; i++) {
        const struct collected *s = o->switches[i];
        show_loss(list, "switch", s->name, s->inside.lost, s->inside.last, now);
        show_loss(list, "uplink", s->name, s->uplink.lost, s->uplink.last, now);
        show_loss(list, "sequence", s->name, s->sequence.lost, s->sequence.last, now);
    }
    return list;
}

/* --- Life ----------------------------------------------------------------- */

struct collection *
collection_start(struct controller *c)
{
    struct collection *o = calloc(1, sizeof *o);
    if (o) {
        o->controller = c;
        o->delays = copy_delays_create();
        o->sent = json_object();
        o->gathered = json_object();
        o->holes = json_object();
        o->analyzers = calloc(c->configuration.n_analyzers + 1, sizeof *o->analyzers);
        o->timer = evtimer_new(c->base, on_timer, o);
    }
    if (!o || !o->analyzers || !o->timer) {
        abort(); /* Control path at start-up. */
    }
    collection_follow_switches(o);
    again(o);
    return o;
}

void
collection_stop(struct collection *o)
{
    if (o) {
        fan_out_cancel(o->asking);
        event_free(o->timer);
        copy_delays_destroy(o->delays);
        json_decref(o->sent);
        json_decref(o->gathered);
        json_decref(o->holes);
        free(o->analyzers);
        for (size_t i = 0; i < o->n_switches; i++) {
            collected_free(o->switches[i]);
        }
        free(o->switches);
        free(o);
    }
}
