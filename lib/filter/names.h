/* SPDX-License-Identifier: Apache-2.0 */
/* Names of switches in filters: "switch == leaf1" is compiled as if the switch's
 * address stood there, "switch in {10.255.0.1, fd00::1}" if it has two. Called by
 * typecheck.c for a word that is no address. */
#ifndef EF_FILTER_NAMES_H
#define EF_FILTER_NAMES_H

#include "base/error.h"
#include "filter/ast.h"

/* Reads the word of `operand`, which is one of `node`, as a name. Returns 0;
 * -EINVAL with `err` at the word; or -ENOMEM. */
int ef_filter_resolve_name(const struct ef_filter_names *names, struct ef_node *node, struct ef_operand *operand,
                           struct ef_error *err);

#endif
