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

int
ef_plan_add_vip(struct ef_plan *plan, const char *text, struct ef_error *err)
{
    uint8_t *address = plan->vips[plan->n_vips];
    if (plan->n_vips == EF_PLAN_MAX_VIPS) {
        return ef_error_set(err, -ENOSPC, "--vip: at most %d addresses", EF_PLAN_MAX_VIPS);
    }
    int rc = ef_member_address_parse("--vip", text, address, err);
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

int
ef_plan_find(const struct ef_plan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->n_analyzers; i++) {
        if (plan->states[i] != EF_ANALYZER_NONE && !strcmp(plan->analyzers[i].name, name)) {
            return (int) i;
        }
    }
    return -1;
}

int
ef_plan_put(struct ef_plan *plan, unsigned i, const struct ef_member *member, enum ef_analyzer_state state,
            struct ef_error *err)
{
    for (unsigned k = 0; k < plan->n_analyzers; k++) {
        const struct ef_member *other = &plan->analyzers[k];
        if (k == i || plan->states[k] == EF_ANALYZER_NONE) {
            continue;
        }
        if (!strcmp(other->name, member->name)) {
            return ef_error_set(err, -EEXIST, "analyzer: the name '%s' is there twice", member->name);
        }
        if (!memcmp(other->address, member->address, 16) ||
            (ef_member_has_address6(member) && !memcmp(other->address6, member->address6, 16))) {
            return ef_error_set(err, -EEXIST, "analyzer: '%s' and '%s' have the same address", other->name,
                                member->name);
        }
    }
    plan->analyzers[i] = *member;
    plan->states[i] = (uint8_t) state;
    plan->n_analyzers = EF_MAX(plan->n_analyzers, i + 1);
    return 0;
}

int
ef_plan_add_analyzer(struct ef_plan *plan, const char *text, struct ef_error *err)
{
    struct ef_member member;
    if (plan->n_analyzers == EF_PLAN_MAX_ANALYZERS) {
        return ef_error_set(err, -ENOSPC, "analyzer: at most %d analyzers", EF_PLAN_MAX_ANALYZERS);
    }
    int rc = ef_member_parse(text, &member, err);
    return rc ? rc : ef_plan_put(plan, plan->n_analyzers, &member, EF_ANALYZER_UP, err);
}

/* The index of a VIP, or -1. */
static inline int
find_vip(const struct ef_plan *plan, const uint8_t address[16])
{
    for (unsigned i = 0; i < plan->n_vips; i++) {
        if (!memcmp(plan->vips[i], address, 16)) {
            return (int) i;
        }
    }
    return -1;
}

static void
note_versions(struct ef_plan *plan)
{
    plan->serves[EF_IP4] = plan->serves[EF_IP6] = false;
    for (unsigned i = 0; i < plan->n_vips; i++) {
        plan->vip_versions[i] = ef_member_address_is_ipv6(plan->vips[i]) ? EF_IP6 : EF_IP4;
        plan->serves[plan->vip_versions[i]] = true;
    }
}

/* A copy keeps its source, so it goes on over the version of IP by which it came. */
static int
settle_destinations(struct ef_plan *plan, unsigned i, struct ef_error *err)
{
    static const char *const names[] = {[EF_IP4] = "IPv4", [EF_IP6] = "IPv6"};
    const struct ef_member *a = &plan->analyzers[i];
    for (int version = EF_IP4; version <= EF_IP6; version++) {
        const uint8_t *address = ef_member_address_for(a, version == EF_IP6);
        if (plan->serves[version] && !address) {
            return ef_error_set(
                err, -EINVAL, "analyzer: '%s' needs an %s address%s: a copy keeps its source", a->name, names[version],
                plan->serves[!version] ? " too (address6=), as there are VIPs of both versions" : ", as the VIP has");
        }
        if (address && find_vip(plan, address) >= 0) {
            return ef_error_set(err, -EINVAL, "analyzer: '%s' has the address of a VIP: copies would come back",
                                a->name);
        }
        memcpy(plan->destinations[version][i], address ? address : a->address, 16);
    }
    return 0;
}

int
ef_plan_finish(struct ef_plan *plan, struct ef_error *err)
{
    struct ef_steer_member members[EF_PLAN_MAX_ANALYZERS];
    size_t n = 0, n_away = 0;
    int rc = 0;
    note_versions(plan);
    for (unsigned i = 0; !rc && i < plan->n_analyzers; i++) {
        const struct ef_member *a = &plan->analyzers[i];
        bool is_away = plan->states[i] != EF_ANALYZER_UP;
        if (plan->states[i] == EF_ANALYZER_NONE) {
            continue;
        }
        rc = settle_destinations(plan, i, err);
        n_away += is_away;
        members[n++] = (struct ef_steer_member){a->name, a->weight, (uint16_t) i, is_away};
    }
    plan->has_away = n_away;
    plan->is_all_away = n_away == n;
    if (rc || !n) {
        return rc;
    }
    plan->steer = ef_steer_create(members, n);
    return plan->steer ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
}

void
ef_plan_deinit(struct ef_plan *plan)
{
    free(plan->steer);
    plan->steer = NULL;
}

struct ef_plan *
ef_plan_copy(const struct ef_plan *plan)
{
    struct ef_plan *copy = malloc(sizeof *copy);
    if (copy) {
        *copy = *plan;
        copy->steer = NULL;
        copy->next_retired = NULL;
    }
    return copy;
}

void
ef_plan_free(struct ef_plan *plan)
{
    if (plan) {
        ef_plan_deinit(plan);
        free(plan);
    }
}

enum ef_drop_reason
ef_plan_examine(const struct ef_plan *plan, const uint8_t *frame, uint32_t len, uint32_t wire_len,
                struct ef_decision *d)
{
    enum ef_drop_reason why = ef_copy_parse(&d->copy, frame, len, wire_len);
    if (why) {
        return why;
    }
    const uint8_t *ip = frame + d->copy.outer_ip_offset;
    /* The version too: an IPv6 header can carry the IPv4-mapped form of a VIP. */
    d->version = ip[0] >> 4 == 6 ? EF_IP6 : EF_IP4;
    int vip = find_vip(plan, d->copy.target_address);
    if (vip < 0 || plan->vip_versions[vip] != d->version) {
        return EF_DROP_NOT_OUR_VIP;
    }
    why = ef_outer_ip_check(ip, len - d->copy.outer_ip_offset, &d->len);
    if (why) {
        return why;
    }
    if (EF_UNLIKELY(!plan->steer || plan->is_all_away)) {
        return plan->steer ? EF_DROP_ANALYZERS_DOWN : EF_DROP_NO_ANALYZER;
    }
    d->flow_hash = ef_flow_hash_of_frame(d->copy.original, d->copy.original_len, d->copy.original_wire_len);
    ef_steer_prefetch(plan->steer, d->flow_hash);
    return EF_DROP_NONE;
}

enum ef_drop_reason
ef_plan_decide(const struct ef_plan *plan, const uint8_t *frame, uint32_t len, uint32_t wire_len, struct ef_decision *d)
{
    enum ef_drop_reason why = ef_plan_examine(plan, frame, len, wire_len, d);
    if (!why) {
        ef_plan_choose(plan, d);
    }
    return why;
}
