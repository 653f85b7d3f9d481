/* SPDX-License-Identifier: Apache-2.0 */
/* A small certificate authority; see pki.h. */
#include <config.h>

#include "net/pki.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

enum {
    AUTHORITY_DAYS = 3650,
    CERTIFICATE_DAYS = 825, /* The most that browsers accept of anybody. */
    SKEW_S = 300,           /* A clock that is a little behind must not refuse a new certificate. */
    SERIAL_BITS = 127,
    PATH_BYTES = 4096,
    MAX_NAME = 64, /* RFC 5280, ub-common-name. */
    MAX_HOSTS_TEXT = 4096,
};

/* A key and its certificate. */
struct identity {
    EVP_PKEY *key;
    X509 *cert;
};

static void
identity_deinit(struct identity *id)
{
    EVP_PKEY_free(id->key);
    X509_free(id->cert);
}

static int
path_of(char path[PATH_BYTES], const char *dir, const char *name, const char *suffix, struct ef_error *err)
{
    int n = snprintf(path, PATH_BYTES, "%s/%s.%s", dir, name, suffix);
    return n < PATH_BYTES ? 0 : ef_error_set(err, -ENAMETOOLONG, "%.60s...: too long a path", dir);
}

/* --- Files ------------------------------------------------------------------------ */

/* What writes one PEM into a file. */
typedef bool write_pem(FILE *file, const struct identity *id);

static bool
write_key(FILE *file, const struct identity *id)
{
    return PEM_write_PrivateKey(file, id->key, NULL, NULL, 0, NULL, NULL) == 1;
}

static bool
write_cert(FILE *file, const struct identity *id)
{
    return PEM_write_X509(file, id->cert) == 1;
}

static int
write_file(const char *dir, const char *name, const char *suffix, mode_t mode, write_pem *write_it,
           const struct identity *id, struct ef_error *err)
{
    char path[PATH_BYTES];
    int rc = path_of(path, dir, name, suffix, err);
    if (rc) {
        return rc;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        return code == EEXIST ? ef_error_set(err, -EEXIST, "%s is there already; remove it to make another", path)
                              : ef_error_set(err, -code, "%s: %s", path, strerror(code));
    }
    bool ok = write_it(file, id) && !fflush(file) && !fsync(fd);
    if (fclose(file) || !ok) {
        unlink(path);
        return ef_error_set(err, -EIO, "%s: cannot be written", path);
    }
    return 0;
}

/* The key first: without it the certificate is of no use. */
static int
write_identity(const char *dir, const char *name, const struct identity *id, struct ef_error *err)
{
    int rc = write_file(dir, name, "key", 0600, write_key, id, err);
    return rc ? rc : write_file(dir, name, "crt", 0644, write_cert, id, err);
}

static FILE *
open_file(const char *dir, const char *suffix, struct ef_error *err)
{
    char path[PATH_BYTES];
    if (path_of(path, dir, "ca", suffix, err)) {
        return NULL;
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        ef_error_set(err, -ENOENT, "%s: %s; `efctl pki init` makes an authority", path, strerror(errno));
    }
    return file;
}

static int
read_authority(const char *dir, struct identity *ca, struct ef_error *err)
{
    FILE *key = open_file(dir, "key", err), *cert = key ? open_file(dir, "crt", err) : NULL;
    int rc = -ENOENT;
    if (key && cert) {
        ca->key = PEM_read_PrivateKey(key, NULL, NULL, NULL);
        ca->cert = PEM_read_X509(cert, NULL, NULL, NULL);
        bool ok = ca->key && ca->cert && X509_check_private_key(ca->cert, ca->key) == 1;
        rc = ok ? 0 : ef_error_set(err, -EINVAL, "%s: ca.key and ca.crt are no key and its certificate", dir);
    }
    if (key) {
        fclose(key);
    }
    if (cert) {
        fclose(cert);
    }
    return rc;
}

/* --- Certificates ------------------------------------------------------------------ */

static bool
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

static bool
set_serial(X509 *cert)
{
    BIGNUM *serial = BN_new();
    bool ok = serial && BN_rand(serial, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
              BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert));
    BN_free(serial);
    return ok;
}

/* Everything but the extensions that differ, and the signature. `issuer` NULL: it
 * is its own. */
static bool
fill_in(struct identity *id, const char *name, int days, X509 *issuer)
{
    id->key = EVP_EC_gen("P-256");
    id->cert = X509_new();
    if (!id->key || !id->cert) {
        return false;
    }
    X509_NAME *subject = X509_get_subject_name(id->cert);
    return X509_set_version(id->cert, X509_VERSION_3) && set_serial(id->cert) &&
           X509_gmtime_adj(X509_getm_notBefore(id->cert), -SKEW_S) &&
           X509_gmtime_adj(X509_getm_notAfter(id->cert), days * 86400L) &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *) name, -1, -1, 0) &&
           X509_set_issuer_name(id->cert, X509_get_subject_name(issuer ? issuer : id->cert)) &&
           X509_set_pubkey(id->cert, id->key) && add_extension(id->cert, id->cert, NID_subject_key_identifier, "hash");
}

int
ef_pki_init(const char *dir, struct ef_error *err)
{
    if (mkdir(dir, 0755) && errno != EEXIST) {
        return ef_error_set(err, -errno, "%s: %s", dir, strerror(errno));
    }
    struct identity ca = {0};
    bool ok = fill_in(&ca, "Everflow authority", AUTHORITY_DAYS, NULL) &&
              add_extension(ca.cert, ca.cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
              add_extension(ca.cert, ca.cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
              X509_sign(ca.cert, ca.key, EVP_sha256());
    int rc = ok ? write_identity(dir, "ca", &ca, err) : ef_error_set(err, -ENOMEM, "cannot make a certificate");
    identity_deinit(&ca);
    return rc;
}

static bool
consists_of(const char *text, const char *others)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (; *text; text++) {
        if (!strchr(letters, *text) && !strchr(others, *text)) {
            return false;
        }
    }
    return true;
}

/* "IP:10.0.0.1,DNS:controller": what OpenSSL makes alternative names from. Nothing
 * in a host can end its entry. */
static int
join_hosts(char text[MAX_HOSTS_TEXT], const char *const hosts[], size_t n, struct ef_error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char binary[sizeof(struct in6_addr)];
        bool is_ip = inet_pton(AF_INET, hosts[i], binary) == 1 || inet_pton(AF_INET6, hosts[i], binary) == 1;
        if (!is_ip && (!*hosts[i] || !consists_of(hosts[i], "-."))) {
            return ef_error_set(err, -EINVAL, "'%.60s' is neither an address nor a host's name", hosts[i]);
        }
        used += (size_t) snprintf(text + used, MAX_HOSTS_TEXT - used, "%s%s:%s", i ? "," : "", is_ip ? "IP" : "DNS",
                                  hosts[i]);
        if (used >= MAX_HOSTS_TEXT) {
            return ef_error_set(err, -E2BIG, "too many hosts for one certificate");
        }
    }
    return 0;
}

static int
sign(const char *dir, const char *name, const char *hosts, const struct identity *ca, struct ef_error *err)
{
    struct identity id = {0};
    bool ok = fill_in(&id, name, CERTIFICATE_DAYS, ca->cert) &&
              add_extension(id.cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
              add_extension(id.cert, ca->cert, NID_key_usage, "critical,digitalSignature") &&
              add_extension(id.cert, ca->cert, NID_ext_key_usage, "serverAuth,clientAuth") &&
              add_extension(id.cert, ca->cert, NID_authority_key_identifier, "keyid") &&
              (!*hosts || add_extension(id.cert, ca->cert, NID_subject_alt_name, hosts)) &&
              X509_sign(id.cert, ca->key, EVP_sha256());
    int rc = ok ? write_identity(dir, name, &id, err) : ef_error_set(err, -ENOMEM, "cannot make a certificate");
    identity_deinit(&id);
    return rc;
}

int
ef_pki_sign(const char *dir, const char *name, const char *const hosts[], size_t n_hosts, struct ef_error *err)
{
    char text[MAX_HOSTS_TEXT] = "";
    if (!*name || *name == '.' || strlen(name) > MAX_NAME || !consists_of(name, "-._")) {
        return ef_error_set(err, -EINVAL, "'%.60s' is no name: up to %d letters, digits, '.', '-' and '_'", name,
                            MAX_NAME);
    }
    int rc = join_hosts(text, hosts, n_hosts, err);
    struct identity ca = {0};
    rc = rc ? rc : read_authority(dir, &ca, err);
    rc = rc ? rc : sign(dir, name, text, &ca, err);
    identity_deinit(&ca);
    return rc;
}
