#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What becomes of a real fabric's packets: SYNs over IPv6 are traced over the
# switches that forwarded them, and the capture of all traces opens in tshark.

load common

FABRIC=shown
PORT=18860
N=40

setup_file() {
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 4 --hosts-per-leaf 2
    ip netns exec "ef-$FABRIC-h8" "$EF_SOURCE/test/system/tcp_traffic.py" server 80 \
        >"$BATS_FILE_TMPDIR/server" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/server.pid"
    wait_until 10 grep -q ready "$BATS_FILE_TMPDIR/server"
}

teardown_file() {
    [ ! -e "$BATS_FILE_TMPDIR/server.pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/server.pid")" || :
    suite_end "$FABRIC"
}

member_of() { # HOST MEMBER
    jq -r --arg n "$1" --arg m "$2" '.hosts[] | select(.name == $n)[$m]' "$(demo_topology "$FABRIC")"
}

# connect_from FIRST_PORT ADDRESS: N connections of h1 to h8.
connect_from() {
    seq "$1" $(($1 + N - 1)) | awk '{ print $1, to, 80 }' to="$2" |
        ip netns exec "ef-$FABRIC-h1" "$EF_SOURCE/test/system/tcp_traffic.py" client 100 >"$BATS_TEST_TMPDIR/client"
    sort "$BATS_TEST_TMPDIR/client" | uniq -c
    [ "$(grep -cx ok "$BATS_TEST_TMPDIR/client")" = "$N" ]
}

# What leaf1 itself does with a SYN of h1 to h8: the spine that it sends it to.
spine_for() { # SRCPORT
    demo_fabric "$FABRIC" exec leaf1 -- ovs-appctl ofproto/trace --names br0 \
        "in_port=h1,tcp6,ipv6_src=$(member_of h1 address6),ipv6_dst=$(member_of h8 address6),nw_ttl=64,tp_src=$1,tp_dst=80" |
        sed -n 's/^Datapath actions: .*,\(spine[12]\)$/\1/p'
}

settled() { [ "$(efctl status --json | jq '[.analyzers[].traces_open] | add')" = 0 ]; }

@test "SYNs over IPv6 are traced over exactly the switches that forwarded them" {
    [ -e /proc/sys/net/ipv6 ] || skip "this kernel has no IPv6"
    local port
    connect_from 43001 "$(member_of h8 address6)"
    wait_until 10 settled
    for ((port = 43001; port < 43001 + N; port++)); do
        echo "$port leaf1:64,$(spine_for $port):63,leaf4:62"
    done >"$BATS_TEST_TMPDIR/expected"
    efctl trace --ndjson --limit 0 'ipv6 && tcp.flags.syn == 1 && tcp.flags.ack == 0' |
        jq -r 'select(.hops) | "\(.packet.srcport) \([.hops[] | "\(.name):\(.ttl)"] | join(","))"' |
        sort >"$BATS_TEST_TMPDIR/seen"
    diff "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/seen"
    grep -q spine1 "$BATS_TEST_TMPDIR/seen"
    grep -q spine2 "$BATS_TEST_TMPDIR/seen"
    [[ $(efctl trace "ipv6.src == $(member_of h1 address6) && tcp.srcport == 43001 && tcp.flags.syn == 1") == \
        *"  [fd00::"*"]:43001 > [fd00::"*"]:80 TCP [S] "* ]]
}

@test "the capture of all traces: an interface per switch, nanoseconds, no malformed frame" {
    connect_from 44001 "$(member_of h8 address)"
    wait_until 10 settled
    local capture=$BATS_TEST_TMPDIR/all.pcapng
    efctl trace --limit 0 --ndjson >"$BATS_TEST_TMPDIR/traces"
    efctl trace --limit 0 --pcapng "$capture"
    show() { tshark -n -r "$capture" -o ip.check_checksum:TRUE "$@" 2>/dev/null; }
    [ -z "$(show -Y '_ws.malformed || _ws.expert.severity == error || ip.checksum.status == Bad')" ]
    # Each hop of each trace is a frame, at its interface, with its time and TTL.
    jq -r 'select(.hops) | .id as $id | .hops | length as $n | to_entries[] | .key as $i | .value
           | "\(.name)\t\(.ttl)\ttrace=\($id) hop=\($i + 1)/\($n)\t\(.switch_time | split(".")[1] | rtrimstr("Z"))"' \
        "$BATS_TEST_TMPDIR/traces" | sort >"$BATS_TEST_TMPDIR/hops"
    show -E occurrence=f -T fields -e frame.interface_name -e ip.ttl -e ipv6.hlim -e frame.comment -e frame.time_epoch |
        awk -F'\t' -v OFS='\t' '{ split($5, t, "."); print $1, $2 $3, $4, t[2] }' | sort >"$BATS_TEST_TMPDIR/frames"
    diff "$BATS_TEST_TMPDIR/hops" "$BATS_TEST_TMPDIR/frames"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/frames")" -ge $((4 * 3 * N)) ]
    [ "$(cut -f1 "$BATS_TEST_TMPDIR/frames" | sort -u | tr '\n' ' ')" = "leaf1 leaf4 spine1 spine2 " ]
    capinfos -A "$capture" >"$BATS_TEST_TMPDIR/info"
    [ "$(grep '^Interface #' "$BATS_TEST_TMPDIR/info" | sort -u | wc -l)" = 4 ] # Told once for each section.
    grep -q '^Capture comment: .*; complete$' "$BATS_TEST_TMPDIR/info"
}
