/* SPDX-License-Identifier: Apache-2.0 */
/* Names to addresses, and what fields say together; see format.h. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "guided-prober/format.h"
#include "packet/headers.h"
#include "packet/packet.h"
#include "packet/probe_signature.h"

/* The prober's own address in the topology, or -EINVAL that says to name one. */
static int
own_address(const struct prober_targets *targets, const char *netns, bool ipv6, const char *option, uint8_t address[16],
            struct ef_error *err)
{
    return !netns || prober_targets_of_netns(targets, netns, ipv6, address)
               ? ef_error_set(err, -EINVAL, "%s is required: no host of the topology is in this network namespace",
                              option)
               : 0;
}

static int
resolve_addresses(struct prober_format *f, const struct prober_targets *targets, const char *netns,
                  struct ef_error *err)
{
    uint8_t address[16];
    if (!*f->dst_text) {
        return ef_error_set(err, -EINVAL, "dst is required: a switch or host of the topology");
    }
    /* A source that is an IPv6 address makes names stand for IPv6 addresses. */
    bool ipv6 = *f->src_text && !ef_address_parse(f->src_text, address) && !ef_address_is_ipv4(address);
    int rc = prober_targets_find(targets, f->dst_text, PROBER_ANY, ipv6, f->dst, err);
    if (rc) {
        return ef_error_prefix(err, rc, "dst");
    }
    f->ipv6 = !ef_address_is_ipv4(f->dst);
    rc = *f->src_text ? prober_targets_find(targets, f->src_text, PROBER_ANY, f->ipv6, f->src, err)
                      : own_address(targets, netns, f->ipv6, "src", f->src, err);
    if (rc) {
        return *f->src_text ? ef_error_prefix(err, rc, "src") : rc;
    }
    return ef_address_is_ipv4(f->src) == f->ipv6
               ? ef_error_set(err, -EINVAL, "src and dst are not of the same IP version")
               : 0;
}

/* Which source the outer packets have decides over their IP version. */
static int
resolve_via(struct prober_format *f, const struct prober_targets *targets, const char *netns, struct ef_error *err)
{
    int rc = 0;
    if (*f->via_src_text) {
        rc = prober_targets_find(targets, f->via_src_text, PROBER_ANY, false, f->via_src, err);
        rc = rc ? ef_error_prefix(err, rc, "via-src") : 0;
    } else if (netns && !prober_targets_of_netns(targets, netns, false, f->via_src)) {
        rc = 0; /* Ourselves. */
    } else {
        memcpy(f->via_src, f->src, sizeof f->via_src);
    }
    bool ipv6 = !ef_address_is_ipv4(f->via_src);
    for (unsigned i = 0; !rc && i < f->n_via; i++) {
        rc = prober_targets_find(targets, f->via_text[i], PROBER_SWITCHES, ipv6, f->via[i], err);
        if (!rc && ef_address_is_ipv4(f->via[i]) == ipv6) {
            rc = ef_error_set(err, -EINVAL, "'%s' is not of the IP version of via-src", f->via_text[i]);
        }
        rc = rc ? ef_error_prefix(err, rc, "via") : 0;
    }
    return rc;
}

/* Nothing may lead a probe past the allowed targets: neither a packet in it that
 * a switch would take out, nor another destination written over the one given. */
static int
check_no_way_round(const struct prober_format *f, struct ef_error *err)
{
    unsigned start = f->ipv6 ? 24 : 16, end = f->ipv6 ? 40 : 20;
    if (f->proto == EF_IPPROTO_IPV4 || f->proto == EF_IPPROTO_IPV6 || f->proto == EF_IPPROTO_GRE) {
        return ef_error_set(err, -EACCES, "proto: a packet in the packet is asked for by via");
    }
    for (unsigned i = 0; i < f->n_overwrites; i++) {
        const struct prober_overwrite *o = &f->overwrites[i];
        if (o->offset < end && o->offset + o->len > start) {
            return ef_error_set(err, -EACCES, "overwrite: the destination is asked for by dst");
        }
        if (o->offset <= 9 && o->offset + o->len > (f->ipv6 ? 6 : 9)) {
            return ef_error_set(err, -EACCES, "overwrite: the protocol is asked for by proto");
        }
    }
    return 0;
}

static int
check_fields(const struct prober_format *f, struct ef_error *err)
{
    if (f->ipv6 && f->ip_options.len) {
        return ef_error_set(err, -EINVAL, "ip-options: IPv6 has none");
    }
    if (f->proto == EF_IPPROTO_UDP && f->checksum == PROBER_CHECKSUM_GIVEN && !f->checksum_value) {
        return ef_error_set(err, -EINVAL, "checksum: 0 says in UDP that there is none, and applications would get it");
    }
    if (f->has_eth && f->n_via == PROBER_MAX_VIA) {
        return ef_error_set(err, -EINVAL, "via: with a frame in it at most %d switches, since it is a layer, too",
                            PROBER_MAX_VIA - 1);
    }
    if (f->has_eth && f->n_via && f->wrap == PROBER_WRAP_IPIP) {
        return ef_error_set(err, -EINVAL, "wrap: an Ethernet frame needs gre around it");
    }
    return 0;
}

int
prober_format_resolve(struct prober_format *f, const struct prober_targets *targets, const char *netns,
                      struct ef_error *err)
{
    int rc = resolve_addresses(f, targets, netns, err);
    rc = rc ? rc : resolve_via(f, targets, netns, err);
    rc = rc ? rc : check_fields(f, err);
    return rc ? rc : check_no_way_round(f, err);
}
