#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# utilities/quickstart on a machine where everything is built: that it shows a
# trace, repairs what was killed, and leaves nothing when it is stopped.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0

setup() {
    EF_SOURCE=${EF_SOURCE-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
    QUICKSTART=$EF_SOURCE/utilities/quickstart
    BUILD=$EF_SOURCE/_build
    [ "$(id -u)" = 0 ] || skip "needs root"
    [ -x "$BUILD/ovs/install/sbin/ovs-vswitchd" ] || skip "$BUILD/ovs is not built; quickstart would take minutes"
    [ -x "$BUILD/controller/ef-controller" ] || skip "$BUILD is not built; quickstart would take a minute"
    # The tests go on from each other, but not on from somebody's own demo.
    if [ "$BATS_TEST_NUMBER" = 1 ] && [ -e /run/everflow/demo ]; then
        touch "$BATS_FILE_TMPDIR/occupied"
    fi
    [ ! -e "$BATS_FILE_TMPDIR/occupied" ] || skip "a demo runs on this machine"
    cd / || return
}

teardown_file() {
    [ -e "$BATS_FILE_TMPDIR/occupied" ] || [ ! -e /run/everflow/demo ] ||
        "$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/utilities/quickstart" stop
}

start() {
    run -0 "$QUICKSTART" 3>&-
    # Three switches, in the order of the way, with their ports and TTLs.
    [[ $output =~ 1\ \ leaf1\ .*\ port\ 3\ .*ttl\ 64.*2\ \ spine[12]\ .*ttl\ 63.*3\ \ leaf4\ .*ttl\ 62 ]]
}

@test "quickstart shows a traced packet, in under a minute" {
    local started=$SECONDS
    start
    [ $((SECONDS - started)) -lt 60 ]
    [[ $output == *"To end it:"* ]]
    run -0 "$QUICKSTART" status
}

@test "efctl and ef-fabric are on the PATH" {
    [ "$(readlink -f /usr/local/bin/efctl)" = "$(readlink -f "$BUILD/utilities/efctl/efctl")" ]
    run -0 /usr/local/bin/efctl status
    run -0 /usr/local/bin/ef-fabric status
}

@test "a second run leaves what runs as it is" {
    local before after
    before=$(cat /run/everflow/demo/*/*.pid /run/everflow/demo-suite/*.pid)
    start
    after=$(cat /run/everflow/demo/*/*.pid /run/everflow/demo-suite/*.pid)
    [ "$before" = "$after" ]
}

# kill_and_wait PIDFILE: a killed process is gone a little later.
kill_and_wait() {
    local pid i
    pid=$(cat "$1")
    kill -KILL "$pid"
    for ((i = 0; i < 100; i++)); do
        [[ $(ps -o stat= -p "$pid") == [!Z]* ]] || return 0
        read -rt 0.05 <> <(:) || :
    done
    echo "process $pid does not die"
    return 1
}

@test "a second run starts a killed daemon again" {
    kill_and_wait /run/everflow/demo-suite/analyzer1.pid
    run -1 "$QUICKSTART" status
    [[ $output == *"analyzer1 "*DEAD* ]]
    start
    run -0 "$QUICKSTART" status
}

@test "a second run starts a fabric with a killed switch again" {
    kill_and_wait /run/everflow/demo/spine1/ovs-vswitchd.pid
    run -1 "$QUICKSTART" status
    start
    run -0 "$QUICKSTART" status
}

@test "stop leaves no process, namespace, file or link, twice" {
    local pids pid
    pids=$(cat /run/everflow/demo/*/*.pid /run/everflow/demo-suite/*.pid)
    run -0 "$QUICKSTART" stop
    for pid in $pids; do
        ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" || { echo "process $pid is left"; return 1; }
    done
    [[ $(ip netns list) != *ef-demo-* ]]
    run -1 grep ef-demo- /proc/mounts
    [ ! -e /run/everflow/demo ]
    [ ! -e /run/everflow/demo-suite ]
    [ ! -L /usr/local/bin/efctl ]
    [ ! -L /usr/local/bin/ef-fabric ]
    run -0 "$QUICKSTART" stop
    run -1 "$QUICKSTART" status
}

@test "wrong usage and no root: one line" {
    run -2 --separate-stderr "$QUICKSTART" begin
    [[ $stderr == "quickstart: unknown command 'begin'; there are start, status, stop; see --help" ]]
    run -0 "$QUICKSTART" --help
    run -1 --separate-stderr setpriv --reuid=65534 --clear-groups "$QUICKSTART" stop
    [[ $stderr == "quickstart: needs root"* ]]
}
