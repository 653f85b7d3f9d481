#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# kill -9 in a loop, for half a minute (test/soak): whoever is killed works again,
# no verdict is wrong, and the survivors are as they were.

: "${EF_BUILD:?the build directory}" "${EF_SOURCE:?the source directory}"

@test "killed again and again, the suite judges nothing wrong" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    "$EF_SOURCE/test/soak/kill_loop.py" --build "$EF_BUILD" --seconds 30 --seed 3 >"$BATS_TEST_TMPDIR/tap" || {
        cut -c1-2000 "$BATS_TEST_TMPDIR/tap"
        return 1
    }
    cut -c1-300 "$BATS_TEST_TMPDIR/tap" | sed -n 's/^# */# /p' >&3
    [ "$(grep -c '^ok ' "$BATS_TEST_TMPDIR/tap")" = 4 ]
}
