/* SPDX-License-Identifier: Apache-2.0 */
/* Roles and addresses of a topology: the next free default for each that was
 * not given, then no address twice. See addressing.h for where they lie. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utilities/fabric/memory.h"
#include "utilities/fabric/topology.h"

static bool
address_is_used(const struct ef_topology *t, uint32_t address)
{
    bool used = address == t->vip || address == EF_CPU_GATEWAY;
    for (size_t i = 0; !used && i < t->n_switches; i++) {
        const struct ef_topology_switch *sw = &t->switches[i];
        used = sw->loopback == address || (sw->subnet.len && ef_prefix_gateway(sw->subnet) == address);
    }
    for (size_t i = 0; !used && i < t->n_hosts; i++) {
        used = t->hosts[i].address == address;
    }
    return used;
}

/* The first free address from `first` up to the last host of the /24 or other
 * prefix of length `len` that it lies in; 0 if all are used. */
static uint32_t
free_address(const struct ef_topology *t, uint32_t first, int len)
{
    uint32_t last = first | ~ef_prefix_mask(len);
    for (uint32_t a = first; a < last; a++) {
        if (!address_is_used(t, a)) {
            return a;
        }
    }
    return 0;
}

static bool
has_hosts(const struct ef_topology *t, const struct ef_topology_switch *sw)
{
    for (size_t i = 0; i < t->n_hosts; i++) {
        if (!strcmp(t->hosts[i].switch_name, sw->name)) {
            return true;
        }
    }
    return false;
}

static bool
is_leaf(const struct ef_topology_switch *sw)
{
    return !strcmp(sw->role, "leaf");
}

static bool
prefixes_overlap(struct ef_prefix a, struct ef_prefix b)
{
    return ef_prefix_contains(a, b.address) || ef_prefix_contains(b, a.address);
}

static bool
subnet_is_free(const struct ef_topology *t, struct ef_prefix subnet)
{
    for (size_t i = 0; i < t->n_switches; i++) {
        if (t->switches[i].subnet.len && prefixes_overlap(t->switches[i].subnet, subnet)) {
            return false;
        }
    }
    return true;
}

static void
complete_switches(struct ef_topology *t)
{
    for (size_t i = 0; i < t->n_switches; i++) {
        struct ef_topology_switch *sw = &t->switches[i];
        bool hosts = has_hosts(t, sw);
        if (!sw->role[0]) {
            strcpy(sw->role, hosts ? "leaf" : "spine");
        }
        if (!sw->loopback) {
            sw->loopback = free_address(t, (is_leaf(sw) ? EF_LEAF_LOOPBACKS : EF_OTHER_LOOPBACKS) + 1, 24);
        }
        for (int k = 1; k < 255 && (hosts || is_leaf(sw)) && !sw->subnet.len; k++) {
            if (subnet_is_free(t, ef_leaf_subnet(k))) {
                sw->subnet = ef_leaf_subnet(k);
            }
        }
    }
}

static int
complete_hosts(struct ef_topology *t, struct ef_error *err)
{
    for (size_t i = 0; i < t->n_hosts; i++) {
        struct ef_topology_host *host = &t->hosts[i];
        const struct ef_topology_switch *sw = ef_topology_switch(t, host->switch_name);
        uint32_t room = ~ef_prefix_mask(sw->subnet.len);
        uint32_t first = host->role == EF_HOST_PLAIN ? EF_FIRST_HOST : EF_FIRST_COLLECTOR;
        if (!host->address) {
            /* A subnet smaller than a /24 has no room for the gap. */
            host->address = free_address(t, sw->subnet.address + (room > first ? first : 2), sw->subnet.len);
        }
        if (!host->address) {
            return ef_error_set(err, -EINVAL, "subnet of %s has no address left for host %s", sw->name, host->name);
        }
    }
    return 0;
}

/* --- Checks ----------------------------------------------------------------- */

struct owner {
    uint64_t key; /* An address, or a MAC. */
    const char *name;
};

static int
compare_owners(const void *a, const void *b)
{
    const struct owner *p = a, *q = b;
    return p->key < q->key ? -1 : p->key > q->key;
}

static uint64_t
mac_key(struct ef_mac mac)
{
    uint64_t key = 0;
    memcpy(&key, mac.bytes, sizeof mac.bytes);
    return key;
}

/* The first key that two owners have, or NULL. */
static const struct owner *
find_twice(struct owner *owners, size_t n)
{
    qsort(owners, n, sizeof *owners, compare_owners);
    for (size_t i = 1; i < n; i++) {
        if (owners[i].key == owners[i - 1].key) {
            return &owners[i - 1];
        }
    }
    return NULL;
}

static int
check_unique(const struct ef_topology *t, struct ef_error *err)
{
    struct owner *owners = ef_xzalloc((2 * t->n_switches + t->n_hosts + 1) * sizeof *owners);
    char text[EF_ADDRESS_TEXT_SIZE];
    size_t n = 0, n_macs = 0;
    int rc = 0;
    owners[n++] = (struct owner){t->vip, "the VIP"};
    for (size_t i = 0; i < t->n_switches; i++) {
        const struct ef_topology_switch *sw = &t->switches[i];
        owners[n++] = (struct owner){sw->loopback, sw->name};
        if (sw->subnet.len) {
            owners[n++] = (struct owner){ef_prefix_gateway(sw->subnet), sw->name};
        }
    }
    for (size_t i = 0; i < t->n_hosts; i++) {
        owners[n++] = (struct owner){t->hosts[i].address, t->hosts[i].name};
    }
    const struct owner *twice = find_twice(owners, n);
    if (twice) {
        rc = ef_error_set(err, -EINVAL, "%s and %s both have the address %s", twice[0].name, twice[1].name,
                          ef_address_format((uint32_t) twice->key, text));
        goto out;
    }
    for (size_t i = 0; i < t->n_switches; i++) {
        owners[n_macs++] = (struct owner){mac_key(t->switches[i].mac), t->switches[i].name};
    }
    for (size_t i = 0; i < t->n_hosts; i++) {
        owners[n_macs++] = (struct owner){mac_key(t->hosts[i].mac), t->hosts[i].name};
    }
    twice = find_twice(owners, n_macs);
    if (twice) {
        rc = ef_error_set(err, -EINVAL, "%s and %s have the same MAC address", twice[0].name, twice[1].name);
    }
out:
    free(owners);
    return rc;
}

static int
check_subnets(const struct ef_topology *t, struct ef_error *err)
{
    char text[EF_ADDRESS_TEXT_SIZE];
    for (size_t i = 0; i < t->n_switches; i++) {
        const struct ef_topology_switch *sw = &t->switches[i];
        if (!sw->loopback) {
            return ef_error_set(err, -EINVAL, "no loopback address is left for switch %s", sw->name);
        }
        if (!sw->subnet.len && has_hosts(t, sw)) {
            return ef_error_set(err, -EINVAL, "no subnet is left for the hosts of switch %s", sw->name);
        }
        for (size_t j = 0; j < i && sw->subnet.len; j++) {
            const struct ef_topology_switch *other = &t->switches[j];
            if (other->subnet.len && prefixes_overlap(sw->subnet, other->subnet)) {
                return ef_error_set(err, -EINVAL, "the subnets of %s and %s overlap at %s", other->name, sw->name,
                                    ef_prefix_format(sw->subnet, text));
            }
        }
    }
    return 0;
}

/* 0.0.0.0/8, loopback, link-local and everything from multicast on are no
 * addresses that a fabric could route. */
static int
check_routable(uint32_t address, const char *name, struct ef_error *err)
{
    char text[EF_ADDRESS_TEXT_SIZE];
    uint32_t top = address >> 24;
    if (top == 0 || top == 127 || top >= 224 || address >> 16 == EF_CPU_GATEWAY >> 16) {
        return ef_error_set(err, -EINVAL, "%s: %s cannot be routed", name, ef_address_format(address, text));
    }
    return 0;
}

static int
check_addresses(const struct ef_topology *t, struct ef_error *err)
{
    int rc = check_subnets(t, err);
    if (!rc) {
        rc = check_routable(t->vip, "the VIP", err);
    }
    for (size_t i = 0; !rc && i < t->n_switches; i++) {
        rc = check_routable(t->switches[i].loopback, t->switches[i].name, err);
    }
    for (size_t i = 0; !rc && i < t->n_hosts; i++) {
        rc = check_routable(t->hosts[i].address, t->hosts[i].name, err);
    }
    return rc ? rc : check_unique(t, err);
}

static void
complete_mac(struct ef_mac *mac, uint32_t address)
{
    if (!mac_key(*mac)) {
        *mac = ef_mac_of(address);
    }
}

int
ef_topology_complete_addresses(struct ef_topology *t, struct ef_error *err)
{
    if (!t->vip) {
        t->vip = EF_DEFAULT_VIP;
    }
    complete_switches(t);
    int rc = check_subnets(t, err);
    if (!rc) {
        rc = complete_hosts(t, err);
    }
    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < t->n_switches; i++) {
        complete_mac(&t->switches[i].mac, t->switches[i].loopback);
    }
    for (size_t i = 0; i < t->n_hosts; i++) {
        complete_mac(&t->hosts[i].mac, t->hosts[i].address);
    }
    return check_addresses(t, err);
}
