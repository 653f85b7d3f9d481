#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every answer that doc/openapi.json documents occurs, as it is documented, and no
# other does: a running controller with a database, switches' databases, analyzers, a
# reshuffler and a prober are made to give each (api_requests.py).

bats_require_minimum_version 1.5.0
EF_SOURCE=${EF_SOURCE:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
load state

capture() { # NAME FIRST
    python3 "$EF_SOURCE/test/system/make_copies.py" --first "$2" --packets 50 --hops 3 "$1.pcap"
}

analyzer() { # NAME SOCKET ARGUMENT...
    "$EF_BUILD/analyzer/ef-analyzer" --name "$1" --source "pcap:$PWD/$1.pcap" --idle 100ms \
        --http "unix:$PWD/$2.sock" --detach --pidfile "$1.pid" --log-file "$1.log" "${@:3}" 3>&-
}

has_traces() { [ "$(ask "$1" /v1/status | jq .traces_stored)" = "$2" ]; }

# A port without a carrier towards the other switch, as ovs-vswitchd would say it.
down_port() { # SWITCH PEER
    vsctl "$1" add-br br0 -- add-port br0 "to-$2" -- set Interface "to-$2" ofport=1 link_state=down
}

# As ovs-vswitchd would say how many packets it saw.
carried() { # SWITCH PACKETS
    local row
    row=$(vsctl "$1" get Open_vSwitch . everflow)
    [ "$row" != "[]" ] &&
        vsctl "$1" set Everflow "$row" statistics:rx_packets="$2" statistics:copies=0 statistics:copy_bytes=0 statistics:class_debug=0
}

# The configurations: "controller" and "guarded" share the database with "standby".
configurations() {
    jq -n --arg dir "$PWD" '{name: "t", vip: "10.255.255.1",
        switches: [{name: "s1", peer: "s2"}, {name: "s2", peer: "s1"}] | to_entries | map({name: .value.name, role: "leaf",
            loopback: "10.255.0.\(.key + 1)", ovsdb: "unix:\($dir)/\(.value.name).sock", bridge: "br0",
            ports: [{number: 1, name: "to-\(.value.peer)", peer: {node: .value.peer, port: 1}},
                    {number: 2, name: "to-h\(.key + 1)", peer: {node: "h\(.key + 1)"}}]}),
        hosts: [1, 2 | {name: "h\(.)", role: "host", address: "10.\(.).0.11", switch: "s\(.)", port: 2}]}' >topology.json
    jq -n --arg dir "$PWD" '{topology: "topology.json",
        analyzers: ["analyzer", "a2"] | map({name: (if . == "analyzer" then "a1" else . end), url: "unix:\($dir)/\(.).sock"}),
        reshufflers: [{name: "r1", url: "unix:\($dir)/reshuffler.sock"}],
        probers: [{name: "p1", url: "unix:\($dir)/away.sock"}],
        everflow: {targets: ["10.255.255.1"], encap: "erspan3", classes: ["tcp_syn", "debug"], edge_ports: "hosts"}}' >common.json
    configuration controller '.database = "unix:\($dir)/state.sock" | .webhooks = [{url: "http://127.0.0.1:9/x", kinds: ["loop"]}]'
    configuration standby '.database = "unix:\($dir)/state.sock"'
    configuration guarded '.database = "unix:\($dir)/state.sock" | .access = {anonymous: "none"}'
    configuration limited '.access = {requests_per_s: 1, burst: 1}'
}

configuration() { # NAME CHANGE
    jq --arg dir "$PWD" --arg name "$1" ".listen = \"unix:\\(\$dir)/\\(\$name).sock\" | $2" common.json >"$1.json"
}

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    [ -x "$EF_OVS_PREFIX/sbin/ovsdb-server" ] || return 0
    start_switch s1
    start_switch s2
    down_port s1 s2
    start_state
    capture a1 0
    capture a2 50
    cp a2.pcap small.pcap
    analyzer a1 analyzer --memory 256M
    analyzer a2 a2 --memory 256M
    analyzer small small --memory 24M
    "$EF_BUILD/reshuffler/ef-reshuffler" --vip 10.255.255.1 --source afpacket:lo --sink pcap:/dev/null \
        --analyzer a1=10.1.0.21 --http "unix:$PWD/reshuffler.sock" --detach --pidfile r1.pid --log-file r1.log 3>&-
    configurations
    "$EF_BUILD/guided-prober/ef-prober" --topology topology.json --sink pcap:/dev/null \
        --http "unix:$PWD/prober.sock" --detach --pidfile p1.pid --log-file p1.log 3>&-
    wait_until 10 has_traces analyzer 50
    wait_until 10 has_traces a2 50
    start_controller controller
    wait_until 10 is_role controller active
    wait_until 10 carried s1 1
    start_controller standby
    start_controller guarded
    start_controller limited
}

teardown_file() {
    cd "$BATS_FILE_TMPDIR" || return
    kill_all
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return
    [ -x "$EF_OVS_PREFIX/sbin/ovsdb-server" ] || skip "no ovsdb-server below $EF_OVS_PREFIX (make ovs)"
}

phase() { /usr/bin/python3 "$EF_SOURCE/test/system/every_response.py" "$EF_SOURCE/doc/openapi.json" "$PWD" "$1"; }

@test "with everything there, each request is answered as it is documented" { phase up; }

@test "without a token, or with too small a role, nothing is done" { phase guarded; }

@test "who asks too often is told so" { phase limited; }

@test "a controller that is not active changes nothing" { phase standby; }

@test "without analyzers, what needs one says so" {
    kill_daemon a1
    kill_daemon a2
    phase alone
}

@test "no documented answer is missing" { phase verdict; }
