/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the controller's state; see state_tables.h. */
#include <config.h>

#include "controller/state_tables.h"

#include <stddef.h>

const struct state_table_info state_tables[STATE_N_TABLES] = {
    [STATE_SETTING] = {"Setting", {NULL}},
    [STATE_TOPOLOGY] = {"Topology", {NULL}},
    [STATE_SWITCH] = {"Switch", {"ovsdb", "source_ip", NULL}},
    [STATE_COUNTER] = {"Counter", {"filter", "group_by", NULL}},
    [STATE_DEBUG_SESSION] = {"Debug_Session", {"state", "filter", "start", "end", NULL}},
    [STATE_PROBE_ORDER] = {"Probe_Order", {"state", "prober", "created", NULL}},
    [STATE_DIAGNOSIS] = {"Diagnosis", {"app", "state", "created", NULL}},
    [STATE_ALERT] = {"Alert", {"kind", "severity", "state", "subject", NULL}},
    [STATE_WEBHOOK] = {"Webhook", {"url", NULL}},
    [STATE_TOKEN] = {"Token", {"role", "expires", NULL}},
    [STATE_RULE_SET] = {"Rule_Set", {"expires", NULL}},
    [STATE_AUDIT] = {"Audit", {"time", "actor", "action", NULL}},
};
