/* SPDX-License-Identifier: Apache-2.0 */
/* Remotes of an OVSDB database; see ovsdb_remotes.h. */
#include <config.h>

#include "net/ovsdb_remotes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
parse_remote(struct ef_ovsdb_remote *remote, struct ef_error *err)
{
    bool is_tcp = !strncmp(remote->text, "tcp:", 4);
    remote->is_ssl = !strncmp(remote->text, "ssl:", 4);
    if (!is_tcp && !remote->is_ssl && strncmp(remote->text, "unix:", 5)) {
        return ef_error_set(err, -EINVAL,
                            "'%.80s' is no OVSDB remote; write unix:/path, tcp:ADDRESS:PORT or ssl:ADDRESS:PORT",
                            remote->text);
    }
    return ef_net_address_parse(is_tcp || remote->is_ssl ? remote->text + 4 : remote->text, &remote->address, err);
}

int
ef_ovsdb_remotes_parse(const char *text, struct ef_ovsdb_remotes *remotes, struct ef_error *err)
{
    remotes->n = 0;
    do {
        size_t len = strcspn(text, ",");
        struct ef_ovsdb_remote *remote = &remotes->list[remotes->n];
        if (remotes->n == EF_OVSDB_MAX_REMOTES) {
            return ef_error_set(err, -EINVAL, "more than %d remotes", EF_OVSDB_MAX_REMOTES);
        }
        if (len >= sizeof remote->text) {
            return ef_error_set(err, -EINVAL, "'%.80s...' is too long for an OVSDB remote", text);
        }
        snprintf(remote->text, sizeof remote->text, "%.*s", (int) len, text);
        if (parse_remote(remote, err)) {
            return -EINVAL;
        }
        remotes->n++;
        text += len + (text[len] == ',');
    } while (*text);
    return 0;
}
