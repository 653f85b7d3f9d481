/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts that explain others; see watch_causes.h. */
#include <config.h>

#include "controller/watch_causes.h"

#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "controller/alerts.h"

static bool
is_between(const json_t *link, const char *a, const char *b)
{
    const char *from = ef_json_text(link, "from"), *to = ef_json_text(link, "to");
    return *from && *to && ((!strcmp(from, a) && !strcmp(to, b)) || (!strcmp(from, b) && !strcmp(to, a)));
}

static bool
is_same_direction(const json_t *a, const json_t *b)
{
    const char *from = ef_json_text(a, "from"), *to = ef_json_text(a, "to");
    return *from && *to && !strcmp(from, ef_json_text(b, "from")) && !strcmp(to, ef_json_text(b, "to"));
}

/* Whether the switch is one of those whose copies are lost on a common way. */
static bool
is_one_of(const json_t *names, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach((json_t *) names, i, one)
    {
        if (!strcmp(json_string_value(one) ? json_string_value(one) : "", name)) {
            return true;
        }
    }
    return false;
}

/* What is suspected. */
struct suspicion {
    const char *device;
    const json_t *link, *unseen;
};

/* The link itself, or one of those that the packets may have taken. */
static bool
is_on_link(const struct suspicion *s, const json_t *link)
{
    size_t i;
    const json_t *next;
    bool is = is_between(link, ef_json_text(s->link, "from"), ef_json_text(s->link, "to"));
    json_array_foreach((json_t *) s->unseen, i, next)
    {
        is = is || is_between(link, s->device, json_string_value(next) ? json_string_value(next) : "");
    }
    return is;
}

static bool
should_have_seen(const struct suspicion *s, const char *name)
{
    return *name && (!strcmp(name, ef_json_text(s->link, "to")) || is_one_of(s->unseen, name));
}

/* A switch that is down explains all that goes to it; one whose copies get lost was
 * only not seen, where it should have been seen next: so are all of those that lose copies on a common way. */
static bool
explains(const json_t *alert, const char *kind, const struct suspicion *s)
{
    const json_t *evidence = json_object_get(alert, "evidence"), *its_link = json_object_get(evidence, "link");
    const char *its_device = ef_json_text(evidence, "device");
    if (!strcmp(kind, "link")) {
        return is_on_link(s, its_link);
    }
    if (!strcmp(kind, "corrupt")) { /* One odd packet explains nothing. */
        return strcmp(ef_json_text(alert, "severity"), "info") && is_same_direction(its_link, s->link);
    }
    const json_t *losers = json_object_get(evidence, "switches");
    if (!strcmp(kind, "copies") && losers) { /* That one of them is down is said without a link. */
        bool is_unseen = false;
        size_t i;
        const json_t *loser;
        json_array_foreach((json_t *) losers, i, loser)
        {
            is_unseen = is_unseen || should_have_seen(s, json_string_value(loser) ? json_string_value(loser) : "");
        }
        return is_unseen || (!json_is_object(s->link) && is_one_of(losers, s->device));
    }
    return should_have_seen(s, its_device) ||
           (*its_device && !strcmp(kind, "switch") && !strcmp(its_device, s->device));
}

bool
watch_causes_explain(const struct alerts *alerts, const char *kind, const char *device, const json_t *link,
                     const json_t *unseen)
{
    static const char *const kinds[] = {"link", "corrupt", "switch", "copies"};
    const struct suspicion s = {device, link, unseen};
    bool found = false;
    for (size_t k = 0; k < EF_ARRAY_SIZE(kinds) && !found && strcmp(kind, "loop"); k++) {
        json_t *list = alerts_list(alerts, "active", kinds[k]);
        const json_t *alert;
        size_t i;
        json_array_foreach(list, i, alert)
        {
            found = found || explains(alert, kinds[k], &s);
        }
        json_decref(list);
    }
    return found;
}
