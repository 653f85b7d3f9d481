/* SPDX-License-Identifier: Apache-2.0 */
/* What a correct collector must say about a workload, as a file: a JSON object
 * per line for each packet to which something happened (or for every packet),
 * and a last line with the sums.
 *
 *     {"packet":17,"id":"a3..","flow":5,"kind":"drop","path":["10.255.1.2",...],"lost":[1],"duplicated":[]}
 *     {"end":true,"packets":100,"copies":{"made":500,"lost":1,"duplicated":0,"arrived":499},
 *      "kinds":{"plain":99,"loop":0,"drop":1,"muxed":0},"switches":{"10.255.1.1":{"made":100,...}}}
 *
 * `path` is the switches in the packet's order, whether their copies arrived or
 * not; `lost` and `duplicated` are indices in it; `id` is the trace's. */
#ifndef REPLAY_TRUTH_H
#define REPLAY_TRUTH_H

#include "utilities/replay/stream.h"

/* `stream` is at its end. Returns 0 or a negative errno with `err`. */
int replay_truth_write(const char *path, const struct replay_workload *w, struct replay_stream *stream,
                       bool every_packet, struct ef_error *err);

#endif
