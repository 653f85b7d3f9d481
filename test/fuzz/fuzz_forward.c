/* SPDX-License-Identifier: Apache-2.0 */
/* Any frame into the reshuffler: the first byte chooses the IP version of the
 * plan and how much longer than captured the frame was on the wire, the rest is
 * the frame. What is sent on must lie within the frame, and have the new
 * destination, the old source and a right checksum. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "packet/build.h"
#include "reshuffler/outer_ip.h"
#include "reshuffler/plan.h"

static struct ef_plan *
make_plan(const char *vip, const char *other_vip, const char *first, const char *second)
{
    struct ef_plan *plan = calloc(1, sizeof *plan);
    if (!plan || ef_plan_add_vip(plan, vip, NULL) || (other_vip && ef_plan_add_vip(plan, other_vip, NULL)) ||
        ef_plan_add_analyzer(plan, first, NULL) || ef_plan_add_analyzer(plan, second, NULL) ||
        ef_plan_finish(plan, NULL)) {
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

static void
check_redirect(const uint8_t *ip, uint32_t len, const uint8_t address[16])
{
    static uint8_t packet[65536];
    must(len >= 20 && len <= sizeof packet);
    memcpy(packet, ip, len);
    ef_outer_ip_redirect(packet, address);
    if (packet[0] >> 4 == 4) {
        uint32_t header = (packet[0] & 15u) * 4;
        must(!ef_checksum_fold(ef_checksum_add(0, packet, header)));
        must(!memcmp(packet + 16, address + 12, 4) && packet[8] == EF_OUTER_IP_TTL);
        must(!memcmp(packet, ip, 8) && !memcmp(packet + 12, ip + 12, 4));
        must(!memcmp(packet + 20, ip + 20, len - 20));
    } else {
        must(len >= 40 && packet[0] >> 4 == 6);
        must(!memcmp(packet + 24, address, 16) && packet[7] == EF_OUTER_IP_TTL);
        must(!memcmp(packet, ip, 7) && !memcmp(packet + 8, ip + 8, 16));
        must(!memcmp(packet + 40, ip + 40, len - 40));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ef_plan *plans[2];
    if (!plans[0]) {
        plans[0] = make_plan("10.255.255.1", NULL, "a=10.1.0.21", "b=10.2.0.21");
        plans[1] =
            make_plan("fd00::ff", "10.255.255.1", "a=10.1.0.21,address6=fd01::21", "b=10.2.0.21,address6=fd02::21");
    }
    if (size < 1 || size > 65536) {
        return 0;
    }
    const struct ef_plan *plan = plans[data[0] & 1];
    const uint8_t *frame = data + 1;
    uint32_t len = (uint32_t) size - 1;
    struct ef_decision d;
    enum ef_drop_reason why = ef_plan_decide(plan, frame, len, len + (data[0] >> 1) * 32u, &d);
    must(why < EF_N_DROP_REASONS);
    if (!why) {
        must(d.analyzer < plan->n_analyzers && d.copy.outer_ip_offset + d.len <= len);
        check_redirect(frame + d.copy.outer_ip_offset, d.len, plan->destinations[d.version][d.analyzer]);
    }
    return 0;
}
