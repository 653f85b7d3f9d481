/* SPDX-License-Identifier: Apache-2.0 */
/* Last hops by destination; see last_hops.h. A hash table of prefixes, asked
 * once for each length that occurs. */
#include <config.h>

#include "analyzer/last_hops.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse_number.h"
#include "packet/headers.h"
#include "packet/packet.h"

struct ef_last_hops {
    struct ef_last_hop *slots; /* Open addressing; n_switches 0: free. */
    size_t n_slots;
    uint64_t lengths[3]; /* Bit per length that occurs. */
};

/* --- The table ------------------------------------------------------------------- */

static void
mask(const uint8_t address[16], unsigned len, uint8_t prefix[16])
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned bits = len >= 8 * (i + 1) ? 8 : len > 8 * i ? len - 8 * i : 0;
        prefix[i] = (uint8_t) (address[i] & (0xff00 >> bits));
    }
}

static struct ef_last_hop *
find_slot(const struct ef_last_hops *l, const uint8_t prefix[16], unsigned len)
{
    uint64_t i = ef_hash64_seed(prefix, 16, len);
    struct ef_last_hop *slot = &l->slots[i % l->n_slots];
    while (slot->n_switches && (slot->prefix_len != len || memcmp(slot->prefix, prefix, 16))) {
        slot = &l->slots[++i % l->n_slots];
    }
    return slot;
}

const struct ef_last_hop *
ef_last_hops_find(const struct ef_last_hops *l, const uint8_t address[16])
{
    uint8_t prefix[16];
    for (int len = 128; len >= 0; len--) {
        if (!(l->lengths[len / 64] >> len % 64 & 1)) {
            continue;
        }
        mask(address, (unsigned) len, prefix);
        const struct ef_last_hop *slot = find_slot(l, prefix, (unsigned) len);
        if (slot->n_switches) {
            return slot;
        }
    }
    return NULL;
}

bool
ef_last_hop_is(const struct ef_last_hop *last, const uint8_t switch_address[16])
{
    for (unsigned i = 0; i < last->n_switches; i++) {
        if (!memcmp(last->switches[i], switch_address, 16)) {
            return true;
        }
    }
    return false;
}

static void
add(struct ef_last_hops *l, const uint8_t address[16], unsigned len, const uint8_t switch_address[16])
{
    uint8_t prefix[16];
    mask(address, len, prefix);
    struct ef_last_hop *slot = find_slot(l, prefix, len);
    memcpy(slot->prefix, prefix, 16);
    slot->prefix_len = (uint8_t) len;
    l->lengths[len / 64] |= (uint64_t) 1 << len % 64;
    if (slot->n_switches < EF_LAST_HOP_SWITCHES && !ef_last_hop_is(slot, switch_address)) {
        memcpy(slot->switches[slot->n_switches++], switch_address, 16);
    }
}

/* --- The document ------------------------------------------------------------------ */

static const char *
text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* "10.1.0.11", "10.1.0.0/24", "fd00::/64". */
static int
parse_prefix(const char *text, uint8_t address[16], unsigned *len)
{
    char alone[64];
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t) (slash - text) : strlen(text);
    uint64_t bits;
    if (n >= sizeof alone) {
        return -EINVAL;
    }
    memcpy(alone, text, n);
    alone[n] = '\0';
    if (ef_address_parse(alone, address)) {
        return -EINVAL;
    }
    bool is_ipv4 = ef_address_is_ipv4(address);
    *len = 128;
    if (slash) {
        if (ef_parse_u64(slash + 1, "prefix length", 0, is_ipv4 ? 32 : 128, &bits, NULL)) {
            return -EINVAL;
        }
        *len = (unsigned) bits + (is_ipv4 ? 96 : 0);
    }
    return 0;
}

/* The addresses that copies of one switch come from: its loopback's, of IPv4 and
 * of IPv6, as their target is. */
struct loopbacks {
    unsigned n;
    uint8_t addresses[2][16];
};

/* Returns 0, or -EINVAL with `err`; `where` is "switches[2]" or the like. */
static int
read_loopbacks(const json_t *node, const char *where, struct loopbacks *l, struct ef_error *err)
{
    static const char *const keys[] = {"loopback", "loopback6"};
    l->n = 0;
    for (size_t i = 0; i < EF_ARRAY_SIZE(keys); i++) {
        const char *text = text_of(node, keys[i]);
        if (i && !*text) {
            continue;
        }
        if (ef_address_parse(text, l->addresses[l->n++])) {
            return ef_error_set(err, -EINVAL, "%s.%s: '%.60s' is not an IP address", where, keys[i], text);
        }
    }
    return 0;
}

/* What is for `address` ends at that switch. */
static void
add_all(struct ef_last_hops *l, const uint8_t address[16], unsigned len, const struct loopbacks *loopbacks)
{
    for (unsigned i = 0; i < loopbacks->n; i++) {
        add(l, address, len, loopbacks->addresses[i]);
    }
}

static int
add_switches(struct ef_last_hops *l, const json_t *switches, json_t *by_name, struct ef_error *err)
{
    size_t i;
    json_t *s;
    json_array_foreach((json_t *) switches, i, s)
    {
        struct loopbacks loopbacks;
        char where[40];
        snprintf(where, sizeof where, "switches[%zu]", i);
        int rc = read_loopbacks(s, where, &loopbacks, err);
        if (rc) {
            return rc;
        }
        for (unsigned k = 0; k < loopbacks.n; k++) {
            add_all(l, loopbacks.addresses[k], 128, &loopbacks);
        }
        json_object_set(by_name, text_of(s, "name"), s);
    }
    return 0;
}

static int
add_host(struct ef_last_hops *l, const json_t *host, const char *where, const json_t *by_name, struct ef_error *err)
{
    static const char *const keys[] = {"address", "address6"};
    struct loopbacks loopbacks;
    const json_t *node = json_object_get(by_name, text_of(host, "switch"));
    if (!node || read_loopbacks(node, "", &loopbacks, NULL)) {
        return ef_error_set(err, -EINVAL, "%s.switch: there is no switch '%.60s'", where, text_of(host, "switch"));
    }
    for (size_t i = 0; i < EF_ARRAY_SIZE(keys); i++) {
        const char *text = text_of(host, keys[i]);
        uint8_t address[16];
        unsigned len;
        if (i && !*text) {
            continue;
        }
        if (parse_prefix(text, address, &len)) {
            return ef_error_set(err, -EINVAL, "%s.%s: '%.60s' is neither an IP address nor a prefix", where, keys[i],
                                text);
        }
        add_all(l, address, len, &loopbacks);
    }
    return 0;
}

static int
add_hosts(struct ef_last_hops *l, const json_t *hosts, const json_t *by_name, struct ef_error *err)
{
    size_t i;
    json_t *host;
    json_array_foreach((json_t *) hosts, i, host)
    {
        char where[40];
        snprintf(where, sizeof where, "hosts[%zu]", i);
        int rc = add_host(l, host, where, by_name, err);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int
read_document(struct ef_last_hops *l, const json_t *document, struct ef_error *err)
{
    const json_t *switches = json_object_get(document, "switches"), *hosts = json_object_get(document, "hosts");
    if (!json_is_array(switches) || !json_is_array(hosts)) {
        return ef_error_set(err, -EINVAL, "a topology has \"switches\" and \"hosts\", both arrays");
    }
    /* Each may have two addresses. */
    l->n_slots = 4 * (json_array_size(switches) + json_array_size(hosts)) + 1;
    l->slots = calloc(l->n_slots, sizeof *l->slots);
    json_t *by_name = json_object();
    int rc = l->slots && by_name ? 0 : ef_error_set(err, -ENOMEM, "out of memory");
    rc = rc ? rc : add_switches(l, switches, by_name, err);
    rc = rc ? rc : add_hosts(l, hosts, by_name, err);
    json_decref(by_name);
    return rc;
}

int
ef_last_hops_create(const json_t *document, struct ef_last_hops **out, struct ef_error *err)
{
    struct ef_last_hops *l = calloc(1, sizeof *l);
    int rc = l ? read_document(l, document, err) : ef_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        ef_last_hops_destroy(l);
        return rc;
    }
    *out = l;
    return 0;
}

int
ef_last_hops_load(const char *file, struct ef_last_hops **out, struct ef_error *err)
{
    json_error_t why;
    json_t *document = json_load_file(file, JSON_REJECT_DUPLICATES, &why);
    if (!document) {
        return ef_error_set(err, -EINVAL, "%s: %s (line %d)", file, why.text, why.line);
    }
    int rc = ef_last_hops_create(document, out, err);
    json_decref(document);
    return rc ? ef_error_prefix(err, rc, "%s", file) : 0;
}

void
ef_last_hops_destroy(struct ef_last_hops *l)
{
    if (l) {
        free(l->slots);
        free(l);
    }
}
