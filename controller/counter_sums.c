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
#include "base/util.h"
#include "packet/packet.h"

/* --- Adding ------------------------------------------------------------------------ */

/* What is no count, is none: 0. */
static json_int_t
count_of(const json_t *part, const char *key)
{
    return EF_MAX(json_integer_value(json_object_get(part, key)), 0);
}

static void
add_number(json_t *sum, const json_t *part, const char *key)
{
    json_int_t a = count_of(sum, key), b = count_of(part, key);
    json_object_set_new(sum, key, json_integer(a > INT64_MAX - b ? INT64_MAX : a + b));
}

static void
add_numbers(json_t *sum, const json_t *part)
{
    add_number(sum, part, "packets");
    add_number(sum, part, "bytes");
}

/* A sum of `part` alone, without its values. */
static json_t *
begin_sum(const json_t *part)
{
    json_t *sum = json_copy((json_t *) part);
    json_object_del(sum, "values");
    add_numbers(sum, NULL);
    return sum;
}

/* Adds `part` to the sum of the same `key`, or begins one with it. Returns the sum;
 * NULL if it does not say what it is of. */
static json_t *
add_part(json_t *sums, const json_t *part, const char *key)
{
    const char *text = json_string_value(json_object_get(part, key));
    json_t *sum = text ? json_object_get(sums, text) : NULL;
    if (sum) {
        add_numbers(sum, part);
    } else if (text) {
        sum = begin_sum(part);
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

/* Each counts the analyzers that have it. */
static void
add_counters(json_t *sums, const json_t *counters)
{
    size_t i;
    json_t *counter;
    json_array_foreach((json_t *) counters, i, counter)
    {
        const char *name = json_string_value(json_object_get(counter, "name"));
        bool is_first = name && !json_object_get(sums, name);
        json_t *sum = add_part(sums, counter, "name");
        json_int_t n = is_first ? 0 : count_of(sum, "analyzers");
        json_object_set_new(sum, "analyzers", json_integer(n + 1)); /* Of no sum: to no effect. */
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
    bool has_values = false, has_groups = false;
    for (size_t i = 0; i < n; i++) {
        if (*answers[i].error || !json_is_object(answers[i].body)) {
            continue;
        }
        add_values(values, json_object_get(answers[i].body, "values"));
        add_groups(groups, json_object_get(answers[i].body, "groups"));
        if (sum) {
            add_numbers(sum, answers[i].body);
        } else {
            sum = begin_sum(answers[i].body);
        }
        has_values |= json_is_array(json_object_get(answers[i].body, "values"));
        has_groups |= json_is_array(json_object_get(answers[i].body, "groups"));
    }
    sum = sum ? sum : json_object();
    json_object_del(sum, "groups");
    if (has_values) {
        json_object_set_new(sum, "values", list_of(values, by_start));
    }
    if (has_groups) {
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
