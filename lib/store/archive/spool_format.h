/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a spool file, which its writer and its reader share: a header
 * (magic, fingerprint, CRC-32C of both), then records (length, CRC-32C of the
 * length and the record, the record). Little-endian. */
#ifndef EF_STORE_ARCHIVE_SPOOL_FORMAT_H
#define EF_STORE_ARCHIVE_SPOOL_FORMAT_H

#include "store/archive/byte_buffer.h"
#include "store/archive/crc.h"

#define SPOOL_MAGIC "EFSPOOL1"
enum { SPOOL_HEADER_BYTES = 20, SPOOL_RECORD_BYTES = 8 };

static inline uint32_t
ef_spool_check(uint32_t len, const void *record)
{
    return ef_crc32c(ef_crc32c(0, &len, sizeof len), record, len);
}

#endif
