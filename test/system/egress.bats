#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copies at egress and of dropped packets, switched on by the controller, in a
# real fabric: traces show each switch's both sides, in the packet's order, and
# where a switch dropped the packet, and why.

load common
bats_require_minimum_version 1.5.0

FABRIC=egress
PORT=18890

setup_file() {
    suite_begin "$FABRIC" "$PORT" --spines 1 --leaves 2 --hosts-per-leaf 1
    configure_both_directions
    ip netns exec "ef-$FABRIC-h2" "$EF_SOURCE/test/system/tcp_traffic.py" server 80 \
        >"$BATS_FILE_TMPDIR/server" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/server.pid"
    wait_until 10 grep -q ready "$BATS_FILE_TMPDIR/server"
    # Before all that routes: to port 8081, the spine drops.
    demo_fabric "$FABRIC" exec spine1 -- \
        ovs-ofctl -O OpenFlow15 add-flow br0 "table=0,priority=65000,tcp,tp_dst=8081,actions=drop"
    local address
    address=$(jq -r '.hosts[] | select(.name == "h2").address' "$(demo_topology "$FABRIC")")
    seq 42001 42010 | awk '{ print $1, to, 80 }' to="$address" |
        demo_fabric "$FABRIC" exec h1 -- python3 "$EF_SOURCE/test/system/tcp_traffic.py" client 100 \
            >"$BATS_FILE_TMPDIR/client"
    demo_fabric "$FABRIC" exec h1 -- timeout 0.3 bash -c "exec 3<>/dev/tcp/$address/8081" 2>/dev/null || :
    wait_until 10 settled
}

teardown_file() {
    [ ! -e "$BATS_FILE_TMPDIR/server.pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/server.pid")" || :
    suite_end "$FABRIC"
}

setup() {
    export EFCTL_CONTROLLER=http://127.0.0.1:$PORT
}

# The controller reads its configuration at the start.
configure_both_directions() {
    local directory
    directory=$(demo_directory "$FABRIC")
    demo_kill "$directory/controller.pid"
    jq '.everflow += {egress: true, drop_copies: "chosen"}' "$directory/controller.json" >"$directory/egress.json"
    demo_daemon "$FABRIC" controller controller/ef-controller --config "$directory/egress.json" >&2
    demo_wait_configured "$FABRIC" "$PORT"
    wait_until 10 egress_is_on
}

egress_is_on() {
    [ "$(curl -sf "http://127.0.0.1:$PORT/v1/switches" |
        jq '.switches | length == 3 and all(.config.egress and .config.drop_copies == "chosen")')" = true ]
}

settled() { [ "$(efctl status --json | jq '[.analyzers[].traces_open] | add')" = 0 ]; }

# traces FILTER: one in a line.
traces() { efctl trace --ndjson --limit 0 "$1" | jq -c 'select(.hops)'; }

@test "each switch shows the packet arriving and leaving, with one TTL less" {
    [ "$(grep -cx ok "$BATS_FILE_TMPDIR/client")" = 10 ]
    traces 'tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.dstport == 80' >"$BATS_TEST_TMPDIR/syns"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/syns")" = 10 ]
    jq -se 'all(.fate == "delivered" and (.loop | not) and .n_duplicates == 0
        and [.hops[] | [.name, .direction]] == [["leaf1","ingress"], ["leaf1","egress"], ["spine1","ingress"],
                                                ["spine1","egress"], ["leaf2","ingress"], ["leaf2","egress"]]
        and ([.hops[].ttl] | . as $t | [$t[] - $t[0]]) == [0, -1, -1, -2, -2, -3])' "$BATS_TEST_TMPDIR/syns"
}

@test "the port by which it leaves leads to the switch or host that sees it next" {
    local topology
    topology=$(demo_topology "$FABRIC")
    traces 'tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.dstport == 80' |
        jq -se --slurpfile t "$topology" '
            ($t[0].switches | map({key: .name, value: (.ports | map({key: "\(.number)", value: .peer.node}) | from_entries)})
                | from_entries) as $peer
            | all([.hops[] | select(.direction == "egress") | $peer[.name]["\(.port)"]] == ["spine1", "leaf2", "h2"])'
}

@test "times within a switch go forward, by its own clock" {
    traces 'tcp.flags.syn == 1 && tcp.dstport == 80' |
        jq -se 'all(.time_source == "switch" and (.hops as $h | all(range(0; 6; 2); $h[.].switch_time < $h[. + 1].switch_time
            and $h[.].sequence < $h[. + 1].sequence)))'
}

@test "a dropped packet arrives, does not leave, and says why" {
    traces 'tcp.dstport == 8081' >"$BATS_TEST_TMPDIR/drops"
    [ -s "$BATS_TEST_TMPDIR/drops" ]
    jq -se 'all(.fate == "dropped" and (.loop | not)
        and [.hops[] | [.name, .direction, .drop_reason]] == [["leaf1","ingress",null], ["leaf1","egress",null],
            ["spine1","ingress",null], ["spine1","ingress","pipeline"]])' "$BATS_TEST_TMPDIR/drops"
}

@test "efctl shows it" {
    run -0 efctl trace --limit 1 'tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.dstport == 80'
    echo "$output"
    [[ $output =~ leaf1[^$'\n']*"port "[0-9]+" from h1" ]]
    [[ $output =~ leaf1[^$'\n']*"port "[0-9]+" to spine1" ]]
    [[ $output =~ leaf2[^$'\n']*"port "[0-9]+" to h2" ]]
    run -0 efctl trace --limit 1 'tcp.dstport == 8081'
    echo "$output"
    [[ $output =~ spine1[^$'\n']*"DROPPED: pipeline" ]]
}

@test "no copy was copied, and none is missing" {
    local name
    for name in leaf1 spine1 leaf2; do
        demo_fabric "$FABRIC" exec "$name" -- ovs-appctl everflow/show >"$BATS_TEST_TMPDIR/$name"
        # Of the TCP segments of both directions, as many arrived as left, and the copies of others went on uncopied.
        awk '/^(copies|egress_copies|drop_copies): / { n[$1] = $2 }
            END { exit !n["egress_copies:"] || n["copies:"] != 2 * n["egress_copies:"] + 2 * n["drop_copies:"] }' "$BATS_TEST_TMPDIR/$name"
    done
    [ "$(efctl status --json | jq '[.analyzers[].drops[]?] | add // 0')" = 0 ]
}
