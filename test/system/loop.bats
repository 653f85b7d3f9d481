#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A routing loop in a real fabric: leaf1 and spine1 send what is for h8 to each
# other. The SYNs of a real kernel go round until their TTL ends; their traces
# say so, and nothing else is touched.

load common

FABRIC=loops
PORT=18840
SYN='tcp.flags.syn == 1 && tcp.flags.ack == 0'

setup_file() {
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 4 --hosts-per-leaf 2
    ip netns exec "ef-$FABRIC-h7" "$EF_SOURCE/test/system/tcp_traffic.py" server 80 \
        >"$BATS_FILE_TMPDIR/server" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/server.pid"
    wait_until 10 grep -q ready "$BATS_FILE_TMPDIR/server"
    make_loop
}

teardown_file() {
    [ ! -e "$BATS_FILE_TMPDIR/server.pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/server.pid")" || :
    suite_end "$FABRIC"
}

# address_of HOST, mac_of SWITCH, port_to SWITCH PEER: from the topology.
address_of() { jq -r --arg n "$1" '.hosts[] | select(.name == $n).address' "$(demo_topology "$FABRIC")"; }
mac_of() { jq -r --arg n "$1" '.switches[] | select(.name == $n).mac' "$(demo_topology "$FABRIC")"; }
port_to() {
    jq -r --arg n "$1" --arg p "$2" '.switches[] | select(.name == $n).ports[] | select(.peer.node == $p).number' \
        "$(demo_topology "$FABRIC")"
}

# send_on SWITCH NEXT: what is for h8 goes to NEXT, even if it came from there.
send_on() {
    local port match actions
    port=$(port_to "$1" "$2")
    match="table=1,ip,nw_dst=$(address_of h8)"
    actions="set_field:$(mac_of "$1")->eth_src,set_field:$(mac_of "$2")->eth_dst"
    printf '%s\n' "$match,priority=1000,actions=$actions,output:$port" \
        "$match,priority=1001,in_port=$port,actions=$actions,in_port" |
        demo_fabric "$FABRIC" exec "$1" -- ovs-ofctl -O OpenFlow15 add-flows br0 -
}

make_loop() {
    send_on leaf1 spine1
    send_on spine1 leaf1
}

# connect FROM_PORT...: from h1 to h8, port 80, in vain. Prints for each ICMP
# time-exceeded "FROM_PORT SWITCH'S_ADDRESS"; ends when there is one for each.
connect() {
    demo_fabric "$FABRIC" exec h1 -- python3 "$EF_SOURCE/test/system/expired_syns.py" "$(address_of h8)" 80 "$@"
}

# The names of all hops of the trace of the SYN from a port, as "a,b,c".
hops_from() { # SRCPORT
    efctl trace --ndjson --limit 0 "$SYN && tcp.srcport == $1" | jq -r 'select(.hops) | [.hops[].name] | join(",")'
}

settled() { [ "$(efctl status --json | jq '[.analyzers[].traces_open] | add')" = 0 ]; }

@test "SYNs that go in circles are answered by a switch of the loop" {
    connect 41001 41002 41003 >"$BATS_FILE_TMPDIR/expired"
    cat "$BATS_FILE_TMPDIR/expired"
    [ "$(cut -d' ' -f1 "$BATS_FILE_TMPDIR/expired" | sort -u | tr '\n' ' ')" = "41001 41002 41003 " ]
    # With a TTL of 64, of which spine1 sees the odd ones.
    [ "$(cut -d' ' -f2 "$BATS_FILE_TMPDIR/expired" | sort -u)" = 10.255.1.1 ]
}

@test "their traces are marked, with the switches in order" {
    wait_until 10 settled
    local port round expected=
    for ((round = 0; round < 32; round++)); do expected+=,leaf1,spine1; done
    for port in 41001 41002 41003; do
        hops_from "$port" >"$BATS_TEST_TMPDIR/hops"
        [ -s "$BATS_TEST_TMPDIR/hops" ]
        sort -u "$BATS_TEST_TMPDIR/hops"
        [ "$(sort -u "$BATS_TEST_TMPDIR/hops")" = "${expected#,}" ]
    done
    efctl trace --condition trace.loop --limit 1 | tee "$BATS_TEST_TMPDIR/shown"
    grep -q '^LOOP, 64 hops, ' "$BATS_TEST_TMPDIR/shown"
    grep -qE '^ +3  leaf1 .*same switch as hop 1$' "$BATS_TEST_TMPDIR/shown"
}

@test "trace.loop finds exactly those; other connections are not affected" {
    local port
    seq 42001 42040 | awk '{ print $1, to, 80 }' to="$(address_of h7)" |
        demo_fabric "$FABRIC" exec h1 -- python3 "$EF_SOURCE/test/system/tcp_traffic.py" client 100 >"$BATS_TEST_TMPDIR/client"
    [ "$(grep -cx ok "$BATS_TEST_TMPDIR/client")" = 40 ]
    wait_until 10 settled
    efctl trace --ndjson --limit 0 --condition trace.loop | jq -r 'select(.hops).packet.srcport' |
        sort -u >"$BATS_TEST_TMPDIR/looped"
    [ "$(tr '\n' ' ' <"$BATS_TEST_TMPDIR/looped")" = "41001 41002 41003 " ]
    # Of every SYN that arrived: leaf1, a spine, leaf4.
    efctl trace --ndjson --limit 0 --condition '!trace.loop' "$SYN" | jq -r 'select(.hops) | .packet.srcport' |
        sort -u | diff - <(seq 42001 42040)
    for port in 42001 42040; do
        [[ $(hops_from $port) =~ ^leaf1,spine[12],leaf4$ ]]
    done
}

# Each copy goes from its switch to the VIP; a copy that went in circles would be
# a packet that a switch receives, and copies, again.
@test "copies are not copied, whatever they are of" {
    wait_until 15 copies_balance
    [ "$(efctl status --json | jq '[.analyzers[].drops[], .reshufflers[].drops[]] | add // 0')" = 0 ]
    # leaf1 sent one for each SYN that it saw: 32 a round trip, one and two a connection.
    local loops
    loops=$(efctl trace --ndjson --limit 0 --condition trace.loop | jq -s 'map(select(.hops)) | length')
    [ "$(efctl trace --ndjson --limit 0 | jq -s '[.[] | select(.hops).hops[] | select(.name == "leaf1")] | length')" = \
      "$(efctl switches --json | jq '.switches[] | select(.name == "leaf1").statistics.copies | tonumber')" ]
    [ "$(efctl trace --ndjson --limit 0 --condition trace.loop |
        jq -s '[.[] | select(.hops).hops[] | select(.name == "leaf1")] | length')" = $((32 * loops)) ]
}

copies_balance() {
    [ "$(efctl switches --json | jq '[.switches[].statistics.copies | tonumber] | add')" = \
      "$(efctl status --json | jq '[.analyzers[].copies_received] | add')" ]
}
