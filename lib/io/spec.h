/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that name sources and sinks: SCHEME[:WHERE], where WHERE may end in
 * @NETNS. Only lib/io includes this. */
#ifndef EF_IO_SPEC_H
#define EF_IO_SPEC_H

#include <stddef.h>

#include "base/error.h"

/* What stands behind "SCHEME:" in `spec`; "" if `spec` is SCHEME alone or
 * "SCHEME@..." (which is then returned from the '@' on); NULL if `spec` has
 * another scheme. */
const char *ef_spec_match(const char *spec, const char *scheme);

/* Splits `where` at its first '@' into `name` (`size` bytes) and `*netns`, which
 * points into `where` or is NULL without '@'. -EINVAL with `err` if the name
 * does not fit or the namespace is empty. */
int ef_spec_split_netns(const char *where, char *name, size_t size, const char **netns, struct ef_error *err);

/* "unknown WHAT 'spec'; did you mean pcap? (known: a, b)"; `schemes` and `usages`
 * end with NULL. Returns -EINVAL. */
int ef_spec_unknown(const char *what, const char *spec, const char *const schemes[], const char *const usages[],
                    struct ef_error *err);

#endif
