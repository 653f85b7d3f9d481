/* SPDX-License-Identifier: Apache-2.0 */
/* The two cyclic redundancy checks of the archive: CRC-32 as gzip has it, which
 * Parquet asks for in its page headers, and CRC-32C (Castagnoli, RFC 3720),
 * which guards the spool's records and for which processors have an
 * instruction. Any thread may call them.
 *
 *     ef_crc32c(0, "123456789", 9) == 0xe3069283;
 *     ef_crc32(0, "123456789", 9) == 0xcbf43926;
 */
#ifndef EF_STORE_ARCHIVE_CRC_H
#define EF_STORE_ARCHIVE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The check of what `crc` covers followed by `len` bytes; start with 0. */
uint32_t ef_crc32(uint32_t crc, const void *data, size_t len);
uint32_t ef_crc32c(uint32_t crc, const void *data, size_t len);

/* The same as ef_crc32c() without the instruction; for tests. */
uint32_t ef_crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
