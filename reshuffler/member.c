/* SPDX-License-Identifier: Apache-2.0 */
/* Analyzers as people and programs name them; see member.h. */
#include <config.h>

#include "reshuffler/member.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse_number.h"
#include "net/http_client.h"
#include "packet/packet.h"
#include "reshuffler/steer.h"

bool
ef_member_address_is_ipv6(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, mapped, sizeof mapped) != 0;
}

bool
ef_member_has_address6(const struct ef_member *member)
{
    static const uint8_t none[16];
    return memcmp(member->address6, none, sizeof none) != 0;
}

const uint8_t *
ef_member_address_for(const struct ef_member *member, bool is_ipv6)
{
    if (is_ipv6 && ef_member_has_address6(member)) {
        return member->address6;
    }
    return ef_member_address_is_ipv6(member->address) == is_ipv6 ? member->address : NULL;
}

/* An address of one machine: neither "any" nor multicast nor broadcast. */
static bool
is_unicast(const uint8_t address[16])
{
    static const uint8_t any[16], broadcast[4] = {0xff, 0xff, 0xff, 0xff};
    return ef_member_address_is_ipv6(address)
               ? address[0] != 0xff && memcmp(address, any, 16)
               : address[12] >> 4 != 0xe && memcmp(address + 12, any, 4) && memcmp(address + 12, broadcast, 4);
}

int
ef_member_address_parse(const char *what, const char *text, uint8_t address[16], struct ef_error *err)
{
    if (ef_address_parse(text, address)) {
        return ef_error_set(err, -EINVAL, "%s: '%.60s' is not an IPv4 or IPv6 address", what, text);
    }
    if (!is_unicast(address)) {
        return ef_error_set(err, -EINVAL, "%s: '%s' is not the address of one machine", what, text);
    }
    return 0;
}

void
ef_member_init(struct ef_member *member)
{
    *member = (struct ef_member){.weight = EF_MEMBER_DEFAULT_WEIGHT};
}

static int
set_name(const char *text, size_t len, struct ef_member *member, struct ef_error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (!len || len >= sizeof member->name || strspn(text, allowed) < len) {
        return ef_error_set(err, -EINVAL,
                            "analyzer: '%.*s' is not a name of 1 to %zu letters, digits, '-', '_' and '.'",
                            (int) EF_MIN(len, 80u), text, sizeof member->name - 1);
    }
    memcpy(member->name, text, len);
    member->name[len] = '\0';
    return 0;
}

static int
set_url(const char *text, struct ef_member *member, struct ef_error *err)
{
    if (strlen(text) >= sizeof member->url) {
        return ef_error_set(err, -EINVAL, "analyzer: a URL of more than %zu bytes", sizeof member->url - 1);
    }
    if (*text && ef_http_server_url_check(text, err)) {
        return ef_error_prefix(err, -EINVAL, "analyzer");
    }
    snprintf(member->url, sizeof member->url, "%s", text);
    return 0;
}

/* The address beside an IPv4 one. */
static int
set_address6(const char *text, struct ef_member *member, struct ef_error *err)
{
    uint8_t address[16];
    int rc = ef_member_address_parse("analyzer: address6", text, address, err);
    if (!rc && !ef_member_address_is_ipv6(address)) {
        rc = ef_error_set(err, -EINVAL, "analyzer: address6: '%s' is not an IPv6 address", text);
    }
    if (!rc) {
        memcpy(member->address6, address, sizeof address);
    }
    return rc;
}

static int
check_addresses(const struct ef_member *member, struct ef_error *err)
{
    if (ef_member_has_address6(member) && ef_member_address_is_ipv6(member->address)) {
        return ef_error_set(err, -EINVAL,
                            "analyzer: '%s' has two IPv6 addresses; address6 is for beside an IPv4 address",
                            member->name);
    }
    return 0;
}

/* --- The command line -------------------------------------------------------- */

static int
set_word(const char *word, struct ef_member *member, struct ef_error *err)
{
    uint64_t weight;
    if (!strncmp(word, "url=", 4)) {
        return set_url(word + 4, member, err);
    }
    if (!strncmp(word, "address6=", 9)) {
        return set_address6(word + 9, member, err);
    }
    if (strncmp(word, "weight=", 7)) {
        return ef_error_set(err, -EINVAL, "analyzer: '%.60s' should read weight=N, url=URL or address6=ADDRESS", word);
    }
    if (ef_parse_u64(word + 7, "analyzer: weight", 1, EF_STEER_MAX_WEIGHT, &weight, err)) {
        return -EINVAL;
    }
    member->weight = (uint16_t) weight;
    return 0;
}

int
ef_member_parse(const char *text, struct ef_member *member, struct ef_error *err)
{
    char copy[EF_MEMBER_NAME_BYTES + EF_MEMBER_URL_BYTES + 128], *save = NULL;
    size_t name_len = strcspn(text, "=");
    ef_member_init(member);
    if (!text[name_len] || strlen(text + name_len + 1) >= sizeof copy) {
        return ef_error_set(err, -EINVAL,
                            "analyzer: '%.60s' should read NAME=ADDRESS[,address6=ADDRESS][,weight=N][,url=URL]", text);
    }
    snprintf(copy, sizeof copy, "%s", text + name_len + 1);
    char *word = strtok_r(copy, ",", &save);
    int rc = set_name(text, name_len, member, err);
    rc = rc ? rc : ef_member_address_parse("analyzer", word ? word : "", member->address, err);
    while (!rc && (word = strtok_r(NULL, ",", &save))) {
        rc = set_word(word, member, err);
    }
    return rc ? rc : check_addresses(member, err);
}

/* --- JSON ----------------------------------------------------------------------- */

static int
set_weight(const json_t *value, struct ef_member *member, struct ef_error *err)
{
    json_int_t weight = json_integer_value(value);
    if (weight < 1 || weight > EF_STEER_MAX_WEIGHT) {
        return ef_error_set(err, -EINVAL,
                            "analyzer: weight must be a number from 1 to %d; to send it nothing, drain it",
                            EF_STEER_MAX_WEIGHT);
    }
    member->weight = (uint16_t) weight;
    return 0;
}

/* One key of the object. */
static int
set_key(const char *key, const json_t *value, struct ef_member *member, struct ef_error *err)
{
    const char *text = json_string_value(value);
    if (!strcmp(key, "weight")) {
        return set_weight(value, member, err);
    }
    if (!strcmp(key, "draining") && json_is_boolean(value)) {
        member->is_draining = json_is_true(value);
        return 0;
    }
    if (!strcmp(key, "url") && (text || json_is_null(value))) {
        return set_url(text ? text : "", member, err);
    }
    if (!strcmp(key, "name") && text) {
        return set_name(text, strlen(text), member, err);
    }
    if (!strcmp(key, "address6") && json_is_null(value)) {
        memset(member->address6, 0, sizeof member->address6);
        return 0;
    }
    if (!strcmp(key, "address6") && text) {
        return set_address6(text, member, err);
    }
    if (!strcmp(key, "address") && text) {
        return ef_member_address_parse("analyzer", text, member->address, err);
    }
    return ef_error_set(err, -EINVAL, "analyzer: '%.40s' is not a member that we know, or of the wrong type", key);
}

int
ef_member_from_json(const json_t *json, struct ef_member *member, struct ef_error *err)
{
    static const uint8_t none[16];
    const char *key;
    json_t *value;
    if (!json_is_object(json)) {
        return ef_error_set(err, -EINVAL, "analyzer: not an object");
    }
    json_object_foreach((json_t *) json, key, value)
    {
        if (set_key(key, value, member, err)) {
            return -EINVAL;
        }
    }
    if (!*member->name) {
        return ef_error_set(err, -EINVAL, "analyzer: \"name\" is missing");
    }
    if (!memcmp(member->address, none, sizeof none)) {
        return ef_error_set(err, -EINVAL, "analyzer '%s': \"address\" is missing", member->name);
    }
    return check_addresses(member, err);
}
