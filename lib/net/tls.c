/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for HTTP; see tls.h. */
#include <config.h>

#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ef_tls {
    SSL_CTX *context;
    bool has_cert, has_ca;
    bool clients_may_have_none;
};

/* --- Options ------------------------------------------------------------------ */

static int
set_cert(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_tls_files *) ctx)->cert = value;
    return 0;
}

static int
set_key(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_tls_files *) ctx)->key = value;
    return 0;
}

static int
set_ca(void *ctx, const char *value, struct ef_error *err)
{
    ((struct ef_tls_files *) ctx)->ca = value;
    return 0;
}

const struct ef_option ef_tls_option_table[] = {
    {"tls-cert", 0, "FILE", "our certificate (PEM)", set_cert},
    {"tls-key", 0, "FILE", "its private key (PEM, without a passphrase)", set_key},
    {"tls-ca", 0, "FILE", "the authority that must have signed the other side's certificate (PEM)", set_ca},
    {0},
};

/* --- The identity --------------------------------------------------------------- */

static int
no_passphrase(char *buf, int size, int is_writing, void *ctx)
{
    return 0;
}

/* What OpenSSL said first, which is the cause, in words; the queue is emptied. */
static const char *
openssl_reason(void)
{
    unsigned long code = ERR_peek_error();
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(code)) {
        return strerror(ERR_GET_REASON(code));
    }
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    return text ? text : "it cannot be read";
}

static int
load_own(struct ef_tls *tls, const struct ef_tls_files *files, struct ef_error *err)
{
    if (!files->cert != !files->key) {
        return ef_error_set(err, -EINVAL, "a TLS certificate needs its key, and a key its certificate");
    }
    if (!files->cert) {
        return 0;
    }
    if (SSL_CTX_use_certificate_chain_file(tls->context, files->cert) != 1) {
        return ef_error_set(err, -EINVAL, "TLS certificate %s: %s", files->cert, openssl_reason());
    }
    if (SSL_CTX_use_PrivateKey_file(tls->context, files->key, SSL_FILETYPE_PEM) != 1) {
        return ef_error_set(err, -EINVAL, "TLS key %s: %s", files->key, openssl_reason());
    }
    tls->has_cert = true;
    return 0;
}

static int
load_authorities(struct ef_tls *tls, const char *ca, struct ef_error *err)
{
    if (!ca) {
        SSL_CTX_set_default_verify_paths(tls->context);
        return 0;
    }
    /* Which ones a server names to its clients, so that they choose the right certificate. */
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca);
    if (!names || SSL_CTX_load_verify_file(tls->context, ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return ef_error_set(err, -EINVAL, "TLS authority %s: %s", ca, openssl_reason());
    }
    SSL_CTX_set_client_CA_list(tls->context, names);
    tls->has_ca = true;
    return 0;
}

static void
set_rules(SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20"); /* Of TLS 1.2: forward secrecy. */
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
}

int
ef_tls_create(const struct ef_tls_files *files, struct ef_tls **out, struct ef_error *err)
{
    *out = NULL;
    if (!files->cert && !files->key && !files->ca) {
        return 0;
    }
    struct ef_tls *tls = calloc(1, sizeof *tls);
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    if (!tls || !context) {
        SSL_CTX_free(context);
        free(tls);
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    tls->context = context;
    tls->clients_may_have_none = files->clients_may_have_none;
    set_rules(context);
    ERR_clear_error();
    int rc = load_own(tls, files, err);
    rc = rc ? rc : load_authorities(tls, files->ca, err);
    if (rc) {
        ef_tls_destroy(tls);
        return rc;
    }
    *out = tls;
    return 0;
}

void
ef_tls_destroy(struct ef_tls *tls)
{
    if (tls) {
        SSL_CTX_free(tls->context);
        free(tls);
    }
}

bool
ef_tls_can_serve(const struct ef_tls *tls)
{
    return tls && tls->has_cert;
}

/* --- Connections ------------------------------------------------------------------ */

static struct bufferevent *
wrap(struct event_base *base, int fd, SSL *ssl, enum bufferevent_ssl_state state)
{
    struct bufferevent *bev = bufferevent_openssl_socket_new(base, fd, ssl, state, BEV_OPT_CLOSE_ON_FREE);
    if (!bev) {
        SSL_free(ssl);
    }
    return bev;
}

struct bufferevent *
ef_tls_accept(const struct ef_tls *tls, struct event_base *base)
{
    SSL *ssl = tls->has_cert ? SSL_new(tls->context) : NULL;
    if (!ssl) {
        return NULL;
    }
    int demand = tls->clients_may_have_none ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_set_verify(ssl, tls->has_ca ? SSL_VERIFY_PEER | demand : SSL_VERIFY_NONE, NULL);
    return wrap(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING);
}

/* The certificate must name `host`, by the kind of name that it is. */
static bool
expect_host(SSL *ssl, const char *host)
{
    unsigned char binary[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, binary) == 1 || inet_pton(AF_INET6, host, binary) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct bufferevent *
ef_tls_connect(const struct ef_tls *tls, struct event_base *base, int fd, const char *host)
{
    SSL *ssl = SSL_new(tls->context);
    if (!ssl) {
        return NULL;
    }
    SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    if (host && !expect_host(ssl, host)) {
        SSL_free(ssl);
        return NULL;
    }
    return wrap(base, fd, ssl, BUFFEREVENT_SSL_CONNECTING);
}

bool
ef_tls_peer_name(const struct ef_tls *tls, struct bufferevent *bev, char *buf, size_t size)
{
    SSL *ssl = tls->has_ca ? bufferevent_openssl_get_ssl(bev) : NULL;
    X509 *certificate = ssl && SSL_get_verify_result(ssl) == X509_V_OK ? SSL_get0_peer_certificate(ssl) : NULL;
    return certificate &&
           X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, buf, (int) size) > 0;
}

/* The first reason that TLS itself gives, or NULL: the queue also has what the
 * socket said. */
static const char *
first_reason(struct bufferevent *bev)
{
    unsigned long code;
    const char *text = NULL;
    while (!text && (code = bufferevent_get_openssl_error(bev))) {
        text = ERR_SYSTEM_ERROR(code) ? NULL : ERR_reason_error_string(code);
    }
    return text;
}

/* A server that refuses us says why and closes, which may have failed our writing
 * before we read it. */
static const char *
unread_alert(SSL *ssl)
{
    char byte;
    ERR_clear_error();
    unsigned long code = SSL_read(ssl, &byte, 1) <= 0 ? ERR_peek_error() : 0;
    ERR_clear_error();
    return code && !ERR_SYSTEM_ERROR(code) ? ERR_reason_error_string(code) : NULL;
}

int
ef_tls_explain(struct bufferevent *bev, struct ef_error *err)
{
    SSL *ssl = bufferevent_openssl_get_ssl(bev); /* NULL: not TLS. */
    const char *reason = ssl ? first_reason(bev) : NULL;
    if (ssl && !reason && SSL_is_init_finished(ssl)) {
        reason = unread_alert(ssl);
    }
    if (!reason) {
        return 0;
    }
    long verdict = SSL_get_verify_result(ssl);
    if (verdict != X509_V_OK) {
        return ef_error_set(err, -EPROTO, "its certificate is refused: %s", X509_verify_cert_error_string(verdict));
    }
    return ef_error_set(err, -EPROTO, "TLS: %s", reason);
}
