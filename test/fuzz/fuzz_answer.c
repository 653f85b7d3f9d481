/* SPDX-License-Identifier: Apache-2.0 */
/* Any frame to what answers for the VIPs: the first byte chooses the IP version.
 * An answer goes to one who asked (or to all nodes, where nobody said who asked),
 * comes from our address, and is no longer than the question, but for an
 * advertisement; and it is itself nothing that would be answered. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "reshuffler/answer.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x10};

static struct ef_plan *
make_plan(const char *vip)
{
    struct ef_plan *plan = calloc(1, sizeof *plan);
    if (!plan || ef_plan_add_vip(plan, vip, NULL) || ef_plan_finish(plan, NULL)) {
        abort();
    }
    return plan;
}

static void
must(int holds)
{
    if (!holds) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ef_plan *plans[2];
    static uint8_t out[EF_ANSWER_MAX_BYTES], again[EF_ANSWER_MAX_BYTES];
    enum ef_answer_kind kind = EF_N_ANSWER_KINDS;
    if (!plans[0]) {
        plans[0] = make_plan("10.255.255.1");
        plans[1] = make_plan("fd00::ff");
    }
    if (size < 1 || size > 65536) {
        return 0;
    }
    const struct ef_plan *plan = plans[data[0] & 1];
    uint32_t n = ef_answer_frame(plan, mac, data + 1, (uint32_t) size - 1, out, &kind);
    if (n) {
        must(kind < EF_N_ANSWER_KINDS && n >= 42);
        must(n <= size - 1 || (kind == EF_ANSWER_ND && n == 86));
        must(!memcmp(out + 6, mac, 6));
        must(!(out[0] & 1) || (kind == EF_ANSWER_ND && !memcmp(out, "\x33\x33\0\0\0\1", 6)));
        must(!ef_answer_frame(plan, out, out, n, again, &kind));
    }
    return 0;
}
