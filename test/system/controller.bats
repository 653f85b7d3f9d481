#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ef-controller against real databases of the patched Open vSwitch, real
# analyzers that read captures, and fake ones that misbehave.

load jq
load wait

EF_SOURCE=${EF_SOURCE:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
EF_BUILD=${EF_BUILD:-$EF_SOURCE/_build}
EF_OVS_PREFIX=${EF_OVS_PREFIX:-$EF_BUILD/ovs/install}
SCHEMA=$EF_OVS_PREFIX/share/openvswitch/vswitch.ovsschema

# --- Helpers -----------------------------------------------------------------

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    SWITCHES=() ANALYZERS=()
}

teardown() {
    local file
    for file in "$BATS_TEST_TMPDIR"/*.pid; do
        [ ! -f "$file" ] || kill_daemon "$(basename "$file" .pid)" KILL
    done
}

gone() { ! kill -0 "$1" 2>/dev/null; }

kill_daemon() { # NAME [SIGNAL]
    local pid
    pid=$(cat "$1.pid") || return 0
    rm -f "$1.pid"
    kill "-${2-TERM}" "$pid" 2>/dev/null || return 0
    wait_until 10 gone "$pid"
}

start_ovsdb() { # NAME [SCHEMA]: an empty database and its server
    [ -x "$EF_OVS_PREFIX/sbin/ovsdb-server" ] || skip "no ovsdb-server below $EF_OVS_PREFIX (make ovs)"
    rm -f "$1.db" ".$1.db.~lock~" "$1.sock" "$1.ctl"
    "$EF_OVS_PREFIX/bin/ovsdb-tool" create "$1.db" "${2-$SCHEMA}"
    "$EF_OVS_PREFIX/bin/ovsdb-tool" transact "$1.db" \
        '["Open_vSwitch",{"op":"insert","table":"Open_vSwitch","row":{}}]' >/dev/null
    "$EF_OVS_PREFIX/sbin/ovsdb-server" -vconsole:off -vsyslog:off -vfile:off --detach --no-chdir \
        --pidfile="$PWD/$1.pid" --unixctl="$PWD/$1.ctl" --remote="punix:$PWD/$1.sock" "$1.db" 3>&-
}

vsctl() { # NAME ARGUMENT...
    local name=$1
    shift
    "$EF_OVS_PREFIX/bin/ovs-vsctl" --no-wait --db="unix:$PWD/$name.sock" "$@"
}

# column NAME COLUMN: of the Everflow row that the root refers to.
column() {
    local row
    row=$(vsctl "$1" get Open_vSwitch . everflow) && [ "$row" != "[]" ] && vsctl "$1" get Everflow "$row" "$2"
}

# has NAME COLUMN VALUE
has() { [ "$(column "$1" "$2" 2>/dev/null)" = "$3" ]; }

start_fake() { # NAME MODE [FILE]
    python3 "$EF_SOURCE/test/system/fake_analyzer.py" "$PWD/$1.sock" "${@:2}" >"$1.log" 2>&1 3>&- &
    echo $! >"$1.pid"
    wait_until 10 test -S "$1.sock"
    ANALYZERS+=("$1")
}

# A real analyzer that has read a capture of made copies, and closed its traces.
start_analyzer() { # NAME FIRST PACKETS
    python3 "$EF_SOURCE/test/system/make_copies.py" --first "$2" --packets "$3" --hops 3 "$1.pcap"
    "$EF_BUILD/analyzer/ef-analyzer" --name "$1" --source "pcap:$PWD/$1.pcap" --memory 64M --idle 100ms \
        --http "unix:$PWD/$1.sock" --detach --pidfile "$1.pid" --log-file "$1.log" 3>&-
    ANALYZERS+=("$1")
    wait_until 10 analyzer_has "$1" "$3"
}

analyzer_has() {
    [ "$(curl -s --unix-socket "$1.sock" http://localhost/v1/status | jq .traces_stored)" = "$2" ]
}

# Writes topology and configuration: the switches SWITCHES, the analyzers ANALYZERS.
configure() {
    jq -n --arg dir "$PWD" '{name: "t", vip: "10.255.255.1", hosts: [],
        switches: ($ARGS.positional | to_entries | map({name: .value, role: "leaf", loopback: "10.255.0.\(.key + 1)",
                                                        loopback6: "fd00::\(.key + 1)", ovsdb: "unix:\($dir)/\(.value).sock"}))}' \
        --args "${SWITCHES[@]}" >topology.json
    jq -n --arg dir "$PWD" '{listen: "unix:\($dir)/http.sock", topology: "topology.json", reshufflers: [],
        analyzers: ($ARGS.positional | map({name: ., url: "unix:\($dir)/\(.).sock"})),
        everflow: {targets: ["10.255.255.1"], encap: "erspan3", classes: ["tcp_syn", "debug"], sample_bits: 4, rate_kpps: 50, decap: true, probe_sources: ["10.0.0.0/8", "fd00::/8"],
                   routing: "native", ttl_exceeded: true, ttl_exceeded_rate: 50, sample_value: 3, truncate: 128}}' --args "${ANALYZERS[@]}" >controller.json
}

start_controller() {
    "$EF_BUILD/controller/ef-controller" --config controller.json --control "$PWD/ctl.sock" --detach \
        --pidfile controller.pid --log-file controller.log 3>&-
}

ask() { # PATH [CURL ARGUMENT...]
    curl -sS --unix-socket http.sock "http://localhost$1" "${@:2}"
}

state() { ask /v1/switches | jq -r --arg name "$1" '.switches[] | select(.name == $name) | .state'; }
is_state() { [ "$(state "$1")" = "$2" ]; }
switch_error() { ask /v1/switches | jq -r --arg name "$1" '.switches[] | select(.name == $name) | .error'; }
counter() { echo counters | socat - UNIX-CONNECT:ctl.sock | awk -v name="$1" '$1 == name { print $2 }'; }
is_counter() { [ "$(counter "$1")" = "$2" ]; }

# --- Switches ----------------------------------------------------------------

@test "switches get their row, and it is shown with statistics and status" {
    start_ovsdb s1
    start_ovsdb s2
    SWITCHES=(s1 s2 s3)
    configure
    start_controller
    wait_until 5 is_state s1 configured
    wait_until 5 is_state s2 configured
    has s1 source_ip '["10.255.0.1", "fd00::1"]'
    has s2 source_ip '["10.255.0.2", "fd00::2"]'
    has s2 ttl_exceeded true
    has s2 ttl_exceeded_rate 50
    has s2 targets '["10.255.255.1"]'
    has s2 encap erspan3
    has s2 classes '[debug, tcp_syn]'
    has s2 debug_dscp 1
    has s2 sample_bits 4
    has s2 sample_value 3
    has s2 truncate 128
    has s2 rate_kpps 50
    has s2 decap true
    has s2 probe_sources '["10.0.0.0/8", "fd00::/8"]'
    has s2 routing native
    has s2 external_ids '{owner=everflow-controller}'
    vsctl s1 set Everflow "$(vsctl s1 get Open_vSwitch . everflow)" statistics:copies=7 status:state=active
    wait_until 2 shows_copies 7
    # The third does not run.
    [ "$(state s3)" = unreachable ]
    [[ $(switch_error s3) == *"No such file"* ]]
    [ "$(ask /v1/status | jq -c .switches)" = '{"total":3,"configured":2}' ]
    ask /v1/topology | diff - <(jq -c . topology.json)
    ask /metrics | grep -qx 'everflow_switch_configured{switch="s1"} 1'
    ask /metrics | grep -qx 'everflow_switch_configured{switch="s3"} 0'
    ask /metrics | grep -qx 'everflow_switch_statistics_total{switch="s1",counter="copies"} 7'
    echo status | socat - UNIX-CONNECT:ctl.sock | grep -qx '2 of 3 switches configured'
    # What the switch itself complains of is its state.
    vsctl s1 set Everflow "$(vsctl s1 get Open_vSwitch . everflow)" status:state=error status:error="source_ip: no route"
    wait_until 2 is_state s1 error
    [ "$(switch_error s1)" = "source_ip: no route" ]
}

shows_copies() { [ "$(ask /v1/switches | jq '.switches[0].statistics.copies')" = "$1" ]; }

@test "a row that is changed by hand or removed is put back" {
    start_ovsdb s1
    SWITCHES=(s1)
    configure
    start_controller
    wait_until 5 is_state s1 configured
    vsctl s1 set Everflow "$(vsctl s1 get Open_vSwitch . everflow)" truncate=64 classes=tcp_fin
    wait_until 2 has s1 truncate 128
    has s1 classes '[debug, tcp_syn]'
    vsctl s1 clear Open_vSwitch . everflow
    wait_until 2 has s1 truncate 128
    wait_until 2 is_state s1 configured
    is_counter switch_writes 3
}

# rule NAME RULE COLUMN: of the rule with that name.
rule() { vsctl "$1" --no-headings --bare --columns="$3" find Everflow_Rule name="$2"; }
is_rule() { [ "$(rule "$1" "$2" "$3")" = "$4" ]; }
rule_names() { vsctl "$1" --no-headings --bare --columns=name list Everflow_Rule | sed "/^$/d" | sort | paste -sd' '; }
has_rules() { [ "$(rule_names "$1")" = "$2" ]; }
restart_controller() {
    kill_daemon controller
    start_controller
}

@test "rules are created, changed and removed, and what the switch refuses is its error" {
    start_ovsdb s1
    SWITCHES=(s1)
    configure
    jq '.everflow.rules = [{name: "web", match: "tcp,tp_dst=80", hard_timeout: 3600},
        {name: "dns", match: "udp,tp_dst=53", action: "mark", sample_bits: 2, idle_timeout: 60}]' controller.json >c.json
    mv c.json controller.json
    start_controller
    wait_until 5 is_state s1 configured
    has_rules s1 "dns web"
    is_rule s1 web match tcp,tp_dst=80
    is_rule s1 web action mirror
    is_rule s1 web hard_timeout 3600
    is_rule s1 dns action mark
    is_rule s1 dns sample_bits 2
    is_rule s1 dns idle_timeout 60
    local uuid
    uuid=$(rule s1 web _uuid)
    # By hand: changed, removed, one too many.
    vsctl s1 set Everflow_Rule "$uuid" match=tcp
    wait_until 2 is_rule s1 web match tcp,tp_dst=80
    vsctl s1 clear Everflow "$(vsctl s1 get Open_vSwitch . everflow)" rules
    wait_until 2 has_rules s1 "dns web"
    wait_until 2 is_state s1 configured
    vsctl s1 -- --id=@r create Everflow_Rule name=mine match=ip \
        -- add Everflow "$(vsctl s1 get Open_vSwitch . everflow)" rules @r
    wait_until 2 has_rules s1 "dns web"
    # What the switch says.
    uuid=$(rule s1 web _uuid)
    vsctl s1 set Everflow_Rule "$uuid" statistics:packets=7 status:state=active
    wait_until 2 shows_rule_packets web 7
    vsctl s1 set Everflow_Rule "$uuid" status:state=error status:error="match: tp_port: no such field"
    wait_until 2 is_state s1 error
    [ "$(switch_error s1)" = "rule 'web' is refused: match: tp_port: no such field" ]
    vsctl s1 set Everflow_Rule "$uuid" status:state=active -- remove Everflow_Rule "$uuid" status error
    wait_until 2 is_state s1 configured
    # Another configuration: the rule that stays is the same row, with what it counted.
    jq '.everflow.rules = [{name: "web", match: "tcp,tp_dst=8080"}, {name: "ping", match: "icmp"}]' controller.json >c.json
    mv c.json controller.json
    restart_controller
    wait_until 5 is_rule s1 web match tcp,tp_dst=8080
    [ "$(rule s1 web _uuid)" = "$uuid" ]
    is_rule s1 web hard_timeout 0
    wait_until 2 shows_rule_packets web 7
    has_rules s1 "ping web"
    # Not our business any more; and none.
    jq 'del(.everflow.rules)' controller.json >c.json
    mv c.json controller.json
    restart_controller
    wait_until 5 is_state s1 configured
    has_rules s1 "ping web"
    jq '.everflow.rules = []' controller.json >c.json
    mv c.json controller.json
    restart_controller
    wait_until 5 has_rules s1 ""
    wait_until 5 is_state s1 configured
}

shows_rule_packets() { # NAME N
    [ "$(ask /v1/switches | jq --arg n "$1" '.switches[0].rules[] | select(.name == $n).statistics.packets')" = "$2" ]
}

@test "two controllers that want different things say so, and the last one left is at peace" {
    start_ovsdb s1
    SWITCHES=(s1)
    configure
    start_controller
    jq '.listen = "unix:\($ENV.PWD)/http2.sock" | .everflow.truncate = 96' controller.json >other.json
    "$EF_BUILD/controller/ef-controller" --config other.json --detach --pidfile other.pid --log-file other.log 3>&-
    disputed() { curl -sS --unix-socket "$1" http://localhost/v1/switches |
        jq -e '.switches[0] | .state == "error" and (.error | contains("is there another ef-controller?"))' >/dev/null; }
    wait_until 10 disputed http.sock
    wait_until 10 disputed http2.sock
    kill_daemon other
    wait_until 8 has s1 truncate 128
    wait_until 25 is_state s1 configured
}

@test "a switch that comes back with an empty database is configured within 2 s" {
    start_ovsdb s1
    SWITCHES=(s1)
    configure
    start_controller
    wait_until 5 is_state s1 configured
    kill_daemon s1 KILL
    wait_until 2 is_state s1 unreachable
    start_ovsdb s1
    wait_until 2 has s1 truncate 128
    wait_until 2 is_state s1 configured
}

@test "somebody else's row is left alone until it is handed over" {
    start_ovsdb s1
    vsctl s1 -- --id=@e create Everflow source_ip=192.0.2.1 -- set Open_vSwitch . everflow=@e
    SWITCHES=(s1)
    configure
    start_controller
    wait_until 5 is_state s1 error
    [[ $(switch_error s1) == "foreign row: "*"ovs-vsctl clear Open_vSwitch . everflow" ]]
    has s1 source_ip '["192.0.2.1"]'
    is_counter switch_writes 0
    vsctl s1 clear Open_vSwitch . everflow
    wait_until 2 is_state s1 configured
    has s1 source_ip '["10.255.0.1", "fd00::1"]'
}

@test "an Open vSwitch without the patches is named as such" {
    jq 'del(.tables.Everflow, .tables.Everflow_Rule, .tables.Open_vSwitch.columns.everflow)' "$SCHEMA" >plain.ovsschema
    start_ovsdb s1 plain.ovsschema
    SWITCHES=(s1)
    configure
    start_controller
    wait_until 5 is_state s1 error
    [[ $(switch_error s1) == *"this Open vSwitch has no Everflow table; it needs the patched build" ]]
}

@test "ending or killing the controller leaves the switches as they are" {
    start_ovsdb s1
    SWITCHES=(s1)
    configure
    start_controller
    wait_until 5 is_state s1 configured
    kill_daemon controller TERM
    [ ! -e http.sock ] && [ ! -e ctl.sock ] && [ ! -e controller.pid ]
    has s1 truncate 128
    start_controller
    wait_until 5 is_state s1 configured
    is_counter switch_writes 0
    kill_daemon controller KILL
    [ -S http.sock ]
    start_controller # Over the sockets that the killed one left.
    wait_until 5 is_state s1 configured
    is_counter switch_writes 0
}

# --- Traces ------------------------------------------------------------------

@test "traces of two real analyzers come merged, named and limited" {
    start_ovsdb s1
    start_analyzer a1 0 300
    start_analyzer a2 300 200
    SWITCHES=(s1)
    configure
    start_controller
    ask "/v1/traces?limit=0" >all.json
    jq -e '.count == 500 and (.traces | length) == 500 and (.more | not) and (has("incomplete") | not)' all.json
    jq -e '[.traces[].start] == ([.traces[].start] | sort)' all.json
    jq -e '[.traces[].id] | unique | length == 500' all.json
    jq -e '[.traces[].analyzer] | unique == ["a1", "a2"]' all.json
    jq -e 'all(.traces[]; .hops[0].name == "s1" and (.hops[1] | has("name") | not) and (.hops | length) == 3)' all.json
    # The newest, in ascending order; as lines; and the default limit.
    ask "/v1/traces?limit=7&format=ndjson" >seven
    [ "$(wc -l <seven)" = 8 ]
    tail -n 1 seven | jq -e 'del(.next) == {"end":true,"count":7,"more":true} and (.next | startswith("p1"))'
    diff <(head -n 7 seven | jq -r .id) <(jq -r '.traces[-7:][].id' all.json)
    [ "$(ask /v1/traces | jq '.traces | length')" = 100 ]
    # Filters, conditions and times reach the analyzers.
    [ "$(ask /v1/traces -G --data-urlencode 'filter=ip.src == 10.0.0.5 || ip.src == 10.0.1.44' | jq .count)" = 2 ]
    [ "$(ask /v1/traces -G --data-urlencode 'condition=trace.hops > 3' | jq .count)" = 0 ]
    [ "$(ask /v1/traces -G --data-urlencode 'filter=switch == 10.255.0.2' -d limit=0 | jq .count)" = 500 ]
    [ "$(ask /v1/traces -d start=2030-01-01T00:00:00Z -G | jq .count)" = 0 ]
    [ "$(ask /v1/traces -d end=2030-01-01T00:00:00Z -d limit=0 -G | jq .count)" = 500 ]
    [ "$(ask /v1/status | jq -r '.analyzers[] | "\(.name) \(.state) \(.traces_stored)"' | tr '\n' ' ')" = "a1 up 300 a2 up 200 " ]
}

@test "pages go on where the one before ended, over all analyzers" {
    local cursor next n=0
    start_analyzer a1 0 300
    start_analyzer a2 300 200
    configure
    start_controller
    ask "/v1/traces?limit=0&condition=trace.hops==3" | jq -r '.traces[].id' >all
    : >paged
    ask "/v1/traces?limit=70&condition=trace.hops==3" >page
    while jq -r '[.traces[].id] | reverse[]' page >>paged && next=$(jq -er .next page); do
        n=$((n + 1))
        [ "$n" -lt 10 ]
        cursor=$next
        ask "/v1/traces?limit=70&condition=trace.hops==3&cursor=$cursor" >page
    done
    [ "$n" = 7 ]
    jq -e '.count == 10 and .more == false and (has("next") | not)' page
    tac paged | cmp - all
    # As lines, of one analyzer, and by efctl.
    ask "/v1/traces?limit=70&condition=trace.hops==3&cursor=$cursor&format=ndjson" | tail -n 1 | jq -e '.count == 10'
    curl -s --unix-socket a1.sock "http://localhost/v1/traces?limit=200" | jq -r .next >next
    curl -s --unix-socket a1.sock "http://localhost/v1/traces?limit=200&cursor=$(cat next)" | jq -e '.count == 100 and (.more | not)'
    "$EF_BUILD/utilities/efctl/efctl" --controller "unix:$PWD/http.sock" trace --condition trace.hops==3 --limit 70 --cursor "$cursor" --ndjson |
        tail -n 1 | jq -e '.count == 10'
    [ "$("$EF_BUILD/utilities/efctl/efctl" --controller "unix:$PWD/http.sock" trace --all --ndjson | wc -l)" = 501 ]
    # Of another question, or made up.
    ask "/v1/traces?limit=70&cursor=$cursor" | jq -e '.error.code == "bad_cursor" and (.error.message | contains("another question"))'
    ask "/v1/traces?cursor=p1" | jq -e '.error.code == "bad_cursor"'
}

@test "switches are asked for by name, and every condition is answered" {
    local condition n
    start_ovsdb s1
    start_ovsdb s2
    start_analyzer a1 0 50
    SWITCHES=(s1 s2)
    configure
    start_controller
    while read -r n condition; do
        echo "$condition"
        [ "$(ask /v1/traces -G --data-urlencode "condition=$condition" -d limit=0 | jq .count)" = "$n" ]
    done <<'END'
50 trace.through == s2
50 trace.through in {s1, 10.255.9.9}
0 !(trace.through == s1)
0 trace.through == 10.255.9.9
50 trace.hops == 3
0 trace.hops > 3
50 trace.copies == 3
0 trace.loop
0 trace.drop
0 trace.probe
0 trace.debug
0 trace.mux
50 trace.missing == 0
50 trace.latency_us > 1
0 trace.latency_us > 1000000
50 trace.through == s1 && trace.hops == 3 && !trace.loop
END
    [ "$(ask /v1/traces -G --data-urlencode "filter=switch == s1 && ip.src == 10.0.0.7" | jq .count)" = 1 ]
    # By the key that the store has an index of, once there are enough.
    ask /v1/traces -G --data-urlencode "condition=trace.through == s2" -d explain=1 >reply
    jq -e '.explanations[0].explain.plan.conjunctions[0].tests == ["trace"]' reply
    ask /v1/traces -G --data-urlencode "condition=trace.hops > 1 && trace.through == s3" >reply
    jq -e '.error.code == "bad_condition" and .error.offset == 35 and (.error.message | contains("is neither an address nor a switch"))' reply
    [ "$(ask /v1/traces -G --data-urlencode "condition=trace.through != s1" | jq .count)" = 0 ]
    # A switch whose copies may come from either of two addresses.
    kill_daemon controller
    jq '.everflow.targets += ["fd00::1"]' controller.json >both.json
    mv both.json controller.json
    start_controller
    [ "$(ask /v1/traces -G --data-urlencode "condition=trace.through == s1" -d limit=0 | jq .count)" = 50 ]
    ask /v1/traces -G --data-urlencode "condition=trace.through != s1" | jq -e '.error.message | startswith("s1 has two addresses")'
}

@test "wrong questions are refused before any analyzer is asked" {
    echo "{}" >lines
    start_fake fake canned "$PWD/lines"
    configure
    # Watchers ask by themselves.
    jq '.watchers = {latency_s: 0, ecmp_s: 0, rdma_s: 0, corrupt_s: 0}' controller.json >quiet.json
    mv quiet.json controller.json
    start_controller
    ask /v1/traces -G --data-urlencode 'filter=tcp && ip.nonsense == 1' >reply
    jq -e '.error.code == "bad_filter" and .error.offset == 7' reply
    ask /v1/traces -G --data-urlencode 'filter=trace.loop' | jq -e '.error.code == "bad_filter"'
    ask /v1/traces -G --data-urlencode 'condition=trace.hops >' | jq -e '.error.code == "bad_condition" and .error.offset'
    ask "/v1/traces?start=soon" | jq -e '.error.code == "bad_time" and (.error.message | startswith("start: "))'
    ask "/v1/traces?start=now&end=-5m" | jq -e '.error.message == "end is before start"'
    ask "/v1/traces?limit=-1" | jq -e '.error.code == "bad_limit"'
    ask "/v1/traces?format=xml" | jq -e '.error.code == "bad_format"'
    ask "/v1/traces?fliter=tcp" | jq -e '.error.message | contains("did you mean filter?")'
    ask /v1/trace -w '%{http_code}' | tr -d '\n' | grep -q 'did you mean /v1/traces?.*404$'
    ask /v1/traces -X POST -w '%{http_code}' | tr -d '\n' | grep -q '405$'
    ! grep -s /v1/traces fake.sock.requests # It is asked for its topology all the same.
}

trace_line() { # NUMBER
    printf '{"id":"%016x","start":"2026-01-01T00:00:%02d.000000000Z","packet":{},"hops":[]}\n' "$1" "$1"
}

@test "analyzers that are dead, silent, cut off or talk nonsense are named, and the others answer" {
    local n began
    for n in 1 3 5; do trace_line "$n"; done >odd
    for n in 2 4; do trace_line "$n"; done >even
    start_fake odd canned "$PWD/odd"
    start_fake even canned "$PWD/even"
    { trace_line 9; trace_line 8; } >unsorted
    start_fake unsorted canned "$PWD/unsorted"
    start_fake silent silent "$PWD/odd"
    start_fake cut cut "$PWD/even"
    start_fake garbage garbage
    start_fake error error
    ANALYZERS+=(dead)
    configure
    start_controller
    began=$SECONDS
    ask "/v1/traces?format=ndjson" >answer
    [ $((SECONDS - began)) -le 8 ]
    for n in "/v1/traces?limit=0" "/v1/traces?limit=0&format=ndjson" "/v1/traces"; do
        ask "$n" | jq -c '.. | objects | select(has("incomplete")) | .incomplete' >incomplete
        [ "$(jq -r '[.[].analyzer] | sort | join(" ")' incomplete)" = "cut dead error garbage silent unsorted" ]
    done
    why() { jq -r --arg name "$1" '.[] | select(.analyzer == $name) | .error' incomplete; }
    [[ $(why dead) == *"is ef-analyzer running?" ]]
    [[ $(why silent) == *"no answer within 5.0 s" ]]
    [[ $(why cut) == *"closed in the middle of the answer" ]]
    [[ $(why garbage) == "sent a line that is not JSON"* ]]
    [[ $(why error) == "busy with something else" ]]
    [[ $(why unsorted) == "sent traces out of order" ]]
    # All that was understood is there, in order.
    [ "$(jq -r 'select(.id) | .id[-1:]' answer | tr -d '\n')" = 11223459 ]
    ask /v1/status | jq -e '[.analyzers[] | select(.state == "down") | .name] == ["dead"]'
    ask /metrics | grep -qx 'everflow_peer_up{role="analyzer",name="dead"} 0'
    ask /metrics | grep -qx 'everflow_peer_up{role="analyzer",name="odd"} 1'
}

@test "an analyzer that says that it is at it is waited for, and so does the controller say to its client" {
    local format
    trace_line 1 >lines
    start_fake slow slow "$PWD/lines"
    configure
    start_controller
    for format in ndjson json; do
        ask "/v1/traces?limit=5&format=$format" >answer
        [ "$(jq -s 'map(select(has("incomplete"))) | length' answer)" = 0 ]
        [ "$(head -n 1 answer)" = "" ]
        [ "$(grep -c '^$' answer)" -ge 2 ]
        jq -se 'map(.traces[]?, select(.id)) | length == 1' answer
    done
}

@test "explain=1: each analyzer says how it found its part" {
    trace_line 1 >lines
    start_fake a canned "$PWD/lines"
    start_fake b canned "$PWD/lines"
    configure
    start_controller
    ask "/v1/traces?explain=1" | jq -e '[.explanations[].analyzer] == ["a", "b"] and
        .explanations[0].explain == {columns_decide: true, traces_looked_at: 7, plan: {buckets: 3}}'
    ask "/v1/traces?format=ndjson&explain=1" | tail -n 1 | jq -e '.end and (.explanations | length) == 2'
    ask "/v1/traces?explain=0" | jq -e 'has("explanations") | not'
    grep -q 'explain=1' a.sock.requests
    ask "/v1/traces?explain=perhaps" | jq -e '.error.code == "bad_explain"'
    "$EF_BUILD/utilities/efctl/efctl" --controller "unix:$PWD/http.sock" trace --explain >out
    grep -q "How a found it" out
    grep -q '"buckets": 3' out
}

@test "a client that goes away ends the question" {
    trace_line 1 >lines
    start_fake silent silent "$PWD/lines"
    configure
    start_controller
    run ask "/v1/traces?limit=0&format=ndjson" --max-time 0.5
    [ "$status" -eq 28 ]
    wait_until 2 is_counter streams_cancelled 1
    is_counter streams_open 0
    ask /v1/switches | jq -e '.switches == []'
}

@test "traces as pcapng: an interface per switch, packets by time, as each switch saw them" {
    start_ovsdb s1
    start_analyzer a1 0 50
    start_analyzer a2 50 50
    SWITCHES=(s1)
    ANALYZERS+=(dead)
    configure
    start_controller
    ask "/v1/traces?limit=0&format=pcapng&filter=tcp" -o out.pcapng -D headers
    grep -qi '^Content-Type: application/x-pcapng' headers
    tshark -r out.pcapng -o ip.check_checksum:TRUE -T fields -e frame.interface_name -e frame.time_epoch -e ip.ttl \
        -e ip.checksum.status -e frame.comment -e _ws.malformed >packets 2>/dev/null
    [ "$(wc -l <packets)" = 300 ]
    [ "$(cut -f 1 packets | sort -u | tr '\n' ' ')" = "10.255.0.2 10.255.0.3 s1 " ]
    diff <(cut -f 2 packets) <(cut -f 2 packets | sort -n)
    [ "$(cut -f 1,3,4,6 packets | sort | uniq -c | tr -s ' \t' ' ' | tr '\n' ';')" = \
        " 100 10.255.0.2 63 1 ; 100 10.255.0.3 62 1 ; 100 s1 64 1 ;" ]
    [ "$(cut -f 5 packets | grep -c 'trace=[0-9a-f]* hop=[123]/3$')" = 300 ]
    # The last section says what was asked, and that an analyzer is missing.
    capinfos -A out.pcapng >info
    [ "$(grep '^Interface #' info | sort -u | wc -l)" = 3 ] # Told once for each section.
    grep -q '^Capture comment: .*filter: tcp; condition: none; 100 traces; incomplete: .*"analyzer":"dead"' info
    grep -aq 'filter: tcp; condition: none; 100 traces; incomplete: .*"analyzer":"dead"' out.pcapng
}

@test "traces as pcapng: a stream of more packets than are held, in order" {
    local n=24000
    start_ovsdb s1
    start_analyzer a1 0 $n
    SWITCHES=(s1)
    configure
    start_controller
    ask "/v1/traces?limit=0&format=pcapng" -o out.pcapng
    tshark -n -r out.pcapng -T fields -e frame.interface_name -e frame.time_epoch -e _ws.malformed >packets 2>/dev/null
    [ "$(wc -l <packets)" = $((3 * n)) ]
    diff <(cut -f 2 packets) <(cut -f 2 packets | sort -n)
    [ "$(cut -f 1,3 packets | sort | uniq -c | tr -s ' \t' ' ' | tr '\n' ';')" = \
        " $n 10.255.0.2 ; $n 10.255.0.3 ; $n s1 ;" ]
    capinfos -A out.pcapng | grep -q "^Capture comment: .*; $n traces; complete\$"
    is_counter streams_open 0
}

# --- Start -------------------------------------------------------------------

# refused STATUS MESSAGE ARGUMENT...: one line on stderr, nothing started.
refused() {
    run "$EF_BUILD/controller/ef-controller" "${@:3}"
    [ "$status" -eq "$1" ] && [ "${#lines[@]}" -eq 1 ] && [[ $output == "ef-controller: "$2 ]] || {
        echo "status $status: $output"
        return 1
    }
}

@test "wrong options and configurations are refused in one line" {
    configure
    refused 2 "*--config FILE is missing*"
    refused 2 "*unknown option --confg; did you mean --config?" --confg x
    refused 2 "*unexpected argument 'x'*" --config controller.json x
    refused 1 "unable to open missing.json: No such file*" --config missing.json
    jq '.analyzers = [{name: "a", url: "unix:/a"}, {name: "b"}]' controller.json >wrong.json
    refused 1 "wrong.json: analyzers[[]1].url: missing" --config wrong.json
    jq '.topology = "none.json"' controller.json >wrong.json
    refused 1 "unable to open none.json: No such file*" --config wrong.json
    jq '.listen = "0.0.0.0:8780"' controller.json >wrong.json
    refused 1 "plain HTTP is only served on loopback; *" --config wrong.json
    jq '.switches = [{name: "x", loopback: "10.0.0.1", ovsdb: "ssl:10.0.0.1:6640"}]' topology.json >t2.json
    jq '.topology = "t2.json"' controller.json >wrong.json
    refused 1 "switch x: 'ssl:10.0.0.1:6640': ssl needs a certificate, its key and an authority" --config wrong.json
    "$EF_BUILD/controller/ef-controller" --help | grep -q -- --config
    "$EF_BUILD/controller/ef-controller" --version | grep -q '^ef-controller (everflow-ovs) '
}

@test "a second controller finds its place taken and touches no switch" {
    configure
    start_controller
    start_ovsdb s1
    SWITCHES=(s1)
    configure
    refused 1 "cannot listen on unix:*: another process already does; *" --config controller.json
    refused 1 "ef-controller already runs (pidfile controller.pid is locked)" --config controller.json --pidfile controller.pid
    [ "$(vsctl s1 get Open_vSwitch . everflow)" = "[]" ]
}

# --- Reshufflers ----------------------------------------------------------------

start_canned() { # NAME: a reshuffler that says what the file NAME/v1_status says
    mkdir -p "$1"
    echo '{"role": "reshuffler", "congested": false, "analyzers": []}' >"$1/v1_status"
    "$EF_SOURCE/test/system/canned_http.py" "$1" >"$1.log" 2>&1 3>&- &
    echo $! >"$1.pid"
    wait_until 10 test -s "$1/port"
}

# Both congested and well, as a whole or not at all.
set_canned() { # NAME CONGESTED
    echo '{"role": "reshuffler", "congested": '"$2"', "analyzers": []}' >"$1/new"
    mv "$1/new" "$1/v1_status"
}

# How many of the switches have these targets.
targets_are() { # NUMBER TARGETS
    local name n=0
    for name in "${SWITCHES[@]}"; do
        ! has "$name" targets "$2" || n=$((n + 1))
    done
    [ "$n" -eq "$1" ]
}

@test "switches leave a reshuffler that is congested, and all leave one that is down" {
    local name
    SWITCHES=(s1 s2 s3 s4)
    for name in "${SWITCHES[@]}"; do
        start_ovsdb "$name"
    done
    start_canned r1
    start_canned r2
    configure
    jq --arg r1 "http://127.0.0.1:$(cat r1/port)" --arg r2 "http://127.0.0.1:$(cat r2/port)" \
        '.reshufflers = [{name: "r1", url: $r1, vips: ["10.255.255.1"]}, {name: "r2", url: $r2, vips: ["10.255.255.2"]}]' \
        controller.json >new.json
    mv new.json controller.json
    start_controller
    wait_until 10 targets_are 4 '["10.255.255.1"]'
    set_canned r1 true
    wait_until 10 targets_are 1 '["10.255.255.2"]'
    targets_are 3 '["10.255.255.1"]'
    # Still congested after a while: another one goes.
    wait_until 20 targets_are 2 '["10.255.255.2"]'
    kill_daemon r1 KILL
    wait_until 10 targets_are 4 '["10.255.255.2"]'
    grep -q 'r1 is down: 4 of 4 parts of the switches that send to it send elsewhere' controller.log
    # The other one has gone, too: there is nowhere else to go.
    kill_daemon r2 KILL
    wait_until 10 targets_are 4 '["10.255.255.1"]'
}

@test "reshufflers are told the analyzers of the configuration, and go on draining" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    "$EF_BUILD/reshuffler/ef-reshuffler" --vip 10.255.255.1 --source afpacket:lo --http "unix:$PWD/r1.sock" \
        --detach --pidfile "$PWD/r1.pid" --log-file "$PWD/r1.log" 3>&-
    configure
    jq --arg url "unix:$PWD/r1.sock" '.reshufflers = [{name: "r1", url: $url}] | .analyzers =
        [{name: "a1", url: "unix:/nowhere/a1", address: "10.1.0.21"}, {name: "a2", url: "unix:/nowhere/a2", address: "10.2.0.21", address6: "fd00::2", weight: 7}]' \
        controller.json >new.json
    mv new.json controller.json
    start_controller
    wait_until 10 analyzers_are '[["a1", "10.1.0.21", 100, false], ["a2", "10.2.0.21", 7, false]]'
    curl -sf --unix-socket r1.sock http://localhost/v1/analyzers | jq -e '[.analyzers[].address6] == [null, "fd00::2"]'
    curl -sf --unix-socket r1.sock http://localhost/v1/analyzers -d '{"name": "a2", "draining": true, "weight": 9}' >answer
    wait_until 10 analyzers_are '[["a1", "10.1.0.21", 100, false], ["a2", "10.2.0.21", 7, true]]'
    curl -sf --unix-socket r1.sock -X DELETE 'http://localhost/v1/analyzers?name=a1' >answer
    wait_until 10 analyzers_are '[["a1", "10.1.0.21", 100, false], ["a2", "10.2.0.21", 7, true]]'
}

analyzers_are() { # JSON
    curl -sf --unix-socket r1.sock http://localhost/v1/analyzers |
        jq -e --argjson expected "$1" '[.analyzers[] | [.name, .address, .weight, .draining]] == $expected' >/dev/null
}

@test "a wrong address of an analyzer, weight or VIP is told" {
    configure
    local change
    for change in '.analyzers = [{name: "a", url: "unix:/x", address: "10.1"}]' '.reshufflers = [{name: "r", url: "unix:/x", vips: [7]}]' \
        '.analyzers = [{name: "a", url: "unix:/x", address: "10.1.0.1", weight: 0}]' '.reshufflers = [{name: "r", url: "unix:/x", weight: 1}]'; do
        jq "$change" controller.json >wrong.json
        run "$EF_BUILD/controller/ef-controller" --config wrong.json
        echo "$output"
        [ "$status" -eq 1 ]
        [ "${#lines[@]}" -eq 1 ]
    done
}
