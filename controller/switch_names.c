/* SPDX-License-Identifier: Apache-2.0 */
/* Names of switches in filters; see switch_names.h. */
#include <config.h>

#include "controller/switch_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/controller.h"
#include "packet/packet.h"

/* Of which versions the targets of copies are. */
static void
versions(const json_t *targets, bool *has_ipv4, bool *has_ipv6)
{
    size_t i;
    const json_t *target;
    json_array_foreach((json_t *) targets, i, target)
    {
        bool is_ipv6 = strchr(json_string_value(target), ':');
        *has_ipv4 |= !is_ipv6;
        *has_ipv6 |= is_ipv6;
    }
}

static void
add(struct ef_filter_name *entry, const struct topology_switch *s, bool has_ipv4, bool has_ipv6)
{
    *entry = (struct ef_filter_name){.name = s->name};
    if (has_ipv4 || !s->loopback6) {
        memcpy(entry->addresses[entry->n_addresses++], s->address, sizeof s->address);
    }
    if (has_ipv6 && s->loopback6 && !ef_address_parse(s->loopback6, entry->addresses[entry->n_addresses])) {
        entry->n_addresses++;
    }
}

static int
compile_named(const struct controller *c, const char *text, enum ef_filter_kind kind, char **plain,
              struct ef_error *err)
{
    const struct topology *t = &c->topology;
    bool has_ipv4 = false, has_ipv6 = false;
    struct ef_filter_name *list = calloc(t->n_switches + t->n_added + 1, sizeof *list);
    struct ef_filter_names names = {list, t->n_switches + t->n_added};
    struct ef_filter *filter = NULL;
    if (!list) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    versions(c->configuration.everflow.targets, &has_ipv4, &has_ipv6);
    for (size_t i = 0; i < t->n_switches; i++) {
        add(&list[i], &t->switches[i], has_ipv4, has_ipv6);
    }
    for (size_t i = 0; i < t->n_added; i++) {
        add(&list[t->n_switches + i], t->added[i], has_ipv4, has_ipv6);
    }
    int rc = ef_filter_compile_named(text, kind, &names, &filter, err);
    *plain = rc ? NULL : strdup(ef_filter_text(filter));
    ef_filter_destroy(filter);
    free(list);
    return rc || *plain ? rc : ef_error_set(err, -ENOMEM, "out of memory");
}

int
switch_names_compile(const struct controller *c, const char *text, enum ef_filter_kind kind, char **plain,
                     struct ef_error *err)
{
    struct ef_filter *filter;
    struct ef_error without = EF_ERROR_INIT;
    *plain = NULL;
    if (!text) {
        return 0;
    }
    if (ef_filter_compile(text, kind, &filter, &without)) {
        return compile_named(c, text, kind, plain, err);
    }
    ef_filter_destroy(filter);
    return 0;
}
