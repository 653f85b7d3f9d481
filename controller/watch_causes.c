/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts that explain others; see watch_causes.h. */
#include <config.h>

#include "controller/watch_causes.h"

#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "controller/alerts.h"

static bool
is_same_link(const json_t *a, const json_t *b)
{
    const char *a_from = ef_json_text(a, "from"), *a_to = ef_json_text(a, "to"), *b_from = ef_json_text(b, "from"),
               *b_to = ef_json_text(b, "to");
    return *a_from && *a_to &&
           ((!strcmp(a_from, b_from) && !strcmp(a_to, b_to)) || (!strcmp(a_from, b_to) && !strcmp(a_to, b_from)));
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

/* A switch that is down explains all that goes to it; one whose copies get lost was
 * only not seen, where it should have been seen next: so are all of those that lose copies on a common way. */
static bool
explains(const json_t *alert, const char *kind, const char *device, const json_t *link)
{
    const json_t *evidence = json_object_get(alert, "evidence"), *its_link = json_object_get(evidence, "link");
    const char *its_device = ef_json_text(evidence, "device");
    if (!strcmp(kind, "link")) {
        return is_same_link(its_link, link);
    }
    if (!strcmp(kind, "corrupt")) { /* One odd packet explains nothing. */
        return strcmp(ef_json_text(alert, "severity"), "info") && is_same_direction(its_link, link);
    }
    const json_t *losers = json_object_get(evidence, "switches");
    if (!strcmp(kind, "copies") && losers) { /* That one of them is down is said without a link. */
        return is_one_of(losers, *ef_json_text(link, "to") ? ef_json_text(link, "to") : device);
    }
    bool is_next = *its_device && !strcmp(its_device, ef_json_text(link, "to"));
    return is_next || (*its_device && !strcmp(kind, "switch") && !strcmp(its_device, device));
}

bool
watch_causes_explain(const struct alerts *alerts, const char *kind, const char *device, const json_t *link)
{
    static const char *const kinds[] = {"link", "corrupt", "switch", "copies"};
    bool found = false;
    for (size_t k = 0; k < EF_ARRAY_SIZE(kinds) && !found && strcmp(kind, "loop"); k++) {
        json_t *list = alerts_list(alerts, "active", kinds[k]);
        const json_t *alert;
        size_t i;
        json_array_foreach(list, i, alert)
        {
            found = found || explains(alert, kinds[k], device, link);
        }
        json_decref(list);
    }
    return found;
}
