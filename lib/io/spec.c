/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that name sources and sinks; see spec.h. */
#include <config.h>

#include "io/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"

const char *
ef_spec_match(const char *spec, const char *scheme)
{
    size_t n = strlen(scheme);
    if (strncmp(spec, scheme, n)) {
        return NULL;
    }
    const char *rest = spec + n;
    return *rest == ':' ? rest + 1 : *rest == '@' || !*rest ? rest : NULL;
}

int
ef_spec_split_netns(const char *where, char *name, size_t size, const char **netns, struct ef_error *err)
{
    size_t n = strcspn(where, "@");
    if (n >= size) {
        return ef_error_set(err, -EINVAL, "'%.*s' is too long: at most %zu bytes", (int) EF_MIN(n, 60u), where,
                            size - 1);
    }
    memcpy(name, where, n);
    name[n] = '\0';
    *netns = where[n] ? where + n + 1 : NULL;
    if (*netns && !**netns) {
        return ef_error_set(err, -EINVAL, "the name of a network namespace must follow '@'");
    }
    return 0;
}

int
ef_spec_unknown(const char *what, const char *spec, const char *const schemes[], const char *const usages[],
                struct ef_error *err)
{
    char scheme[40], known[200] = "";
    snprintf(scheme, sizeof scheme, "%.*s", (int) strcspn(spec, ":@"), spec);
    for (size_t i = 0; usages[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", usages[i]);
    }
    const char *near = ef_nearest_word(scheme, schemes);
    return near
               ? ef_error_set(err, -EINVAL, "unknown %s '%.60s'; did you mean %s? (known: %s)", what, spec, near, known)
               : ef_error_set(err, -EINVAL, "unknown %s '%.60s' (known: %s)", what, spec, known);
}
