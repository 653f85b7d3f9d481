/* SPDX-License-Identifier: Apache-2.0 */
/* A small certificate authority in a folder, for those who have none:
 *
 *     ef_pki_init("/etc/everflow/pki", &err);                        ca.key, ca.crt
 *     ef_pki_sign("/etc/everflow/pki", "analyzer1", hosts, 1, &err);  analyzer1.key, analyzer1.crt
 *
 * Keys are on the curve P-256 and readable by their owner only; the authority
 * lives 10 years, what it signs 825 days. No file is ever overwritten.
 *
 * Blocking; any thread. */
#ifndef EF_NET_PKI_H
#define EF_NET_PKI_H

#include <stddef.h>

#include "base/error.h"

/* Makes the folder, if need be, and an authority in it. Returns 0, -EEXIST if
 * there is one, or another negative errno with `err`. */
int ef_pki_init(const char *dir, struct ef_error *err);

/* Makes a key and a certificate for `name` (letters, digits, '.', '-' and '_'),
 * good for servers at these `hosts` (addresses or names) and for clients. Returns
 * 0, -ENOENT (no authority there), -EEXIST (has one already), -EINVAL (not a name,
 * not a host) or another negative errno with `err`. */
int ef_pki_sign(const char *dir, const char *name, const char *const hosts[], size_t n_hosts, struct ef_error *err);

#endif
