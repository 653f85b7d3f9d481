/* SPDX-License-Identifier: Apache-2.0 */
/* Which closed traces are kept; the others only count.
 *
 *     struct ef_keep keep;
 *     if (ef_keep_init(&keep, "abnormal+debug+control+probe", &err)) fail;
 *     if (ef_keep_wants(&keep, &trace, &packet)) store it;
 *
 * "all", classes joined by '+', or a filter of the project's language, which may
 * ask for trace.* too:
 *
 *     abnormal  a loop, a drop, a TTL that ran out, or a delivery that is not sure
 *     debug     a hop carried the debug mark
 *     control   BGP, PFC pauses, negative acknowledgements of RDMA
 *     probe     it has the signature of a guided probe
 *
 * Immutable once made: any thread may ask. */
#ifndef EF_ANALYZER_KEEP_H
#define EF_ANALYZER_KEEP_H

#include "base/error.h"
#include "filter/filter.h"
#include "trace/packet_trace.h"

enum ef_keep_class {
    EF_KEEP_ALL = 1,
    EF_KEEP_ABNORMAL = 2,
    EF_KEEP_DEBUG = 4,
    EF_KEEP_CONTROL = 8,
    EF_KEEP_PROBE = 16,
};

struct ef_keep {
    unsigned classes;
    struct ef_filter *filter; /* NULL where classes say it. */
    const char *text;         /* As it was given; borrowed. */
};

/* Returns 0, or -EINVAL or -ENOMEM with `err`. */
int ef_keep_init(struct ef_keep *keep, const char *text, struct ef_error *err);
void ef_keep_deinit(struct ef_keep *keep);

/* `trace` is finished and judged, `packet` its original. */
bool ef_keep_wants(const struct ef_keep *keep, const struct ef_trace *trace, const struct ef_packet *packet);

#endif
