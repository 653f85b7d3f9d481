/* SPDX-License-Identifier: Apache-2.0 */
/* The one filter language: Wireshark display-filter syntax and field names for
 * the original packet, plus `switch`, `outer.*` and, for conditions, `trace.*`.
 *
 *     struct ef_filter *f;
 *     if (ef_filter_compile("ip.dst == 192.16.0.0/16 && tcp.flags.syn == 1", EF_FILTER_PACKET, &f, &err)) ...
 *     struct ef_filter_input in = {.packet = &p, .switches = &address, .n_switches = 1};
 *     if (ef_filter_match(f, &in)) ...
 *
 * A compiled filter is immutable: any number of threads may evaluate it. */
#ifndef EF_FILTER_FILTER_H
#define EF_FILTER_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/util.h"

struct ef_packet;

/* Which fields a text may use. */
enum ef_filter_kind {
    EF_FILTER_PACKET = 1,    /* Fields of the original packet, `switch`, `outer.*`. */
    EF_FILTER_CONDITION = 2, /* `trace.*` and `switch`. */
    EF_FILTER_ANY = 3,
};

/* What `trace.*` reads. */
struct ef_filter_trace {
    uint32_t n_hops;     /* trace.hops */
    uint32_t n_copies;   /* trace.copies */
    bool loop;           /* trace.loop */
    bool debug;          /* trace.debug: a hop carried the debug bit */
    bool drop;           /* trace.drop: it was dropped on its way */
    bool mux;            /* trace.mux: it was put into a tunnel on its way */
    bool corrupt;        /* trace.corrupt: its bytes changed on its way */
    bool probe;          /* trace.probe: it has a guided probe's signature */
    uint32_t n_missing;  /* trace.missing: hops that are missing */
    uint64_t latency_ns; /* trace.latency_us: first to last hop */
};

struct ef_filter_input {
    const struct ef_packet *packet; /* The original. */
    const uint8_t (*switches)[16];  /* All switches that sent copies of it. */
    uint32_t n_switches;
    const uint8_t (*outer_destinations)[16]; /* outer.dst, as many as n_switches; NULL: absent. */
    const struct ef_filter_trace *trace;     /* NULL: every trace.* is absent. */
};

struct ef_filter;

/* Compiles `text`; an empty text matches everything. Returns 0, or -EINVAL
 * with `err` (byte offset, what was expected, nearest field name), or -ENOMEM.
 * The caller frees it with ef_filter_destroy(). */
int ef_filter_compile(const char *text, enum ef_filter_kind kind, struct ef_filter **filter, struct ef_error *err);
void ef_filter_destroy(struct ef_filter *filter); /* NULL is fine. */

/* A switch by name: it may stand where one of its addresses does. */
struct ef_filter_name {
    const char *name;
    uint8_t addresses[2][16]; /* IPv4 as ::ffff:a.b.c.d. */
    unsigned n_addresses;     /* 1 or 2 */
};

struct ef_filter_names {
    const struct ef_filter_name *list;
    size_t n;
};

/* The same for a text that may name switches: "switch == leaf1". The normal form
 * has their addresses, so that who knows no names can compile it. */
int ef_filter_compile_named(const char *text, enum ef_filter_kind kind, const struct ef_filter_names *names,
                            struct ef_filter **filter, struct ef_error *err);

/* The filter in its one normal form, which compiles to an equal filter: values
 * as the program understood them, parentheses where needed. Lives as long as
 * the filter. */
const char *ef_filter_text(const struct ef_filter *filter);

/* The program for people: the normal form and a line per test. The caller
 * frees the text with free(); NULL for lack of memory. */
char *ef_filter_explain(const struct ef_filter *filter);

/* Names of the fields, for completion and --help: the `index`th one that may
 * be used in `kind` with a few words about it, or NULL after the last. */
const char *ef_filter_field_name(enum ef_filter_kind kind, size_t index, const char **help);

bool ef_filter_match(const struct ef_filter *filter, const struct ef_filter_input *in);

/* For people: `text`, and under it a caret at err->offset, then the message.
 * Returns `buf`. */
char *ef_filter_error_format(const char *text, const struct ef_error *err, char *buf, size_t size);

#endif
