#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copies through DPDK ports of all kinds that need no hardware: captures, shared
# memory between processes, taps, and AF_PACKET; with and without huge pages.

load common
bats_require_minimum_version 1.5.0

PORT=18890
URL=http://127.0.0.1:$PORT

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    "$EF_BUILD/utilities/replay/ef-replay" --packets 1000 --speed 0 --sink pcap:copies.pcap --loops 1% --truth truth >said
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    grep -q "define HAVE_DPDK 1" "$EF_BUILD/config.h" || skip "this build has no DPDK"
    PIDS=()
    NS=ef-dpdk$$
    cd "$BATS_TEST_TMPDIR"
    SENT=$(awk '{print $1}' "$BATS_FILE_TMPDIR/said")
}

teardown() {
    local pid
    for pid in "${PIDS[@]}"; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    ip netns delete "$NS" 2>/dev/null || :
}

analyzer() { # SPEC...
    local sources=()
    for spec; do sources+=(--source "$spec"); done
    "$EF_BUILD/analyzer/ef-analyzer" --name dpdk "${sources[@]}" --memory 256M --http 127.0.0.1:$PORT >log 2>&1 3>&- &
    PIDS+=($!)
    wait_until 10 curl -sf -o /dev/null "$URL/v1/status"
}

# arrived N: so many copies, none discarded, and every trace closed.
arrived() {
    curl -sf "$URL/v1/status" | jq -e --argjson n "$1" '.copies_received == $n and .copies_assembled == $n
        and .traces_open == 0' >/dev/null
}

@test "a capture through net_pcap gives the traces of the truth" {
    analyzer "dpdk:net_pcap0,rx_pcap=$BATS_FILE_TMPDIR/copies.pcap"
    wait_until 10 arrived "$SENT"
    curl -sf "$URL/v1/status" | jq -e --argjson n "$(jq 'select(.end).kinds.loop' "$BATS_FILE_TMPDIR/truth")" \
        '.traces_closed == 1000 and .loops == $n'
}

@test "a port's own timestamps are when copies arrived" {
    # net_pcap gives the capture's times: the traces began when those of the capture itself did.
    local starts='[.traces[].start[:26]] | sort'
    analyzer "dpdk:net_pcap0,rx_pcap=$BATS_FILE_TMPDIR/copies.pcap"
    wait_until 10 arrived "$SENT"
    curl -sf "$URL/v1/traces?limit=0&format=json" | jq "$starts" >by_dpdk
    kill "${PIDS[@]}"
    wait "${PIDS[@]}" || :
    analyzer "pcap:$BATS_FILE_TMPDIR/copies.pcap"
    wait_until 10 arrived "$SENT"
    curl -sf "$URL/v1/traces?limit=0&format=json" | jq "$starts" >by_file
    [ "$(jq length by_file)" = 1000 ]
    diff by_dpdk by_file
}

@test "the same without huge pages" {
    EF_DPDK_ARGS="--no-huge --no-shconf -m 256" analyzer "dpdk:net_pcap0,rx_pcap=$BATS_FILE_TMPDIR/copies.pcap"
    wait_until 10 arrived "$SENT"
}

@test "several ports, each with several queues" {
    local f=$BATS_FILE_TMPDIR/copies.pcap
    analyzer "dpdk:net_pcap0,rx_pcap=$f,rx_pcap=$f#0/2" "dpdk:net_pcap0,rx_pcap=$f,rx_pcap=$f#1/2" \
        "dpdk:net_pcap1,rx_pcap=$f"
    wait_until 10 arrived $((3 * SENT))
    curl -sf "$URL/v1/status" | jq -e --argjson n "$SENT" '[.sources[].frames] == [$n, $n, $n]'
}

@test "memif: from ef-replay through shared memory" {
    analyzer "dpdk:net_memif0,role=server,socket=$PWD/memif.sock,socket-abstract=no"
    run -0 "$EF_BUILD/utilities/replay/ef-replay" --packets 400 --rate 2000 --sink \
        "dpdk:net_memif0,role=client,socket=$PWD/memif.sock,socket-abstract=no#02:00:00:00:00:01"
    echo "$output"
    wait_until 10 arrived "$(awk '{print $1}' <<<"$output")"
}

@test "AF_PACKET on veth, through the reshuffler and DPDK on both sides" {
    ip netns add "$NS"
    local i
    for i in 0 1; do
        ip -n "$NS" link add "s$i" mtu 2000 type veth peer name "r$i" mtu 2000
        ip -n "$NS" link set "s$i" up
        ip -n "$NS" link set "r$i" up
    done
    # s0 - r0 reshuffler r1 - s1 analyzer
    ip netns exec "$NS" "$EF_BUILD/reshuffler/ef-reshuffler" --vip 10.255.255.1 --analyzer a=10.99.1.2 \
        --source "dpdk:net_af_packet0,iface=r0,framecnt=8192" --sink "dpdk:net_af_packet1,iface=r1,framecnt=8192#02:00:00:00:00:02" >reshuffler.log 2>&1 3>&- &
    PIDS+=($!)
    analyzer "afpacket:s1@$NS"
    wait_until 10 grep -q steers reshuffler.log
    run -0 ip netns exec "$NS" "$EF_BUILD/utilities/replay/ef-replay" --packets 2000 --rate 5000 --sink \
        "dpdk:net_af_packet0,iface=s0#02:00:00:00:00:01"
    echo "$output"
    wait_until 10 arrived "$(awk '{print $1}' <<<"$output")"
    curl -sf "$URL/v1/status" | jq -e '.traces_closed == 2000'
}

@test "AF_XDP on veth, through the reshuffler on both sides: nothing is copied between the ports" {
    ip netns add "$NS"
    local i
    for i in 0 1; do
        ip -n "$NS" link add "s$i" type veth peer name "r$i"
        ip -n "$NS" link set "s$i" up
        ip -n "$NS" link set "r$i" up
    done
    ip netns exec "$NS" "$EF_BUILD/reshuffler/ef-reshuffler" --vip 10.255.255.1 --analyzer a=10.99.1.2 --http "unix:$PWD/r.sock" \
        --source "dpdk:net_af_xdp0,iface=r0" --sink "dpdk:net_af_xdp1,iface=r1#02:00:00:00:00:02" >reshuffler.log 2>&1 3>&- &
    PIDS+=($!)
    ready_or_gone() { ! kill -0 "${PIDS[0]}" || curl -sf -o /dev/null --unix-socket r.sock http://x/v1/status; } 2>/dev/null
    wait_until 10 ready_or_gone
    kill -0 "${PIDS[0]}" || skip "DPDK cannot open AF_XDP sockets here: $(cat reshuffler.log)"
    analyzer "afpacket:s1@$NS"
    run -0 ip netns exec "$NS" "$EF_BUILD/utilities/replay/ef-replay" --packets 2000 --rate 5000 --sink \
        "dpdk:net_af_packet0,iface=s0#02:00:00:00:00:01"
    echo "$output"
    wait_until 10 arrived "$(awk '{print $1}' <<<"$output")"
    curl -sf "$URL/v1/status" | jq -e '.traces_closed == 2000'
    curl -sf --unix-socket r.sock http://x/v1/status | jq -e '.copies_received == .copies_sent + ([.drops[]] | add)'
}

@test "a tap: the kernel's packets" {
    ip netns add "$NS"
    ip netns exec "$NS" "$EF_BUILD/analyzer/ef-analyzer" --name dpdk --source "dpdk:net_tap0,iface=eftap0" --memory 64M \
        --http "unix:$PWD/sock" >log 2>&1 3>&- &
    PIDS+=($!)
    wait_until 10 curl -sf -o /dev/null --unix-socket sock http://x/v1/status
    ip -n "$NS" address add 10.255.255.2/24 dev eftap0
    ip -n "$NS" neighbor add 10.255.255.1 lladdr 02:00:00:00:00:01 dev eftap0
    "$EF_BUILD/utilities/replay/ef-replay" --packets 200 --sink "ip@$NS"
    tap_arrived() {
        curl -sf --unix-socket sock http://x/v1/status | jq -e '.copies_assembled == 1000' >/dev/null
    }
    wait_until 10 tap_arrived
}

# answering_reshuffler SPEC: its port is its own, no kernel has the VIPs.
answering_reshuffler() {
    ip netns exec "$NS" "$EF_BUILD/reshuffler/ef-reshuffler" --vip 10.255.255.1,fd00::1 --source "$1" \
        --sink pcap:/dev/null --analyzer a=10.99.1.2,address6=fd99::2 --answer --http "unix:$PWD/r.sock" >r.log 2>&1 3>&- &
    PIDS+=($!)
    wait_until 10 curl -sf -o /dev/null --unix-socket r.sock http://x/v1/status
}

# ask IFACE: the kernel behind the port finds the VIPs by ARP and ND, and pings them.
ask() {
    ip -n "$NS" address add 10.255.255.2/24 dev "$1"
    ip -n "$NS" address add fd00::2/64 dev "$1" nodad
    ip netns exec "$NS" ping -nqc 3 -i 0.2 -W 2 10.255.255.1
    ip netns exec "$NS" ping -nqc 3 -i 0.2 -W 2 fd00::1
    ip netns exec "$NS" ping -nqc 1 -W 2 -s 1400 -M "do" 10.255.255.1
    run ! ip netns exec "$NS" ping -nqc 1 -W 1 10.255.255.3
    run ! ip netns exec "$NS" ping -nqc 1 -W 1 fd00::3
    curl -sf --unix-socket r.sock http://x/v1/status | jq -e '.answers.arp >= 1 and .answers.nd >= 1 and
        .answers.ping == 7 and .answers.limited == 0 and .copies_received == ([.drops[]] | add)'
}

@test "--answer on a veth's packet socket: ARP, ND and ping from the kernel at the other end" {
    ip netns add "$NS"
    ip -n "$NS" link add s0 type veth peer name r0
    ip -n "$NS" link set s0 up
    ip -n "$NS" link set r0 up
    answering_reshuffler dpdk:net_af_packet0,iface=r0
    ask s0
    ip -n "$NS" neighbor show 10.255.255.1 dev s0 | grep -q "$(ip -n "$NS" -j link show r0 | jq -r '.[0].address')"
    # Of a flood of questions only so many are answered, and copies still go on.
    ip netns exec "$NS" ping -nqfc 3000 10.255.255.1 >ping.log 3>&- &
    PIDS+=($!)
    ip netns exec "$NS" "$EF_BUILD/utilities/replay/ef-replay" --packets 100 --sink ip >said
    went_on() {
        curl -sf --unix-socket r.sock http://x/v1/status | jq -e --argjson n "$(awk '{print $1}' said)" \
            '.copies_sent == $n and .answers.limited + .answers.ping > 1000' >/dev/null
    }
    wait_until 10 went_on
    curl -sf --unix-socket r.sock http://x/metrics | grep -q '^everflow_answers_total{kind="nd"} [1-9]'
}

@test "--answer on a tap: the kernel's own ARP, ND and ping" {
    ip netns add "$NS"
    answering_reshuffler dpdk:net_tap0,iface=eftap0
    ask eftap0
}

@test "what cannot be opened says why" {
    local spec analyzer=$EF_BUILD/analyzer/ef-analyzer
    run -1 --separate-stderr "$analyzer" --name d --source dpdk:net_nothing0
    [[ $stderr == *"source 'dpdk:net_nothing0'"*"DPDK finds no such device"* ]]
    run -1 --separate-stderr "$analyzer" --name d --source "dpdk:net_null0#4/4"
    [[ $stderr == *"the queue"* ]]
    run -2 --separate-stderr "$analyzer" --name d --source dpdk:
    [[ $stderr == *"should read dpdk:DEVICE"* ]]
    EF_DPDK_ARGS="--nonsense" run -2 --separate-stderr "$analyzer" --name d --source dpdk:net_null0
    [[ $stderr == *"DPDK does not start"*EF_DPDK_ARGS* ]]
    run -2 --separate-stderr "$EF_BUILD/utilities/replay/ef-replay" --sink dpdk:net_null0
    [[ $stderr == *"the next hop's MAC address must follow"* ]]
}
