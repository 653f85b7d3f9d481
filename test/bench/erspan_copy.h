/* SPDX-License-Identifier: Apache-2.0 */
/* The copies that the benchmarks of the collecting programs use: TCP packets of
 * `original_bytes` in ERSPAN III, each of a flow of its own.
 *
 *     uint32_t len = ef_bench_make_copy(copy, sizeof copy, 64, number);
 *
 * Returns 0 if it does not fit. */
#ifndef EF_TEST_BENCH_ERSPAN_COPY_H
#define EF_TEST_BENCH_ERSPAN_COPY_H

#include "packet/build.h"
#include "packet/copy.h"

#define EF_BENCH_VIP "10.255.255.1"

static inline uint32_t
ef_bench_make_copy(uint8_t *copy, uint32_t size, uint32_t original_bytes, uint32_t number)
{
    struct ef_copy c = {.encapsulation = EF_ENCAP_ERSPAN3,
                        .has_sequence = true,
                        .sequence = number,
                        .has_port = true,
                        .port = 1,
                        .original_len = original_bytes};
    struct ef_build b;
    ef_address_parse("10.255.0.1", c.switch_address);
    ef_address_parse(EF_BENCH_VIP, c.target_address);
    int headers_len = ef_copy_build_headers(&c, copy, size);
    if (headers_len < 0) {
        return 0;
    }
    ef_build_start(&b, copy + headers_len, size - (uint32_t) headers_len);
    ef_build_eth(&b);
    ef_build_ipv4(&b, "10.1.0.2", "10.4.0.3");
    ef_build_tcp(&b, (uint16_t) (1024 + number), 80, EF_TCP_SYN);
    ef_build_payload(&b, NULL, original_bytes - 14 - 20 - 20);
    int len = ef_build_finish(&b);
    return len > 0 ? (uint32_t) (headers_len + len) : 0;
}

#endif
