/* SPDX-License-Identifier: Apache-2.0 */
/* One analyzer as a reshuffler is told of it, on the command line
 *
 *     NAME=ADDRESS[,address6=ADDRESS][,weight=N][,url=URL]
 *
 * or over HTTP
 *
 *     {"name": "a1", "address": "10.1.0.21", "weight": 100, "url": "http://127.0.0.1:8781", "draining": false}
 *
 * A copy keeps its source, so one that came over IPv6 can only go on over IPv6:
 * an analyzer has one address of either version, or an IPv4 address and an IPv6
 * address beside it, address6.
 *
 * Pure functions on values. */
#ifndef RESHUFFLER_MEMBER_H
#define RESHUFFLER_MEMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EF_MEMBER_NAME_BYTES = 64, EF_MEMBER_URL_BYTES = 256, EF_MEMBER_DEFAULT_WEIGHT = 100 };

struct ef_member {
    uint8_t address[16];  /* IPv4 as ::ffff:a.b.c.d, everywhere here. */
    uint8_t address6[16]; /* The IPv6 address of one whose `address` is IPv4, or zeros. */
    uint16_t weight;
    bool is_draining;
    char name[EF_MEMBER_NAME_BYTES];
    char url[EF_MEMBER_URL_BYTES]; /* Where it is asked how it is; "": nowhere. */
};

/* Reads the address of one machine; `what` begins the message. Returns 0 or
 * -EINVAL with `err`. */
int ef_member_address_parse(const char *what, const char *text, uint8_t address[16], struct ef_error *err);

bool ef_member_address_is_ipv6(const uint8_t address[16]);

bool ef_member_has_address6(const struct ef_member *member);

/* Where it gets copies that came over IPv6, or over IPv4; NULL if it has no
 * address of that version. */
const uint8_t *ef_member_address_for(const struct ef_member *member, bool is_ipv6);

/* Return 0 or -EINVAL with `err`. What JSON leaves out stays as it is in
 * `member`, which ef_member_init() has made or which is to be changed; the name
 * and an address must be there in the end. */
void ef_member_init(struct ef_member *member);
int ef_member_parse(const char *text, struct ef_member *member, struct ef_error *err);
int ef_member_from_json(const json_t *json, struct ef_member *member, struct ef_error *err);

#endif
