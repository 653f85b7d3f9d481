#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two reshufflers in a real fabric: while one gets more copies than it can take,
# the controller moves switches to the other, one after the other; when it dies,
# all of them. Copies of one packet meet all the same, and its trace is whole.
# The second one stands by at a host of the fabric, whose address is its VIP.

load common
bats_require_minimum_version 1.5.0

FABRIC=shed
PORT=18930
VIP=10.255.255.1

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    suite_begin "$FABRIC" "$PORT" --spines 1 --leaves 2 --hosts-per-leaf 2
    local directory
    directory=$(demo_directory "$FABRIC")
    VIP2=$(jq -r '.hosts[] | select(.name == "h4").address' "$(demo_topology "$FABRIC")")
    export VIP2
    # A small ring for the first one, so that it overflows; the analyzers are those of the fabric.
    demo_kill "$directory/reshuffler1.pid"
    start_reshuffler reshuffler1 reshuffler1 "$VIP" $((PORT + 10)) --ring 1M
    start_reshuffler standby h4 "$VIP2" $((PORT + 11))
    demo_kill "$directory/controller.pid"
    jq --arg one "http://127.0.0.1:$((PORT + 10))" --arg two "http://127.0.0.1:$((PORT + 11))" --arg vip "$VIP" --arg vip2 "$VIP2" \
        '.reshufflers = [{name: "reshuffler1", url: $one, vips: [$vip]}, {name: "standby", url: $two, vips: [$vip2]}]' \
        "$directory/controller.json" >"$directory/two.json"
    demo_daemon "$FABRIC" controller controller/ef-controller --config "$directory/two.json" >&2
    demo_wait_configured "$FABRIC" "$PORT"
    ip netns exec "ef-$FABRIC-h3" "$EF_SOURCE/test/system/tcp_traffic.py" server 80 >"$BATS_FILE_TMPDIR/server" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/server.pid"
    wait_until 10 grep -q ready "$BATS_FILE_TMPDIR/server"
}

teardown_file() {
    local file
    for file in "$BATS_FILE_TMPDIR"/*.pid; do
        [ ! -e "$file" ] || kill -KILL "$(cat "$file")" 2>/dev/null || :
    done
    suite_end "$FABRIC"
}

setup() {
    export EFCTL_CONTROLLER=http://127.0.0.1:$PORT
}

# What suite_begin starts for the fabric's own, for any host: all the analyzers.
start_reshuffler() { # NAME HOST VIP PORT ARGUMENT...
    local host address rest netns interface analyzers=() name=$1 vip=$3 port=$4 i=0
    read -r netns interface < <(jq -r --arg at "$2" '.hosts[] | select(.name == $at) | "\(.netns) \(.interface)"' \
        "$(demo_topology "$FABRIC")")
    shift 4
    while read -r host address rest; do
        i=$((i + 1))
        analyzers+=(--analyzer "$host=$address,url=http://127.0.0.1:$((PORT + i))")
    done < <(demo_hosts "$FABRIC" analyzer)
    demo_daemon "$FABRIC" "$name" reshuffler/ef-reshuffler --name "$name" --vip "$vip" --source "afpacket:$interface@$netns" \
        --sink "ip@$netns" "${analyzers[@]}" --http "127.0.0.1:$port" "$@" >&2
}

# Gives it the processor a fifth of the time while it is flooded: more than it can take, however fast the machine is.
overload() {
    local directory node port mac
    directory=$(demo_directory "$FABRIC")
    read -r node port < <(jq -r '.switches[] | . as $s | .ports[] | select(.peer.node == "reshuffler1") | "\($s.netns) \(.name)"' \
        "$(demo_topology "$FABRIC")")
    mac=$(jq -r '.hosts[] | select(.name == "reshuffler1").mac' "$(demo_topology "$FABRIC")")
    "$EF_BUILD/test/tools/make_copies" "$BATS_TEST_TMPDIR/in.pcap" "$VIP" 300 2 2 >/dev/null
    timeout 120 "$EF_BUILD/test/tools/send_frames" --to "$mac" --rate 50000 --loop 1000000 "$BATS_TEST_TMPDIR/in.pcap" \
        "$port@$node" >"$BATS_TEST_TMPDIR/flood" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/flood.pid"
    local pid i
    pid=$(cat "$directory/reshuffler1.pid")
    (
        for ((i = 0; i < 400; i++)); do
            kill -STOP "$pid" || break
            sleep 0.2
            kill -CONT "$pid" || break
            sleep 0.05
        done
    ) 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/throttle.pid"
}

end_overload() {
    local name
    for name in throttle flood; do
        kill "$(cat "$BATS_FILE_TMPDIR/$name.pid")" 2>/dev/null || :
        rm -f "$BATS_FILE_TMPDIR/$name.pid"
    done
    kill -CONT "$(cat "$(demo_directory "$FABRIC")/reshuffler1.pid")"
}

# So many switches send to this VIP alone.
targets_are() { # NUMBER VIP
    [ "$(curl -sf "$EFCTL_CONTROLLER/v1/switches" | jq --arg vip "$2" '[.switches[] | select(.config.targets == [$vip])] | length')" = "$1" ]
}

status_of() { # NUMBER JQ_CONDITION, of the first or second reshuffler
    curl -sf "http://127.0.0.1:$((PORT + 9 + $1))/v1/status" | jq -e "$2"
}

# Connections from h1 to h3, and their SYNs' traces, each with all three switches.
whole_traces() { # FIRST_PORT
    local address
    address=$(jq -r '.hosts[] | select(.name == "h3").address' "$(demo_topology "$FABRIC")")
    seq "$1" $(($1 + 19)) | awk '{ print $1, to, 80 }' to="$address" |
        demo_fabric "$FABRIC" exec h1 -- python3 "$EF_SOURCE/test/system/tcp_traffic.py" client 100 >"$BATS_TEST_TMPDIR/client"
    [ "$(grep -cx ok "$BATS_TEST_TMPDIR/client")" = 20 ]
    wait_until 15 are_whole "$1"
}

are_whole() { # FIRST_PORT
    efctl trace --ndjson --limit 0 "tcp.srcport >= $1 && tcp.srcport < $(($1 + 20)) && tcp.flags.syn == 1 && tcp.dstport == 80" |
        jq -se '[.[] | select(.hops)] | length == 20 and all([.hops[].name] == ["leaf1", "spine1", "leaf2"])' >/dev/null
}

@test "switches leave a reshuffler that is congested one after the other, and traces stay whole" {
    targets_are 3 "$VIP"
    whole_traces 42000
    local before
    before=$(status_of 2 .copies_received)
    overload
    wait_until 20 status_of 1 .congested
    wait_until 20 targets_are 1 "$VIP2"
    targets_are 2 "$VIP"
    wait_until 20 targets_are 2 "$VIP2"
    curl -sf "$EFCTL_CONTROLLER/v1/status" | jq -e '.reshufflers[] | select(.name == "reshuffler1").congested'
    end_overload
    wait_until 20 status_of 1 '.congested | not'
    # Some switches send here, others there.
    whole_traces 42100
    status_of 2 ".copies_received > $before and .copies_sent + ([.drops[]] | add) == .copies_received"
}

@test "all switches leave a reshuffler that is killed, and come back when it is" {
    local start
    demo_kill "$(demo_directory "$FABRIC")/reshuffler1.pid" KILL
    start=$(date +%s%N)
    wait_until 20 targets_are 3 "$VIP2"
    echo "# killed reshuffler left: $((($(date +%s%N) - start) / 1000000)) ms" >&3
    whole_traces 42200
    start_reshuffler reshuffler1 reshuffler1 "$VIP" $((PORT + 10)) --ring 1M
    wait_until 20 targets_are 3 "$VIP"
    whole_traces 42300
}
