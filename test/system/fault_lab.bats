#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The fault lab of ef-fabric: each kind of fault is real, for those packets that
# it is meant for and no others; the silent ones show in no counter of the
# switch; clearing them, or the fabric, leaves nothing.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0

FABRIC=eflab

setup_file() {
    export EF_SOURCE=${EF_SOURCE-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
    export EF_BUILD=${EF_BUILD-$EF_SOURCE/_build}
    export EF_OVS_PREFIX=${EF_OVS_PREFIX-$EF_BUILD/ovs/install}
    export EF=$EF_BUILD/utilities/fabric/ef-fabric
    if can_run; then
        fabric down
        fabric up --spines 2 --leaves 2 --hosts-per-leaf 2 --collectors 1
        fabric topology --json >"$BATS_FILE_TMPDIR/topology.json"
    fi
}

teardown_file() {
    ! can_run || fabric down
}

can_run() {
    [ "$(id -u)" = 0 ] && [ -x "$EF" ] && [ -x "$EF_OVS_PREFIX/sbin/ovs-vswitchd" ]
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    [ -x "$EF" ] || skip "$EF is not built"
    [ -x "$EF_OVS_PREFIX/sbin/ovs-vswitchd" ] || skip "no Open vSwitch at $EF_OVS_PREFIX"
    FABRIC_TOPOLOGY=$BATS_FILE_TMPDIR/topology.json
}

teardown() {
    ! can_run || fabric fault clear
}

fabric() { "$EF" --name "$FABRIC" "$@" 3>&-; }
fault() { fabric fault "$@"; }
needs_bpf() { [ -e "$EF_BUILD/utilities/fabric/fault.bpf.o" ] || skip "built without clang or libbpf"; }

# address_of HOST
address_of() { jq -r --arg n "$1" '.hosts[] | select(.name == $n).address' "$FABRIC_TOPOLOGY"; }

# answers FROM TO COUNT [PING_ARGUMENT...]: how many pings were answered.
answers() {
    local from=$1 to=$2 count=$3
    shift 3
    fabric exec "$from" -- ping -q -i 0.005 -W 1 -c "$count" "$@" "$(address_of "$to")" | sed -nE 's/.* ([0-9]+) received.*/\1/p'
}

# What a switch counts as lost or wrong at its ports.
switch_complaints() { # SWITCH
    fabric exec "$1" -- ovs-ofctl -O OpenFlow15 dump-ports br0 | grep -oE '(drop|errs|frame|over|crc|coll)=[0-9?]+'
}

all_complaints() {
    local sw
    for sw in leaf1 leaf2 spine1 spine2; do switch_complaints "$sw"; done
}

hits() { fault list --json | jq '[.[].hit] | add // 0'; }

# until_true COMMAND...: waits for it, at most 10 s.
until_true() {
    local i
    for ((i = 0; i < 100; i++)); do
        ! "$@" || return 0
        read -rt 0.1 <> <(:) || :
    done
    echo "did not come true: $*"
    return 1
}

all_answered() { [ "$(answers h1 h3 5)" = 5 ]; }

@test "blackhole: what matches vanishes, the rest passes, no counter shows it" {
    needs_bpf
    [ "$(answers h1 h3 20)" = 20 ]
    local before
    before=$(all_complaints)
    fault add --kind blackhole --at leaf2:h3 --match 'icmp && ip.src == 10.1.0.11'
    [ "$(answers h1 h3 20)" = 0 ]
    [ "$(answers h2 h3 20)" = 20 ]
    [ "$(answers h1 h4 20)" = 20 ]
    [ "$(hits)" = 20 ]
    diff <(echo "$before") <(all_complaints)
    fault clear 1
    [ "$(answers h1 h3 20)" = 20 ]
}

@test "blackhole of a whole switch: at all of its ports" {
    needs_bpf
    fault add --kind blackhole --at leaf1
    [ "$(answers h1 h3 5)" = 0 ]
    [ "$(answers h3 h4 5)" = 5 ]
    fault clear all
    [ "$(answers h1 h3 5)" = 5 ]
}

@test "random-drop: about its rate, the same packets for the same seed, silently" {
    needs_bpf
    local before first n
    before=$(all_complaints)
    fault add --kind random-drop --rate 30% --seed 7 --at leaf2:h3 --match icmp
    first=$(answers h1 h3 200)
    [ "$first" -gt 110 ] && [ "$first" -lt 165 ]
    [ "$(hits)" = $((200 - first)) ]
    fault clear
    fault add --kind random-drop --rate 0.3 --seed 7 --at leaf2:h3 --match icmp
    n=$(answers h1 h3 200)
    [ "$n" = "$first" ]
    diff <(echo "$before") <(all_complaints)
}

@test "size-drop: only frames of that size" {
    needs_bpf
    local before
    before=$(all_complaints)
    fault add --kind size-drop --at leaf2:h3 --match 'frame.len > 1024'
    [ "$(answers h1 h3 10 -s 982)" = 10 ] # 14 + 20 + 8 + 982 = 1024
    [ "$(answers h1 h3 10 -s 983)" = 0 ]
    diff <(echo "$before") <(all_complaints)
}

@test "corrupt: the packet arrives, its checksum is wrong" {
    needs_bpf
    local before
    before=$(all_complaints)
    fault add --kind corrupt --rate 1 --at leaf2:h3 --match icmp
    [ "$(answers h1 h3 20)" = 0 ]
    [ "$(fabric exec h3 -- cat /proc/net/snmp | awk '/^Icmp:/ && $2 ~ /^[0-9]/ { print $4 }')" -ge 20 ] # InCsumErrors
    diff <(echo "$before") <(all_complaints)
    fault clear
    [ "$(answers h1 h3 20)" = 20 ]
}

@test "mirror-loss: of GRE to the VIP from the switch only" {
    needs_bpf
    local vip
    vip=$(jq -r .vip "$FABRIC_TOPOLOGY")
    fault add --kind mirror-loss --rate 1 --at leaf2
    # A copy's outer header, from leaf2's CPU and from elsewhere.
    fabric exec leaf2 -- python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 47)
s.bind(("10.255.0.2", 0))
[s.sendto(bytes(40), (sys.argv[1], 0)) for _ in range(5)]' "$vip"
    fabric exec h3 -- python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 47)
[s.sendto(bytes(40), (sys.argv[1], 0)) for _ in range(5)]' "$vip"
    [ "$(answers h3 h1 20)" = 20 ]
    until_true [ "$(hits)" = 5 ]
}

@test "loop: packets go round until their TTL ends" {
    fault add --kind loop --at leaf1:spine1 --match 'ip.dst == 10.2.0.11'
    run -1 fabric exec h1 -- ping -n -c1 -W3 "$(address_of h3)"
    [[ $output == *"From 10.255.1.1 "*"Time to live exceeded"* ]] # Of 64, spine1 sees the odd ones.
    [ "$(answers h1 h4 10)" = 10 ]
    fault clear
    [ "$(answers h1 h3 10)" = 10 ]
    run -1 grep -q cookie=0xefa <(fabric exec leaf1 -- ovs-ofctl -O OpenFlow15 dump-flows br0)
}

# The packets that left leaf1 to a spine so far.
sent_to() { # PEER
    fabric status --json | jq --arg p "$1" '.switches[] | select(.name == "leaf1").ports[] | select(.name == $p).tx_packets'
}

@test "ecmp-skew: one of two equal ways gets most flows" {
    local before1 before2 more1 more2
    fault add --kind ecmp-skew --at leaf1:spine2 --rate 90%
    before1=$(sent_to spine1) before2=$(sent_to spine2)
    seq 20001 20100 | fabric exec h1 -- python3 -c 'import socket, sys
for line in sys.stdin:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", int(line)))
    s.sendto(b"x", ("10.2.0.11", 9))'
    more() { more1=$(($(sent_to spine1) - before1)) more2=$(($(sent_to spine2) - before2)); [ $((more1 + more2)) -ge 100 ]; }
    until_true more
    echo "spine1 $more1, spine2 $more2"
    [ "$more2" -ge 80 ] && [ "$more1" -ge 1 ]
}

@test "link-down: the other end notices, and it comes up again" {
    fault add --kind link-down --at leaf1:spine1
    run -1 fabric status
    [[ $(grep '^leaf1 ' <<<"$output") == *spine1=down* ]]
    [[ $(grep '^spine1 ' <<<"$output") == *leaf1=down* ]]
    fault clear
    until_true all_answered
    fabric status >/dev/null
}

@test "switch-crash: the daemon is gone; clearing starts it with its flows" {
    fault add --kind switch-crash --at leaf2
    [ "$(answers h1 h3 5)" = 0 ]
    run -1 fabric status
    [[ $(grep '^leaf2 ' <<<"$output") == *DEAD* ]]
    fault clear
    until_true all_answered
    fabric status >/dev/null
    fabric exec h1 -- ping -c1 -W3 10.255.0.2 >/dev/null # Its CPU.
}

@test "list says what there is, and several faults act one after the other" {
    needs_bpf
    fault add --kind random-drop --rate 1% --seed 3 --at leaf1:1
    fault add --kind blackhole --at leaf1:spine1 --match tcp
    fault list --json | jq -e 'map([.id, .kind, .at.node, .at.port, .at.peer, .match, .rate]) ==
        [[1, "random-drop", "leaf1", 1, "spine1", "", 0.01], [2, "blackhole", "leaf1", 1, "spine1", "tcp", null]]'
    run -0 fault list
    [[ $output == *"blackhole     leaf1:spine1"* ]]
    fault clear 1
    fault list --json | jq -e 'map(.id) == [2]'
    run -1 fault clear 1
    [[ $output == *"there is no fault 1"* ]]
}

@test "what is wrong is said, and nothing is left of it" {
    run -2 fault add --kind blakhole --at leaf1
    [[ $output == *"did you mean 'blackhole'?"* ]]
    run -2 fault add --kind blackhole --at leaf9
    [[ $output == *"no switch 'leaf9'"* ]]
    run -2 fault add --kind blackhole --at leaf1:spine9
    [[ $output == *"no port 'spine9'"* ]]
    run -2 fault add --kind blackhole --at leaf1 --rate 0.1
    [[ $output == *"no --rate"* ]]
    run -2 fault add --kind random-drop --at leaf1 --rate 130%
    [[ $output == *"not a probability"* ]]
    run -2 fault add --kind blackhole --at leaf1 --match 'tcp || udp'
    [[ $output == *'cannot follow "or"'* ]]
    run -2 fault add --kind loop --at leaf1:spine1
    [[ $output == *"needs a --match"* ]]
    run -2 fault add --kind loop --at leaf1:h1 --match ip
    [[ $output == *"leads to a host"* ]]
    run -2 fault add --kind size-drop --at leaf1 --match tcp
    [[ $output == *"needs the sizes"* ]]
    [ "$(fault list --json)" = "[]" ]
}
