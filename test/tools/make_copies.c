/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture of mirrored copies (copies.h): all switches' copies of each
 * packet, the encapsulations by turns.
 *
 *     make_copies FILE VIP FLOWS PACKETS SWITCHES
 *
 * prints how many there are. */
#include <config.h>

#include <pcap/pcap.h>
#include <stdlib.h>

#include "base/parse_number.h"
#include "tools/copies.h"

static int
write_copy(pcap_dumper_t *dumper, const struct test_copy *c, unsigned long n)
{
    uint8_t frame[TEST_COPY_MAX_BYTES];
    int len = test_copy_build(c, frame);
    if (len < 0) {
        return -1;
    }
    struct pcap_pkthdr hdr = {.ts = {1795228200, (long) n}, .caplen = (uint32_t) len, .len = (uint32_t) len};
    pcap_dump((u_char *) dumper, &hdr, frame);
    return 0;
}

static int
write_all(const char *path, const char *vip, const uint64_t counts[3])
{
    pcap_t *pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *dumper = pcap ? pcap_dump_open(pcap, path) : NULL;
    if (!dumper) {
        fprintf(stderr, "make_copies: %s\n", pcap ? pcap_geterr(pcap) : "out of memory");
        return 1;
    }
    unsigned long n = 0;
    struct test_copy c = {.vip = vip};
    for (c.packet = 0; c.packet < counts[1]; c.packet++) {
        for (c.flow = 0; c.flow < counts[0]; c.flow++) {
            for (c.switch_number = 0; c.switch_number < counts[2]; c.switch_number++) {
                c.encapsulation = n % TEST_N_ENCAPSULATIONS;
                if (write_copy(dumper, &c, n++)) {
                    fprintf(stderr, "make_copies: '%s' is no address\n", vip);
                    return 1;
                }
            }
        }
    }
    pcap_dump_close(dumper);
    pcap_close(pcap);
    printf("%lu\n", n);
    return 0;
}

int
main(int argc, char *argv[])
{
    static const char *const names[] = {"FLOWS", "PACKETS", "SWITCHES"};
    uint64_t counts[3];
    struct ef_error err;
    if (argc != 6) {
        fprintf(stderr, "usage: make_copies FILE VIP FLOWS PACKETS SWITCHES\n");
        return 2;
    }
    for (int i = 0; i < 3; i++) {
        if (ef_parse_u64(argv[3 + i], names[i], 1, i == 2 ? 200 : 60000, &counts[i], &err)) {
            fprintf(stderr, "make_copies: %s\n", err.text);
            return 2;
        }
    }
    return write_all(argv[1], argv[2], counts);
}
