/* SPDX-License-Identifier: Apache-2.0 */
/* What a back end of source.h implements; only lib/io and benchmarks include this. */
#ifndef EF_IO_SOURCE_CLASS_H
#define EF_IO_SOURCE_CLASS_H

#include "base/counter.h"
#include "io/source.h"

struct ef_source_class {
    const char *scheme; /* What stands before the colon of a spec. */
    const char *usage;  /* The whole spec, for errors: "pcap:FILE". */

    /* `where` is the spec behind the colon. Allocates a struct that starts with
     * a struct ef_source; source.c fills in `class` and zero counters. */
    int (*open)(const char *where, uint64_t ring_bytes, struct ef_source **source, struct ef_error *err);
    void (*close)(struct ef_source *source);

    /* As ef_source_receive(); sets source->error with each negative errno. */
    int (*receive)(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms);

    /* As ef_source_enable_replies() and ef_source_reply(); NULL: cannot. */
    int (*enable_replies)(struct ef_source *source, uint8_t mac[6], struct ef_error *err);
    int (*reply)(struct ef_source *source, const uint8_t *frame, uint32_t len);

    /* How many frames were lost so far, by any thread; NULL: never one. */
    uint64_t (*overflows)(struct ef_source *source);
};

struct ef_source {
    const struct ef_source_class *class;
    ef_counter frames, bytes; /* Kept by source.c. */
    struct ef_error error;    /* Why receiving ended. */
};

extern const struct ef_source_class ef_source_afpacket_class;
extern const struct ef_source_class ef_source_pcap_class;
extern const struct ef_source_class ef_source_dpdk_class;

#endif
