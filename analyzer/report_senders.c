/* SPDX-License-Identifier: Apache-2.0 */
/* Reports by their sender; see report_senders.h. */
#include <config.h>

#include "analyzer/report_senders.h"

void
ef_report_senders_note(struct ef_report_senders *s, uint64_t sender)
{
    for (unsigned i = 0; i < EF_REPORT_SENDERS; i++) {
        if (ef_counter_get(&s->known[i].sender) == sender) {
            ef_counter_add(&s->known[i].n, 1);
            return;
        }
    }
    unsigned i = s->next++ % EF_REPORT_SENDERS;
    ef_counter_set(&s->known[i].n, 1);
    ef_counter_set(&s->known[i].sender, sender);
}

uint64_t
ef_report_senders_get(const struct ef_report_senders *s, uint64_t sender)
{
    for (unsigned i = 0; i < EF_REPORT_SENDERS; i++) {
        if (ef_counter_get(&s->known[i].sender) == sender) {
            return ef_counter_get(&s->known[i].n);
        }
    }
    return 0;
}
