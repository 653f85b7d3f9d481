#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What ef-controller must not forget: its state in OVSDB, alone and in a cluster,
# through deaths of everybody.

# jq's text, not the shell's:
# shellcheck disable=SC2016

bats_require_minimum_version 1.5.0
EF_SOURCE=${EF_SOURCE:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
# shellcheck source=test/system/state.bash
. "$EF_SOURCE/test/system/state.bash"

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [ -x "$EF_OVS_PREFIX/sbin/ovsdb-server" ] || skip "no ovsdb-server below $EF_OVS_PREFIX (make ovs)"
}

teardown() { kill_all; }

counters() { ask "$1" /v1/counters | jq -r '.counters[].name' | sort | paste -sd' '; }
has_counters() { [ "$(counters "$1")" = "$2" ]; }
add_counter() { # CONTROLLER NAME
    is_reply 201 "$1" /v1/counters -d "{\"name\":\"$2\",\"filter\":\"tcp.dstport == 80\"}"
}

@test "without a database the state is in memory, and says so" {
    start_switch s1
    configure
    start_controller c1
    ask c1 /v1/status | jq -e '.state | .kept == "memory" and .role == "active" and .database == null'
}

@test "counters are there again after the analyzer, the controller and the database died" {
    start_switch s1
    start_state
    start_analyzer
    configure '"unix:\($dir)/state.sock"'
    start_controller c1
    wait_until 10 is_role c1 active
    add_counter c1 web
    add_counter c1 ssh
    add_counter c1 ssh # Once more, as it is: no harm.
    is_reply 201 c1 /v1/counters -d '{"name":"tcp","filter":"tcp","group_by":"src/24"}'
    is_reply 201 c1 /v1/counters -d '{"name":"tcp","filter":"tcp","group_by":"src/24"}'
    is_reply 409 c1 /v1/counters -d '{"name":"tcp","filter":"tcp"}'
    is_reply 409 c1 /v1/counters -d '{"name":"ssh","filter":"udp"}'
    is_reply 400 c1 /v1/counters -d '{"name":"wrong","filter":"tcp.prot"}'
    kill_daemon a1 KILL
    start_analyzer
    wait_until 10 has_counters c1 "ssh tcp web"
    kill_daemon c1 KILL
    kill_daemon state KILL
    kill_daemon a1 KILL
    start_state
    start_analyzer
    start_controller c1
    wait_until 15 has_counters c1 "ssh tcp web"
    ask c1 /v1/counters/tcp | jq -e '.group_by == "src/24" and .groups == []'
    # Removed while the analyzer is away.
    kill_daemon a1 STOP
    is_reply 200 c1 /v1/counters/ssh -X DELETE
    kill -CONT "$(cat a1.pid)"
    wait_until 15 has_counters c1 "tcp web"
    is_reply 404 c1 /v1/counters/ssh -X DELETE
}

@test "without its database the controller answers, and refuses changes with what to do" {
    start_switch s1
    start_state
    start_analyzer
    configure '"unix:\($dir)/state.sock"'
    start_controller c1
    wait_until 10 is_role c1 active
    wait_until 5 is_switch c1 configured
    add_counter c1 web
    kill_daemon state KILL
    wait_until 5 is_role c1 standby
    is_reply 503 c1 /v1/counters -d '{"name":"ssh"}'
    jq -e '.error.code == "not_active" and (.error.message | contains("nothing was changed; start its ovsdb-server"))' reply
    ask c1 /v1/status | jq -e '.state.connected == false and (.state.error | length > 0)'
    has_counters c1 web
    start_state
    wait_until 5 is_role c1 active
    add_counter c1 ssh
}

@test "of two controllers one is active; the other answers reads and takes over" {
    start_switch s1
    start_state
    start_analyzer
    configure '"unix:\($dir)/state.sock"'
    start_controller c1
    wait_until 10 is_role c1 active
    start_controller c2
    wait_until 5 is_state_connected c2
    add_counter c1 web
    wait_until 5 has_counters c2 web
    is_reply 503 c2 /v1/counters -d '{"name":"ssh"}'
    jq -e --arg c1 "$(address c1)" '.error.message | contains("is the standby") and contains($c1)' reply
    # The standby does not touch the switch, the active one does.
    wait_until 5 is_switch c1 configured
    [ "$(echo counters | socat - UNIX-CONNECT:c2.ctl | awk '$1 == "switch_writes" { print $2 }')" = 0 ]
    kill_daemon c1 KILL
    wait_until 3 is_role c2 active
    add_counter c2 ssh
    has_counters c2 "ssh web"
    vsctl s1 clear Open_vSwitch . everflow
    wait_until 2 is_switch c2 configured
    wait_until 2 has_row s1
    # The first one comes back as the standby.
    start_controller c1
    wait_until 5 is_state_connected c1
    is_role c1 standby
    has_counters c1 "ssh web"
}

# order STATE [SENT]: the one order there is.
is_order() {
    ask c1 /v1/probes | jq -e --arg state "$1" --argjson sent "${2-null}" \
        '.probes | length == 1 and .[0].state == $state and ($sent == null or .[0].sent == $sent)' >/dev/null
}

start_prober() {
    python3 "$EF_SOURCE/test/system/fake_prober.py" "$PWD/p1.sock" >>taken 2>p1.log 3>&- &
    echo $! >p1.pid
    wait_until 10 test -S p1.sock
}

@test "orders for probes survive the controller, queued, running and done" {
    start_switch s1
    start_state
    configure '"unix:\($dir)/state.sock"'
    start_controller c1
    wait_until 10 is_role c1 active
    is_reply 202 c1 /v1/probes -d '{"packet": {"layers": []}, "count": 7, "expires_s": 300}'
    kill_daemon c1 KILL
    start_controller c1
    wait_until 10 is_role c1 active
    is_order queued
    start_prober
    wait_until 10 is_order running
    kill_daemon c1 KILL
    start_controller c1
    wait_until 10 is_role c1 active
    wait_until 5 is_order running
    touch p1.sock.done
    wait_until 5 is_order 'done' 7
    kill_daemon c1
    start_controller c1
    wait_until 10 is_role c1 active
    is_order 'done' 7
    [ "$(wc -l <taken)" = 1 ] # The prober was told once.
}

efctl() { "$EF_BUILD/utilities/efctl/efctl" --controller "unix:$PWD/c1.sock" "$@"; }
shows() { # JQ_CONDITION: of switch s2, as c1 says
    ask c1 /v1/switches/s2 | jq -e "$1" >/dev/null
}

@test "switches are added and removed while the controller runs, and kept" {
    start_switch s1
    start_state
    configure '"unix:\($dir)/state.sock"'
    start_switch s2
    start_controller c1
    wait_until 10 is_role c1 active
    run -1 efctl switch add "unix:$PWD/s2.sock"
    [[ "$output" == *"source_ip: missing; it cannot be told from 'unix:"* ]]
    run -1 efctl switch add nonsense
    run -1 efctl switch add ssl:10.0.0.5:6640
    [[ "$output" == *'needs "tls"'* ]]
    run -1 efctl switch add "unix:$PWD/s2.sock" --source-ip 10.255.0.1
    [[ "$output" == *"10.255.0.1 is the address of switch 's1'"* ]]
    run -1 efctl switch add "unix:$PWD/s2.sock" --source-ip 10.255.0.2 --name s1
    [[ "$output" == *"there is a switch 's1' already"* ]]
    run -1 efctl switch add "unix:$PWD/s2.sock" --source-ip 10.255.0.2 --name 'a b'
    run -0 efctl switch add "unix:$PWD/s2.sock" --source-ip 10.255.0.2 --name s2
    [ "$output" = "s2 is managed now, with source address 10.255.0.2" ]
    wait_until 5 is_switch c1 configured
    wait_until 2 shows '.state == "configured" and .address == "10.255.0.2"'
    # What it has.
    vsctl s2 -- add-br br0 -- set bridge br0 datapath_type=netdev -- add-port br0 p1
    wait_until 2 shows '.bridges == [{name: "br0", datapath_type: "netdev", ports: ["br0", "p1"]}] or .bridges == [{name: "br0", datapath_type: "netdev", ports: ["p1", "br0"]}]'
    # What others change is put right, and told.
    shows '.drift.count == 0'
    vsctl s2 set Everflow "$(vsctl s2 get Open_vSwitch . everflow)" truncate=77
    wait_until 2 shows '.drift.count == 1 and .drift.what == "truncate" and .config.truncate == 0'
    vsctl s2 clear Open_vSwitch . everflow
    wait_until 2 shows '.drift.count == 2 and .drift.what == "the row was removed" and .state == "configured"'
    wait_until 5 drift_is_told "s2 open 2"
    ask c1 /metrics | grep -qF 'everflow_switch_drifts_total{switch="s2"} 2'
    efctl switch show s2 | grep -q '^changed by others *2 times, last .*: the row was removed'
    efctl switch | grep -q '^s2 '
    # After everybody's death it is still managed.
    kill_daemon c1 KILL
    kill_daemon state KILL
    kill_daemon s2 KILL
    SWITCHES=()
    start_state
    start_controller c1
    wait_until 5 is_role c1 active
    shows '.state == "unreachable" and .bridges == []'
    start_switch s2 # With an empty database.
    wait_until 2 has_row s2
    # Removed, it has none of us any more.
    run -0 efctl switch remove s2
    wait_until 2 row_is_gone s2
    run -1 efctl switch show s2
    run -1 efctl switch remove s1
    [[ "$output" == *"is in the topology file"* ]]
    wait_until 5 is_switch c1 configured
}

drift_is_told() { # What there is of alerts about it
    [ "$(ask c1 '/v1/alerts?kind=drift' | jq -r '.alerts[] | [.subject, .state, .evidence.drift.count] | join(" ")')" = "$1" ]
}

row_is_gone() { [ "$(vsctl "$1" get Open_vSwitch . everflow)" = "[]" ]; }

@test "a bridge that the topology names and the switch lacks is told" {
    start_switch s1
    configure
    jq '.switches[0].bridge = "br7"' topology.json >t.json
    mv t.json topology.json
    start_controller c1
    wait_until 5 is_switch c1 error
    ask c1 /v1/switches | jq -e '.switches[0].error | contains("no bridge '"'br7'"'")'
    vsctl s1 add-br br7
    wait_until 2 is_switch c1 configured
}

@test "killed 20 times by chance, controller and database, nothing acknowledged is lost" {
    start_switch s1
    start_state
    configure '"unix:\($dir)/state.sock"'
    start_controller c1
    wait_until 10 is_role c1 active
    deaths 20 1 c1 state
    [ "$(cat n_acknowledged)" -ge 5 ]
    # The switch has what it should.
    wait_until 5 row_is_there s1
}

row_is_there() { has_row "$1"; }

@test "a cluster: the leader's death is over within 3 s, a minority refuses changes" {
    local old
    start_switch s1
    start_cluster
    configure "$(cluster_remotes)"
    start_controller c1
    wait_until 10 is_role c1 active
    start_controller c2
    wait_until 10 is_state_connected c2
    change x1
    old=$(leader)
    kill_daemon "$old" KILL
    wait_until 3 change x2
    wait_until 3 is_state_connected c2
    wait_until 5 nothing_is_lost
    start_node "$old"
    wait_until 20 is_member "$old"
    # The active controller's death, too.
    kill_daemon c1 KILL
    wait_until 3 change x3
    start_controller c1
    wait_until 5 is_state_connected c1
    # Without a majority: no change, reads as before.
    kill_daemon "$(leader)" KILL
    wait_until 10 leader
    kill_daemon "$(leader)" KILL
    wait_until 10 is_reply 503 c2 /v1/switches -d '{"name":"y","ovsdb":"unix:/y","source_ip":"fd00::ffff"}'
    jq -e '.error.message | test("most")' reply
    run -1 is_reply 201 c1 /v1/switches -d '{"name":"y","ovsdb":"unix:/y","source_ip":"fd00::ffff"}'
    ask c2 /v1/switches | jq -e '[.switches[].name] == ["s1", "x1", "x2", "x3"]'
    local name
    for name in n1 n2 n3; do
        [ -f "$name.pid" ] || start_node "$name"
    done
    wait_until 15 change x4
}

@test "killed 20 times by chance, a cluster and its controllers lose nothing acknowledged" {
    start_switch s1
    start_cluster
    configure "$(cluster_remotes)"
    start_controller c1
    start_controller c2
    wait_until 10 is_anyone_active
    deaths 20 2 c1 c2 n1 n2 n3
    [ "$(cat n_acknowledged)" -ge 5 ]
}

@test "the database and a switch over ssl, with certificates that efctl pki makes" {
    start_switch s1
    local port=$((32000 + $$ * 3 % 800)) efctl=$EF_BUILD/utilities/efctl/efctl
    "$efctl" pki init pki
    "$efctl" pki sign pki controller 127.0.0.1
    "$efctl" pki sign pki server
    "$efctl" pki init other
    "$efctl" pki sign other server
    ssl_server() { # NAME PORT DATABASE PKI
        rm -f "$1.ctl" ".$3.~lock~"
        "$EF_OVS_PREFIX/sbin/ovsdb-server" -vconsole:off -vsyslog:off -vfile:off --detach --no-chdir \
            --pidfile="$PWD/$1.pid" --unixctl="$PWD/$1.ctl" --remote="pssl:$2:127.0.0.1" "$3" \
            --private-key="$4/server.key" --certificate="$4/server.crt" --ca-cert=pki/ca.crt 3>&-
    }
    "$EF_OVS_PREFIX/bin/ovsdb-tool" create state.db "$EF_SOURCE/controller/everflow.ovsschema"
    ssl_server state "$port" state.db other
    cp s1.db s2.db
    ssl_server s2 $((port + 1)) s2.db pki
    configure "\"ssl:127.0.0.1:$port\""
    jq '.tls = {cert: "pki/controller.crt", key: "pki/controller.key", ca: "pki/ca.crt"}' c1.json >c.json
    mv c.json c1.json
    start_controller c1
    # A server that our authority does not know is not spoken to.
    wait_until 5 has_state_error certificate
    is_role c1 standby
    kill_daemon state
    ssl_server state "$port" state.db pki
    wait_until 5 is_role c1 active
    is_reply 201 c1 /v1/switches -d "{\"name\":\"s2\",\"ovsdb\":\"ssl:127.0.0.1:$((port + 1))\",\"source_ip\":\"10.255.0.2\"}"
    wait_until 5 is_switch c1 configured
}

has_state_error() { state_of c1 error | grep -q "$1"; }

@test "edge ports are those towards hosts" {
    start_switch s1
    configure
    jq '.switches += [.switches[0] | .name = "s2" | .loopback = "10.255.0.2" | .ovsdb = "unix:/nowhere"]
        | .switches[0].ports = [{number: 1, name: "up", peer: {node: "s2", port: 1}}, {number: 2, name: "to-h1", peer: {node: "h1"}},
                                {number: 3, name: "to-h2", peer: {node: "h2"}}, {number: 4, name: "free"}]' topology.json >t.json
    mv t.json topology.json
    jq '.everflow.edge_ports = "hosts"' c1.json >c.json
    mv c.json c1.json
    start_controller c1
    wait_until 5 has_edge_ports '["to-h1","to-h2"]'
}

has_edge_ports() { [ "$(ask c1 /v1/switches/s1 | jq -c .config.edge_ports)" = "$1" ]; }

# A port of s1 towards s2, and whether it has carrier, as ovs-vswitchd would tell.
add_link() {
    jq '.switches[0].ports = [{number: 1, name: "to-s2", peer: {node: "s2", port: 1}}]' topology.json >t.json
    mv t.json topology.json
    vsctl s1 add-br br0 -- add-port br0 to-s2
}

set_link() { # up|down
    "$EF_OVS_PREFIX/bin/ovsdb-client" transact "unix:$PWD/s1.sock" '["Open_vSwitch", {"op": "update", "table": "Interface",
        "where": [["name", "==", "to-s2"]], "row": {"ofport": 1, "link_state": "'"$1"'"}}]' | grep -q '"count":1'
}

alerts() { ask "$1" /v1/alerts | jq -r '[.alerts[] | .subject + " " + .state] | join(" ")'; }
has_alerts() { [ "$(alerts "$1")" = "$2" ]; }

@test "alerts, and what people said to them, outlive the controller; the standby shows them" {
    start_switch s1
    start_switch s2
    start_state
    configure '"unix:\($dir)/state.sock"'
    add_link
    set_link down
    start_controller c1
    wait_until 10 has_alerts c1 "s1-s2 open"
    local id first
    id=$(ask c1 /v1/alerts | jq -r '.alerts[0].id')
    first=$(ask c1 /v1/alerts | jq -r '.alerts[0].first')
    is_reply 200 c1 "/v1/alerts/$id/acknowledge" -d '{"by": "monika"}'
    kill_daemon c1 KILL
    start_controller c1
    wait_until 10 is_role c1 active
    wait_until 10 is_switch c1 configured
    ask c1 /v1/alerts/"$id" | jq -e --arg first "$first" \
        '.state == "acknowledged" and .acknowledged_by == "monika" and .first == $first and .evidence.device == "s1"'
    # The standby shows it, tells who listens to it, and may not change it.
    start_controller c2
    wait_until 10 has_alerts c2 "s1-s2 acknowledged"
    is_reply 503 c2 "/v1/alerts/$id/resolve" -d ''
    curl -sN --unix-socket c2.sock http://localhost/v1/events >stream 3>&- &
    echo $! >curl.pid
    wait_until 10 grep -q alive stream
    set_link up
    wait_until 10 has_alerts c1 "s1-s2 resolved"
    wait_until 10 has_alerts c2 "s1-s2 resolved"
    wait_until 10 grep -q '"state":"resolved"' stream
    [ "$(grep -c '^data' stream)" = 1 ]
    is_reply 409 c1 "/v1/alerts/$id/acknowledge" -d ''
    # A new one, which the other takes over. By hand it is over at once, and stays so.
    set_link down
    wait_until 10 has_alerts c2 "s1-s2 resolved s1-s2 open"
    kill_daemon c1 KILL
    wait_until 5 is_role c2 active
    id=$(ask c2 "/v1/alerts?state=open" | jq -r '.alerts[0].id')
    is_reply 200 c2 "/v1/alerts/$id/acknowledge" -d ''
    is_reply 200 c2 "/v1/alerts/$id/acknowledge" -d '{"by": "late"}'
    jq -e '.acknowledged_by == null' reply
    set_link up
    wait_until 10 has_alerts c2 "s1-s2 resolved s1-s2 resolved"
    # Without its database nothing can be acknowledged.
    kill_daemon state KILL
    wait_until 5 is_role c2 standby
    is_reply 503 c2 "/v1/alerts/$id/acknowledge" -d ''
}

start_receiver() {
    python3 "$EF_SOURCE/test/system/hook_receiver.py" port received 0 3>&- &
    echo $! >receiver.pid
    wait_until 20 test -s port
}

received() { [ "$(jq -r '.body | fromjson | .subject + " " + .state' received | paste -sd' ')" = "$1" ]; }

@test "webhooks that were added are kept, and their paths and secrets shown to nobody" {
    start_switch s1
    start_switch s2
    start_state
    start_receiver
    configure '"unix:\($dir)/state.sock"'
    jq '.webhooks = [{url: "http://127.0.0.1:9/of-the-file", kinds: ["drop"]}]' c1.json >c.json
    mv c.json c1.json
    add_link
    set_link up
    start_controller c1
    wait_until 10 is_role c1 active
    echo s3cret >key
    run -0 efctl webhook add "http://127.0.0.1:$(cat port)/path-9f" --name pager --kind link --secret-file key
    [ "$output" = "http://127.0.0.1:$(cat port) is told of alerts, as pager" ]
    echo "http://127.0.0.1:9/path-9f" | efctl webhook add -
    is_reply 409 c1 /v1/webhooks -d '{"name": "pager", "url": "http://127.0.0.1:9"}'
    is_reply 400 c1 /v1/webhooks -d '{"url": "ftp://127.0.0.1/path-9f"}'
    is_reply 400 c1 /v1/webhooks -d '{"url": "http://user:path-9f@127.0.0.1:9/"}'
    run -1 grep -q path-9f reply
    is_reply 400 c1 /v1/webhooks -d '{"url": "http://127.0.0.1:9", "name": "a b"}'
    is_reply 400 c1 /v1/webhooks -d '{"url": "http://127.0.0.1:9", "kinds": [1]}'
    is_reply 400 c1 /v1/webhooks -d '["http://127.0.0.1:9"]'
    is_reply 409 c1 /v1/webhooks/configuration:0 -X DELETE
    is_reply 404 c1 /v1/webhooks/other -X DELETE
    kill_daemon c1 KILL
    start_controller c1
    wait_until 10 is_role c1 active
    [ "$(efctl webhook --json | jq -r '.webhooks[] | select(.name == "pager") | [.origin, .signed, .kinds[0]] | join(" ")')" = "added true link" ]
    set_link down
    wait_until 20 received "s1-s2 open"
    [ "$(jq -r .path received)" = /path-9f ]
    jq -rj .body received >body
    [ "$(jq -r .signature received)" = "sha256=$(openssl dgst -sha256 -hmac s3cret -r body | cut -d' ' -f1)" ]
    # Nobody sees what was given.
    for path in webhooks status 'audit?limit=1000'; do
        ask c1 "/v1/$path" >>shown
    done
    run -1 grep -qE 'path-9f|s3cret|of-the-file' shown c1.log
    run -0 efctl webhook remove pager
    [ "$(efctl webhook --json | jq '.webhooks | length')" = 2 ]
    set_link up
    wait_until 10 has_alerts c1 "s1-s2 resolved"
    kill_daemon c1 KILL
    start_controller c1
    wait_until 10 is_role c1 active
    [ "$(ask c1 /v1/webhooks | jq '.webhooks | length')" = 2 ]
    # No more than there can be.
    local i
    for ((i = 1; i < 16; i++)); do
        is_reply 201 c1 /v1/webhooks -d "{\"url\": \"http://127.0.0.1:9\", \"name\": \"w$i\"}"
    done
    is_reply 409 c1 /v1/webhooks -d '{"url": "http://127.0.0.1:9"}'
    [ "$(jq -r .error.code reply)" = too_many ]
    received "s1-s2 open"
}

rules_of() { # SWITCH: the names of its rules
    "$EF_OVS_PREFIX/bin/ovsdb-client" -f json transact "unix:$PWD/$1.sock" \
        '["Open_vSwitch", {"op": "select", "table": "Everflow_Rule", "where": [], "columns": ["name"]}]' |
        jq -r '[.[0].rows[].name] | sort | join(" ")'
}
has_rules() { [ "$(rules_of "$1")" = "$2" ]; }
sets() { ask "$1" /v1/rules | jq -r '[.rule_sets[].name] | sort | join(" ")'; }
has_sets() { [ "$(sets "$1")" = "$2" ]; }

@test "rules for a time are kept until they expire, also at switches that were added" {
    start_switch s1
    start_state
    configure '"unix:\($dir)/state.sock"'
    jq '.everflow.edge_ports = "hosts"' c1.json >c.json
    mv c.json c1.json
    start_switch s2
    start_switch s3
    start_controller c1
    wait_until 10 is_role c1 active
    is_reply 201 c1 /v1/rules -d '{"name": "all", "rules": [{"name": "a", "match": "tcp"}], "duration_s": 300}'
    is_reply 400 c1 /v1/rules -d '{"name": "two", "switches": ["s2"], "rules": [{"name": "b", "match": "udp"}]}'
    wait_until 5 has_rules s1 "@operator/all/a"
    run -0 efctl switch add "unix:$PWD/s2.sock" --source-ip 10.255.0.2 --name s2 --edge-port p1 --edge-port p2
    is_reply 400 c1 /v1/switches -d '{"ovsdb": "unix:/x", "source_ip": "10.255.0.7", "edge_ports": [1]}'
    is_reply 201 c1 /v1/rules -d '{"name": "two", "switches": ["s2"], "rules": [{"name": "b", "match": "udp"}]}'
    wait_until 5 has_rules s2 "@operator/all/a @operator/two/b"
    shows '.config.edge_ports == ["p1", "p2"]'
    is_reply 201 c1 /v1/rules -d '{"name": "short", "rules": [{"name": "c", "match": "icmp"}], "duration_s": 2}'
    kill_daemon c1 KILL
    # A switch that is away meanwhile, and comes back empty, gets them, too.
    kill_daemon s2 KILL
    start_switch s2
    start_controller c1
    wait_until 5 is_role c1 active
    wait_until 5 has_rules s2 "@operator/all/a @operator/two/b" # Without that which expired, perhaps meanwhile.
    wait_until 10 has_sets c1 "all two"
    wait_until 5 has_rules s1 "@operator/all/a"
    [ "$(ask c1 /v1/status | jq .state.rows.Rule_Set)" = 2 ]
    # The other controller goes on with them.
    start_controller c2
    wait_until 5 has_sets c2 "all two"
    kill_daemon c1 KILL
    wait_until 5 is_role c2 active
    run -0 efctl2 switch add "unix:$PWD/s3.sock" --source-ip 10.255.0.3 --name s3
    wait_until 5 has_rules s3 "@operator/all/a"
    is_reply 200 c2 /v1/rules/all -X DELETE
    wait_until 5 has_rules s3 ""
    wait_until 5 has_rules s2 "@operator/two/b"
    run -0 efctl2 switch remove s3
    [ "$(sets c2)" = two ]
    kill_daemon c2 # In order, with all that it has.
}

efctl2() { "$EF_BUILD/utilities/efctl/efctl" --controller "unix:$PWD/c2.sock" "$@"; }

told() { # LOST: what the reshuffler tells of s2 and s3
    echo '{"copies_sent": 100, "analyzers": [], "switches": {"10.255.0.2": {"received": 100, "lost": '"$1"'},
        "10.255.0.3": {"received": 7, "lost": 0}}}' >canned/t
    mv canned/t canned/v1_status
}
losses() { ask c1 /v1/status | jq -e --arg name "$1" --argjson lost "$2" \
    '.watchers.lost_copies | any(.sequence == $name and .lost == $lost)' >/dev/null; }
n_requests() { [ "$(wc -l <canned/requests)" -ge "$1" ]; }

@test "lost copies of a switch that was added are told" {
    start_switch s1
    start_state
    configure '"unix:\($dir)/state.sock"'
    mkdir canned
    told 0
    "$EF_SOURCE/test/system/canned_http.py" canned >canned.log 2>&1 3>&- &
    echo $! >canned.pid
    wait_until 20 test -s canned/port
    jq --arg url "http://127.0.0.1:$(cat canned/port)" '.analyzers = [] | .reshufflers = [{name: "r1", url: $url}]' c1.json >c.json
    mv c.json c1.json
    start_switch s2
    start_controller c1
    wait_until 10 is_role c1 active
    efctl switch add unix:/nowhere --source-ip 10.255.0.3 --name s3
    efctl switch add "unix:$PWD/s2.sock" --source-ip 10.255.0.2 --name s2
    wait_until 10 n_requests $(($(wc -l <canned/requests) + 4))
    told 10
    wait_until 10 losses s2 10
    # What is known of it stays when the one before it goes.
    efctl switch remove s3
    told 15
    wait_until 10 losses s2 15
}

diagnosis() { ask "$1" "/v1/diagnoses/$2" | jq -r '[.state, .error // "" | sub(":.*"; "")] | join(" ")'; }
is_diagnosis() { [ "$(diagnosis "$1" "$2")" = "$3" ]; }
diagnose() { # CONTROLLER: prints its id
    is_reply 202 "$1" /v1/diagnoses -d '{"app": "drop", "src": "h1", "dst": "h2", "proto": "tcp", "dst_port": 80, "deadline_s": 600}'
    jq -r .id reply
}

@test "diagnoses outlive the controller; those that ran are told as interrupted" {
    local running stopped third
    start_switch s1
    start_switch s2
    start_state
    configure '"unix:\($dir)/state.sock"'
    jq '.switches |= (to_entries | map(.value + {ports: [{number: 1, name: "p1", peer: {node: "s\(2 - .key)", port: 1}},
            {number: 2, name: "p2", peer: {node: "h\(.key + 1)"}}]}))
        | .hosts = [1, 2 | {name: "h\(.)", role: "host", address: "10.\(.).0.11", switch: "s\(.)", port: 2}]' topology.json >t.json
    mv t.json topology.json
    start_controller c1
    wait_until 10 is_role c1 active
    stopped=$(diagnose c1)
    running=$(diagnose c1)
    is_reply 200 c1 "/v1/diagnoses/$stopped" -X DELETE
    kill_daemon c1 KILL
    start_controller c1
    wait_until 10 is_role c1 active
    wait_until 5 is_diagnosis c1 "$stopped" "stopped stopped on demand"
    wait_until 5 is_diagnosis c1 "$running" "failed interrupted"
    ask c1 "/v1/diagnoses/$running" | jq -e '.options.dst == "h2" and .origin == "operator" and .ended != null'
    [ "$(ask c1 /v1/diagnoses | jq -r '[.diagnoses[].id] | join(" ")')" = "$stopped $running" ]
    # The standby shows what runs at the active one, and does not go on with it.
    start_controller c2
    third=$(diagnose c1)
    wait_until 5 is_diagnosis c2 "$third" "running "
    is_reply 503 c2 "/v1/diagnoses/$third" -X DELETE
    kill_daemon c1 KILL
    wait_until 5 is_diagnosis c2 "$third" "failed interrupted"
    is_reply 200 c2 "/v1/diagnoses/$third" -X DELETE
    jq -e '.state == "failed"' reply
    kill_daemon c2 # In order, with all that it has.
}
