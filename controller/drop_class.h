/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop" (drop_run.h), where all packets like one are dropped: which
 * link it is, and which packets (drop_pattern.h).
 *
 *     more source ports, if it is not known which of equal ways they take
 *     other addresses, ports, protocol, flags, length; the next switch itself
 *     what could not be told, since it took another way, with more source ports
 *
 * Where nothing at all came of the next switch meanwhile, its own word is waited for:
 * either it gets nothing, or its copies get lost. If some came, the packet is sent once
 * more, for they may have come only since then; what is not seen to be dropped again was not
 * dropped, as far as anybody knows. */
#ifndef CONTROLLER_DROP_CLASS_H
#define CONTROLLER_DROP_CLASS_H

#include <stdbool.h>

struct drop;
struct probe_round_order;

/* Ends with the verdict, or goes on with drop_lengths.h. */
void drop_class_start(struct drop *a);

/* What became of probes that were sent once more: they are dropped, as was seen of most of them. For tests, too. */
bool drop_is_confirmed(const struct probe_round_order *again);

#endif
