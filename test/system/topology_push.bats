#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The controller sends its topology to analyzers that have none or another, and
# what they judge follows it.
#
# On a machine that stands still for a second no trace is closed early: all are at the end of the file.
#
# Each test is a subshell; it, its setup and its teardown share their variables:
# shellcheck disable=SC2030,SC2031

load common
bats_require_minimum_version 1.5.0

PORT=18823
URL=http://127.0.0.1:$PORT

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    PIDS=()
    "$EF_SOURCE/test/system/make_copies.py" --packets 200 all.pcap
    head -c 24 all.pcap >head.pcap
    topology 5 >topology.json
    mkfifo copies
    exec {COPIES}<>copies
}

teardown() {
    local pid
    [ -n "${BATS_TEST_COMPLETED:-}" ] || jq -c '{traces_closed, fates, copies_received, drops, topology}' judged || :
    tail -n 5 log controller.log || :
    exec {COPIES}>&- # Who waits for more sees the end.
    for pid in "${PIDS[@]}"; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
}

# topology LAST: the packets' destination is behind 10.255.0.LAST. No switch can
# be reached, which is not what is tested here.
topology() {
    jq -n --arg last "s$1" '{name: "push", vip: "10.1.0.21",
        switches: [range(1; 7) | {name: "s\(.)", loopback: "10.255.0.\(.)", ovsdb: "unix:/nowhere/\(.)"}],
        hosts: [{name: "server", role: "host", address: "10.200.0.1", switch: $last}]}'
}

analyzer() { # OPTION...
    "$EF_BUILD/analyzer/ef-analyzer" --name a1 --idle 20s --source "pcap:$PWD/copies" --http 127.0.0.1:$PORT "$@" \
        >>log 2>&1 3>&- {COPIES}>&- &
    PIDS+=($!)
    cat head.pcap >&"$COPIES"
    wait_until 10 curl -sf -o /dev/null "$URL/v1/status"
}

controller() {
    jq -n --arg url "$URL" '{listen: "127.0.0.1:18824", topology: "topology.json", reshufflers: [],
        analyzers: [{name: "a1", url: $url}],
        everflow: {targets: ["10.1.0.21"], encap: "erspan3", classes: ["tcp_syn"]}}' >controller.json
    "$EF_BUILD/controller/ef-controller" --config controller.json >controller.log 2>&1 3>&- {COPIES}>&- &
    PIDS+=($!)
}

has_topology() {
    curl -sf -o current "$URL/v1/topology" && jq -e --slurpfile t topology.json '. == $t[0]' current >/dev/null
}

is_judged() { # FATE
    curl -sf -o judged "$URL/v1/status" && jq -e --arg fate "$1" '.traces_closed == 200 and .fates[$fate] == 200' judged >/dev/null
}

play() {
    tail -c +25 all.pcap >copies
    exec {COPIES}>&-
}

put() { curl -s -o answer -w '%{http_code}' -X PUT "$URL/v1/topology" --data-binary "$1"; }

@test "an analyzer without a topology gets the controller's, and judges by it" {
    analyzer
    [ "$(curl -s -o answer -w '%{http_code}' "$URL/v1/topology")" = 404 ]
    [ "$(jq -r .error.code answer)" = no_topology ]
    controller
    wait_until 10 has_topology
    play
    wait_until 10 is_judged delivered
}

@test "another topology is replaced; an analyzer that starts anew gets it again" {
    topology 6 >other.json
    analyzer --topology other.json
    has_topology && return 1
    controller
    wait_until 10 has_topology
    kill -KILL "${PIDS[0]}"
    wait "${PIDS[0]}" || :
    analyzer
    wait_until 10 has_topology
    play
    wait_until 10 is_judged delivered
    [ "$(grep -c 'sent to a1' controller.log)" = 2 ]
}

@test "by another last hop the same packets are dropped" {
    topology 6 >topology.json
    analyzer
    [ "$(put @topology.json)" = 200 ]
    play
    wait_until 10 is_judged dropped
}

@test "what is no topology is refused, and the old one stays" {
    analyzer
    [ "$(put @topology.json)" = 200 ]
    [ "$(put '{"switches": []}')" = 400 ]
    [ "$(jq -r .error.code answer)" = bad_topology ]
    [ "$(put '[')" = 400 ]
    has_topology
    for i in 1 2 3 4 5 6; do
        topology "$i" >topology.json
        wait_until 10 taken
    done
    has_topology
}

taken() { [ "$(put @topology.json)" = 200 ]; }
