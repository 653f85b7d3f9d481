/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, analyzers and the decision on a frame; see plan.h. */
#include <config.h>

#include "reshuffler/plan.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "packet/identity.h"
#include "reshuffler/outer_ip.h"

static bool
is_ipv6(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, mapped, sizeof mapped) != 0;
}

/* An address of one machine: neither "any" nor multicast nor broadcast. */
static bool
is_unicast(const uint8_t address[16])
{
    static const uint8_t any[16], broadcast[4] = {0xff, 0xff, 0xff, 0xff};
    return is_ipv6(address)
               ? address[0] != 0xff && memcmp(address, any, 16)
               : address[12] >> 4 != 0xe && memcmp(address + 12, any, 4) && memcmp(address + 12, broadcast, 4);
}

static int
parse_address(const char *what, const char *text, uint8_t address[16], struct ef_error *err)
{
    if (ef_address_parse(text, address)) {
        return ef_error_set(err, -EINVAL, "%s: '%.60s' is not an IPv4 or IPv6 address", what, text);
    }
    if (!is_unicast(address)) {
        return ef_error_set(err, -EINVAL, "%s: '%s' is not the address of one machine", what, text);
    }
    return 0;
}

int
ef_plan_add_vip(struct ef_plan *plan, const char *text, struct ef_error *err)
{
    uint8_t *address = plan->vips[plan->n_vips];
    if (plan->n_vips == EF_PLAN_MAX_VIPS) {
        return ef_error_set(err, -ENOSPC, "--vip: at most %d addresses", EF_PLAN_MAX_VIPS);
    }
    int rc = parse_address("--vip", text, address, err);
    if (rc) {
        return rc;
    }
    for (unsigned i = 0; i < plan->n_vips; i++) {
        if (!memcmp(plan->vips[i], address, 16)) {
            return ef_error_set(err, -EEXIST, "--vip: %s is there twice", text);
        }
    }
    plan->n_vips++;
    return 0;
}

static int
parse_name(const char *text, size_t len, char name[EF_PLAN_NAME_BYTES], struct ef_error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (!text[len]) {
        return ef_error_set(err, -EINVAL, "--analyzer: '%.60s' should read NAME=ADDRESS", text);
    }
    if (!len || len >= EF_PLAN_NAME_BYTES || strspn(text, allowed) != len) {
        return ef_error_set(err, -EINVAL,
                            "--analyzer: '%.*s' is not a name of 1 to %d letters, digits, '-', '_' and '.'",
                            (int) EF_MIN(len, 80u), text, EF_PLAN_NAME_BYTES - 1);
    }
    memcpy(name, text, len);
    name[len] = '\0';
    return 0;
}

int
ef_plan_add_analyzer(struct ef_plan *plan, const char *text, struct ef_error *err)
{
    size_t name_len = strcspn(text, "=");
    if (plan->n_analyzers == EF_PLAN_MAX_ANALYZERS) {
        return ef_error_set(err, -ENOSPC, "--analyzer: at most %d analyzers", EF_PLAN_MAX_ANALYZERS);
    }
    struct ef_plan_analyzer *added = &plan->analyzers[plan->n_analyzers];
    int rc = parse_name(text, name_len, added->name, err);
    if (!rc) {
        rc = parse_address("--analyzer", text + name_len + 1, added->address, err);
    }
    if (rc) {
        return rc;
    }
    for (const struct ef_plan_analyzer *a = plan->analyzers; a < added; a++) {
        if (!strcmp(a->name, added->name)) {
            return ef_error_set(err, -EEXIST, "--analyzer: the name '%s' is there twice", a->name);
        }
        if (!memcmp(a->address, added->address, 16)) {
            return ef_error_set(err, -EEXIST, "--analyzer: '%s' and '%s' have the same address", a->name, added->name);
        }
    }
    plan->n_analyzers++;
    return 0;
}

static bool
is_vip(const struct ef_plan *plan, const uint8_t address[16])
{
    for (unsigned i = 0; i < plan->n_vips; i++) {
        if (!memcmp(plan->vips[i], address, 16)) {
            return true;
        }
    }
    return false;
}

static int
check_addresses(const struct ef_plan *plan, struct ef_error *err)
{
    for (unsigned i = 0; i < plan->n_vips; i++) {
        if (is_ipv6(plan->vips[i]) != plan->is_ipv6) {
            return ef_error_set(err, -EINVAL, "--vip: addresses of IPv4 and IPv6 mixed; start one reshuffler for each");
        }
    }
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        const struct ef_plan_analyzer *a = &plan->analyzers[i];
        if (is_ipv6(a->address) != plan->is_ipv6) {
            return ef_error_set(err, -EINVAL,
                                "--analyzer: '%s' needs an %s address, as --vip has: a copy keeps its source", a->name,
                                plan->is_ipv6 ? "IPv6" : "IPv4");
        }
        if (is_vip(plan, a->address)) {
            return ef_error_set(err, -EINVAL, "--analyzer: '%s' has an address of --vip: copies would come back",
                                a->name);
        }
    }
    return 0;
}

int
ef_plan_finish(struct ef_plan *plan, struct ef_error *err)
{
    const char *names[EF_PLAN_MAX_ANALYZERS];
    plan->is_ipv6 = plan->n_vips && is_ipv6(plan->vips[0]);
    int rc = check_addresses(plan, err);
    if (rc || !plan->n_analyzers) {
        return rc;
    }
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        names[i] = plan->analyzers[i].name;
    }
    plan->steer = ef_steer_create(names, plan->n_analyzers);
    return plan->steer ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
}

void
ef_plan_deinit(struct ef_plan *plan)
{
    free(plan->steer);
    plan->steer = NULL;
}

enum ef_drop_reason
ef_plan_decide(const struct ef_plan *plan, const uint8_t *frame, uint32_t len, uint32_t wire_len, struct ef_decision *d)
{
    enum ef_drop_reason why = ef_copy_parse(&d->copy, frame, len, wire_len);
    if (why) {
        return why;
    }
    const uint8_t *ip = frame + d->copy.outer_ip_offset;
    /* The version too: an IPv6 header can carry the IPv4-mapped form of a VIP. */
    if ((ip[0] >> 4 == 6) != plan->is_ipv6 || !is_vip(plan, d->copy.target_address)) {
        return EF_DROP_NOT_OUR_VIP;
    }
    why = ef_outer_ip_check(ip, len - d->copy.outer_ip_offset, &d->len);
    if (why) {
        return why;
    }
    if (!plan->steer) {
        return EF_DROP_NO_ANALYZER;
    }
    ef_packet_parse(&d->original, d->copy.original, d->copy.original_len, d->copy.original_wire_len);
    d->flow_hash = ef_flow_hash(&d->original);
    d->analyzer = ef_steer_pick(plan->steer, d->flow_hash);
    return EF_DROP_NONE;
}
