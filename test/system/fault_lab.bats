#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The fault lab of ef-fabric: each kind of fault is real, for those packets that
# it is meant for and no others; the silent ones show in no counter of the
# switch; clearing them, or the fabric, leaves nothing.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0
load jq

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

# pings FROM TO COUNT [SIZE [INTERVAL]]: "ANSWERED LEAST_US GREATEST_US IN_ORDER".
pings() {
    local from=$1 to=$2
    shift 2
    fabric exec "$from" -- "$EF_SOURCE/test/system/pings.py" "$(address_of "$to")" "$@"
}

answers() { pings "$@" | cut -d' ' -f1; } # FROM TO COUNT [SIZE]: how many were answered

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
    [ "$(answers h1 h3 10 982)" = 10 ] # 14 + 20 + 8 + 982 = 1024
    [ "$(answers h1 h3 10 984)" = 0 ]
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

@test "delay: that much later, in order, and nothing is lost" {
    needs_bpf
    local before answered least ordered
    before=$(all_complaints)
    fault add --kind delay --delay 20ms --at leaf2:h3 --match icmp
    read -r answered least _ ordered < <(pings h1 h3 50)
    echo "$answered answered, least round trip $least us"
    [ "$answered $ordered" = "50 1" ]
    [ "$least" -ge 20000 ]
    [ "$(hits)" = 50 ]
    diff <(echo "$before") <(all_complaints)
}

@test "queue: a burst waits for its turn" {
    needs_bpf
    local answered most ordered
    fault add --kind queue --rate 1mbit --at leaf2:h3 --match icmp
    read -r answered _ most ordered < <(pings h1 h3 10 1400 0) # 11.5 ms each, sent at once.
    echo "$answered answered, greatest round trip $most us"
    [ "$answered $ordered" = "10 1" ]
    [ "$most" -ge 90000 ]
    [ "$(hits)" = 10 ]
}

# captured NODE INTERFACE FIELD FILTER: of the first 5 frames.
captured() {
    fabric exec "$1" -- timeout 20 tshark -n -l -i "$2" -Y "$4" -c 5 -T fields -e "$3" 2>/dev/null
}

@test "pfc-storm: pause frames leave at the port, or at a host" {
    fault add --kind pfc-storm --at leaf1:spine1 --rate 200
    captured spine1 leaf1 macc.opcode 'macc.opcode == 0x0101 && eth.src == 02:ef:0a:ff:00:01' >"$BATS_TEST_TMPDIR/opcodes"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/opcodes")" = 5 ]
    fault clear
    fault add --kind pfc-storm --at h4
    [ "$(captured leaf2 h4 macc.cbfc.pause_time.c3 macc | sort -u)" = 65535 ]
}

@test "rdma-nack: NAK, RNR and congestion notifications of RoCEv2 arrive" {
    fault add --kind rdma-nack --at h1 --seed 5
    captured h3 eth0 infiniband.aeth.syndrome.error_code 'infiniband && ip.src == 10.1.0.11' >"$BATS_TEST_TMPDIR/codes"
    [ "$(sort -u "$BATS_TEST_TMPDIR/codes")" = 0 ] || { cat "$BATS_TEST_TMPDIR/codes"; false; }
    fault clear
    fault add --kind rdma-nack --type rnr --at leaf1:h1 --match 'ip.dst == 10.2.0.12'
    [ "$(captured h4 eth0 infiniband.aeth.syndrome.opcode infiniband | sort -u)" = 1 ]
    fault clear
    fault add --kind rdma-nack --type cnp --at h1 --match 'ip.dst == 10.2.0.12'
    [ "$(captured h4 eth0 infiniband.bth.opcode infiniband | sort -u)" = 129 ]
    run -2 fault add --kind rdma-nack --at leaf1:spine1
    [[ $output == *"sent by a host"* ]]
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

traffic_flows() {
    fabric traffic status | jq -e '.running and .completed >= 10 and .datagrams_received >= 10 and .bytes > 10240 and .failed == 0'
}

@test "traffic: connections and datagrams between the hosts, until it is stopped" {
    fabric traffic start --connections 20 --datagrams 20 --seed 2
    run -1 fabric traffic start
    [[ $output == *"has traffic already"* ]]
    until_true traffic_flows
    fabric traffic stop
    fabric traffic status | jq -e '.running == false'
    fabric traffic stop
}

@test "down takes everything with it, also after a kill" {
    needs_bpf
    local pid
    "$EF" --name eflab2 down 3>&-
    "$EF" --name eflab2 up --spines 1 --leaves 2 --hosts-per-leaf 1 --collectors 0 3>&-
    "$EF" --name eflab2 fault add --kind delay --delay 1ms --at leaf1:spine1 3>&-
    "$EF" --name eflab2 fault add --kind pfc-storm --at h1 3>&-
    "$EF" --name eflab2 traffic start 3>&-
    "$EF" --name eflab2 fault add --kind switch-crash --at spine1 3>&-
    pid=$(cat /run/everflow/eflab2/faults/1.pid)
    kill -KILL "$pid"
    pid=$(cat /run/everflow/eflab2/faults/2.pid)
    "$EF" --name eflab2 down 3>&-
    until_true [ ! -e "/proc/$pid" ]
    [ ! -e /run/everflow/eflab2 ]
    [ -z "$(ip netns list | grep ef-eflab2-)" ]
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
