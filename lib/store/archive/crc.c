/* SPDX-License-Identifier: Apache-2.0 */
/* Cyclic redundancy checks, eight bytes at a time; see crc.h. */
#include <config.h>

#include "store/archive/crc.h"

#include <pthread.h>

#include "store/archive/byte_buffer.h"

/* Generator polynomials, least significant bit first. */
#define POLYNOMIAL_CRC32 0xedb88320u
#define POLYNOMIAL_CRC32C 0x82f63b78u

/* table[k][b] is the remainder of byte b followed by k zero bytes. */
struct crc_table {
    uint32_t remainder[8][256];
};

static struct crc_table table_crc32, table_crc32c;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void
fill_table(struct crc_table *t, uint32_t polynomial)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
        }
        t->remainder[0][b] = crc;
    }
    for (int k = 1; k < 8; k++) {
        for (uint32_t b = 0; b < 256; b++) {
            uint32_t before = t->remainder[k - 1][b];
            t->remainder[k][b] = before >> 8 ^ t->remainder[0][before & 0xff];
        }
    }
}

static void
fill_tables(void)
{
    fill_table(&table_crc32, POLYNOMIAL_CRC32);
    fill_table(&table_crc32c, POLYNOMIAL_CRC32C);
}

static uint32_t
run(const struct crc_table *t, uint32_t crc, const uint8_t *p, size_t len)
{
    pthread_once(&tables_once, fill_tables);
    crc = ~crc;
    for (; len >= 8; len -= 8, p += 8) {
        uint64_t x = ef_load_le64(p) ^ crc;
        crc = t->remainder[7][x & 0xff] ^ t->remainder[6][x >> 8 & 0xff] ^ t->remainder[5][x >> 16 & 0xff] ^
              t->remainder[4][x >> 24 & 0xff] ^ t->remainder[3][x >> 32 & 0xff] ^ t->remainder[2][x >> 40 & 0xff] ^
              t->remainder[1][x >> 48 & 0xff] ^ t->remainder[0][x >> 56];
    }
    while (len-- > 0) {
        crc = crc >> 8 ^ t->remainder[0][(crc ^ *p++) & 0xff];
    }
    return ~crc;
}

uint32_t
ef_crc32(uint32_t crc, const void *data, size_t len)
{
    return run(&table_crc32, crc, data, len);
}

uint32_t
ef_crc32c_portable(uint32_t crc, const void *data, size_t len)
{
    return run(&table_crc32c, crc, data, len);
}

#ifdef __x86_64__

__attribute__((target("sse4.2"))) static uint32_t
run_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t sum = ~crc;
    for (; len >= 8; len -= 8, p += 8) {
        sum = __builtin_ia32_crc32di(sum, ef_load_le64(p));
    }
    crc = (uint32_t) sum;
    while (len-- > 0) {
        crc = __builtin_ia32_crc32qi(crc, *p++);
    }
    return ~crc;
}

uint32_t
ef_crc32c(uint32_t crc, const void *data, size_t len)
{
    return __builtin_cpu_supports("sse4.2") ? run_instruction(crc, data, len) : ef_crc32c_portable(crc, data, len);
}

#else

uint32_t
ef_crc32c(uint32_t crc, const void *data, size_t len)
{
    return ef_crc32c_portable(crc, data, len);
}

#endif
