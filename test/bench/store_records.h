/* SPDX-License-Identifier: Apache-2.0 */
/* The records, filters and queries that the store's benchmarks share: headers of
 * 54 bytes whose addresses and ports follow from the record's number alone, so
 * that counts can be checked and other stores be given the same work. */
#ifndef EF_TEST_BENCH_STORE_RECORDS_H
#define EF_TEST_BENCH_STORE_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "store/schema.h"

/* Packed, so that a record is what it would be on a wire. */
struct __attribute__((packed)) ef_bench_record {
    int64_t time_ns;
    uint32_t src, dst;
    uint16_t sport, dport;
    uint8_t payload[34];
};

static const struct ef_column ef_bench_columns[] = {
    {"time", EF_COLUMN_TIME, offsetof(struct ef_bench_record, time_ns), 0},
    {"src", EF_COLUMN_IPV4, offsetof(struct ef_bench_record, src), 0},
    {"dst", EF_COLUMN_IPV4, offsetof(struct ef_bench_record, dst), 0},
    {"sport", EF_COLUMN_U16, offsetof(struct ef_bench_record, sport), 0},
    {"dport", EF_COLUMN_U16, offsetof(struct ef_bench_record, dport), 0},
    {"payload", EF_COLUMN_BYTES, offsetof(struct ef_bench_record, payload), 34},
};

static const uint16_t ef_bench_ports[10] = {20, 22, 25, 53, 80, 110, 143, 443, 993, 3306};

#define EF_BENCH_TIME_0 INT64_C(1700000000000000000)

/* 1,000 records per millisecond; 256 sources and destinations, 10 ports. */
static EF_ALWAYS_INLINE void
ef_bench_make_record(uint64_t i, struct ef_bench_record *record)
{
    uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15) + 42;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    uint64_t r = z ^ z >> 31;
    record->time_ns = EF_BENCH_TIME_0 + (int64_t) i * 1000;
    record->src = 0x0a000000 + (uint32_t) (r & 255);
    record->dst = 0x0a000000 + (uint32_t) (r >> 8 & 255);
    record->sport = ef_bench_ports[(uint32_t) (r >> 16) % 10];
    record->dport = ef_bench_ports[(uint32_t) (r >> 40) % 10];
    memset(record->payload, 0x5a, sizeof record->payload);
}

/* Filter `k` of the 64: five kinds, each with other addresses and ports. */
static inline const char *
ef_bench_filter(unsigned k, char *buf, size_t size)
{
    unsigned j = k / 5, a = 1 + 3 * j, b = 128 + 3 * j, pa = ef_bench_ports[j % 10], pb = ef_bench_ports[(j + 3) % 10];
    switch (k % 5) {
    case 0:
        snprintf(buf, size, "src == 10.0.0.%u && dst == 10.0.0.%u", a, b);
        break;
    case 1:
        snprintf(buf, size, "dst == 10.0.0.%u", a);
        break;
    case 2:
        snprintf(buf, size, "src == 10.0.0.%u && dport == %u", a, pa);
        break;
    case 3:
        snprintf(buf, size,
                 "(src == 10.0.0.%u && sport == %u && dst == 10.0.0.%u && dport == %u) || "
                 "(src == 10.0.0.%u && sport == %u && dst == 10.0.0.%u && dport == %u)",
                 a, pa, b, pb, b, pb, a, pa);
        break;
    default:
        snprintf(buf, size, "src == 10.0.0.%u || dst == 10.0.0.%u", a, a);
    }
    return buf;
}

#endif
