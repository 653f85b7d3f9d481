/* SPDX-License-Identifier: Apache-2.0 */
/* Why a copy of a packet was discarded: one list for all daemons, in which
 * each entry is the enum, the counter's name and the text for people at once.
 * A copy that is discarded anywhere has exactly one of these reasons. */
#ifndef EF_BASE_DROP_REASON_H
#define EF_BASE_DROP_REASON_H

#define EF_DROP_REASONS(X)                                                                       \
    X(NONE, "none", "not discarded")                                                             \
    X(NOT_A_COPY, "not_a_copy", "the frame is not GRE with a mirrored packet inside")            \
    X(OUTER_FRAGMENT, "outer_fragment", "the copy's outer IP packet is a fragment")              \
    X(OUTER_TRUNCATED, "outer_truncated", "the frame ends within the outer headers")             \
    X(OUTER_CHECKSUM, "outer_checksum", "the outer IPv4 header's checksum is wrong")             \
    X(BAD_GRE, "bad_gre", "GRE version, flags or payload type are not one we take")              \
    X(BAD_ERSPAN, "bad_erspan", "the ERSPAN header contradicts itself")                          \
    X(INNER_MALFORMED, "inner_malformed", "the mirrored packet's headers are cut short or lie")  \
    X(NOT_OUR_VIP, "not_our_vip", "the copy is not addressed to us")                             \
    X(NO_ANALYZER, "no_analyzer", "no analyzer is configured")                                   \
    X(ANALYZERS_DOWN, "analyzers_down", "all analyzers are down or draining")                    \
    X(SEND_FAILED, "send_failed", "the kernel refused to send the copy on")                      \
    X(TOO_BIG, "too_big", "the copy is larger than the outgoing link's MTU")                     \
    X(SOURCE_OVERFLOW, "source_overflow", "the receive ring was full: the kernel lost the copy") \
    X(WORKER_BUSY, "worker_busy", "the ring to the worker was full")                             \
    X(TABLE_FULL, "table_full", "no room for another open trace")                                \
    X(HOPS_FULL, "hops_full", "the trace already has the most hops it can hold")                 \
    X(STORE_FULL, "store_full", "the closed trace did not fit into the store")                   \
    X(POLICY, "policy", "of a trace that --keep does not name: counted, and not kept")

enum ef_drop_reason {
#define X(ID, NAME, TEXT) EF_DROP_##ID,
    EF_DROP_REASONS(X)
#undef X
        EF_N_DROP_REASONS
};

/* The counter's name ("worker_busy") and the sentence for people. */
const char *ef_drop_reason_name(enum ef_drop_reason reason);
const char *ef_drop_reason_text(enum ef_drop_reason reason);

#endif
