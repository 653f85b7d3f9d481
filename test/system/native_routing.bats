#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copies that the switch routes itself, by the kernel's routes and the neighbors
# that it asks for: they arrive; what cannot be reached is a status and a counter,
# never a packet that is not forwarded.

load common
load line

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    export LINE=ef-nr$$ LINE_DIR=$BATS_FILE_TMPDIR LINE_N=1 PACKETS=${EF_NATIVE_PACKETS:-20000}
    make -C "$EF_BUILD" test/tools/cross_switches >/dev/null
    line_begin
    line_start 1
    switch_kernel sysctl -qw net.ipv6.conf.br0.disable_ipv6=0 net.ipv6.conf.lo.disable_ipv6=0
    ip -n "$LINE-s1" link set lo up
    ip -n "$LINE-s1" link set br0 mtu 4000 up
    ip -n "$LINE-s1" address add 10.9.0.2/24 dev br0
    ip -n "$LINE-s1" address add fd09::2/64 dev br0 nodad
    ip -n "$LINE-s1" address add 10.255.0.1/32 dev lo
    ip -n "$LINE-s1" address add fd00:255::1/128 dev lo nodad
    # The router, which is also where copies are looked at.
    ip netns exec "$LINE-t" sysctl -qw net.ipv6.conf.c1.disable_ipv6=0
    ip -n "$LINE-t" address add 10.9.0.1/24 dev c1
    ip -n "$LINE-t" address add fd09::1/64 dev c1 nodad
    line_everflow 1 encap=gre classes=tcp_syn routing=native
}

teardown_file() {
    [ "$(id -u)" = 0 ] || return 0
    line_end
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

# A bridge that knows nothing of copies.
line_flows() {
    echo "in_port=1,actions=output:2"
    echo "in_port=LOCAL,actions=output:3"
    echo "in_port=3,actions=LOCAL"
}

switch_kernel() { ip netns exec "$LINE-s1" "$@"; }

# The status of the only target.
target() { line_switch 1 ovs-vsctl get Everflow . status | sed -n 's/.*target_[^=]*="\([^"]*\)".*/\1/p'; }
target_is() { [[ $(target) == "$1"* ]]; }

router_mac() { ip -n "$LINE-t" -j link show c1 | jq -r '.[0].address'; }

# Sends packets through the switch: all of them arrive.
cross() {
    "$EF_BUILD/test/tools/cross_switches" --count "$PACKETS" --notes "$LINE_DIR" \
        "in@$LINE-t" "out@$LINE-t" "c1@$LINE-t" >"$LINE_DIR/result"
    jq -e '.sent > 0 and .forwarded == .sent and .kernel_drops == 0 and .forwarded_again == 0' "$LINE_DIR/result"
}

@test "without a route: no copies, each counted, everything forwarded" {
    local unresolved
    target_is "no route"
    cross
    jq -e '.switches[0].copies == 0' "$LINE_DIR/result"
    [ "$(line_count 1 copies)" = 0 ]
    unresolved=$(line_count 1 unresolved)
    [ "$unresolved" -gt 0 ]
    [ "$unresolved" = "$(line_count 1 class_tcp_syn)" ]
}

@test "with a route: the neighbor is asked, copies arrive, numbered from 0" {
    local before
    switch_kernel ip route add 10.255.255.0/24 via 10.9.0.1
    wait_until 10 target_is "ok: 10.9.0.1 at $(router_mac) on br0, MTU 4000"
    before=$(line_count 1 unresolved)
    cross
    [ "$(line_count 1 unresolved)" = "$before" ]
    [ "$(line_count 1 copies)" -gt 0 ]
    jq -e --argjson n "$(line_count 1 copies)" '.switches[0] | .copies == $n and .altered == 0 and .first_sequence == 0
        and .sequence_missing == 0 and .sequence_repeated == 0' "$LINE_DIR/result"
}

@test "the neighbor gets another address" {
    ip -n "$LINE-t" link set c1 address 02:00:00:00:09:09
    # As a router does that takes over.
    line_switch 1 ovs-appctl tnl/neigh/flush
    wait_until 10 target_is "ok: 10.9.0.1 at 02:00:00:00:09:09"
    cross
    jq -e '.switches[0].copies > 0 and .switches[0].sequence_missing == 0' "$LINE_DIR/result"
}

@test "the route goes, and comes back" {
    local before
    switch_kernel ip route del 10.255.255.0/24
    wait_until 10 target_is "no route"
    before=$(line_count 1 copies)
    cross
    [ "$(line_count 1 copies)" = "$before" ]
    switch_kernel ip route add 10.255.255.0/24 via 10.9.0.1
    wait_until 10 target_is "ok: "
    cross
    # No number was used meanwhile.
    jq -e --argjson n "$before" '.switches[0].first_sequence == $n and .switches[0].sequence_missing == 0' "$LINE_DIR/result"
}

@test "a neighbor that does not answer" {
    local before
    line_switch 1 ovs-vsctl set Everflow . targets=10.9.0.77
    wait_until 10 target_is "no neighbor: 10.9.0.77 on br0"
    before=$(line_count 1 unresolved)
    cross
    [ "$(line_count 1 unresolved)" -gt "$before" ]
    jq -e '.switches[0].copies == 0' "$LINE_DIR/result"
}

first_hop_is() {
    [ "$(ip netns exec "$LINE-t" timeout 20 traceroute -n -s 10.9.0.3 -q 1 -w 1 -m 1 10.99.0.1 | awk 'NR == 2 { print $2 }')" = "$1" ]
}

@test "ICMP time exceeded takes the same way, also to a neighbor that was not known" {
    ip -n "$LINE-t" route add 10.99.0.0/16 via 10.9.0.2
    ip -n "$LINE-t" route add 10.255.0.1 via 10.9.0.2
    line_switch 1 ovs-ofctl add-flow br0 "priority=40000,in_port=3,ip,nw_dst=10.99.0.0/16,actions=dec_ttl,output:2"
    # The switch has seen nothing of this one.
    ip -n "$LINE-t" address add 10.9.0.3/24 dev c1
    first_hop_is "*"
    line_switch 1 ovs-vsctl set Everflow . ttl_exceeded=true
    wait_until 10 first_hop_is 10.255.0.1
    [ "$(line_count 1 ttl_exceeded_sent)" -ge 1 ]
    [ "$(line_count 1 ttl_exceeded_no_neighbor)" -ge 1 ]
    line_switch 1 ovs-vsctl set Everflow . ttl_exceeded=false
    first_hop_is "*"
}

@test "over IPv6" {
    line_switch 1 ovs-vsctl set Everflow . 'source_ip="fd00:255::1"' 'targets="fd00:ffff::1"'
    target_is "no route"
    switch_kernel ip -6 route add fd00:ffff::/64 via fd09::1
    wait_until 10 target_is "ok: fd09::1 at 02:00:00:00:09:09 on br0, MTU 4000"
    cross
    jq -e '.switches[0] | .copies > 0 and .altered == 0 and .first_sequence == 0 and .sequence_missing == 0' "$LINE_DIR/result"
}

@test "a source that is not the host's" {
    line_switch 1 ovs-vsctl set Everflow . 'source_ip="fd00:255::2"'
    target_is "source_ip is not an address of this host"
    line_switch 1 ovs-vsctl set Everflow . 'source_ip="fd00:255::1"'
    target_is "ok: "
}

# A TCP SYN with 1,300 bytes of data, as TCP Fast Open sends.
send_long_syn() {
    ip netns exec "$LINE-t" python3 - <<'END'
import socket
ip = bytes.fromhex("4500053c00010000400600000a0100020a020003")
tcp = bytes.fromhex("1234005000000001000000005002ffff00000000")
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("in", 0))
s.send(bytes.fromhex("0200000000010200000000020800") + ip + tcp + bytes(1300))
END
}

long_syn_came() { [ "$(line_count 1 truncated)" -gt "$1" ]; }

@test "a small MTU: copies are cut and say so" {
    local before pid n
    ip -n "$LINE-s1" link set br0 mtu 1280
    wait_until 10 target_is "ok: fd09::1 at 02:00:00:00:09:09 on br0, MTU 1280"
    before=$(line_count 1 truncated)
    ip netns exec "$LINE-t" timeout 20 tcpdump --immediate-mode -i c1 -c 1 -w "$LINE_DIR/cut.pcap" -U 'ip6 proto 47' 2>"$LINE_DIR/tcpdump" &
    pid=$!
    wait_until 10 grep -q "listening on" "$LINE_DIR/tcpdump"
    send_long_syn
    wait_until 10 long_syn_came "$before"
    wait "$pid"
    n=$(tshark -r "$LINE_DIR/cut.pcap" -T fields -e frame.len)
    echo "$n bytes"
    [ "$n" = $((14 + 1280)) ]
}

@test "nothing was logged as an error" {
    ! grep -E '\|(EMER|ERR)\|' "$LINE_DIR/s1/ovs-vswitchd.log" | grep -v setrlimit
}
