#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# kill -9 of any daemon, 20 times by chance (test/soak/kill_everything.py): nothing that
# was acknowledged is lost, switches get what they should have, a minority refuses.

: "${EF_BUILD:?the build directory}" "${EF_SOURCE:?the source directory}"
EF_OVS_PREFIX=${EF_OVS_PREFIX:-$EF_BUILD/ovs/install}

@test "whoever is killed, what was acknowledged is there and switches are as they should be" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    [ -x "$EF_OVS_PREFIX/sbin/ovs-vswitchd" ] || skip "no Open vSwitch below $EF_OVS_PREFIX (make ovs)"
    "$EF_SOURCE/test/soak/kill_everything.py" --build "$EF_BUILD" --ovs "$EF_OVS_PREFIX" --kills 20 --seed 3 \
        >"$BATS_TEST_TMPDIR/tap" || {
        cut -c1-2000 "$BATS_TEST_TMPDIR/tap"
        return 1
    }
    cut -c1-300 "$BATS_TEST_TMPDIR/tap" | sed -n 's/^# */# /p' >&3
    [ "$(grep -c '^ok ' "$BATS_TEST_TMPDIR/tap")" = 6 ]
}
