/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a spool file, and each record of it as a row; the records'
 * checks are made right first, or no mutation would come through. */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "store/archive/row_codec.h"
#include "store/archive/spool.h"
#include "store/archive/spool_format.h"
#include "unit/store/random_rows.h"

static bool
decode(void *ctx, const uint8_t *record, size_t len)
{
    ef_row_decode(record, len, ctx);
    return true;
}

static void
correct_checks(uint8_t *data, size_t size)
{
    if (size >= SPOOL_HEADER_BYTES) {
        ef_store_le32(data + 16, ef_crc32c(0, data, 16));
    }
    for (size_t at = SPOOL_HEADER_BYTES; at + SPOOL_RECORD_BYTES <= size;) {
        uint32_t len = ef_load_le32(data + at);
        if (len > size - at - SPOOL_RECORD_BYTES) {
            break;
        }
        ef_store_le32(data + at + 4, ef_spool_check(len, data + at + SPOOL_RECORD_BYTES));
        at += SPOOL_RECORD_BYTES + len;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct random_rows random_rows;
    char path[64];
    uint64_t torn;
    random_rows_init(&random_rows, size ? data[size - 1] % 16 : 0);
    struct ef_row_set rows = {.schema = &random_rows.schema};
    struct ef_buffer bytes = {0};
    ef_buffer_add(&bytes, data, size);
    correct_checks(bytes.data, bytes.len);
    int fd = memfd_create("spool", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, bytes.data, bytes.len) == (ssize_t) bytes.len) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ef_spool_read(path, bytes.len >= 16 ? ef_load_le64(bytes.data + 8) : 0, decode, &rows, &torn);
    }
    close(fd);
    ef_buffer_deinit(&bytes);
    ef_row_set_deinit(&rows);
    return 0;
}
