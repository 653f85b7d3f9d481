/* SPDX-License-Identifier: Apache-2.0 */
/* A filter as the matches of rules: what a switch can decide about a packet as it
 * arrives, in OpenFlow syntax (table Everflow_Rule, column "match").
 *
 *     json_t *matches;
 *     if (debug_matches("tcp.port == 80", &matches, &err)) ...
 *     // ["dl_type=0x0800,nw_proto=6,tp_src=80", "dl_type=0x0800,nw_proto=6,tp_dst=80", the same of IPv6]
 *
 * A switch sees the outermost headers, a filter any: of packets in tunnels the
 * matches choose fewer. Only IP packets can have the debug bit, so each match is of
 * IPv4 or IPv6. What has no match is refused, by name: negation, fields behind the
 * headers that OpenFlow knows, lengths, checksums, `switch`. Pure function; any thread. */
#ifndef CONTROLLER_DEBUG_MATCH_H
#define CONTROLLER_DEBUG_MATCH_H

#include <jansson.h>

#include "base/error.h"

enum { DEBUG_MATCHES_MAX = 64 };

/* Returns 0 and an array of 1 to DEBUG_MATCHES_MAX strings in `matches` (new
 * reference), of which a packet fits one at least if it fits the filter; or -EINVAL
 * with `err`, whose offset is the place in `filter`. */
int debug_matches(const char *filter, json_t **matches, struct ef_error *err);

#endif
