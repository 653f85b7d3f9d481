/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of the topology beside this file, from a line of fields, for tests:
 *
 *     struct prober_format f;
 *     int rc = format_of(&f, "dst=h2 proto=tcp via=leaf1,spine1", &err);
 */
#ifndef TEST_PROBER_PROBE_H
#define TEST_PROBER_PROBE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guided-prober/format.h"

#ifndef EF_TEST_SRCDIR
#define EF_TEST_SRCDIR "test" /* For who runs it in the root. */
#endif

/* Loaded once; never released. */
static inline const struct prober_targets *
small_topology(void)
{
    static struct prober_targets *targets;
    struct ef_error err = EF_ERROR_INIT;
    if (!targets && prober_targets_load(EF_TEST_SRCDIR "/unit/prober/topology.json", &targets, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return targets;
}

/* Sets "name=value" fields, with blanks or line ends between them, and resolves
 * as in h1's network namespace. Returns 0 or the first error. */
static inline int
format_of(struct prober_format *f, const char *fields, struct ef_error *err)
{
    prober_format_init(f);
    for (const char *p = fields; *p;) {
        char field[1200], *value;
        size_t len = strcspn(p, " \n");
        snprintf(field, sizeof field, "%.*s", (int) (len < sizeof field ? len : sizeof field - 1), p);
        p += len + strspn(p + len, " \n");
        if (!*field) {
            continue;
        }
        value = strchr(field, '=');
        if (value) {
            *value++ = '\0';
        }
        int rc = prober_format_set(f, field, value ? value : "true", err);
        if (rc) {
            return rc;
        }
    }
    return prober_format_resolve(f, small_topology(), "ef-small-h1", err);
}

#endif
