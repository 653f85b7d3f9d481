/* SPDX-License-Identifier: Apache-2.0 */
/* Our half of the filter oracle test: for each line of FILTERS one line with
 * the numbers of the frames of CAPTURE that it selects, counted from 1:
 *
 *     filter_select FILTERS CAPTURE
 *
 * A filter that does not compile gets the line "error". */
#include <config.h>

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "packet/packet.h"

struct frame {
    struct ef_packet packet;
    struct frame *next;
};

/* Reads all frames, in order; returns NULL and says why if it cannot. */
static struct frame *
read_frames(const char *path)
{
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(path, error);
    if (!pcap) {
        fprintf(stderr, "filter_select: %s\n", error);
        return NULL;
    }
    struct frame *first = NULL, **end = &first;
    struct pcap_pkthdr *header;
    const u_char *data;
    while (pcap_next_ex(pcap, &header, &data) == 1) {
        struct frame *frame = *end = calloc(1, sizeof *frame);
        uint8_t *copy = malloc(header->caplen + 1);
        if (!frame || !copy) {
            abort();
        }
        memcpy(copy, data, header->caplen);
        ef_packet_parse(&frame->packet, copy, header->caplen, header->len);
        end = &frame->next;
    }
    pcap_close(pcap);
    return first;
}

static void
free_frames(struct frame *frame)
{
    for (struct frame *next; frame; frame = next) {
        next = frame->next;
        free((void *) frame->packet.data);
        free(frame);
    }
}

static void
print_selected(const char *text, const struct frame *frame)
{
    struct ef_filter *filter;
    struct ef_error err = EF_ERROR_INIT;
    if (ef_filter_compile(text, EF_FILTER_PACKET, &filter, &err)) {
        char shown[1024];
        fprintf(stderr, "%s\n", ef_filter_error_format(text, &err, shown, sizeof shown));
        puts("error");
        return;
    }
    for (unsigned number = 1; frame; frame = frame->next, number++) {
        struct ef_filter_input in = {.packet = &frame->packet};
        if (ef_filter_match(filter, &in)) {
            printf("%u ", number);
        }
    }
    putchar('\n');
    ef_filter_destroy(filter);
}

int
main(int argc, char *argv[])
{
    if (argc != 3) {
        fputs("usage: filter_select FILTERS CAPTURE\n", stderr);
        return 2;
    }
    FILE *filters = fopen(argv[1], "r");
    struct frame *frames = read_frames(argv[2]);
    if (!filters || !frames) {
        return 1;
    }
    char line[4096];
    while (fgets(line, sizeof line, filters)) {
        line[strcspn(line, "\n")] = '\0';
        print_selected(line, frames);
    }
    fclose(filters);
    free_frames(frames);
    return 0;
}
