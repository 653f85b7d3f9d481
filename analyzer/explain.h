/* SPDX-License-Identifier: Apache-2.0 */
/* Says of one frame what the analyzer does with it and why, for people. */
#ifndef EF_ANALYZER_EXPLAIN_H
#define EF_ANALYZER_EXPLAIN_H

#include "base/error.h"

struct evbuffer;

/* `words` are the hexadecimal digits of a whole frame from its Ethernet header,
 * with colons or spaces as anyone likes. Returns 0, or -EINVAL with `err`. */
int ef_explain_words(unsigned n_workers, int n, char *const words[], struct evbuffer *reply, struct ef_error *err);

#endif
