/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the reasons why a switch drops packets; see switch_drop.h. */
#include <config.h>

#include "packet/switch_drop.h"

#include "base/util.h"

static const char *const names[] = {
    [1] = "pipeline",
    [2] = "no_bridge",
    [3] = "recursion",
    [4] = "resubmits",
    [5] = "stack",
    [6] = "recirc_context",
    [7] = "recirc_conflict",
    [8] = "mpls_labels",
    [9] = "tunnel_metadata",
    [10] = "packet_type",
    [11] = "congestion",
    [12] = "forwarding_disabled",
    [16] = "meter",
    [EF_SWITCH_DROP_TTL] = "ttl",
    [18] = "upcall",
    [19] = "lock",
    [20] = "userspace_action",
    [21] = "tunnel_push",
    [22] = "tunnel_pop",
    [23] = "recirc_limit",
    [24] = "invalid_port",
    [25] = "invalid_bond",
    [26] = "invalid_tunnel",
    [27] = "rx_invalid",
    [28] = "nsh_decap",
};

const char *
ef_switch_drop_name(uint8_t reason)
{
    return reason < EF_ARRAY_SIZE(names) && names[reason] ? names[reason] : "unknown";
}
