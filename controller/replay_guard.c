/* SPDX-License-Identifier: Apache-2.0 */
/* Refusing what was sent before; see replay_guard.h. */
#include <config.h>

#include "controller/replay_guard.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Two sets, the older of which is dropped when the newer has grown old: what was
 * taken is remembered for at least twice the window, which is how long a request
 * from the future edge of the window stays good. */
struct replay_guard {
    json_t *seen, *before;
    struct ef_time since; /* When `seen` began. */
    int64_t start_ms;
};

struct replay_guard *
replay_guard_create(struct ef_time now)
{
    struct replay_guard *g = calloc(1, sizeof *g);
    if (!g) {
        return NULL;
    }
    *g = (struct replay_guard){json_object(), json_object(), now, now.ns / EF_NS_PER_MS};
    return g;
}

void
replay_guard_destroy(struct replay_guard *guard)
{
    if (guard) {
        json_decref(guard->seen);
        json_decref(guard->before);
        free(guard);
    }
}

static void
age(struct replay_guard *g, struct ef_time now)
{
    int64_t passed = ef_time_diff_ns(now, g->since);
    if (passed >= 0 && passed < 2 * REPLAY_GUARD_WINDOW_S * EF_NS_PER_S) {
        return;
    }
    json_t *empty = g->before;
    json_object_clear(empty);
    g->before = g->seen;
    g->seen = empty;
    g->since = now;
}

static int
read_time(const char *once, int64_t *ms, struct ef_error *err)
{
    size_t digits = strspn(once, "0123456789");
    size_t random = once[digits] == '-' ? strspn(once + digits + 1, "0123456789abcdef") : 0;
    if (!digits || digits > 15 || random < 16 || random > 64 || once[digits + 1 + random]) {
        return ef_error_set(err, -EINVAL,
                            "Everflow-Once should be milliseconds since 1970, '-' and 16 to 64 hex digits");
    }
    *ms = strtoll(once, NULL, 10);
    return 0;
}

int
replay_guard_take(struct replay_guard *g, const char *once, struct ef_time now, struct ef_error *err)
{
    int64_t ms = 0, now_ms = now.ns / EF_NS_PER_MS;
    int rc = read_time(once, &ms, err);
    if (rc) {
        return rc;
    }
    age(g, now);
    if (json_object_get(g->seen, once) || json_object_get(g->before, once)) {
        return ef_error_set(err, -EEXIST, "this request was made before");
    }
    if (llabs(ms - now_ms) > REPLAY_GUARD_WINDOW_S * 1000ll || ms < g->start_ms - 1000) {
        return ef_error_set(err, -ETIME,
                            "the request is too old, or its clock differs by more than %d s from the controller's",
                            REPLAY_GUARD_WINDOW_S);
    }
    if (json_object_size(g->seen) >= REPLAY_GUARD_MAX_SEEN || json_object_set_new(g->seen, once, json_true())) {
        return ef_error_set(err, -ENOSPC, "too many requests in a minute");
    }
    return 0;
}
