/* SPDX-License-Identifier: Apache-2.0 */
/* What one worker counted for one counter, broken down: by switch, by port, or by
 * the prefix of the source or the destination.
 *
 *     ef_group_by_parse("src/24", &by, &err);
 *     groups = ef_counter_groups_create(by, 64);                     // control thread
 *     ef_counter_groups_count(groups, &trace);                       // its worker
 *     for (i = 0; i < ef_counter_groups_n(groups); i++) {            // anyone
 *         const struct ef_counter_group *group = ef_counter_groups_get(groups, i);
 *
 * A packet counts once for each group that it is in: for every switch that it
 * crossed, every port at which a copy was taken, the one prefix. With "src" and
 * "dst" it is the innermost IP header that is asked; the length is of the
 * address's own bits, of IPv4 32 at most. A packet without such an address is in
 * the group "none", and those for whose group there was no room are in the first
 * group of all, "other": a group that is full loses no packet unseen.
 *
 * All memory is taken when it is created; counting allocates and locks nothing.
 * One thread counts, any may read: a group is complete before it is published,
 * and stays where it is. */
#ifndef EF_ANALYZER_COUNTER_GROUPS_H
#define EF_ANALYZER_COUNTER_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/counter_series.h"
#include "base/error.h"
#include "trace/packet_trace.h"

enum ef_group_kind { EF_GROUP_BY_NONE, EF_GROUP_BY_SWITCH, EF_GROUP_BY_PORT, EF_GROUP_BY_SRC, EF_GROUP_BY_DST };

enum { EF_GROUP_BY_TEXT_SIZE = 16, EF_GROUP_TEXT_SIZE = 80 };

struct ef_group_by {
    uint8_t kind; /* enum ef_group_kind */
    uint8_t len;  /* Of the prefix. */
};

enum ef_group_what { EF_GROUP_OTHER, EF_GROUP_WITHOUT, EF_GROUP_SWITCH, EF_GROUP_PORT, EF_GROUP_PREFIX };

/* What a group is of. Compared byte by byte: what is not used is 0. */
struct ef_group_key {
    uint8_t address[16]; /* Of the switch, or the prefix. */
    uint32_t port;       /* If `has_port`. */
    uint8_t what;        /* enum ef_group_what */
    uint8_t len;         /* Of the prefix, in the address's own bits. */
    bool has_port, is_egress;
};

struct ef_counter_group {
    struct ef_group_key key;
    struct ef_counter_series series;
};

struct ef_counter_groups;

/* "none", "switch", "port", "src/LEN" or "dst/LEN", with LEN from 0 to 128. NULL is
 * "none". Returns 0, or -EINVAL with `err`. */
int ef_group_by_parse(const char *text, struct ef_group_by *by, struct ef_error *err);
char *ef_group_by_format(struct ef_group_by by, char buf[EF_GROUP_BY_TEXT_SIZE]); /* Returns `buf`. */

/* A text that is its own for each key: "10.255.0.1", "10.255.0.1 port 3 ingress",
 * "10.1.2.0/24", "none", "other". Returns `buf`. */
char *ef_group_key_format(const struct ef_group_key *key, char buf[EF_GROUP_TEXT_SIZE]);

/* `max_groups` with "other", at least 2 and at most 32767. */
size_t ef_counter_groups_memory(unsigned max_groups);
struct ef_counter_groups *ef_counter_groups_create(struct ef_group_by by, unsigned max_groups); /* NULL: no memory. */
void ef_counter_groups_destroy(struct ef_counter_groups *groups);                               /* NULL is fine. */

/* `trace` is finished. */
void ef_counter_groups_count(struct ef_counter_groups *groups, const struct ef_trace *trace);

unsigned ef_counter_groups_n(const struct ef_counter_groups *groups);
const struct ef_counter_group *ef_counter_groups_get(const struct ef_counter_groups *groups, unsigned i);

#endif
