/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of copies, told; see copy_watch.h. */
#include <config.h>

#include "controller/copy_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "controller/alerts.h"
#include "controller/collection.h"
#include "controller/copy_ways.h"

enum {
    FEW_LOST = 3,       /* Lost copies: too few to be told. */
    LEAST_PERCENT = 1,  /* So many of the copies. */
    FAR_LESS_PART = 16, /* Who loses so much less than another does not do so for the same reason. */
    LOST_IS_OVER_S = 30,
    GOES_ON_MS = 4000,    /* So long losses must go on to be told; */
    ALONE_MS = 6000,      /* those of one switch, for others on the same way may begin to lose some; */
    TOGETHER_MS = 8000,   /* and if several do so already and have nothing in common; */
    LATE_MS = 15000,      /* and of one that says so itself, while no number is missing: a queue has them. */
    NUMBERS_GAP_S = 3,    /* Two losses so far apart are of one time, told by the copies' numbers; */
    STATISTICS_GAP_S = 8, /* told by switches, which do so each 5 s. */
    TOLD_GAP_S = 12,      /* That one loses copies now and then, an alert says already. */
    OVERFLOWS_US = 5000,  /* A link that loses what it has no room for holds up what it has. */
    PLACE_SIZE = 128,     /* "the link from spine2 to leaf1" */
    MAX_NAMED = 8,        /* Switches in a summary. */
};

static const char kind[] = "copies", why_over[] = "none was lost for half a minute";

/* What is known of one that tells of losses. */
struct loss {
    const char *name; /* Of the switch or analyzer. */
    const json_t *entry;
    char key[ALERT_SUBJECT_SIZE];
    bool is_analyzer;
    int64_t copies;        /* Of the switch, that came so far. */
    int64_t lost, came;    /* Copies since it began, but for those that were told. */
    int64_t for_ms;        /* How long it goes on. */
    bool is_over, goes_on; /* None for long; one a moment ago, */
    bool is_recent;        /* or lately. */
    bool lasts;            /* Long enough to be told. */
    bool is_told;          /* It has an alert of its own. */
};

struct copy_watch {
    struct alerts *alerts;
    struct copy_ways *ways;
    json_t *lost;   /* By what tells of losses: {"before", "began"}; see note_loss(). */
    json_t *losing; /* Subjects of alerts that go on, of one look. */
    struct loss *losses;
    size_t n;
    struct copy_sender *senders; /* As they are heard. */
};

/* --- One that loses copies ----------------------------------------------------- */

/* What was lost so far, while so many came, is known: only more than that is news. */
static void
set_before(json_t *time, json_int_t lost, int64_t copies)
{
    json_object_set_new(time, "before", json_integer(lost));
    json_object_set_new(time, "came", json_integer(copies));
}

/* `gap_s`: how far apart two losses may be told and still be of one time. */
static void
note_loss(struct copy_watch *w, struct loss *l, double gap_s, struct ef_time now)
{
    json_int_t lost = json_integer_value(json_object_get(l->entry, "lost"));
    json_t *time = json_object_get(w->lost, l->key);
    double ago_s = json_number_value(json_object_get(l->entry, "last_s_ago"));
    l->is_over = ago_s > LOST_IS_OVER_S;
    l->goes_on = ago_s <= gap_s;
    l->is_recent = ago_s <= TOLD_GAP_S;
    bool was_off = !json_object_get(time, "began");
    if (!time) {
        time = json_object();
        set_before(time, 0, l->copies);
        json_object_set_new(w->lost, l->key, time);
    }
    if (l->goes_on && was_off) {
        json_object_set_new(time, "began", json_integer(now.ns));
    } else if (!l->goes_on && !was_off) {
        json_object_del(time, "began");
    }
    l->lost = lost - json_integer_value(json_object_get(time, "before"));
    l->came = l->copies - json_integer_value(json_object_get(time, "came"));
    l->for_ms = l->goes_on ? (now.ns - json_integer_value(json_object_get(time, "began"))) / EF_NS_PER_MS : 0;
    if (l->is_over) {
        set_before(time, lost, l->copies);
    }
}

static void
forget_loss(struct copy_watch *w, struct loss *l)
{
    set_before(json_object_get(w->lost, l->key), json_integer_value(json_object_get(l->entry, "lost")), l->copies);
    l->lost = l->came = 0;
}

static bool
is_much(const struct loss *l)
{
    return l->lost >= FEW_LOST && l->lost >= (l->lost + l->came) / 100 * LEAST_PERCENT;
}

static const struct copy_heard *
heard_of(const struct copy_look *look, const char *name)
{
    for (size_t i = 0; i < look->n_heard; i++) {
        if (!strcmp(look->heard[i].name, name)) {
            return &look->heard[i];
        }
    }
    return NULL;
}

static void
read_entry(struct copy_watch *w, const struct copy_look *look, const json_t *entry)
{
    const char *analyzer = json_string_value(json_object_get(entry, "analyzer"));
    const char *uplink = json_string_value(json_object_get(entry, "uplink"));
    const char *sequence = json_string_value(json_object_get(entry, "sequence"));
    const char *name = analyzer ? analyzer : uplink ? uplink : sequence;
    if (!name) {
        return; /* Of a switch, between reshufflers and analyzers: the analyzers' entries tell of that. */
    }
    struct loss *l = &w->losses[w->n++];
    const struct copy_heard *heard = analyzer ? NULL : heard_of(look, name);
    *l = (struct loss){.name = name, .entry = entry, .is_analyzer = analyzer, .copies = heard ? heard->copies : 0};
    snprintf(l->key, sizeof l->key, "%s %s", analyzer ? "analyzer" : uplink ? "uplink" : "sequence", name);
    note_loss(w, l, uplink ? STATISTICS_GAP_S : NUMBERS_GAP_S, look->now);
    /* That not one copy comes is no burst. */
    bool is_all = uplink && heard && heard->is_silent && l->goes_on;
    l->is_told = !l->is_over && alerts_active(w->alerts, kind, name);
    l->lasts = !l->is_over && is_much(l) && (l->for_ms >= GOES_ON_MS || is_all);
    if (l->is_told) {
        json_object_set_new(w->losing, name, json_true());
    }
    if (l->is_told || look->has_cause || (heard && heard->is_hidden)) {
        forget_loss(w, l);
        l->lasts = false;
    }
}

static void
way_of(const struct loss *l, char way[PLACE_SIZE])
{
    if (l->is_analyzer && !strcmp(l->name, COLLECTION_ALL)) {
        snprintf(way, PLACE_SIZE, "between reshufflers and analyzers");
    } else {
        snprintf(way, PLACE_SIZE, "%s %.64s", l->is_analyzer ? "on the way to" : "between the reshufflers and",
                 l->name);
    }
}

/* It goes on is no news. */
static void
tell_alone(struct copy_watch *w, struct loss *l)
{
    char summary[ALERT_SUMMARY_SIZE], way[PLACE_SIZE];
    json_object_set_new(w->losing, l->name, json_true());
    if (!alerts_active(w->alerts, kind, l->name)) {
        way_of(l, way);
        snprintf(summary, sizeof summary,
                 "copies of packets are lost %s (%lld so far): traces lack hops, packets themselves are not dropped",
                 way, (long long) l->lost);
        struct alert_report report = {.kind = kind,
                                      .subject = l->name,
                                      .severity = ALERT_WARNING,
                                      .summary = summary,
                                      .evidence = json_pack("{s:s, s:I}", l->is_analyzer ? "analyzer" : "device",
                                                            l->name, "lost", (json_int_t) l->lost)};
        alerts_raise(w->alerts, &report);
    }
    forget_loss(w, l);
}

/* --- A place that loses copies of several ----------------------------------------- */

/* "spine2>leaf1", "leaf1" */
static void
subject_of(const struct copy_place *place, char subject[ALERT_SUBJECT_SIZE])
{
    snprintf(subject, ALERT_SUBJECT_SIZE, place->to ? "%.60s>%.60s" : "%.60s", place->from, place->to);
}

/* The place that an alert of ours, or a link that one of another kind is about; false: none. */
static bool
place_of(const json_t *alert, struct copy_place *place)
{
    const json_t *evidence = json_object_get(alert, "evidence"), *link = json_object_get(evidence, "link");
    bool is_node = json_object_get(evidence, "switches") && !json_is_object(link);
    place->from = json_string_value(is_node ? json_object_get(evidence, "device") : json_object_get(link, "from"));
    place->to = is_node ? NULL : json_string_value(json_object_get(link, "to"));
    return place->from && (is_node || place->to);
}

/* Names of those that lose copies at the place, besides those in `names`. Returns how many copies. */
static int64_t
add_losers(const struct copy_watch *w, const struct copy_place *place, json_t *names)
{
    int64_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct loss *l = &w->losses[i];
        bool is_new = !l->is_analyzer && l->goes_on && copy_ways_may_cross(w->ways, l->name, place);
        for (size_t k = 0; is_new && k < json_array_size(names); k++) {
            const char *name = json_string_value(json_array_get(names, k));
            is_new = !name || strcmp(name, l->name);
        }
        if (is_new) {
            n += l->lost;
            json_array_append_new(names, json_string(l->name));
        }
    }
    return n;
}

/* What is lost there is told; those who had an alert of their own need it no more. */
static void
take_losses(struct copy_watch *w, const struct copy_place *place, const char *subject)
{
    for (size_t i = 0; i < w->n; i++) {
        struct loss *l = &w->losses[i];
        if (l->is_analyzer || l->is_over || !copy_ways_may_cross(w->ways, l->name, place)) {
            continue;
        }
        json_object_set_new(w->losing, subject, json_true());
        if (l->is_told && strcmp(l->name, subject)) {
            alerts_resolve(w->alerts, kind, l->name, "copies of others are lost on the same way");
            json_object_del(w->losing, l->name);
        }
        forget_loss(w, l);
        l->lasts = l->is_told = false;
    }
}

static void
list_names(const json_t *names, char *text, size_t size)
{
    size_t n = json_array_size(names), shown = EF_MIN(n, (size_t) MAX_NAMED), len = 0;
    *text = '\0';
    for (size_t i = 0; i < shown && len < size; i++) {
        const char *before = !i ? "" : i + 1 == n ? " and " : ", ";
        len +=
            (size_t) snprintf(text + len, size - len, "%s%.40s", before, json_string_value(json_array_get(names, i)));
    }
    if (shown < n && len < size) {
        snprintf(text + len, size - len, " and %zu more", n - shown);
    }
}

static void
tell_place(struct copy_watch *w, const struct copy_place *place)
{
    char subject[ALERT_SUBJECT_SIZE], where[PLACE_SIZE], who[400], summary[ALERT_SUMMARY_SIZE];
    json_t *names = json_array(), *evidence;
    int64_t lost = add_losers(w, place, names);
    subject_of(place, subject);
    snprintf(where, sizeof where, place->to ? "the link from %.40s to %.40s" : "%.40s", place->from, place->to);
    list_names(names, who, sizeof who);
    snprintf(
        summary, sizeof summary,
        "copies of packets are lost at %s, on the way of those of %s to the reshufflers (%lld so far): traces lack "
        "hops",
        where, who, (long long) lost);
    evidence = json_pack("{s:s, s:o, s:I}", "device", place->from, "switches", names, "lost", (json_int_t) lost);
    if (place->to) {
        json_object_set_new(evidence, "link", json_pack("{s:s, s:s}", "from", place->from, "to", place->to));
    }
    struct alert_report report = {
        .kind = kind, .subject = subject, .severity = ALERT_WARNING, .summary = summary, .evidence = evidence};
    alerts_raise(w->alerts, &report);
    take_losses(w, place, subject);
}

/* More that is lost at a place of which an alert tells already is no news; that others lose
 * copies there as well is evidence. */
static void
continue_places(struct copy_watch *w)
{
    json_t *active = alerts_list(w->alerts, "active", kind), *alert;
    size_t i;
    json_array_foreach(active, i, alert)
    {
        struct copy_place place;
        json_t *evidence = json_object_get(alert, "evidence"), *names = json_object_get(evidence, "switches");
        if (!names || !place_of(alert, &place)) {
            continue;
        }
        json_t *more = json_deep_copy(names);
        add_losers(w, &place, more);
        if (json_array_size(more) > json_array_size(names)) {
            json_t *grown = json_deep_copy(evidence);
            json_object_set(grown, "switches", more);
            struct alert_report report = {kind, ef_json_text(alert, "subject"), ALERT_WARNING,
                                          ef_json_text(alert, "summary"), grown};
            alerts_raise(w->alerts, &report);
        }
        json_decref(more);
        take_losses(w, &place, ef_json_text(alert, "subject"));
    }
    json_decref(active);
}

/* --- Whose is it? --------------------------------------------------------------- */

/* The most that one switch loses now. */
static int64_t
most_lost(const struct copy_watch *w)
{
    int64_t most = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct loss *l = &w->losses[i];
        most = !l->is_analyzer && l->goes_on ? EF_MAX(most, l->lost) : most;
    }
    return most;
}

/* What the losses say of a switch's copies; `most` is what the one loses that loses most. */
static enum copy_fate
fate_of(const struct copy_watch *w, const struct copy_heard *heard, int64_t most)
{
    enum copy_fate fate = heard->is_busy ? COPIES_ARRIVE : COPIES_UNSURE;
    for (size_t i = 0; i < w->n; i++) {
        const struct loss *l = &w->losses[i];
        if (l->is_analyzer || strcmp(l->name, heard->name) || l->is_over) {
            continue;
        }
        if ((l->is_told && l->is_recent) || (l->goes_on && is_much(l) && l->lost >= most / FAR_LESS_PART)) {
            return COPIES_LOST;
        }
        fate = l->is_told || l->lost ? COPIES_UNSURE : fate;
    }
    return fate;
}

/* How many switches lose copies now; in w->senders, what is known of each. */
static size_t
find_senders(struct copy_watch *w, const struct copy_look *look)
{
    size_t n_lost = 0;
    int64_t most = most_lost(w);
    for (size_t i = 0; i < look->n_heard; i++) {
        w->senders[i] = (struct copy_sender){look->heard[i].name, fate_of(w, &look->heard[i], most)};
        n_lost += w->senders[i].fate == COPIES_LOST;
    }
    return n_lost;
}

/* How many switches lost copies within the last seconds, however few. */
static size_t
count_losers(const struct copy_watch *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct loss *l = &w->losses[i];
        bool is_new = !l->is_analyzer && l->goes_on;
        for (size_t k = 0; is_new && k < i; k++) {
            is_new = w->losses[k].is_analyzer || !w->losses[k].goes_on || strcmp(w->losses[k].name, l->name);
        }
        n += is_new;
    }
    return n;
}

/* Whether all that lose copies may lose them there. */
static bool
all_may_cross(const struct copy_watch *w, size_t n, const struct copy_place *place)
{
    for (size_t i = 0; i < n; i++) {
        if (w->senders[i].fate == COPIES_LOST && !copy_ways_may_cross(w->ways, w->senders[i].name, place)) {
            return false;
        }
    }
    return true;
}

/* Whether nobody whose copies all arrive must send them there. */
static bool
may_lose(const struct copy_watch *w, size_t n, const struct copy_place *place)
{
    for (size_t i = 0; i < n; i++) {
        if (w->senders[i].fate == COPIES_ARRIVE && copy_ways_must_cross(w->ways, w->senders[i].name, place)) {
            return false;
        }
    }
    return all_may_cross(w, n, place);
}

/* Whether the link holds packets up for so long that it may have no room for some. */
static bool
is_overflowing(const json_t *alert)
{
    const json_t *evidence = json_object_get(alert, "evidence");
    double added_us = json_number_value(json_object_get(evidence, "added_us")),
           queue_us = json_number_value(json_object_get(evidence, "queue_us"));
    return EF_MAX(added_us, queue_us) >= OVERFLOWS_US;
}

/* A link that has become slower, in the direction in which it is on the way of all of them. The
 * names are of `alerts`. */
static bool
find_slow_link(const struct copy_watch *w, const json_t *alerts, size_t n, struct copy_place *place)
{
    size_t i;
    const json_t *alert;
    json_array_foreach((json_t *) alerts, i, alert)
    {
        struct copy_place there;
        if (!is_overflowing(alert) || !place_of(alert, &there) || !there.to) {
            continue;
        }
        struct copy_place back = {there.to, there.from};
        if (may_lose(w, n, &there) || may_lose(w, n, &back)) {
            *place = may_lose(w, n, &there) ? there : back;
            return true;
        }
    }
    return false;
}

/* What has left the switch and did not come so far, though all that came was without holes, stands in a
 * queue, or will be known to be lost there when the next one comes. Where that is, others tell. */
static bool
is_late_only(const struct copy_watch *w, const struct loss *l, const struct copy_heard *heard)
{
    bool has_holes = strncmp(l->key, "uplink", 6) || !heard || heard->is_silent;
    for (size_t i = 0; i < w->n; i++) {
        const struct loss *other = &w->losses[i];
        has_holes =
            has_holes || (other->is_recent && !strncmp(other->key, "sequence", 8) && !strcmp(other->name, l->name));
    }
    return !has_holes;
}

static void
tell_switches(struct copy_watch *w, const struct copy_look *look)
{
    bool lasts = false;
    for (size_t i = 0; i < w->n; i++) {
        lasts = lasts || (w->losses[i].lasts && !w->losses[i].is_analyzer);
    }
    if (!lasts) {
        return;
    }
    struct copy_place place;
    json_t *slow = alerts_list(w->alerts, "active", "latency");
    size_t n_lost = find_senders(w, look);
    bool is_several = n_lost > 1,
         is_common = is_several && copy_ways_common(w->ways, w->senders, look->n_heard, &place);
    if (n_lost && (is_common || find_slow_link(w, slow, look->n_heard, &place))) {
        tell_place(w, &place);
    }
    int64_t wait_ms = count_losers(w) > 1 ? TOGETHER_MS : ALONE_MS;
    for (size_t i = 0; i < w->n; i++) {
        struct loss *l = &w->losses[i];
        const struct copy_heard *heard = heard_of(look, l->name);
        bool is_sure = l->for_ms >= (is_late_only(w, l, heard) ? LATE_MS : wait_ms) || (heard && heard->is_silent);
        if (l->lasts && !l->is_analyzer && is_sure) {
            tell_alone(w, l);
        }
    }
    json_decref(slow);
}

static void
resolve_others(struct copy_watch *w)
{
    json_t *active = alerts_list(w->alerts, "active", kind), *alert;
    size_t i;
    json_array_foreach(active, i, alert)
    {
        if (!json_object_get(w->losing, ef_json_text(alert, "subject"))) {
            alerts_resolve(w->alerts, kind, ef_json_text(alert, "subject"), why_over);
        }
    }
    json_decref(active);
}

void
copy_watch_look(struct copy_watch *w, const struct copy_look *look)
{
    size_t i;
    const json_t *entry;
    w->n = 0;
    w->losses = calloc(json_array_size(look->gaps) + 1, sizeof *w->losses);
    w->senders = calloc(look->n_heard + 1, sizeof *w->senders);
    if (!w->losses || !w->senders) {
        abort(); /* Control path. */
    }
    json_array_foreach((json_t *) look->gaps, i, entry)
    {
        read_entry(w, look, entry);
    }
    continue_places(w);
    tell_switches(w, look);
    for (i = 0; i < w->n; i++) {
        if (w->losses[i].lasts && w->losses[i].is_analyzer) {
            tell_alone(w, &w->losses[i]);
        }
    }
    if (look->may_resolve) {
        resolve_others(w);
    }
    json_object_clear(w->losing);
    free(w->losses);
    free(w->senders);
    w->losses = NULL;
    w->senders = NULL;
}

/* --- Life ----------------------------------------------------------------------- */

struct copy_watch *
copy_watch_create(const json_t *document, struct alerts *alerts)
{
    struct copy_watch *w = calloc(1, sizeof *w);
    if (!w) {
        abort(); /* Control path. */
    }
    w->alerts = alerts;
    w->ways = copy_ways_create(document);
    w->lost = json_object();
    w->losing = json_object();
    return w;
}

void
copy_watch_destroy(struct copy_watch *w)
{
    if (w) {
        copy_ways_destroy(w->ways);
        json_decref(w->lost);
        json_decref(w->losing);
        free(w);
    }
}
