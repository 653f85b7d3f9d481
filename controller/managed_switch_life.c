/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a switch's ovs-vswitchd lives; see managed_switch.h. */
#include <config.h>

#include "controller/managed_switch_private.h"
#include "net/ovsdb_client.h"

enum { LIFE_MS = 3000, LIFE_AGAIN_MS = 30000 };

static json_int_t
root_number(const struct managed_switch *s, const char *column)
{
    return json_integer_value(json_object_get(managed_switch_root(s), column));
}

static void
on_asked(void *ctx, const char *error)
{
    struct managed_switch *s = ctx;
    if (s->asked.ns && !error) {
        s->asked_cfg = root_number(s, "next_cfg");
    }
}

static void
ask_for_life(struct managed_switch *s)
{
    s->asked = ef_time_mono();
    s->asked_cfg = -1;
    if (managed_switch_is_reached(s)) {
        json_t *add = json_pack("[{s:s, s:s, s:[], s:[[s, s, i]]}]", "op", "mutate", "table", "Open_vSwitch", "where",
                                "mutations", "next_cfg", "+=", 1);
        ef_ovsdb_client_transact(s->client, add, on_asked, s);
    }
}

enum switch_life
managed_switch_check(struct managed_switch *s)
{
    if (!s->asked.ns) {
        ask_for_life(s);
    }
    int64_t ms = ef_time_diff_ns(ef_time_mono(), s->asked) / EF_NS_PER_MS;
    bool answered = s->asked_cfg >= 0 && root_number(s, "cur_cfg") >= s->asked_cfg;
    if (answered && ms > LIFE_AGAIN_MS) {
        s->asked.ns = 0; /* The answer is old. */
    }
    return answered ? SWITCH_ALIVE : ms < LIFE_MS ? SWITCH_ASKED : SWITCH_DEAD;
}

void
managed_switch_forget_check(struct managed_switch *s)
{
    s->asked.ns = 0;
}

bool
managed_switch_is_reached(const struct managed_switch *s)
{
    return ef_ovsdb_client_state(s->client) == EF_OVSDB_READY;
}
