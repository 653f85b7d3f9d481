/* SPDX-License-Identifier: Apache-2.0 */
/* Debug sessions: rows of the state, and the rules that follow them; see
 * debug_sessions.h. */
#include <config.h>

#include "controller/debug_sessions.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "controller/alerts.h"
#include "controller/controller.h"
#include "controller/debug_place.h"
#include "controller/rule_sets.h"

enum {
    LOOK_MS = 500,
    KEEP_S = 3600,
    NAME_SIZE = 64,
    HEADERS = 62, /* ERSPAN III in IPv4, with the Ethernet header; others are shorter or little longer. */
};

static const char owner[] = "debug";

struct debug_sessions {
    struct controller *controller;
    struct debug_rates *rates;
    struct event *timer;
    struct debug_session_list list; /* Oldest first. */
    uint64_t n_changes;
};

/* --- Rules ---------------------------------------------------------------- */

json_t *
debug_rules_at(const json_t *places, const char *at, const json_t *matches, const char *action, unsigned bits,
               int64_t hard_timeout)
{
    json_t *rules = json_array(), *place, *match;
    size_t i, k;
    json_array_foreach((json_t *) places, i, place)
    {
        const char *name = json_string_value(json_object_get(place, "switch"));
        if (!name || strcmp(name, at)) {
            continue;
        }
        json_array_foreach((json_t *) matches, k, match)
        {
            json_t *text =
                json_sprintf("in_port=%lld,%s", (long long) json_integer_value(json_object_get(place, "port")),
                             json_string_value(match));
            json_array_append_new(rules, json_pack("{s:o, s:o, s:s, s:i, s:I}", "name",
                                                   json_sprintf("r%zu", json_array_size(rules)), "match", text,
                                                   "action", action, "sample_bits", (int) bits, "hard_timeout",
                                                   (json_int_t) hard_timeout));
        }
    }
    return rules;
}

static void
set_name(const struct debug_session *s, size_t group, char *buf)
{
    snprintf(buf, NAME_SIZE, "%s.%zu", s->id, s->groups[group].number);
}

/* Whole seconds, not rounded up: without us the marks must not outlast the end. */
static int64_t
seconds_left(const struct debug_session *s)
{
    return EF_MAX(ef_time_diff_ns(s->end, ef_time_real()) / EF_NS_PER_S, 1);
}

static bool
is_in_force(const struct debug_session *s)
{
    return s->is_active && ef_time_before(ef_time_real(), s->end);
}

static void
put_rules(struct debug_session *s, size_t group)
{
    struct controller *c = s->sessions->controller;
    struct ef_error err = EF_ERROR_INIT;
    char name[NAME_SIZE];
    set_name(s, group, name);
    const char *at = c->topology.switches[s->groups[group].number].name;
    json_t *switches = json_pack("[s]", at);
    json_t *rules = debug_rules_at(json_object_get(s->document, "places"), at, json_object_get(s->document, "matches"),
                                   "mark", s->bits, seconds_left(s));
    struct rule_set_spec spec = {.owner = owner, .name = name, .switches = switches, .rules = rules, .expires = s->end};
    s->groups[group].n_rules = json_array_size(rules);
    s->groups[group].put = ef_time_mono();
    if (rule_sets_put(c->rule_sets, &spec, &err)) {
        ef_log_warn("debug", "session %s: %s: %s", s->id, at, err.text);
    }
    json_decref(rules);
    json_decref(switches);
}

/* The switches of the places, each once. */
static void
read_groups(struct debug_session *s)
{
    const struct topology *topology = &s->sessions->controller->topology;
    json_t *places = json_object_get(s->document, "places"), *place;
    size_t i, k;
    s->groups = calloc(json_array_size(places) + 1, sizeof *s->groups);
    if (!s->groups) {
        abort(); /* Control path. */
    }
    json_array_foreach(places, i, place)
    {
        size_t number = debug_place_number(topology, place);
        for (k = 0; k < s->n_groups && s->groups[k].number != number; k++) {
        }
        if (number < topology->n_switches && k == s->n_groups) {
            s->groups[s->n_groups++].number = number;
        }
    }
}

static void
withdraw(struct debug_session *s)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        char name[NAME_SIZE];
        set_name(s, i, name);
        rule_sets_remove(s->sessions->controller->rule_sets, owner, name);
    }
}

static void
apply(struct debug_session *s)
{
    for (size_t i = 0; is_in_force(s) && i < s->n_groups; i++) {
        put_rules(s, i);
    }
    if (!is_in_force(s)) {
        withdraw(s);
    }
}

/* --- Rows ----------------------------------------------------------------- */

static const char *
text_member(const json_t *document, const char *key)
{
    const char *text = json_string_value(json_object_get(document, key));
    return text ? text : "";
}

static struct ef_time
time_member(const json_t *document, const char *key)
{
    struct ef_time t = {0};
    ef_time_parse(text_member(document, key), ef_time_real(), &t, NULL);
    return t;
}

static double
number_member(const json_t *document, const char *key)
{
    return json_number_value(json_object_get(document, key));
}

static unsigned
bits_of(json_int_t sample)
{
    unsigned bits = 0;
    while (bits < DEBUG_MAX_SAMPLE_BITS && (1 << bits) < sample) {
        bits++;
    }
    return bits;
}

static struct debug_session *
find(const struct debug_sessions *sessions, const char *id)
{
    struct debug_session *s;
    TAILQ_FOREACH(s, &sessions->list, next)
    {
        if (!strcmp(s->id, id)) {
            return s;
        }
    }
    return NULL;
}

static void
free_session(struct debug_session *s)
{
    TAILQ_REMOVE(&s->sessions->list, s, next);
    json_decref(s->document);
    free(s->groups);
    free(s);
}

/* Oldest first, also when rows come in any order. */
static void
insert(struct debug_sessions *sessions, struct debug_session *s)
{
    struct debug_session *other;
    const char *created = text_member(s->document, "created");
    TAILQ_FOREACH(other, &sessions->list, next)
    {
        if (strcmp(created, text_member(other->document, "created")) < 0) {
            TAILQ_INSERT_BEFORE(other, s, next);
            return;
        }
    }
    TAILQ_INSERT_TAIL(&sessions->list, s, next);
}

static void
take_row(struct debug_sessions *sessions, const char *id, json_t *document)
{
    const json_t *traffic = json_object_get(document, "traffic");
    struct debug_session *s = calloc(1, sizeof *s);
    if (!s) {
        abort(); /* Control path. */
    }
    s->sessions = sessions;
    snprintf(s->id, sizeof s->id, "%s", id);
    s->document = json_incref(document);
    s->start = time_member(document, "start");
    s->end = time_member(document, "end");
    s->is_active = !strcmp(text_member(document, "state"), "active");
    s->bits = bits_of(json_integer_value(json_object_get(document, "sample")));
    s->traffic = (struct debug_traffic){number_member(traffic, "packets_per_s"),
                                        number_member(traffic, "bytes_per_copy"), number_member(traffic, "copies")};
    insert(sessions, s);
    read_groups(s);
    apply(s);
}

/* Called for rows that are found, and for those that we or the active controller change. */
static void
on_row_changed(void *ctx, const char *id, json_t *document)
{
    struct debug_sessions *sessions = ctx;
    struct debug_session *before = find(sessions, id);
    if (strlen(id) >= DEBUG_ID_SIZE) {
        return; /* None of ours. */
    }
    sessions->n_changes++;
    if (before) {
        if (!document) {
            withdraw(before);
            debug_sessions_alert(sessions, before->id, NULL);
        }
        free_session(before);
    }
    if (document) {
        take_row(sessions, id, document);
    }
}

void
debug_sessions_put(struct debug_sessions *s, const char *id, json_t *document, state_done *done, void *ctx)
{
    state_put(s->controller->state, STATE_DEBUG_SESSION, id, document, done, ctx);
}

/* --- The clock ------------------------------------------------------------ */

static void
change_state(struct debug_session *s, const char *state)
{
    json_t *document = json_deep_copy(s->document);
    json_object_set_new(document, "state", json_string(state));
    ef_log_info("debug", "session %s is %s", s->id, state);
    /* Should it be lost, the clock says the same again. */
    debug_sessions_put(s->sessions, s->id, document, NULL, NULL);
}

static void
look_at_clock(struct debug_session *s, struct ef_time now)
{
    const char *state = text_member(s->document, "state");
    if (!strcmp(state, "ended")) {
        if (ef_time_before(ef_time_add_ms(s->end, KEEP_S * INT64_C(1000)), now)) {
            state_delete(s->sessions->controller->state, STATE_DEBUG_SESSION, s->id, NULL, NULL);
        }
    } else if (!ef_time_before(now, s->end)) {
        debug_sessions_alert(s->sessions, s->id, NULL);
        change_state(s, "ended");
    } else if (!strcmp(state, "scheduled") && !ef_time_before(now, s->start)) {
        change_state(s, "active");
    }
}

static void
count(struct debug_session *s, struct debug_group *group)
{
    const struct managed_switch *at = s->sessions->controller->switches[group->number];
    int64_t packets = 0, bytes = 0;
    if (ef_time_before(managed_switch_refreshed(at), ef_time_add_ms(group->put, DEBUG_SETTLE_MS))) {
        return; /* Its numbers are of before. */
    }
    for (size_t i = 0; i < group->n_rules; i++) {
        char rule[2 * NAME_SIZE];
        int64_t of_rule[2];
        snprintf(rule, sizeof rule, "@%s/%s.%zu/r%zu", owner, s->id, group->number, i);
        if (!managed_switch_rule_counts(at, rule, &of_rule[0], &of_rule[1])) {
            return; /* Not installed, or no numbers yet. */
        }
        packets += of_rule[0];
        bytes += of_rule[1];
    }
    debug_rate_take(&group->rate, managed_switch_refreshed(at), packets, bytes, ef_time_mono());
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct debug_sessions *sessions = arg;
    struct ef_time now = ef_time_real();
    struct debug_session *s, *following;
    for (s = TAILQ_FIRST(&sessions->list); s; s = following) {
        following = TAILQ_NEXT(s, next);
        for (size_t i = 0; is_in_force(s) && i < s->n_groups; i++) {
            count(s, &s->groups[i]);
        }
        if (state_is_active(sessions->controller->state)) {
            look_at_clock(s, now);
        }
    }
}

/* --- Loads ---------------------------------------------------------------- */

double
debug_bytes_of_copy(const struct controller *c, double bytes_of_packet)
{
    int64_t truncate = c->configuration.everflow.truncate;
    return HEADERS + (truncate ? EF_MIN((double) truncate, bytes_of_packet) : bytes_of_packet);
}

struct debug_load
debug_session_load(const struct debug_session *s)
{
    struct ef_time now = ef_time_mono();
    double marked_per_s = 0, packets_per_s = 0, bytes_per_s = 0;
    for (size_t i = 0; i < s->n_groups; i++) {
        const struct debug_rate *rate = &s->groups[i].rate;
        if (!debug_rate_is_known(rate, now)) {
            return debug_cost(&s->traffic, s->bits);
        }
        marked_per_s += EF_MAX(rate->packets_per_s, rate->per_s_before);
        packets_per_s += rate->packets_per_s;
        bytes_per_s += rate->bytes_per_s;
    }
    struct debug_traffic measured = s->traffic;
    measured.packets_per_s = marked_per_s;
    if (packets_per_s > 0) {
        measured.bytes_per_copy = debug_bytes_of_copy(s->sessions->controller, bytes_per_s / packets_per_s);
    }
    return debug_cost(&measured, 0);
}

struct debug_load
debug_sessions_base(const struct debug_sessions *sessions)
{
    struct debug_copies copies = debug_rates_copies(sessions->rates);
    return (struct debug_load){copies.others_per_s, copies.others_per_s * copies.bytes_each * 8};
}

struct debug_load
debug_sessions_used(const struct debug_sessions *sessions)
{
    struct debug_load sum = debug_sessions_base(sessions);
    const struct debug_session *s;
    TAILQ_FOREACH(s, &sessions->list, next)
    {
        if (is_in_force(s) || !strcmp(text_member(s->document, "state"), "scheduled")) {
            struct debug_load load = debug_session_load(s);
            sum = debug_sum(&sum, &load);
        }
    }
    return sum;
}

/* --- Being looked at ------------------------------------------------------ */

const struct debug_session_list *
debug_sessions_all(const struct debug_sessions *s)
{
    return &s->list;
}

const struct debug_session *
debug_sessions_find(const struct debug_sessions *s, const char *id)
{
    return find(s, id);
}

uint64_t
debug_sessions_changes(const struct debug_sessions *s)
{
    return s->n_changes;
}

struct debug_rates *
debug_sessions_rates(const struct debug_sessions *s)
{
    return s->rates;
}

/* "none" when there are none; why a switch refuses them, in `why`. */
static const char *
marks_of(const struct debug_session *s, char *why, size_t size)
{
    static const char *const names[] = {"pending", "installed", "refused"};
    enum rule_state all = RULE_INSTALLED;
    if (!is_in_force(s)) {
        return "none";
    }
    for (size_t i = 0; i < s->n_groups && all != RULE_REFUSED; i++) {
        char name[NAME_SIZE];
        set_name(s, i, name);
        enum rule_state state = rule_sets_state(s->sessions->controller->rule_sets, owner, name, why, size);
        all = state == RULE_INSTALLED ? all : state;
    }
    return names[all];
}

json_t *
debug_session_show(const struct debug_session *s)
{
    char why[300] = "";
    struct debug_load load = debug_session_load(s);
    const char *marks = marks_of(s, why, sizeof why);
    json_t *shown = json_copy(s->document);
    bool in_force = is_in_force(s);
    json_object_set_new(shown, "marks", json_string(marks));
    json_object_set_new(shown, "error", *why ? json_string(why) : json_null());
    json_object_set_new(shown, "load",
                        json_pack("{s:f, s:f}", "copies_per_s", in_force ? load.copies_per_s : 0.0, "bits_per_s",
                                  in_force ? load.bits_per_s : 0.0));
    return shown;
}

void
debug_sessions_alert(struct debug_sessions *s, const char *id, const char *why)
{
    if (!state_is_active(s->controller->state)) {
        return;
    }
    if (why) {
        struct alert_report report = {.kind = "debug", .subject = id, .severity = ALERT_WARNING, .summary = why};
        alerts_raise(s->controller->alerts, &report);
    } else {
        alerts_resolve(s->controller->alerts, "debug", id, "the session is over");
    }
}

/* --- Life ----------------------------------------------------------------- */

struct debug_sessions *
debug_sessions_create(struct controller *c)
{
    static const struct timeval interval = {.tv_usec = LOOK_MS * 1000};
    struct debug_sessions *s = calloc(1, sizeof *s);
    if (!s || !(s->timer = event_new(c->base, -1, EV_PERSIST, on_timer, s)) || event_add(s->timer, &interval)) {
        abort(); /* Control path, at the start. */
    }
    s->controller = c;
    TAILQ_INIT(&s->list);
    s->rates = debug_rates_create(c);
    state_watch(c->state, STATE_DEBUG_SESSION, on_row_changed, s);
    return s;
}

void
debug_sessions_destroy(struct debug_sessions *s)
{
    if (s) {
        event_free(s->timer);
        while (!TAILQ_EMPTY(&s->list)) {
            free_session(TAILQ_FIRST(&s->list));
        }
        debug_rates_destroy(s->rates);
        free(s);
    }
}
