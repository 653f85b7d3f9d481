/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture of packets of many protocols, the same ones for the same
 * seed (see craft.h):
 *
 *     craft_packets FILE [COUNT [SEED]] */
#include <config.h>

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/craft.h"

int
main(int argc, char *argv[])
{
    if (argc < 2) {
        fputs("usage: craft_packets FILE [COUNT [SEED]]\n", stderr);
        return 2;
    }
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 2500;
    static struct crafter c;
    c.random = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);
    pcap_dumper_t *out = pcap_dump_open(pcap, argv[1]);
    if (!out) {
        fprintf(stderr, "craft_packets: %s\n", pcap_geterr(pcap));
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        int len = craft_packet(&c);
        if (len < 0) {
            fprintf(stderr, "craft_packets: packet %lu: %s\n", i, strerror(-len));
            return 1;
        }
        struct pcap_pkthdr header = {{(time_t) i, 0}, (bpf_u_int32) len, (bpf_u_int32) len};
        pcap_dump((u_char *) out, &header, c.frame);
    }
    pcap_dump_close(out);
    pcap_close(pcap);
    return 0;
}
