/* SPDX-License-Identifier: Apache-2.0 */
/* Switches leave reshufflers that are not well; see shedding.h. */
#include <config.h>

#include "controller/shedding.h"

#include <string.h>

bool
shedding_note(struct shedding_state *s, bool has_answered, bool is_congested, struct ef_time now)
{
    unsigned before = s->n_shed;
    int64_t since_ms = ef_time_diff_ns(now, s->changed) / EF_NS_PER_MS;
    bool is_first = !s->changed.ns;
    s->n_no_answer = has_answered ? 0 : s->n_no_answer + 1;
    if (s->n_no_answer >= SHEDDING_DOWN_AFTER) {
        s->n_shed = SHEDDING_QUARTERS;
        s->changed = now;
    } else if (!has_answered) {
        return false;
    } else if (s->n_shed == SHEDDING_QUARTERS && !is_congested) {
        s->n_shed = 0; /* It was down, and is there again. */
        s->changed = now;
    } else if (is_congested && (is_first || since_ms >= SHEDDING_STEP_MS || !s->n_shed)) {
        /* It keeps a quarter: then what is left is its own. */
        s->n_shed += s->n_shed < SHEDDING_QUARTERS - 1;
        s->changed = now;
    } else if (!is_congested && s->n_shed && since_ms >= SHEDDING_RETURN_MS) {
        s->n_shed--;
        s->changed = now;
    }
    return s->n_shed != before;
}

static bool
has(const json_t *list, const char *text)
{
    size_t i;
    json_t *value;
    json_array_foreach((json_t *) list, i, value)
    {
        if (json_string_value(value) && !strcmp(json_string_value(value), text)) {
            return true;
        }
    }
    return false;
}

/* Whether the switch's quarter has left the reshuffler. */
static bool
has_left(const struct shedding_state *s, size_t reshuffler, size_t number)
{
    return (number + reshuffler) % SHEDDING_QUARTERS < s->n_shed;
}

static bool
is_left(const struct shedding_state states[], size_t n, size_t number, const char *target)
{
    for (size_t i = 0; i < n; i++) {
        if (has_left(&states[i], i, number) && has(states[i].vips, target)) {
            return true;
        }
    }
    return false;
}

static void
add_well(json_t *targets, const struct shedding_state states[], size_t n, bool is_ipv6)
{
    for (size_t i = 0; i < n; i++) {
        size_t k;
        json_t *vip;
        json_array_foreach((json_t *) states[i].vips, k, vip)
        {
            const char *text = json_string_value(vip);
            if (!states[i].n_shed && text && !strchr(text, ':') == !is_ipv6 && !has(targets, text)) {
                json_array_append(targets, vip);
            }
        }
    }
}

json_t *
shedding_targets(const json_t *configured, const struct shedding_state states[], size_t n, size_t number)
{
    json_t *targets = json_array(), *target;
    size_t i;
    json_array_foreach((json_t *) configured, i, target)
    {
        if (!is_left(states, n, number, json_string_value(target))) {
            json_array_append(targets, target);
        }
    }
    if (!json_array_size(targets)) {
        add_well(targets, states, n, strchr(json_string_value(json_array_get(configured, 0)), ':'));
    }
    if (!json_array_size(targets)) {
        json_array_extend(targets, (json_t *) configured);
    }
    return targets;
}
