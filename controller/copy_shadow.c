/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that are lost with what has failed; see copy_shadow.h. */
#include <config.h>

#include "controller/copy_shadow.h"

#include <stdio.h>

#include "base/json.h"
#include "controller/alerts.h"
#include "controller/copy_ways.h"

static bool
is_over_switch(const struct copy_ways *ways, const json_t *evidence, const char *name, char what[COPY_SHADOW_TEXT])
{
    const struct copy_place place = {ef_json_text(evidence, "device"), NULL};
    snprintf(what, COPY_SHADOW_TEXT, "%.64s, which has failed", place.from);
    return copy_ways_may_cross(ways, name, &place);
}

static bool
is_over_link(const struct copy_ways *ways, const json_t *evidence, const char *name, char what[COPY_SHADOW_TEXT])
{
    const json_t *link = json_object_get(evidence, "link");
    const struct copy_place there = {ef_json_text(link, "from"), ef_json_text(link, "to")},
                            back = {there.to, there.from};
    snprintf(what, COPY_SHADOW_TEXT, "the link between %.40s and %.40s, which is down", there.from, there.to);
    return copy_ways_may_cross(ways, name, &there) || copy_ways_may_cross(ways, name, &back);
}

typedef bool leads_over(const struct copy_ways *ways, const json_t *evidence, const char *name,
                        char what[COPY_SHADOW_TEXT]);

static bool
falls(const struct copy_ways *ways, const struct alerts *alerts, const char *kind, leads_over *is_over,
      const char *name, char what[COPY_SHADOW_TEXT])
{
    json_t *list = alerts_list(alerts, "active", kind);
    bool found = false;
    for (size_t i = 0; i < json_array_size(list) && !found; i++) {
        found = is_over(ways, json_object_get(json_array_get(list, i), "evidence"), name, what);
    }
    json_decref(list);
    return found;
}

bool
copy_shadow_falls_on(const struct copy_ways *ways, const struct alerts *alerts, const char *name,
                     char what[COPY_SHADOW_TEXT])
{
    return falls(ways, alerts, "switch", is_over_switch, name, what) ||
           falls(ways, alerts, "link", is_over_link, name, what);
}
