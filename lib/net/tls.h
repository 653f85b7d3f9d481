/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.2 and 1.3 for the HTTP server and client, from PEM files:
 *
 *     static const struct ef_tls_files files = {"ef.crt", "ef.key", "ca.crt"};
 *     if (ef_tls_create(&files, &tls, &err)) fail;
 *     ef_http_server_create(base, "0.0.0.0:8781", tls, &server, &err);
 *
 * One identity serves both sides of a program:
 *
 *     server   shows `cert`; with `ca`, only a client whose certificate that
 *              authority signed is let in (mutual TLS), without it everybody is
 *     client   shows `cert` if there is one; lets in only a server whose
 *              certificate `ca` signed (without it: an authority that the system
 *              trusts) and that names the address or host that was asked for
 *
 * The files are read once. A key with a passphrase is refused, as nobody is there
 * to type it. Sessions are not resumed: each connection is checked anew.
 *
 * Thread-safety: made and freed by one thread, used by any. */
#ifndef EF_NET_TLS_H
#define EF_NET_TLS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/options.h"

struct bufferevent;
struct event_base;
struct ef_net_address;
struct ef_tls;

struct ef_tls_files {
    const char *cert, *key; /* Ours, with the certificates between it and the authority; both or none. */
    const char *ca;         /* Authorities, or NULL. */
    bool clients_may_have_none; /* A server with `ca` also lets in who shows no certificate, but not a wrong one. */
};

/* --tls-cert, --tls-key and --tls-ca, for a struct ef_tls_files. */
extern const struct ef_option ef_tls_option_table[];
#define EF_TLS_GROUP(files)                       \
    {                                             \
        "TLS options", ef_tls_option_table, files \
    }

/* Sets `*tls`, to NULL if no file is named. Returns 0, or a negative errno with
 * `err`, which names the file. The caller frees it with ef_tls_destroy(), after
 * all that uses it. */
int ef_tls_create(const struct ef_tls_files *files, struct ef_tls **tls, struct ef_error *err);
void ef_tls_destroy(struct ef_tls *tls);

/* A bufferevent that is the server's side of a connection to come. NULL: out of
 * memory, or no certificate. */
struct bufferevent *ef_tls_accept(const struct ef_tls *tls, struct event_base *base);

/* True if servers may show it: there is a certificate. */
bool ef_tls_can_serve(const struct ef_tls *tls);

/* A bufferevent that is the client's side of a connection on `fd`, which it will
 * close, to a server that must prove to be `host` (an IP address or a name; NULL:
 * anybody whose certificate our authority signed).
 * NULL: out of memory. */
struct bufferevent *ef_tls_connect(const struct ef_tls *tls, struct event_base *base, int fd, const char *host);

/* Copies the common name of the other side's certificate into `buf`, if it showed
 * one that our authority signed; false if not. */
bool ef_tls_peer_name(const struct ef_tls *tls, struct bufferevent *bev, char *buf, size_t size);

/* Says in `err` what is wrong with the connection, if it is TLS that failed.
 * Returns 0 if it is not. */
int ef_tls_explain(struct bufferevent *bev, struct ef_error *err);

#endif
