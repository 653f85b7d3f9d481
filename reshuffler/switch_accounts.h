/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts of all switches (ledger.h), summed over targets and workers, as
 * JSON and as metrics. */
#ifndef RESHUFFLER_SWITCH_ACCOUNTS_H
#define RESHUFFLER_SWITCH_ACCOUNTS_H

#include <jansson.h>

#include "reshuffler/status.h"

struct ef_metrics;

/* {"10.255.0.1": {"copies", "made", "received", "lost", "duplicates", "late", "restarts"}, ...} */
json_t *ef_switch_accounts_json(const struct ef_reshuffler *r);

void ef_switch_accounts_add_metrics(const struct ef_reshuffler *r, struct ef_metrics *m);

#endif
