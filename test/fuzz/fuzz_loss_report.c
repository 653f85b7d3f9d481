/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a reshuffler's loss report, through the analyzer's table. */
#include <config.h>

#include <stdlib.h>

#include "analyzer/loss_table.h"
#include "fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ef_loss_table table;
    struct ef_loss_reader reader;
    struct ef_loss_entry entry;
    if (!table.streams && ef_loss_table_init(&table)) {
        abort();
    }
    if (ef_loss_report_open(&reader, data, (uint32_t) size)) {
        return 0;
    }
    while (ef_loss_report_next(&reader, &entry)) {
        ef_loss_table_enter(&table, reader.sender, &entry, (struct ef_time){0});
        if (entry.n_holes && entry.holes[0].after.ns <= entry.holes[0].before.ns &&
            atomic_load(&table.n_streams) < EF_LOSS_TABLE_MAX &&
            ef_loss_table_ask(&table, entry.switch_address, entry.holes[0].after, entry.holes[0].before,
                              (struct ef_time){0}) != EF_LOSS_SEEN) {
            abort(); /* What was reported is known. */
        }
    }
    return 0;
}
