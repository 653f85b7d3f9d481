/* SPDX-License-Identifier: Apache-2.0 */
/* "capacity" of the configuration; see debug_settings.h. */
#include <config.h>

#include "controller/debug_settings.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "controller/configuration.h"

static const int64_t default_copies = 100000, default_bits = 1000000000, most = INT64_C(1) << 50;

static int
read_load(const struct doc_place *place, int64_t copies, int64_t bits, struct debug_load *load, struct ef_error *err)
{
    if (doc_integer(place, "copies_per_s", 1, most, copies, &copies, err) ||
        doc_integer(place, "bits_per_s", 1, most, bits, &bits, err)) {
        return -EINVAL;
    }
    *load = (struct debug_load){(double) copies, (double) bits};
    return 0;
}

/* The part of all copies that a collector gets; 0: there is none of that name. */
static double
share_of(const struct debug_collectors *collectors, const char *name)
{
    int64_t sum = 0, own = 0;
    for (size_t i = 0; i < collectors->n_reshufflers; i++) {
        if (!strcmp(collectors->reshufflers[i].name, name)) {
            return 1.0 / (double) collectors->n_reshufflers;
        }
    }
    for (size_t i = 0; i < collectors->n_analyzers; i++) {
        sum += collectors->analyzers[i].weight;
        own += strcmp(collectors->analyzers[i].name, name) ? 0 : collectors->analyzers[i].weight;
    }
    return sum ? (double) own / (double) sum : 0;
}

static int
read_collector(const struct doc_place *list, const char *name, const struct debug_collectors *collectors,
               struct debug_load *capacity, struct ef_error *err)
{
    static const char *const known[] = {"copies_per_s", "bits_per_s", NULL};
    struct doc_place place = doc_member(list, name);
    struct debug_load own;
    double share = share_of(collectors, name);
    if (share <= 0) {
        return doc_error(&place, err, "there is no analyzer and no reshuffler of that name");
    }
    if (!json_is_object(place.value)) {
        return doc_error(&place, err, "must be an object");
    }
    if (doc_check_keys(&place, known, err) || read_load(&place, most, most, &own, err)) {
        return -EINVAL;
    }
    capacity->copies_per_s = EF_MIN(capacity->copies_per_s, own.copies_per_s / share);
    capacity->bits_per_s = EF_MIN(capacity->bits_per_s, own.bits_per_s / share);
    return 0;
}

int
debug_settings_read(const struct doc_place *root, const struct debug_collectors *collectors,
                    struct debug_load *capacity, struct ef_error *err)
{
    static const char *const known[] = {"copies_per_s", "bits_per_s", "collectors", NULL};
    struct doc_place place, list;
    const char *name;
    json_t *value;
    *capacity = (struct debug_load){(double) default_copies, (double) default_bits};
    if (doc_object(root, "capacity", false, &place, err)) {
        return -EINVAL;
    }
    if (!place.value) {
        return 0;
    }
    if (doc_check_keys(&place, known, err) || read_load(&place, default_copies, default_bits, capacity, err) ||
        doc_object(&place, "collectors", false, &list, err)) {
        return -EINVAL;
    }
    json_object_foreach(list.value, name, value)
    {
        if (read_collector(&list, name, collectors, capacity, err)) {
            return -EINVAL;
        }
    }
    return 0;
}
