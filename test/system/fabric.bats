#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ef-fabric with real switches: forwarding, what their CPUs answer, and that
# nothing is left behind, whatever was killed.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0
load jq

setup_file() {
    export EF_SOURCE=${EF_SOURCE-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
    export EF_BUILD=${EF_BUILD-$EF_SOURCE/_build}
    export EF_OVS_PREFIX=${EF_OVS_PREFIX-$EF_BUILD/ovs/install}
    export EF=$EF_BUILD/utilities/fabric/ef-fabric
    if can_run; then
        "$EF" --name efbats up
        "$EF" --name efbats topology --json >"$BATS_FILE_TMPDIR/topology.json"
    fi
}

teardown_file() {
    ! can_run || "$EF" --name efbats down
}

can_run() {
    [ "$(id -u)" = 0 ] && [ -x "$EF" ] && [ -x "$EF_OVS_PREFIX/sbin/ovs-vswitchd" ]
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    [ -x "$EF" ] || skip "$EF is not built"
    [ -x "$EF_OVS_PREFIX/sbin/ovs-vswitchd" ] || skip "no Open vSwitch at $EF_OVS_PREFIX"
}

teardown() {
    ! can_run || "$EF" --name efbats2 down >/dev/null
}

# What a fabric could leave on the machine, one thing a line.
traces_of() { # NAME
    local file
    ip netns list | grep "^ef-$1-" || true
    [ ! -e "/run/everflow/$1" ] || echo "/run/everflow/$1"
    grep "ef-$1-" /proc/mounts || true
    for file in /proc/[0-9]*/environ; do
        ! grep -qs "OVS_RUNDIR=/run/everflow/$1/" "$file" || echo "process $file"
    done
    ip -o link | grep -E "link-netns ef-$1-" || true
}

assert_nothing_left() { # NAME
    local left
    left=$(traces_of "$1")
    [ -z "$left" ] || { echo "left behind: $left"; return 1; }
}

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

fabric() {
    "$EF" --name efbats "$@"
}

# answer_of COMMAND...: the address that an ICMP error or echo reply came from.
answer_of() {
    "$@" | sed -nE 's/^(From|[0-9]+ bytes from) ([0-9a-f.:]+[0-9a-f]).*/\2/p' | head -n 1
}

@test "every host reaches every other, over IPv4 and IPv6" {
    run -0 jq -r '.hosts[] | "\(.name) \(.address) \(.address6)"' "$BATS_FILE_TMPDIR/topology.json"
    local hosts=$output from to address address6
    while read -r from _ _; do
        while read -r to address address6; do
            fabric exec "$from" -- ping -c1 -W3 "$address" >/dev/null || { echo "$from does not reach $to"; return 1; }
            fabric exec "$from" -- ping -c1 -W3 "$address6" >/dev/null || { echo "$from does not reach $to (IPv6)"; return 1; }
        done <<<"$hosts"
    done < <(grep -E '^(h1|h4|analyzer1) ' <<<"$hosts")
}

@test "every switch answers at its loopback" {
    local loopback
    for loopback in $(jq -r '.switches[] | .loopback, .loopback6' "$BATS_FILE_TMPDIR/topology.json"); do
        fabric exec h1 -- ping -c1 -W3 "$loopback" >/dev/null || { echo "$loopback does not answer"; return 1; }
    done
}

@test "switches answer when a TTL expires: leaf, spine, leaf" {
    [ "$(answer_of fabric exec h1 -- ping -c1 -W3 -t1 10.4.0.12)" = 10.255.0.1 ]
    [[ $(answer_of fabric exec h1 -- ping -c1 -W3 -t2 10.4.0.12) == 10.255.1.[12] ]]
    [ "$(answer_of fabric exec h1 -- ping -c1 -W3 -t3 10.4.0.12)" = 10.255.0.4 ]
    [ "$(answer_of fabric exec h1 -- ping -c1 -W3 -t4 10.4.0.12)" = 10.4.0.12 ]
    [ "$(answer_of fabric exec h1 -- ping -c1 -W3 -t1 fd00::a04:c)" = fd00::aff:1 ]
}

@test "traceroute from h1 to h8 shows leaf, spine, leaf, host" {
    command -v traceroute >/dev/null || skip "traceroute is not installed"
    # One probe at a time: many at once overtake each other, and h8 answers only some of a burst.
    run -0 fabric exec h1 -- traceroute -n -q1 -N1 -w3 10.4.0.12
    [[ $(sed -n 's/^ *[0-9]* *\([0-9.]*\) .*/\1/p' <<<"$output" | tr '\n' ' ') =~ ^10.255.0.1\ 10.255.1.[12]\ 10.255.0.4\ 10.4.0.12\ $ ]]
}

@test "TCP carries data between leaves, and the counted ports are those of path" {
    local before after
    fabric exec h8 -- python3 "$EF_SOURCE/test/system/tcp_traffic.py" server 7001 >"$BATS_TEST_TMPDIR/server" 3>&- &
    local server=$!
    until_true grep -q ready "$BATS_TEST_TMPDIR/server"
    run -0 fabric path h1 h8 --sport 41000 --dport 7001 --json
    local spine
    spine=$(jq -r '.hops[1].name' <<<"$output")
    before=$(fabric status --json | jq --arg s "$spine" '[.switches[] | select(.name == $s) | .ports[] | select(.name == "leaf4").tx_packets] | add')
    run -0 fabric exec h1 -- python3 "$EF_SOURCE/test/system/tcp_traffic.py" client 10 <<<"41000 10.4.0.12 7001"
    [ "$output" = ok ]
    after=$(fabric status --json | jq --arg s "$spine" '[.switches[] | select(.name == $s) | .ports[] | select(.name == "leaf4").tx_packets] | add')
    kill "$server"
    # SYN, ACK, data, FIN at least went over the spine that was foretold.
    [ $((after - before)) -ge 4 ]
}

@test "packets as long as a link allows are forwarded; no copy of one is too long" {
    fabric exec h1 -- ping -c1 -W3 -M 'do' -s 1472 10.4.0.12
    run -1 fabric exec h1 -- ping -c1 -W1 -M 'do' -s 1473 10.4.0.12
    # From a collector, whose link takes more, through the fabric to another.
    fabric exec reshuffler1 -- ip route add 10.2.0.201/32 via 10.1.0.1 dev eth0 onlink mtu 1700
    fabric exec reshuffler1 -- ping -c1 -W3 -M 'do' -s 1672 10.2.0.201
}

@test "path agrees with what it is asked for 500 connections, quickly, on both spines" {
    local i
    for ((i = 0; i < 500; i++)); do
        echo "h$((i % 8 + 1)) h$(((i + 2 + i / 8 % 5) % 8 + 1)) $((20000 + i * 37)) 80"
    done >"$BATS_TEST_TMPDIR/flows"
    local start=$SECONDS
    fabric path --json --batch "$BATS_TEST_TMPDIR/flows" >"$BATS_TEST_TMPDIR/paths"
    [ $((SECONDS - start)) -le 10 ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/paths")" = 500 ]
    [ "$(jq -r .end "$BATS_TEST_TMPDIR/paths" | sort -u)" = delivered ]
    # Leaf, or leaf, spine, leaf; TTL falls by one at each; the last hop is the receiver's leaf.
    jq -se 'all(.[]; (.hops | length == 1 or length == 3) and .hops[0].ttl == 64
                     and (.hops | last.switch | split(".")[3]) == (.dst | split(".")[1]))' "$BATS_TEST_TMPDIR/paths"
    local share
    share=$(jq -r '.hops[1].name // empty' "$BATS_TEST_TMPDIR/paths" | sort | uniq -c | sort -n | awk '{s += $1; if (NR == 1) m = $1} END {print NR, int(100 * m / s)}')
    [[ $share =~ ^2\ (3[5-9]|4[0-9]|50)$ ]]
}

@test "path: what no host gets, what a CPU gets, what comes from a CPU" {
    run -0 fabric path h1 spine2
    [ "$output" = "h1 > leaf1 > spine2 (cpu)" ]
    run -0 fabric path h1 198.51.100.1
    [ "$output" = "h1 > leaf1 (dropped)" ]
    run -0 fabric path h1 h8 --ttl 3 --json
    [ "$(jq -r '"\(.end) \(.to)"' <<<"$output")" = "cpu leaf4" ]
    run -0 fabric path spine1 10.255.255.1 --proto gre
    [ "$output" = "spine1 > spine1 > leaf1 > reshuffler1" ]
    run -1 --separate-stderr fabric path h1 h99
    [[ $stderr == *"no host or switch 'h99'"* ]]
}

@test "packets for the VIP reach the reshuffler's link, whose kernel does not answer" {
    local before after
    before=$(fabric status --json | jq '.hosts[] | select(.name == "reshuffler1").rx_packets')
    run -1 fabric exec spine1 -- ping -c2 -i0.2 -W1 10.255.255.1
    after=$(fabric status --json | jq '.hosts[] | select(.name == "reshuffler1").rx_packets')
    [ $((after - before)) -ge 2 ]
}

@test "a spine that goes down is routed around" {
    "$EF" --name efbats2 up --leaves 2 --hosts-per-leaf 1 --collectors 0
    local spine
    spine=$("$EF" --name efbats2 path h1 h2 --proto icmp | awk '{print $5}')
    "$EF" --name efbats2 exec "$spine" -- ip link set dev leaf1 down
    until_true eval "! \"$EF\" --name efbats2 path h1 h2 --proto icmp | grep -q $spine"
    "$EF" --name efbats2 exec h1 -- ping -c1 -W3 10.2.0.11
    run -1 "$EF" --name efbats2 status
    [[ $output == *"$spine "*degraded*"leaf1=down"* ]]
}

@test "exec: at a switch the tools talk to it; the command's exit status is ours" {
    run -0 fabric exec leaf2 -- ovs-vsctl list-ports br0
    [ "${#lines[@]}" = 5 ]
    run -7 fabric exec h1 -- sh -c 'exit 7'
    run -1 --separate-stderr fabric exec leef2 -- true
    [[ $stderr == *"did you mean 'leaf2'?"* ]]
    run -2 --separate-stderr fabric exec h1
    [[ $stderr == *"say what to run"* ]]
}

@test "a topology file, its document and its fabric agree" {
    cat >"$BATS_TEST_TMPDIR/t.json" <<'JSON'
{"switches": [{"name": "a", "ports": [{"peer": {"node": "b"}}, {"peer": {"node": "b"}}]}, {"name": "b"}],
 "hosts": [{"name": "h1", "switch": "a"}, {"name": "h2", "switch": "b", "address": "192.0.2.9"}]}
JSON
    "$EF" --name efbats2 up --topology "$BATS_TEST_TMPDIR/t.json"
    "$EF" --name efbats2 exec h1 -- ping -c1 -W3 192.0.2.9
    "$EF" --name efbats2 topology --json >"$BATS_TEST_TMPDIR/full.json"
    "$EF" --name efbats2 down
    "$EF" --name efbats2 up --topology "$BATS_TEST_TMPDIR/full.json"
    "$EF" --name efbats2 topology --json | cmp - "$BATS_TEST_TMPDIR/full.json"
}

@test "fabrics live side by side and go one by one" {
    "$EF" --name efbats2 up --leaves 2 --spines 1
    "$EF" --name efbats2 exec h1 -- ping -c1 -W3 10.2.0.11
    "$EF" --name efbats2 down
    assert_nothing_left efbats2
    fabric status >/dev/null
}

@test "down leaves nothing, twice, with processes inside" {
    "$EF" --name efbats2 up --leaves 2 --spines 1
    "$EF" --name efbats2 exec h1 -- sh -c 'trap "" TERM; exec sleep 1000' 3>&- &
    run -0 "$EF" --name efbats2 down
    assert_nothing_left efbats2
    run -0 "$EF" --name efbats2 down
    [[ $output == *"nothing to remove"* ]]
}

@test "down works when everything was killed or its files are gone" {
    "$EF" --name efbats2 up --leaves 2 --spines 1
    "$EF" --name efbats2 status --json | jq -r '.switches[] | .ovsdb_server.pid, .ovs_vswitchd.pid' | xargs kill -KILL
    run -1 "$EF" --name efbats2 status
    [[ $output == *DEAD* ]]
    "$EF" --name efbats2 down
    assert_nothing_left efbats2

    "$EF" --name efbats2 up --leaves 2 --spines 1
    rm -rf /run/everflow/efbats2
    "$EF" --name efbats2 down
    assert_nothing_left efbats2
}

@test "ef-fabric killed in the middle of up leaves what down can remove" {
    local ms
    for ms in 0.01 0.05 0.1 0.2 0.3; do
        "$EF" --name efbats2 up >/dev/null 2>&1 3>&- &
        local pid=$!
        read -rt $ms <> <(:) || :
        kill -KILL $pid 2>/dev/null || true
        wait $pid || true
        "$EF" --name efbats2 down
        assert_nothing_left efbats2
    done
}

@test "an interrupted up removes what it has made" {
    "$EF" --name efbats2 up --leaves 12 3>&- 2>"$BATS_TEST_TMPDIR/said" &
    local pid=$!
    until_true test -e /run/netns/ef-efbats2-leaf1
    kill -TERM $pid
    local status=0
    wait $pid || status=$?
    [ $status = 1 ]
    grep -q "interrupted" "$BATS_TEST_TMPDIR/said"
    assert_nothing_left efbats2
}

@test "an up that fails says why and leaves nothing" {
    mkdir -p "$BATS_TEST_TMPDIR/ovs/sbin" "$BATS_TEST_TMPDIR/ovs/share"
    ln -s "$EF_OVS_PREFIX/bin" "$BATS_TEST_TMPDIR/ovs/bin"
    ln -s "$EF_OVS_PREFIX/sbin/ovsdb-server" "$BATS_TEST_TMPDIR/ovs/sbin/ovsdb-server"
    ln -s "$EF_OVS_PREFIX/share/openvswitch" "$BATS_TEST_TMPDIR/ovs/share/openvswitch"
    printf '#!/bin/sh\necho "no room" >&2\nexit 1\n' >"$BATS_TEST_TMPDIR/ovs/sbin/ovs-vswitchd"
    chmod +x "$BATS_TEST_TMPDIR/ovs/sbin/ovs-vswitchd"
    run -1 --separate-stderr "$EF" --name efbats2 up --ovs "$BATS_TEST_TMPDIR/ovs"
    [[ $stderr == "ef-fabric: "*": ovs-vswitchd: no room" ]]
    assert_nothing_left efbats2
}

@test "names in use and missing programs: one clear line each" {
    run -1 --separate-stderr fabric up
    [ "$stderr" = "ef-fabric: fabric 'efbats' exists already; remove it with \`ef-fabric --name efbats down\`, or choose another --name" ]
    ip netns add ef-efbats2-leaf1
    run -1 --separate-stderr "$EF" --name efbats2 up
    [[ $stderr == "ef-fabric: network namespace ef-efbats2-leaf1 exists already; "* ]]
    [ -e /run/netns/ef-efbats2-leaf1 ]
    ip netns del ef-efbats2-leaf1
    run -1 --separate-stderr "$EF" --name efbats2 up --ovs /nonexistent
    [[ $stderr == "ef-fabric: no Open vSwitch at /nonexistent"* ]]
    assert_nothing_left efbats2
    run -1 --separate-stderr "$EF" --name nosuch topology
    [[ $stderr == "ef-fabric: there is no fabric 'nosuch'; start it with"* ]]
}

@test "wrong usage: exit status 2 and what was meant" {
    run -2 --separate-stderr "$EF" upp
    [ "$stderr" = "ef-fabric: unknown command 'upp'; did you mean 'up'?" ]
    run -2 --separate-stderr "$EF" up --leafs 3
    [ "$stderr" = "ef-fabric: unknown option --leafs; did you mean --leaves?" ]
    run -2 --separate-stderr "$EF" up --leaves 0
    run -2 --separate-stderr "$EF" --name UP up
    run -2 --separate-stderr "$EF" up extra
    [[ $stderr == "ef-fabric: too many arguments; usage: "* ]]
    echo '{"switches":[{"name":"a","prots":[]}]}' >"$BATS_TEST_TMPDIR/t.json"
    run -2 --separate-stderr "$EF" --name efbats2 up --topology "$BATS_TEST_TMPDIR/t.json"
    [[ $stderr == *"switches[0] has an unknown member 'prots'; did you mean 'ports'?" ]]
    run -0 "$EF" --help
    run -0 "$EF" path --help
    run -0 "$EF" --version
}
