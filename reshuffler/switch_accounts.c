/* SPDX-License-Identifier: Apache-2.0 */
/* What came from each switch; see switch_accounts.h. */
#include <config.h>

#include "reshuffler/switch_accounts.h"

#include <netinet/in.h>

#include "base/util.h"
#include "net/metrics.h"

/* What is told of each, with the family of metrics that it is. */
static const struct {
    const char *key, *metric, *type, *help;
} columns[] = {
    {"copies", "everflow_switch_copies_total", "counter", "copies received from each switch, for our addresses"},
    {"made", "everflow_switch_copies_made_total", "counter", "copies that the switch made, by its sequence numbers"},
    {"received", "everflow_switch_copies_numbered_total", "counter", "of those, received"},
    {"lost", "everflow_switch_copies_lost", "gauge", "of those, missing so far"},
    {"duplicates", "everflow_switch_copies_duplicate_total", "counter", "copies with a number that had come before"},
    {"late", "everflow_switch_copies_late_total", "counter", "copies too late to tell whether they are duplicates"},
    {"restarts", "everflow_switch_restarts_total", "counter", "times that the sequence began anew"},
};

static void
add(json_t *account, const char *key, uint64_t n)
{
    json_object_set_new(account, key, json_integer(json_integer_value(json_object_get(account, key)) + (json_int_t) n));
}

static void
add_entry(json_t *accounts, const struct ef_ledger_entry *entry)
{
    char address[INET6_ADDRSTRLEN];
    struct ef_copy_account a;
    ef_address_format(entry->switch_address, address);
    json_t *account = json_object_get(accounts, address);
    if (!account) {
        account = json_object();
        json_object_set_new(accounts, address, account);
    }
    ef_copy_sequence_get(&entry->sequence, &a);
    add(account, "copies", ef_counter_get(&entry->copies));
    add(account, "made", a.n_made);
    add(account, "received", a.n_received);
    add(account, "lost", a.n_lost);
    add(account, "duplicates", a.n_duplicates);
    add(account, "late", a.n_late);
    add(account, "restarts", a.n_restarts);
}

json_t *
ef_switch_accounts_json(const struct ef_reshuffler *r)
{
    json_t *accounts = json_object();
    for (unsigned i = 0; i < r->n_workers; i++) {
        const struct ef_ledger *ledger = ef_worker_ledger(r->workers[i]);
        for (uint32_t k = 0; k < ef_ledger_size(ledger); k++) {
            add_entry(accounts, &ledger->entries[k]);
        }
    }
    return accounts;
}

void
ef_switch_accounts_add_metrics(const struct ef_reshuffler *r, struct ef_metrics *m)
{
    json_t *accounts = ef_switch_accounts_json(r), *account;
    const char *address;
    for (size_t i = 0; i < EF_ARRAY_SIZE(columns); i++) {
        ef_metrics_family(m, columns[i].metric, columns[i].type, columns[i].help);
        json_object_foreach(accounts, address, account)
        {
            ef_metrics_value(m, (double) json_integer_value(json_object_get(account, columns[i].key)), "switch",
                             address, NULL);
        }
    }
    json_decref(accounts);
}
