/* SPDX-License-Identifier: Apache-2.0 */
/* One million frames that nobody would send, the same on every run: random
 * bytes, and samples and copies with bytes changed, swapped for others' and cut.
 * None may crash, or be read beyond its end (each lies in a block of exactly
 * its size, so that ASan sees it), and what is found must hold together. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/build.h"
#include "packet/copy.h"
#include "unit/packet/check_frame.h"
#include "unit/packet/samples.h"

enum { N_FRAMES = 1000000, N_SEEDS = 256 };

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t
next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

struct seed {
    uint8_t data[SAMPLE_MAX];
    uint32_t len;
};

/* The samples, and copies of each in every encapsulation. */
static size_t
make_seeds(struct seed *seeds)
{
    size_t n = 0;
    for (size_t i = 0; i < n_samples; i++) {
        int len = sample_build(samples[i].name, seeds[n].data, SAMPLE_MAX);
        seeds[n++].len = (uint32_t) len;
        for (uint8_t e = EF_ENCAP_GRE; e <= EF_ENCAP_VENDOR_8949; e++) {
            struct ef_copy copy = {.encapsulation = e,
                                   .has_sequence = e != EF_ENCAP_ERSPAN1,
                                   .has_port = e == EF_ENCAP_ERSPAN3,
                                   .port = 5,
                                   .original_len = (uint32_t) len};
            ef_address_parse(i & 1 ? "2001:db8::1" : "10.255.0.1", copy.switch_address);
            ef_address_parse(i & 1 ? "2001:db8::ff" : "10.255.255.1", copy.target_address);
            int outer_len = ef_copy_build_headers(&copy, seeds[n].data, SAMPLE_MAX);
            sample_build(samples[i].name, seeds[n].data + outer_len, SAMPLE_MAX - (uint32_t) outer_len);
            seeds[n++].len = (uint32_t) (len + outer_len);
        }
    }
    return n;
}

/* Changes a few bytes; most changes fall on headers. */
static void
mutate(uint64_t *rng, uint8_t *data, uint32_t len, const struct seed *other)
{
    static const uint8_t interesting[] = {0, 1, 4, 0x0f, 0x40, 0x44, 0x45, 0x4f, 0x60, 0x7f, 0x80, 0xff};
    uint64_t n = next_random(rng) % 6;
    for (uint64_t i = 0; i < n && len; i++) {
        uint64_t r = next_random(rng);
        uint32_t at = (uint32_t) (r >> 32) % len;
        switch (r % 4) {
        case 0:
            data[at] = (uint8_t) (r >> 8);
            break;
        case 1:
            data[at] = interesting[(r >> 8) % sizeof interesting];
            break;
        case 2:
            data[at] ^= (uint8_t) (1u << (r >> 8) % 8);
            break;
        default: {
            uint32_t from = (uint32_t) (r >> 8) % other->len;
            memcpy(data + at, other->data + from, EF_MIN(EF_MIN(len - at, other->len - from), 40u));
            break;
        }
        }
    }
}

static void
no_frame_harms(void **state)
{
    static struct seed seeds[N_SEEDS];
    assert_true(n_samples * 6 <= N_SEEDS);
    size_t n_seeds = make_seeds(seeds);
    uint64_t rng = 20151117;
    uint64_t accepted = 0;
    for (int i = 0; i < N_FRAMES; i++) {
        const struct seed *seed = &seeds[next_random(&rng) % n_seeds];
        uint64_t r = next_random(&rng);
        uint32_t wire_len = seed->len;
        uint32_t len = r % 4 ? wire_len : (uint32_t) (r >> 32) % (wire_len + 1);
        uint8_t *frame = malloc(len ? len : 1);
        memcpy(frame, seed->data, len);
        if (i % 8) {
            mutate(&rng, frame, len, &seeds[next_random(&rng) % n_seeds]);
        } else {
            for (uint32_t at = 0; at < len; at++) {
                frame[at] = (uint8_t) next_random(&rng);
            }
        }
        /* Sometimes the wire length is the captured one, sometimes nonsense. */
        wire_len = r >> 8 & 1 ? wire_len : r >> 9 & 1 ? len : (uint32_t) (r >> 40);
        accepted += check_frame(frame, len, wire_len);
        free(frame);
    }
    /* Mutation that spoils everything would test little. */
    assert_true(accepted > N_FRAMES / 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_frame_harms),
    };
    return cmocka_run_group_tests_name("mutations", tests, NULL, NULL);
}
