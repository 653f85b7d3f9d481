#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ef-reshuffler between real namespaces: a sender that stands for the switches,
# the reshuffler, two analyzers of which only the interfaces are watched.
#
#   switches s0 --- r0 reshuffler r1 --- a0 analyzer 1
#                                 r2 --- a0 analyzer 2
#
# Each test is a subshell; it, its setup and its teardown share their variables:
# shellcheck disable=SC2030,SC2031

bats_require_minimum_version 1.5.0
load jq

VIP=10.255.255.1
VIP6=fd00::ff
MAC=02:00:00:00:00:10

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    : "${EF_BUILD:?the build directory}" "${EF_SOURCE:?the source directory}"
    export D NS=ef-rs$$
    D=$(mktemp -d)
    local i
    for i in s r a1 a2; do
        ip netns add "$NS-$i"
        ip -n "$NS-$i" link set lo up
    done
    ip -n "$NS-r" link add r0 address "$MAC" type veth peer name s0 netns "$NS-s"
    ip -n "$NS-s" address add 10.99.0.2/24 dev s0
    ip -n "$NS-s" address add fd99::2/64 dev s0 nodad
    ip -n "$NS-s" link set s0 up
    ip -n "$NS-r" address add 10.99.0.1/24 dev r0
    ip -n "$NS-r" address add fd99::1/64 dev r0 nodad
    ip -n "$NS-r" address add "$VIP/32" dev r0
    ip -n "$NS-r" address add "$VIP6/128" dev r0 nodad
    ip -n "$NS-r" link set r0 up
    for i in 1 2; do
        ip -n "$NS-r" link add "r$i" type veth peer name a0 netns "$NS-a$i"
        ip -n "$NS-r" address add "10.99.$i.1/24" dev "r$i"
        ip -n "$NS-r" address add "fd99:$i::1/64" dev "r$i" nodad
        ip -n "$NS-r" link set "r$i" up
        ip -n "$NS-a$i" address add "10.99.$i.2/24" dev a0
        ip -n "$NS-a$i" address add "fd99:$i::2/64" dev a0 nodad
        ip -n "$NS-a$i" link set a0 up
    done
    # The way back to the switches: the kernel could answer if it wanted to.
    ip -n "$NS-r" route add 10.255.0.0/24 via 10.99.0.2
    ip -n "$NS-r" route add fd00:ff::/64 via fd99::2
    # While a neighbor is asked for, the kernel holds back only so many packets.
    for i in 1 2; do
        until_true reachable "10.99.$i.2"
        until_true reachable "fd99:$i::2"
    done
}

reachable() { # ADDRESS
    ip netns exec "$NS-r" ping -nqc 1 -W 1 "$1" >/dev/null
}

teardown_file() {
    local i
    for i in s r a1 a2; do
        ip netns delete "$NS-$i" 2>/dev/null || :
    done
    rm -rf "$D"
}

setup() {
    BACKGROUND=()
    [ "$(id -u)" = 0 ] || skip "needs root"
    rm -f "${D:?}"/*
}

teardown() {
    local pid
    for pid in "${BACKGROUND[@]}"; do
        kill -KILL "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
}

# --- Helpers -----------------------------------------------------------------

# Waits until the command succeeds, at most 10 s.
until_true() {
    local end=$((SECONDS + 10))
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "waited in vain for: $*"; return 1; }
        read -rt 0.05 <> <(:) || :
    done
}

reshuffler() { # ARGUMENT...
    "$EF_BUILD/reshuffler/ef-reshuffler" "$@" 3>&- 4>&-
}

# Starts one that answers; its process id is in $PID.
start_reshuffler() { # ARGUMENT...
    rm -f "$D/log"
    "$EF_BUILD/reshuffler/ef-reshuffler" --source "afpacket:r0@$NS-r" --sink "ip@$NS-r" --http "unix:$D/http" \
        --control "$D/control" "$@" >"$D/log" 2>&1 3>&- 4>&- &
    PID=$!
    BACKGROUND+=("$PID")
    until_true answers || { cat "$D/log"; return 1; }
}

start_ipv4() {
    start_reshuffler --vip "$VIP" --analyzer a1=10.99.1.2 --analyzer a2=10.99.2.2 "$@"
}

answers() {
    curl -sf --unix-socket "$D/http" http://localhost/v1/status >"$D/status" 2>/dev/null
}

status() { # JQ_FILTER
    answers && jq -r "$1" "$D/status"
}

status_is() { # JQ_CONDITION
    answers && jq -e "$1" "$D/status" >/dev/null
}

ADDS_UP='.copies_received == .copies_sent + ([.drops[]] | add)'

# All but the reshuffler's own reports of lost copies.
IPV4_COPIES='ip proto 47 and ip[22:2] != 0x88b6'
IPV6_COPIES='ip6 proto 47 and ip6[42:2] != 0x88b6'

# Captures on an interface of a namespace; the file grows packet by packet.
start_capture() { # NAMESPACE INTERFACE FILE FILTER
    ip netns exec "$NS-$1" tcpdump -i "$2" -n -U -B 16384 -w "$3" "$4" 2>"$3.log" 3>&- 4>&- &
    BACKGROUND+=("$!")
    until_true grep -q 'listening on' "$3.log"
}

n_captured() { # FILE [FILTER]
    tcpdump -n -r "$1" --count ${2:+"$2"} 2>/dev/null | cut -d' ' -f1
}

captured() { # NUMBER FILE...
    local sum=0 file number=$1
    shift
    for file; do
        sum=$((sum + $(n_captured "$file")))
    done
    [ "$sum" -eq "$number" ]
}

make_copies() { # FILE VIP FLOWS PACKETS SWITCHES
    "$EF_BUILD/test/tools/make_copies" "$@"
}

send() { # FILE [ARGUMENT...]
    local file=$1
    shift
    "$EF_BUILD/test/tools/send_frames" --to "$MAC" "$@" "$file" "s0@$NS-s"
}

# The innermost addresses, protocol and ports of each copy, one a line, once
# each. tshark does not know the vendor's encapsulation.
flows_of() { # FILE
    tshark -r "$1" -Y 'gre.proto != 0x8949' -T fields -E occurrence=l -e ip.src -e ip.dst -e ipv6.src -e ipv6.dst \
        -e tcp.srcport -e udp.srcport -e arp.src.proto_ipv4 2>/dev/null | sort -u
}

# --- Forwarding --------------------------------------------------------------

@test "copies of all encapsulations reach the analyzer of their flow, unchanged but for their destination" {
    local n
    n=$(make_copies "$D/in.pcap" "$VIP" 200 5 4)
    start_ipv4
    start_capture a1 a0 "$D/a1.pcap" "$IPV4_COPIES"
    start_capture a2 a0 "$D/a2.pcap" "$IPV4_COPIES"
    [ "$(send "$D/in.pcap" --rate 20000)" -eq "$n" ]
    until_true status_is ".copies_received == $n"
    until_true captured "$n" "$D/a1.pcap" "$D/a2.pcap"

    status_is "$ADDS_UP and .copies_sent == $n and ([.analyzers[].copies] | add) == $n"
    [ "$(status '.analyzers[0].copies')" -eq "$(n_captured "$D/a1.pcap")" ]
    local file
    for file in a1 a2; do
        # Everyone has a fair part; source kept, TTL new, checksum right, nothing malformed.
        [ "$(n_captured "$D/$file.pcap")" -gt $((n / 3)) ]
        tshark -r "$D/$file.pcap" -o ip.check_checksum:TRUE -T fields -E occurrence=f \
            -e ip.src -e ip.dst -e ip.ttl -e ip.checksum.status 2>/dev/null | sort -u >"$D/outer"
        diff "$D/outer" <(printf '10.255.0.%d\t10.99.'"${file#a}"'.2\t64\t1\n' 1 2 3 4)
        [ -z "$(tshark -r "$D/$file.pcap" -Y _ws.malformed 2>/dev/null)" ]
        flows_of "$D/$file.pcap" >"$D/$file.flows"
    done
    [ "$(wc -l <"$D/a1.flows")" -gt 50 ]
    [ -z "$(comm -12 "$D/a1.flows" "$D/a2.flows")" ]

    # Behind the outer header each copy is byte for byte what was sent.
    tshark -r "$D/in.pcap" -T fields -E occurrence=f -e ip.src -e gre 2>/dev/null | sort >"$D/sent"
    { tshark -r "$D/a1.pcap" -T fields -E occurrence=f -e ip.src -e gre
      tshark -r "$D/a2.pcap" -T fields -E occurrence=f -e ip.src -e gre; } 2>/dev/null | sort >"$D/received"
    diff "$D/sent" "$D/received"
}

@test "copies over IPv6 are forwarded over IPv6" {
    local n
    n=$(make_copies "$D/in.pcap" "$VIP6" 100 3 4)
    start_reshuffler --vip "$VIP6" --analyzer a1=fd99:1::2 --analyzer a2=fd99:2::2
    start_capture a1 a0 "$D/a1.pcap" "$IPV6_COPIES"
    start_capture a2 a0 "$D/a2.pcap" "$IPV6_COPIES"
    send "$D/in.pcap" --rate 20000
    until_true status_is ".copies_sent == $n and $ADDS_UP"
    until_true captured "$n" "$D/a1.pcap" "$D/a2.pcap"
    tshark -r "$D/a1.pcap" -T fields -E occurrence=f -e ipv6.src -e ipv6.dst -e ipv6.hlim 2>/dev/null | sort -u >"$D/outer"
    diff "$D/outer" <(printf 'fd00:ff::%d\tfd99:1::2\t64\n' 1 2 3 4)
}

@test "one reshuffler serves IPv4 and IPv6, and a flow's copies meet, whichever way they come" {
    local n m file
    n=$(make_copies "$D/in.pcap" "$VIP" 100 3 4)
    m=$(make_copies "$D/in6.pcap" "$VIP6" 100 3 4)
    start_reshuffler --vip "$VIP,$VIP6" --analyzer a1=10.99.1.2,address6=fd99:1::2 \
        --analyzer a2=10.99.2.2,address6=fd99:2::2
    for file in a1 a2; do
        start_capture "$file" a0 "$D/$file.pcap" "($IPV4_COPIES) or ($IPV6_COPIES)"
    done
    send "$D/in.pcap" --rate 20000
    send "$D/in6.pcap" --rate 20000
    until_true status_is ".copies_sent == $n + $m and $ADDS_UP and ([.drops[]] | add) == 0"
    until_true captured $((n + m)) "$D/a1.pcap" "$D/a2.pcap"
    for file in a1 a2; do
        [ "$(n_captured "$D/$file.pcap" "ip dst 10.99.${file#a}.2")" -gt 100 ]
        [ "$(n_captured "$D/$file.pcap" "ip6 dst fd99:${file#a}::2")" -gt 100 ]
        [ "$(n_captured "$D/$file.pcap" "not (ip dst 10.99.${file#a}.2 or ip6 dst fd99:${file#a}::2)")" = 0 ]
        flows_of "$D/$file.pcap" >"$D/$file.flows"
    done
    [ "$(wc -l <"$D/a1.flows")" -gt 25 ]
    [ -z "$(comm -12 "$D/a1.flows" "$D/a2.flows")" ]
    status_is '.vips == ["'"$VIP"'", "'"$VIP6"'"] and .analyzers[0].address == "10.99.1.2" and
        .analyzers[0].address6 == "fd99:1::2"'
    # An analyzer that could get only half of its flows' copies is refused.
    [ "$(curl -s -o "$D/answer" -w '%{http_code}' --unix-socket "$D/http" -X POST -d '{"name": "a3", "address": "10.99.2.3"}' \
        http://localhost/v1/analyzers)" = 400 ]
    jq -e '.error.message | test("needs an IPv6 address too")' "$D/answer"
}

@test "copies of the patched Open vSwitch are forwarded, each" {
    local file n=0
    start_ipv4
    for file in "$EF_SOURCE"/test/vectors/ovs/*.pcap; do
        [[ $file == */outer6-* ]] || n=$((n + $(send "$file")))
    done
    [ "$n" -gt 20 ]
    until_true status_is ".copies_sent == $n"
    status_is "$ADDS_UP and .copies_received == $n"
}

@test "copies of the patched Open vSwitch over IPv6 are forwarded, each" {
    local file n=0
    start_reshuffler --vip "$VIP6" --analyzer a1=fd99:1::2 --analyzer a2=fd99:2::2
    for file in "$EF_SOURCE"/test/vectors/ovs/outer6-*.pcap; do
        n=$((n + $(send "$file")))
    done
    [ "$n" = 16 ]
    until_true status_is ".copies_sent == $n"
    status_is "$ADDS_UP and .copies_received == $n"
}

@test "what is not for us is discarded and counted" {
    local n m
    n=$(make_copies "$D/ours.pcap" "$VIP" 10 5 2)
    m=$(make_copies "$D/others.pcap" 10.255.255.9 10 5 3)
    start_ipv4
    send "$D/others.pcap"
    send "$D/ours.pcap"
    until_true status_is ".copies_received == $n + $m"
    status_is "$ADDS_UP and .copies_sent == $n and .drops.not_our_vip == $m"
}

# make_fragments IN OUT: each copy as the first of two fragments, and as the second.
make_fragments() {
    python3 - "$1" "$2" <<'EOF'
import struct, sys

def checksum(header):
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff

data = open(sys.argv[1], "rb").read()
out = [data[:24]]
at = 24
while at < len(data):
    length = struct.unpack("<I", data[at + 8:at + 12])[0]
    frame = data[at + 16:at + 16 + length]
    for field in (0x2000, 0x0003):  # More fragments; the offset 24.
        ip = frame[14:20] + struct.pack("!H", field) + frame[22:24] + b"\0\0" + frame[26:34]
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        out += [data[at:at + 16], frame[:14], ip, frame[34:]]
    at += 16 + length
open(sys.argv[2], "wb").write(b"".join(out))
EOF
}

@test "fragments of copies are refused, and counted as that" {
    local n
    n=$(make_copies "$D/whole.pcap" "$VIP" 10 5 2)
    make_fragments "$D/whole.pcap" "$D/fragments.pcap"
    [ "$(tshark -r "$D/fragments.pcap" -o ip.check_checksum:TRUE -Y 'ip.checksum.status == 1 && (ip.flags.mf == 1 || ip.frag_offset > 0)' \
        2>/dev/null | wc -l)" -eq $((2 * n)) ]
    start_ipv4
    send "$D/fragments.pcap"
    send "$D/whole.pcap"
    until_true status_is ".copies_received == 3 * $n"
    status_is "$ADDS_UP and .copies_sent == $n and .drops.outer_fragment == 2 * $n"
}

@test "the kernel does not answer copies while the reshuffler runs" {
    ! ip -n "$NS-r" link show gre0 >/dev/null 2>&1 || skip "the ip_gre module is loaded: it answers GRE itself"
    make_copies "$D/in.pcap" "$VIP" 10 1 2
    make_copies "$D/in6.pcap" "$VIP6" 10 1 2
    # Without it, the kernel answers: the test would see that.
    start_capture s s0 "$D/before.pcap" 'icmp[0] == 3 or (icmp6 and ip6[40] < 128)'
    send "$D/in.pcap"
    send "$D/in6.pcap"
    # Linux limits the rate of such answers; the first comes at once.
    until_true has_packets "$D/before.pcap"

    start_ipv4
    start_capture s s0 "$D/after.pcap" 'icmp or icmp6'
    send "$D/in.pcap"
    send "$D/in6.pcap"
    until_true status_is '.copies_received == 40'
    # A later ping is answered: whatever came before it is in the capture.
    ip netns exec "$NS-s" ping -c 1 -w 5 10.99.0.1
    ip netns exec "$NS-s" ping -c 1 -w 5 fd99::1
    until_true has_echo_replies "$D/after.pcap"
    [ -z "$(tshark -r "$D/after.pcap" -Y 'icmp.type == 3 || (icmpv6.type < 128)' 2>/dev/null)" ]
}

has_packets() { # FILE
    [ "$(n_captured "$1")" -gt 0 ]
}

has_echo_replies() { # FILE
    [ "$(tshark -r "$1" -Y 'icmp.type == 0 || icmpv6.type == 129' 2>/dev/null | wc -l)" -eq 2 ]
}

@test "the counters add up in every answer, also under a flood" {
    local n i
    n=$(make_copies "$D/in.pcap" "$VIP" 500 4 4)
    start_ipv4 --ring 1M
    send "$D/in.pcap" --loop 25 >"$D/n" 3>&- &
    BACKGROUND+=("$!")
    for i in {1..50}; do
        status_is "$ADDS_UP"
    done
    wait "${BACKGROUND[-1]}"
    [ "$(cat "$D/n")" -eq $((25 * n)) ]
    until_true status_is ".copies_received == $((25 * n))"
    status_is "$ADDS_UP"
    echo "lost in the receive ring: $(status .drops.source_overflow) of $((25 * n))"
}

@test "killed with -9 and started again it goes on" {
    local n
    n=$(make_copies "$D/in.pcap" "$VIP" 50 2 2)
    start_ipv4 --pidfile "$D/pid"
    send "$D/in.pcap"
    until_true status_is ".copies_sent == $n"
    kill -KILL "$PID"
    wait "$PID" || :
    start_ipv4 --pidfile "$D/pid"
    [ "$(cat "$D/pid")" -eq "$PID" ]
    status_is '.copies_received == 0'
    send "$D/in.pcap"
    until_true status_is ".copies_sent == $n"
    kill -TERM "$PID"
    wait "$PID"
    [ ! -e "$D/pid" ]
    grep -q "$n copies received, $n sent, 0 discarded" "$D/log"
}

@test "both reshufflers of a pair choose the same analyzer" {
    make_copies "$D/in.pcap" "$VIP" 300 2 2
    reshuffler --vip "$VIP" --source "pcap:$D/in.pcap" --sink "pcap:$D/1.pcap" -a x=10.0.0.1 -a y=10.0.0.2 -a z=10.0.0.3
    reshuffler --vip "$VIP" --source "pcap:$D/in.pcap" --sink "pcap:$D/2.pcap" -a z=10.0.0.3 -a x=10.0.0.1 -a y=10.0.0.2
    diff <(tshark -r "$D/1.pcap" -T fields -e ip.dst 2>/dev/null) <(tshark -r "$D/2.pcap" -T fields -e ip.dst 2>/dev/null)
    [ "$(tshark -r "$D/1.pcap" 2>/dev/null | wc -l)" -eq 1200 ]
}

# --- Answering for the VIP ----------------------------------------------------

neighbor_is() { # ADDRESS
    ip -n "$NS-s" neighbor show "$1" dev s0 | grep -Eq " lladdr $MAC .*(REACHABLE|DELAY|STALE)"
}

ask() { # ADDRESS
    ip -n "$NS-s" neighbor flush dev s0
    ip netns exec "$NS-s" ping -nqc 3 -i 0.2 -W 2 "$1"
}

@test "with --answer, neighbors find the VIPs and ping them, though no kernel has them" {
    ip -n "$NS-r" address delete "$VIP/32" dev r0
    ip -n "$NS-r" address delete "$VIP6/128" dev r0
    ip -n "$NS-s" address add 10.255.255.2/24 dev s0
    ip -n "$NS-s" address add fd00::2/64 dev s0 nodad
    run ! ask "$VIP"
    run ! ask "$VIP6"

    start_ipv4 --answer
    ask "$VIP"
    neighbor_is "$VIP"
    ip netns exec "$NS-s" ping -nqc 1 -W 2 -s 1472 -M "do" "$VIP"
    run ! ip netns exec "$NS-s" ping -nqc 1 -W 1 10.255.255.3
    status_is '.answers.arp > 0 and .answers.ping == 4 and .answers.nd == 0 and .answers.limited == 0'
    # Copies go on; of a flood of questions only so many are answered.
    local n
    n=$(make_copies "$D/in.pcap" "$VIP" 20 2 2)
    ip netns exec "$NS-s" ping -nqfc 3000 "$VIP" >"$D/ping" 3>&- &
    BACKGROUND+=("$!")
    send "$D/in.pcap"
    until_true status_is ".copies_sent == $n and $ADDS_UP"
    until_true status_is '.answers.limited + .answers.ping > 1000'
    kill "$PID"
    wait "$PID"

    start_reshuffler --vip "$VIP6" --analyzer a1=fd99:1::2 --answer
    ask "$VIP6"
    neighbor_is "$VIP6"
    status_is '.answers.nd > 0 and .answers.ping == 3 and .answers.arp == 0'
    curl -sf --unix-socket "$D/http" http://localhost/metrics | grep -q '^everflow_answers_total{kind="ping"} 3$'

    ip -n "$NS-s" address delete 10.255.255.2/24 dev s0
    ip -n "$NS-s" address delete fd00::2/64 dev s0
    ip -n "$NS-r" address add "$VIP/32" dev r0
    ip -n "$NS-r" address add "$VIP6/128" dev r0 nodad
}

# --- Trouble -----------------------------------------------------------------

@test "an analyzer without a route costs its own copies only" {
    local n
    n=$(make_copies "$D/in.pcap" "$VIP" 100 2 2)
    start_reshuffler --vip "$VIP" --analyzer a1=10.99.1.2 --analyzer a2=192.0.2.7
    send "$D/in.pcap" --rate 5000
    until_true status_is ".copies_received == $n"
    status_is "$ADDS_UP and .drops.send_failed > 0 and .drops.send_failed == .analyzers[1].copies and
        .copies_sent == .analyzers[0].copies"
    [ "$(grep -c 'copies could not be sent: Network is unreachable' "$D/log")" -eq 1 ]
}

@test "copies larger than the MTU are counted as that" {
    ip -n "$NS-r" link set r1 mtu 128
    local n
    n=$(make_copies "$D/in.pcap" "$VIP" 100 4 2)
    start_reshuffler --vip "$VIP" --analyzer a1=10.99.1.2
    send "$D/in.pcap"
    until_true status_is ".copies_received == $n"
    ip -n "$NS-r" link set r1 mtu 1500
    status_is "$ADDS_UP and .drops.too_big > 0 and .copies_sent > 0"
    grep -q 'larger than the MTU' "$D/log"
}

@test "a slow link towards the analyzers costs copies, counted, and nothing else" {
    local n
    ip netns exec "$NS-r" tc qdisc add dev r1 root tbf rate 1mbit burst 2kb limit 20kb 2>"$D/tc" ||
        skip "the kernel has no token bucket filter: $(cat "$D/tc")"
    n=$(make_copies "$D/in.pcap" "$VIP" 500 4 2)
    start_reshuffler --vip "$VIP" --analyzer a1=10.99.1.2
    send "$D/in.pcap"
    until_true status_is ".copies_received == $n"
    ip netns exec "$NS-r" tc qdisc delete dev r1 root
    status_is "$ADDS_UP and .drops.send_failed > 0 and .copies_sent > 0"
    grep -q 'copies could not be sent: No buffer space available' "$D/log"
}

@test "a damaged capture is forwarded up to the damage" {
    make_copies "$D/in.pcap" "$VIP" 10 2 1
    truncate -s -7 "$D/in.pcap"
    run reshuffler --vip "$VIP" --source "pcap:$D/in.pcap" --sink "pcap:$D/out.pcap" --analyzer a1=10.99.1.2
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"source pcap:$D/in.pcap: truncated dump file"* ]]
    [ "$(n_captured "$D/out.pcap")" -eq 19 ]
}

@test "an interface that is down or away is waited for" {
    ip -n "$NS-r" link add x0 address "$MAC" type veth peer name x1
    ip -n "$NS-r" link set x0 up
    ip -n "$NS-r" link set x1 up
    "$EF_BUILD/reshuffler/ef-reshuffler" --vip "$VIP" --source "afpacket:x0@$NS-r" --sink "ip@$NS-r" \
        --analyzer a1=10.99.1.2 --http "unix:$D/http" >"$D/log" 2>&1 3>&- 4>&- &
    PID=$!
    BACKGROUND+=("$PID")
    until_true answers
    ip -n "$NS-r" link set x0 down
    ip -n "$NS-r" link set x0 up
    make_copies "$D/in.pcap" "$VIP" 5 1 1
    "$EF_BUILD/test/tools/send_frames" --to "$MAC" "$D/in.pcap" "x1@$NS-r"
    until_true status_is '.copies_sent == 5'
    ip -n "$NS-r" link delete x0
    until_true status_is '.sources[0].state == "away"'
    grep -q "source afpacket:x0@$NS-r: interface 'x0' went away" "$D/log"
    ip -n "$NS-r" link add x0 address "$MAC" type veth peer name x1
    ip -n "$NS-r" link set x0 up
    ip -n "$NS-r" link set x1 up
    until_true status_is '.sources[0].state == "running"'
    "$EF_BUILD/test/tools/send_frames" --to "$MAC" "$D/in.pcap" "x1@$NS-r"
    until_true status_is ".copies_sent == 10 and $ADDS_UP"
    ip -n "$NS-r" link delete x0
    until_true status_is '.sources[0].state == "away"'
    kill "$PID"
    wait "$PID"
}

refused() { # EXIT_STATUS TEXT ARGUMENT...
    local expected=$1 text=$2
    shift 2
    run reshuffler "$@"
    echo "$output"
    [ "$status" -eq "$expected" ]
    [ "${#lines[@]}" -eq 1 ]
    [[ ${lines[0]} == "ef-reshuffler: "*"$text"* ]]
}

@test "each start that cannot be is refused with one line" {
    local common=(--vip "$VIP" --analyzer a=10.0.0.1)
    refused 2 "--vip is required" --analyzer a=10.0.0.1
    refused 2 "the name 'a' is there twice" "${common[@]}" --analyzer a=10.0.0.2 --source "afpacket:r0@$NS-r"
    refused 2 "did you mean --source?" "${common[@]}" --sorce x
    refused 2 "unknown source 'tap:x'" "${common[@]}" --source tap:x
    refused 1 "no interface 'nope' in network namespace '$NS-r'" "${common[@]}" --source "afpacket:nope@$NS-r"
    refused 1 "no network namespace 'nope'" "${common[@]}" --source afpacket:r0@nope
    refused 1 "no network namespace 'nope'" "${common[@]}" --source "afpacket:r0@$NS-r" --sink ip@nope
    refused 1 "No such file" "${common[@]}" --source "pcap:$D/nope"
    refused 2 "--answer: only for sources afpacket:IFACE and dpdk:DEVICE" "${common[@]}" --source "pcap:$D/nope" --sink "pcap:$D/x" --answer
    refused 1 "only served on loopback" "${common[@]}" --source "afpacket:r0@$NS-r" --http 0.0.0.0:0
}

@test "without root it says what it needs" {
    chmod 755 "$D"
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$EF_BUILD/reshuffler/ef-reshuffler" --vip "$VIP" \
        --analyzer a=10.0.0.1 --source afpacket:lo
    [ "$status" -eq 1 ]
    [ "$output" = "ef-reshuffler: sink 'ip': a raw socket needs CAP_NET_RAW (run as root)" ]
}

@test "a port or control socket in use is refused" {
    start_ipv4
    local common=(--vip "$VIP" --analyzer a=10.0.0.1 --source "afpacket:r0@$NS-r" --sink "ip@$NS-r")
    refused 1 "answers on this control socket" "${common[@]}" --control "$D/control"
    refused 1 "another process already does" "${common[@]}" --http "unix:$D/http"
    answers
}

# --- Looking inside ----------------------------------------------------------

control() { # COMMAND...
    echo "$*" | socat -t 5 - "UNIX-CONNECT:$D/control"
}

@test "the control socket, /metrics and explain tell what happens" {
    local n
    n=$(make_copies "$D/in.pcap" "$VIP" 20 2 2)
    start_ipv4 --name r1
    send "$D/in.pcap"
    until_true status_is ".copies_sent == $n"
    status_is '.role == "reshuffler" and .name == "r1" and .vips == ["'"$VIP"'"] and .uptime_s >= 0'
    control status | jq -e ".copies_received == $n and $ADDS_UP"
    control counters | grep -Eq "^copies_sent +$n\$"
    curl -sf --unix-socket "$D/http" http://localhost/metrics >"$D/metrics"
    grep -q "^everflow_copies_received_total $n\$" "$D/metrics"
    grep -q '^everflow_drops_total{reason="not_our_vip"} 0$' "$D/metrics"
    local frame
    frame=$(tshark -r "$D/in.pcap" -c 1 -x 2>/dev/null | awk '{print substr($0, 7, 47)}' | tr -d ' \n')
    control "explain $frame" >"$D/explained"
    grep -q "^copy:      from 10.255.0.1 to $VIP, GRE" "$D/explained"
    grep -Eq '^sent to:   a[12] \(10.99.[12].2\)' "$D/explained"
    control explain xyz | grep -q "^error: 'xyz' is not a frame in hexadecimal digits"
}
