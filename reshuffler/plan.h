/* SPDX-License-Identifier: Apache-2.0 */
/* What a reshuffler does with a frame: its virtual addresses, its analyzers and
 * the table between them, and the one decision that forwarding (forward.c) and
 * explaining (explain.c) share.
 *
 *     struct ef_decision d;
 *     enum ef_drop_reason why = ef_plan_decide(plan, frame, len, wire_len, &d);
 *     if (!why) send d.len bytes from frame + d.copy.outer_ip_offset to plan->analyzers[d.analyzer];
 *
 * or in two steps, the first for all frames of a burst and then the second, for
 * which the table's line has come into the cache meanwhile:
 *
 *     why = ef_plan_examine(plan, frame, len, wire_len, &d);
 *     if (!why) ef_plan_choose(plan, &d);
 *
 * A plan is made once by one thread and then only read, by any number. When
 * analyzers come, go or fail, another plan takes its place (plan_cell.h). In all
 * plans that follow each other an analyzer keeps its index, by which its copies
 * are counted; an index that is free has the state EF_ANALYZER_NONE. */
#ifndef RESHUFFLER_PLAN_H
#define RESHUFFLER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/drop_reason.h"
#include "base/error.h"
#include "base/util.h"
#include "packet/copy.h"
#include "packet/packet.h"
#include "reshuffler/member.h"
#include "reshuffler/steer.h"

enum { EF_PLAN_MAX_VIPS = 16, EF_PLAN_MAX_ANALYZERS = 256 };

enum ef_ip_version { EF_IP4, EF_IP6 };

enum ef_analyzer_state { EF_ANALYZER_NONE, EF_ANALYZER_UP, EF_ANALYZER_DRAINING, EF_ANALYZER_DOWN };

struct ef_plan {
    bool serves[2];   /* Whether there are VIPs of IPv4, of IPv6; by enum ef_ip_version. */
    bool has_away;    /* Some analyzer has copies that are not sent to it. */
    bool is_all_away; /* Nobody is left to send copies to. */
    uint64_t sender;  /* The reshuffler's own number in its reports, the same in all its plans. */
    unsigned n_vips, n_analyzers;
    uint8_t vips[EF_PLAN_MAX_VIPS][16];
    uint8_t vip_versions[EF_PLAN_MAX_VIPS]; /* enum ef_ip_version, once finished. */
    struct ef_member analyzers[EF_PLAN_MAX_ANALYZERS];
    uint8_t destinations[2][EF_PLAN_MAX_ANALYZERS][16]; /* Their addresses by version, once finished. */
    uint8_t states[EF_PLAN_MAX_ANALYZERS];              /* enum ef_analyzer_state */
    struct ef_steer *steer;                             /* NULL without analyzers. */
    uint64_t generation;                                /* See plan_cell.h. */
    struct ef_plan *next_retired;
};

/* Add to a plan that was zeroed. `text` is an address, or as ef_member_parse()
 * takes it. Return 0, -EINVAL, -EEXIST (there already) or -ENOSPC with `err`. */
int ef_plan_add_vip(struct ef_plan *plan, const char *text, struct ef_error *err);
int ef_plan_add_analyzer(struct ef_plan *plan, const char *text, struct ef_error *err);

/* A copy to be changed and finished. Returns NULL if memory is out; the caller
 * frees it with ef_plan_free(). */
struct ef_plan *ef_plan_copy(const struct ef_plan *plan);
void ef_plan_free(struct ef_plan *plan); /* NULL is fine. */

/* The index of the analyzer `name`, or -1. */
int ef_plan_find(const struct ef_plan *plan, const char *name);

/* Puts `member` at index `i`, below n_analyzers or equal to it: a new one, or in
 * place of what was there. Returns 0, or -EEXIST with `err` if another one has
 * its name or address. */
int ef_plan_put(struct ef_plan *plan, unsigned i, const struct ef_member *member, enum ef_analyzer_state state,
                struct ef_error *err);

/* Checks the plan as a whole and makes its table. Returns 0, -EINVAL or -ENOMEM
 * with `err`. Afterwards nothing may be added. */
int ef_plan_finish(struct ef_plan *plan, struct ef_error *err);
void ef_plan_deinit(struct ef_plan *plan);

struct ef_decision {
    struct ef_copy copy;
    uint64_t flow_hash;
    uint32_t len;      /* Of the outer IP packet. */
    uint8_t version;   /* enum ef_ip_version, of the outer packet. */
    unsigned analyzer; /* Index of the one that gets it ... */
    unsigned home;     /* ... and of the one it belongs to, another while that is away. */
};

/* Decides on a received Ethernet frame. Returns EF_DROP_NONE with `d` filled in,
 * or why the frame is discarded: what ef_copy_parse() and ef_outer_ip_check()
 * return, NOT_OUR_VIP, NO_ANALYZER, ANALYZERS_DOWN. A copy whose original is cut short or
 * malformed is still sent, by the hash of what there is of it: analyzers judge
 * originals, and can only count what they are given. */
enum ef_drop_reason ef_plan_decide(const struct ef_plan *plan, const uint8_t *frame, uint32_t len, uint32_t wire_len,
                                   struct ef_decision *d);

/* The same without d->analyzer and d->home. */
enum ef_drop_reason ef_plan_examine(const struct ef_plan *plan, const uint8_t *frame, uint32_t len, uint32_t wire_len,
                                    struct ef_decision *d);

/* Fills them in for a frame that is not discarded. */
static inline void
ef_plan_choose(const struct ef_plan *plan, struct ef_decision *d)
{
    d->analyzer = d->home = ef_steer_pick(plan->steer, d->flow_hash);
    if (EF_UNLIKELY(plan->has_away)) {
        d->home = ef_steer_home(plan->steer, d->flow_hash);
    }
}

#endif
