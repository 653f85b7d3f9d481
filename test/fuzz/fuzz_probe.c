/* SPDX-License-Identifier: Apache-2.0 */
/* Any order, as JSON, and any fields that one may have, as text: either they are refused, or they become a
 * packet that goes where it may go, is what it was meant to be wherever nothing
 * was written over it, and can be shown. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "guided-prober/craft.h"
#include "guided-prober/explain.h"
#include "guided-prober/read_order.h"
#include "packet/build.h"
#include "packet/headers.h"
#include "unit/prober/probe.h"

enum { MAX_TEXT = 4096, PROBES = 3 };

static void
check_where_it_goes(const uint8_t *frame, const struct prober_craft *craft, const struct prober_format *f)
{
    uint8_t dst[16];
    const uint8_t *ip = frame + craft->ip;
    memcpy(dst, (const uint8_t[16]){[10] = 0xff, 0xff}, 16);
    memcpy(f->ipv6 ? dst : dst + 12, ip + (f->ipv6 ? 24 : 16), f->ipv6 ? 16 : 4);
    if (memcmp(dst, f->dst, 16)) {
        abort();
    }
    if (f->n_via && !f->n_overwrites) {
        ef_ip_dst(frame + EF_ETH_LEN, dst);
        if (memcmp(dst, f->via[0], 16)) {
            abort();
        }
    }
}

static void
check_probe(const uint8_t *frame, const struct prober_craft *craft, const struct prober_format *f)
{
    struct ef_packet p;
    check_where_it_goes(frame, craft, f);
    ef_packet_parse(&p, frame, craft->len, craft->len);
    bool odd = f->n_overwrites || f->n_vlans || f->fragment & (EF_IPV4_MF | EF_IPV4_OFFSET) || f->ipv6 ||
               f->has_icmp_type || f->dst_port == EF_PORT_VXLAN || f->dst_port == EF_PORT_GENEVE ||
               f->dst_port == EF_PORT_ROCE;
    if (!odd && (p.status != EF_PARSE_OK || p.layers[p.inner_ip].offset != craft->ip)) {
        abort();
    }
}

/* The format in the input; false if it is refused. */
static bool
read_format(const char *text, struct prober_format *f)
{
    if (*text != '{') {
        return !format_of(f, text, NULL);
    }
    struct prober_order_text order;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool ok = document && !prober_read_order(document, &order, NULL) &&
              !prober_format_resolve(&order.format, small_topology(), "ef-small-h1", NULL);
    json_decref(document);
    if (ok) {
        *f = order.format;
    }
    return ok;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct prober_craft craft;
    static FILE *nowhere;
    char text[MAX_TEXT + 1];
    struct prober_format f;
    nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
    if (!nowhere || len > MAX_TEXT) {
        return 0;
    }
    memcpy(text, data, len);
    text[len] = '\0';
    if (!read_format(text, &f) || prober_craft_init(&craft, &f, 1, NULL)) {
        return 0;
    }
    uint8_t *frame = malloc(craft.len);
    for (uint64_t i = 0; frame && i < PROBES; i++) {
        prober_craft_write(&craft, i * 65534, (struct ef_time){(int64_t) i}, frame);
        check_probe(frame, &craft, &f);
    }
    prober_explain(frame, craft.len, craft.start, nowhere);
    free(frame);
    return 0;
}
