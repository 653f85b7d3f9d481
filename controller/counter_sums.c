/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of counters by filter; see counter_sums.h.
 *
 * While they are made, the parts of a sum are an object: {"2026-...": {"start",
 * "packets", "bytes"}}, so that each part is found at once. */
#include <config.h>

#include "controller/counter_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "packet/packet.h"

/* --- Adding ------------------------------------------------------------------------ */

static void
add_number(json_t *sum, const json_t *part, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(sum, key)) + json_integer_value(json_object_get(part, key));
    json_object_set_new(sum, key, json_integer(n));
}

/* Adds `part` to the sum of the same `key`, or begins one with a copy of it, without
 * its values. Returns the sum; NULL if it does not say what it is of. */
static json_t *
add_part(json_t *sums, const json_t *part, const char *key)
{
    const char *text = json_string_value(json_object_get(part, key));
    json_t *sum = text ? json_object_get(sums, text) : NULL;
    if (sum) {
        add_number(sum, part, "packets");
        add_number(sum, part, "bytes");
    } else if (text) {
        sum = json_copy((json_t *) part);
        json_object_del(sum, "values");
        json_object_set_new(sums, text, sum);
    }
    return sum;
}

static void
add_values(json_t *sums, const json_t *values)
{
    size_t i;
    json_t *value;
    json_array_foreach((json_t *) values, i, value)
    {
        add_part(sums, value, "start");
    }
}

static void
add_groups(json_t *sums, const json_t *groups)
{
    size_t i;
    json_t *group;
    json_array_foreach((json_t *) groups, i, group)
    {
        json_t *sum = add_part(sums, group, "group");
        if (sum && !json_object_get(sum, "values")) {
            json_object_set_new(sum, "values", json_object());
        }
        if (sum) {
            add_values(json_object_get(sum, "values"), json_object_get(group, "values"));
        }
    }
}

/* --- Lists of sums ----------------------------------------------------------------- */

typedef int compare_parts(const void *a, const void *b);

static const char *
text_of(const void *part, const char *key)
{
    const char *text = json_string_value(json_object_get(*(json_t *const *) part, key));
    return text ? text : "";
}

static int
by_start(const void *a, const void *b)
{
    return strcmp(text_of(a, "start"), text_of(b, "start")); /* All are written alike. */
}

/* The greatest first, "other" last. */
static int
by_packets(const void *a, const void *b)
{
    bool a_is_other = !strcmp(text_of(a, "group"), "other"), b_is_other = !strcmp(text_of(b, "group"), "other");
    json_int_t n_a = json_integer_value(json_object_get(*(json_t *const *) a, "packets"));
    json_int_t n_b = json_integer_value(json_object_get(*(json_t *const *) b, "packets"));
    if (a_is_other != b_is_other) {
        return a_is_other - b_is_other;
    }
    return n_a != n_b ? (n_a < n_b) - (n_a > n_b) : strcmp(text_of(a, "group"), text_of(b, "group"));
}

/* The sums as a list in order; NULL: as they came. */
static json_t *
list_of(json_t *sums, compare_parts *compare)
{
    json_t *list = json_array(), *sum;
    json_t **entries = calloc(json_object_size(sums) + 1, sizeof *entries);
    const char *key;
    size_t n = 0;
    if (!entries) {
        abort(); /* Control path. */
    }
    json_object_foreach(sums, key, sum)
    {
        entries[n++] = sum;
    }
    if (compare) {
        qsort(entries, n, sizeof *entries, compare);
    }
    for (size_t i = 0; i < n; i++) {
        json_array_append(list, entries[i]);
    }
    free(entries);
    return list;
}

static void
name_switch(const struct controller *c, json_t *group)
{
    uint8_t address[16];
    const char *text = json_string_value(json_object_get(group, "switch"));
    const struct topology_switch *s =
        text && !ef_address_parse(text, address) ? topology_find_address(&c->topology, address) : NULL;
    if (s) {
        json_object_set_new(group, "name", json_string(s->name));
    }
}

static json_t *
list_of_groups(const struct controller *c, json_t *sums)
{
    json_t *list = list_of(sums, by_packets), *group;
    size_t i;
    json_array_foreach(list, i, group)
    {
        json_object_set_new(group, "values", list_of(json_object_get(group, "values"), by_start));
        name_switch(c, group);
    }
    return list;
}

/* --- Answers ----------------------------------------------------------------------- */

static void
add_counters(json_t *sums, const json_t *counters)
{
    size_t i;
    json_t *counter;
    json_array_foreach((json_t *) counters, i, counter)
    {
        json_t *sum = add_part(sums, counter, "name");
        if (sum) {
            json_int_t n = json_integer_value(json_object_get(sum, "analyzers"));
            json_object_set_new(sum, "analyzers", json_integer(n + 1));
        }
    }
}

json_t *
counter_sums_of_lists(const struct controller *c, const struct fan_out_answer answers[], size_t n)
{
    json_t *sums = json_object();
    for (size_t i = 0; i < n; i++) {
        if (!*answers[i].error) {
            add_counters(sums, json_object_get(answers[i].body, "counters"));
        }
    }
    json_t *answer = json_pack("{s:o}", "counters", list_of(sums, NULL));
    json_decref(sums);
    return answer;
}

json_t *
counter_sums_of_one(const struct controller *c, const struct fan_out_answer answers[], size_t n)
{
    json_t *sum = NULL, *values = json_object(), *groups = json_object();
    for (size_t i = 0; i < n; i++) {
        if (*answers[i].error || !json_is_object(answers[i].body)) {
            continue;
        }
        add_values(values, json_object_get(answers[i].body, "values"));
        add_groups(groups, json_object_get(answers[i].body, "groups"));
        if (sum) {
            add_number(sum, answers[i].body, "packets");
            add_number(sum, answers[i].body, "bytes");
        } else {
            sum = json_copy(answers[i].body);
        }
    }
    sum = sum ? sum : json_object();
    if (json_object_get(sum, "values")) {
        json_object_set_new(sum, "values", list_of(values, by_start));
    }
    if (json_object_get(sum, "groups")) {
        json_object_set_new(sum, "groups", list_of_groups(c, groups));
    }
    json_decref(values);
    json_decref(groups);
    return sum;
}

/* --- Steps --------------------------------------------------------------------------- */

static json_t *
join_values(const json_t *values, int64_t step_s)
{
    json_t *sums = json_object(), *value;
    size_t i;
    json_array_foreach((json_t *) values, i, value)
    {
        struct ef_time start = {0};
        char text[EF_TIME_TEXT_SIZE];
        const char *written = json_string_value(json_object_get(value, "start"));
        if (!written || ef_time_parse(written, start, &start, NULL)) {
            continue; /* Came over a socket. */
        }
        start.ns -= start.ns % (step_s * EF_NS_PER_S);
        json_t *copy = json_copy(value);
        ef_time_format(start, text);
        json_object_set_new(copy, "start", json_string(text));
        add_part(sums, copy, "start");
        json_decref(copy);
    }
    json_t *list = list_of(sums, by_start);
    json_decref(sums);
    return list;
}

void
counter_sums_join(json_t *answer, int64_t step_s)
{
    size_t i;
    json_t *group, *values = json_object_get(answer, "values");
    if (!values || step_s == COUNTER_INTERVAL_S) {
        return;
    }
    json_object_set_new(answer, "values", join_values(values, step_s));
    json_object_set_new(answer, "interval_s", json_integer(step_s));
    json_array_foreach(json_object_get(answer, "groups"), i, group)
    {
        json_object_set_new(group, "values", join_values(json_object_get(group, "values"), step_s));
    }
}
