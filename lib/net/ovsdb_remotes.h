/* SPDX-License-Identifier: Apache-2.0 */
/* Where an OVSDB database is served, as people write it: "unix:/path",
 * "tcp:ADDRESS:PORT", "ssl:ADDRESS:PORT", or several of these with commas in
 * between, the servers of one cluster. Plain values; any thread. */
#ifndef EF_NET_OVSDB_REMOTES_H
#define EF_NET_OVSDB_REMOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "net/address.h"

enum { EF_OVSDB_MAX_REMOTES = 16 };

struct ef_ovsdb_remote {
    char text[EF_NET_ADDRESS_TEXT_SIZE]; /* As it was written. */
    struct ef_net_address address;
    bool is_ssl;
};

struct ef_ovsdb_remotes {
    struct ef_ovsdb_remote list[EF_OVSDB_MAX_REMOTES];
    size_t n;
};

/* Returns 0 with at least one, or -EINVAL with `err`. */
int ef_ovsdb_remotes_parse(const char *text, struct ef_ovsdb_remotes *remotes, struct ef_error *err);

#endif
