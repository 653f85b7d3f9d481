#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A switch that drops silently, in a real fabric: leaf4 gets nothing for port
# 8081 from the spines. The traces of those SYNs name the switch behind which
# they vanish; all others are delivered.

load common
bats_require_minimum_version 1.5.0

FABRIC=drops
PORT=18870
SYN='tcp.flags.syn == 1 && tcp.flags.ack == 0'

setup_file() {
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 4 --hosts-per-leaf 2
    ip netns exec "ef-$FABRIC-h8" "$EF_SOURCE/test/system/tcp_traffic.py" server 80 \
        >"$BATS_FILE_TMPDIR/server" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/server.pid"
    wait_until 10 grep -q ready "$BATS_FILE_TMPDIR/server"
    # Before all that routes: to h8, port 8081, is dropped.
    local spine
    for spine in spine1 spine2; do
        demo_fabric "$FABRIC" exec $spine -- \
            ovs-ofctl -O OpenFlow15 add-flow br0 "table=0,priority=65000,tcp,tp_dst=8081,actions=drop"
    done
    address=$(jq -r '.hosts[] | select(.name == "h8").address' "$(demo_topology "$FABRIC")")
    seq 42001 42040 | awk '{ print $1, to, 80 }' to="$address" |
        demo_fabric "$FABRIC" exec h1 -- python3 "$EF_SOURCE/test/system/tcp_traffic.py" client 100 \
            >"$BATS_FILE_TMPDIR/client"
    for _ in 1 2 3 4 5; do
        demo_fabric "$FABRIC" exec h1 -- timeout 0.3 bash -c "exec 3<>/dev/tcp/$address/8081" 2>/dev/null || :
    done
    wait_until 10 settled
}

teardown_file() {
    [ ! -e "$BATS_FILE_TMPDIR/server.pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/server.pid")" || :
    suite_end "$FABRIC"
}

setup() {
    export EFCTL_CONTROLLER=http://127.0.0.1:$PORT
}

settled() { [ "$(efctl status --json | jq '[.analyzers[].traces_open] | add')" = 0 ]; }

@test "dropped SYNs are found, with the switch behind which they vanished" {
    efctl trace --ndjson --limit 0 --condition trace.drop >"$BATS_TEST_TMPDIR/drops"
    [ "$(jq -s '[.[] | select(.hops)] | length' "$BATS_TEST_TMPDIR/drops")" -ge 5 ]
    jq -se '[.[] | select(.hops)] | all(.packet.dstport == 8081 and .fate == "dropped" and .expected_name == "leaf4"
        and (.hops[-1].name | test("^spine[12]$")) and (.hops | length) == 2)' "$BATS_TEST_TMPDIR/drops"
    run -0 efctl trace --condition trace.drop --limit 1
    echo "$output"
    [[ $output =~ "DROPPED after spine"[12]", expected at leaf4, 2 hops" ]]
}

@test "every SYN to that port is there, none is unsure" {
    [ "$(efctl trace --ndjson --limit 0 "$SYN && tcp.dstport == 8081" | jq -r 'select(.hops).fate' | sort | uniq -c |
        awk '{print $2}')" = dropped ]
}

@test "all others are delivered" {
    [ "$(grep -cx ok "$BATS_FILE_TMPDIR/client")" = 40 ]
    efctl trace --ndjson --limit 0 "$SYN && tcp.dstport == 80" | jq -r 'select(.hops).fate' | sort | uniq -c >"$BATS_TEST_TMPDIR/fates"
    cat "$BATS_TEST_TMPDIR/fates"
    [ "$(awk '{print $1, $2}' "$BATS_TEST_TMPDIR/fates")" = "40 delivered" ]
}

@test "counters say how many" {
    local n
    n=$(efctl trace --ndjson --limit 0 --condition trace.drop | jq -s '[.[] | select(.hops)] | length')
    [ "$(efctl status --json | jq '[.analyzers[].fates.dropped] | add')" = "$n" ]
    [ "$(efctl status --json | jq '[.analyzers[].loss_reports] | all(. > 0)')" = true ]
    run -0 curl -sf "http://127.0.0.1:$((PORT + 1))/metrics"
    [[ $output == *'everflow_packets_total{fate="dropped"}'* ]]
}

fates6_are() { # PORT FATE: of the SYNs to it, three or more
    efctl trace --ndjson --limit 0 "$SYN && ipv6 && tcp.dstport == $1" | jq -r 'select(.hops).fate' >"$BATS_TEST_TMPDIR/fates"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/fates")" -ge 3 ] && [ "$(sort -u "$BATS_TEST_TMPDIR/fates")" = "$2" ]
}

@test "packets to IPv6 addresses are judged as well" {
    local spine address6
    for spine in spine1 spine2; do
        demo_fabric "$FABRIC" exec $spine -- \
            ovs-ofctl -O OpenFlow15 add-flow br0 "table=0,priority=65000,tcp6,tp_dst=8082,actions=drop"
    done
    address6=$(jq -r '.hosts[] | select(.name == "h8").address6' "$(demo_topology "$FABRIC")")
    for _ in 1 2 3; do
        # Nobody listens at 8083: the host refuses what has reached it.
        demo_fabric "$FABRIC" exec h1 -- timeout 0.3 bash -c "exec 3<>/dev/tcp/$address6/8082" 2>/dev/null || :
        demo_fabric "$FABRIC" exec h1 -- timeout 2 bash -c "exec 3<>/dev/tcp/$address6/8083" 2>/dev/null || :
    done
    wait_until 20 fates6_are 8082 dropped
    wait_until 20 fates6_are 8083 delivered
}
