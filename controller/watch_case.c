/* SPDX-License-Identifier: Apache-2.0 */
/* Traces sorted into cases; see watch_case.h. */
#include <config.h>

#include "controller/watch_case.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "controller/loop_app.h"

static void
key_of_loop(const json_t *trace, char key[WATCH_KEY_SIZE])
{
    char subject[LOOP_SUBJECT_SIZE];
    json_t *circle = loop_app_circle(trace);
    snprintf(key, WATCH_KEY_SIZE, "%s", circle ? loop_app_subject(circle, subject) : "?");
    json_decref(circle);
}

int
watch_case_read(const json_t *trace, char app[8], char key[WATCH_KEY_SIZE])
{
    const char *fate = ef_json_text_or(trace, "fate", "");
    const json_t *hops = json_object_get(trace, "hops"), *last = json_array_get(hops, json_array_size(hops) - 1);
    if (json_is_true(json_object_get(trace, "loop"))) {
        snprintf(app, 8, "loop");
        key_of_loop(trace, key);
        return 0;
    }
    if (strcmp(fate, "dropped") || !last) {
        return -EINVAL;
    }
    snprintf(app, 8, "drop");
    snprintf(key, WATCH_KEY_SIZE, "%.64s>%.64s", ef_json_text_or(last, "name", ef_json_text_or(last, "switch", "?")),
             ef_json_text_or(trace, "expected_name", ef_json_text_or(trace, "expected", "?")));
    return 0;
}

struct watch_case *
watch_cases_get(struct watch_cases *cases, const char *app, const char *key)
{
    struct watch_case *victim = NULL;
    for (int i = 0; i < WATCH_CASES; i++) {
        struct watch_case *c = &cases->cases[i];
        if (!strcmp(c->app, app) && !strcmp(c->key, key)) {
            return c;
        }
        bool may_go = !*c->app || (!c->running && !*c->alert);
        if (may_go && (!victim || !*c->app || (*victim->app && ef_time_before(c->last, victim->last)))) {
            victim = c;
        }
    }
    if (victim) {
        *victim = (struct watch_case){0};
        snprintf(victim->app, sizeof victim->app, "%s", app);
        snprintf(victim->key, sizeof victim->key, "%s", key);
    }
    return victim;
}

bool
watch_seen_add(struct watch_seen *seen, uint64_t id)
{
    for (size_t i = 0; i < WATCH_SEEN; i++) {
        if (seen->ids[i] == id) {
            return false;
        }
    }
    seen->ids[seen->next] = id;
    seen->next = (seen->next + 1) % WATCH_SEEN;
    return true;
}
