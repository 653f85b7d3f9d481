/* SPDX-License-Identifier: Apache-2.0 */
/* Byte order as a type: a value that is big-endian (network order) in memory
 * cannot be used as a number by accident, nor the other way round.
 *
 *     struct udp { ef_be16 srcport, dstport; };
 *     if (ef_be16_get(udp->dstport) == 4791) ...
 *
 * ef_load_* and ef_store_* read and write big-endian numbers at any address,
 * aligned or not. */
#ifndef EF_BASE_BYTEORDER_H
#define EF_BASE_BYTEORDER_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "only little-endian machines are supported"
#endif

typedef struct {
    uint16_t raw;
} ef_be16;
typedef struct {
    uint32_t raw;
} ef_be32;
typedef struct {
    uint64_t raw;
} ef_be64;

static inline uint16_t
ef_be16_get(ef_be16 v)
{
    return __builtin_bswap16(v.raw);
}
static inline uint32_t
ef_be32_get(ef_be32 v)
{
    return __builtin_bswap32(v.raw);
}
static inline uint64_t
ef_be64_get(ef_be64 v)
{
    return __builtin_bswap64(v.raw);
}
static inline ef_be16
ef_be16_of(uint16_t v)
{
    return (ef_be16){__builtin_bswap16(v)};
}
static inline ef_be32
ef_be32_of(uint32_t v)
{
    return (ef_be32){__builtin_bswap32(v)};
}
static inline ef_be64
ef_be64_of(uint64_t v)
{
    return (ef_be64){__builtin_bswap64(v)};
}

static inline uint16_t
ef_load_be16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}

static inline uint32_t
ef_load_be32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}

static inline uint64_t
ef_load_be64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

static inline void
ef_store_be16(void *p, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(p, &v, sizeof v);
}

static inline void
ef_store_be32(void *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}

static inline void
ef_store_be64(void *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

#endif
