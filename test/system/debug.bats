#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run sets status and output.
# Debug sessions (/v1/debug, efctl debug) at real switches with real traffic: what is
# admitted stays within the capacity, marks end on time without the controller, no
# host sees the debug bit or has anything copied by setting it.

bats_require_minimum_version 1.5.0
load common

FABRIC=debugged
PORT=18940
CAPACITY=450 # Copies per second: one flow of 100 packets/s over 3 switches fits, two do not.

setup_file() {
    export DEMO_EVERFLOW='{"edge_ports": "hosts"}'
    suite_begin "$FABRIC" "$PORT" --spines 1 --leaves 2 --hosts-per-leaf 2
    change_configuration ".capacity = {copies_per_s: $CAPACITY}"
    start_flow 5001 100 "$BATS_FILE_TMPDIR/flow1"
    start_flow 5002 100 "$BATS_FILE_TMPDIR/flow2"
}
teardown_file() {
    stop_flow "$BATS_FILE_TMPDIR/flow1"
    stop_flow "$BATS_FILE_TMPDIR/flow2"
    suite_end "$FABRIC"
}
teardown() {
    local id
    stop_flow "$BATS_FILE_TMPDIR/flow3"
    for id in $(api debug | jq -r '.sessions[].id'); do api "debug/$id" -X DELETE >"$BATS_TEST_TMPDIR/end"; done
}

api() { curl -s --max-time 60 "http://127.0.0.1:$PORT/v1/$1" "${@:2}"; }
code() { jq -r '.error.code // "none"'; }
address() { jq -r --arg name "$1" '.hosts[] | select(.name == $name).address' "$(demo_topology "$FABRIC")"; }
start_flow() { # PORT PER_SECOND PIDFILE [TOS]: from h1 to h3, which is behind the other leaf
    # No function: the number has to be that of the program, which ip becomes.
    ip netns exec "ef-$FABRIC-h1" python3 "$EF_SOURCE/test/system/udp_flow.py" "$(address h3)" "$1" "$2" ${4+"$4"} </dev/null >/dev/null 2>&1 3>&- &
    echo $! >"$3"
}
stop_flow() { # PIDFILE
    [ ! -e "$1" ] || kill "$(cat "$1")" || :
    rm -f "$1"
}
change_configuration() { # JQ_FILTER
    local directory
    directory=$(demo_directory "$FABRIC")
    demo_kill "$directory/controller.pid"
    jq "$1" "$directory/controller.json" >"$directory/changed.json"
    mv "$directory/changed.json" "$directory/controller.json"
    start_controller
}
start_controller() {
    demo_daemon "$FABRIC" controller controller/ef-controller --config "$(demo_directory "$FABRIC")/controller.json"
    demo_wait_configured "$FABRIC" "$PORT"
}
enable() { # PORT [JSON_FIELDS]: the answer
    api debug -d "{\"servers\": [\"h1\"], \"filter\": \"udp.dstport == $1\"${2+, $2}}"
}
# One that has to fit; what was traced a moment ago still counts for some seconds, so it may have to be asked again.
admitted() { # PORT [JSON_FIELDS]: its id
    local file=$BATS_TEST_TMPDIR/admitted
    is_admitted() { enable "$@" >"$file" && jq -e '.id != null' "$file" >/dev/null; }
    wait_until 60 is_admitted "$@" && jq -r .id "$file"
}
session_is() { api "debug/$1" | jq -e "$2" >/dev/null; } # ID CONDITION
rules_at() { demo_fabric "$FABRIC" exec "$1" -- ovs-appctl everflow/show | grep '^rule ' | grep -cv '(expired)$' || :; }
marks_at() { [ "$(rules_at "$1")" = "$2" ]; }
# Copies that all analyzers got, and when that was, in ms.
received() {
    local sum=0 n port
    for port in 1 2; do
        n=$(curl -s "http://127.0.0.1:$((PORT + port))/v1/status" | jq .copies_received)
        sum=$((sum + n))
    done
    echo "$sum $(date +%s%3N)"
}
# The copies per second over SECONDS.
rate_over() { # SECONDS
    local first first_ms last last_ms
    read -r first first_ms < <(received)
    read -rt "$1" <> <(:) || :
    read -r last last_ms < <(received)
    echo $(((last - first) * 1000 / (last_ms - first_ms)))
}
class_debug() { # Packets with the debug bit that switches saw.
    api switches | jq '[.switches[].statistics.class_debug // 0 | tonumber] | add'
}
seen_by() { # SWITCH: what it has looked at; moves on when it writes its statistics
    api switches | jq --arg s "$1" '.switches[] | select(.name == $s).statistics.rx_packets // 0 | tonumber'
}
has_moved() { [ "$(seen_by "$1")" != "$2" ]; } # SWITCH BEFORE
next_statistics() { wait_until 20 has_moved leaf1 "$(seen_by leaf1)"; }

@test "what fits into the capacity is admitted, and what is beyond is refused with what would fit" {
    local id second rate
    enable 5001 '"duration_s": 600' >"$BATS_TEST_TMPDIR/first"
    fits DebugSession <"$BATS_TEST_TMPDIR/first"
    jq -e '.state == "active" and .hops == 3 and .traffic.from == "measured" and .sample == 1
           and .expected.copies_per_s > 200 and .expected.copies_per_s < 400' "$BATS_TEST_TMPDIR/first"
    id=$(jq -r .id "$BATS_TEST_TMPDIR/first")
    wait_until 5 session_is "$id" '.marks == "installed"'
    # The second is as large, and one in so many of it fits.
    enable 5002 '"duration_s": 600' >"$BATS_TEST_TMPDIR/refused"
    fits OverCapacity <"$BATS_TEST_TMPDIR/refused"
    jq -e '.error | .code == "over_capacity" and .used.copies_per_s > 200 and .sample_that_fits > 1' "$BATS_TEST_TMPDIR/refused"
    run -1 efctl debug enable h1 --filter 'udp.dstport == 5002'
    [[ $output == *"copies/s"*"would fit"* ]]
    second=$(jq .error.sample_that_fits "$BATS_TEST_TMPDIR/refused")
    # What fits to the number may not a moment later: the numbers are measured. Half of it does.
    wait_until 5 session_is "$(admitted 5002 "\"duration_s\": 600, \"sample\": $((second * 2))")" '.marks == "installed"'
    api debug | fits DebugSessions
    # Something is traced, and in no window more than 5 % beyond.
    for _ in 1 2 3; do
        rate=$(rate_over 4)
        echo "$rate copies/s"
        [ "$rate" -gt 100 ]
        [ "$rate" -le $((CAPACITY * 105 / 100)) ]
    done
    efctl debug | grep "1/$((second * 2)) .*udp.dstport == 5002"
    [ "$(efctl debug --json | jq '.sessions | length')" = 2 ]
    [ "$(efctl debug disable "$id" --json | jq -r .id)" = "$id" ]
    [ "$(api "debug/$id" | code)" = no_session ]
    [ "$(api "debug/$id" -X DELETE | code)" = no_session ]
}

@test "traffic that grows after it was admitted is sampled more coarsely, with a note and an event" {
    local id
    id=$(admitted 5001 '"duration_s": 600')
    wait_until 5 session_is "$id" '.marks == "installed"'
    start_flow 5001 400 "$BATS_FILE_TMPDIR/flow3"
    wait_until 30 session_is "$id" '.sample > 1 and .requested_sample == 1 and (.note | contains("the capacity is"))'
    api alerts?kind=debug | jq -e --arg id "$id" '.alerts[] | select(.subject == $id and .state == "open")'
    api events --max-time 2 -N -H 'Last-Event-ID: 0' | grep -q "\"kind\":\"debug\",\"subject\":\"$id\""
    within() { api debug | jq -e --argjson c "$CAPACITY" '.measured != null and .measured.copies_per_s <= $c' >/dev/null; }
    wait_until 30 within
    local rate
    rate=$(rate_over 4)
    echo "$rate copies/s"
    [ "$rate" -le $((CAPACITY * 105 / 100)) ]
    # That switches have it as a bound of their own.
    demo_fabric "$FABRIC" exec leaf1 -- ovs-vsctl get Everflow . rate_kpps | grep -x 1
    api "debug/$id" -X DELETE >"$BATS_TEST_TMPDIR/end"
    resolved() { api alerts?kind=debug | jq -e --arg id "$id" '.alerts[] | select(.subject == $id).state == "resolved"' >/dev/null; }
    wait_until 5 resolved
}

@test "no host sees the debug bit, and none has anything copied by setting it" {
    local id before
    id=$(admitted 5001 '"duration_s": 600')
    wait_until 5 session_is "$id" '.marks == "installed"'
    # Marked packets arrive at h3: 100 of the flow, none with the bit (TOS 0x08).
    timeout 60 ip netns exec "ef-$FABRIC-h3" tcpdump -c 100 -n -i eth0 'udp dst port 5001' -w "$BATS_TEST_TMPDIR/h3.pcap" 2>"$BATS_TEST_TMPDIR/tcpdump"
    [ "$(tcpdump -n -r "$BATS_TEST_TMPDIR/h3.pcap" 2>/dev/null | wc -l)" -ge 100 ]
    [ "$(tcpdump -n -r "$BATS_TEST_TMPDIR/h3.pcap" 'ip[1] & 0x08 != 0' 2>/dev/null | wc -l)" = 0 ]
    marked_traces() { efctl trace --ndjson --last 30s --condition trace.debug 'udp.dstport == 5001' | jq -es '.[0].n_hops == 3' >/dev/null; }
    wait_until 20 marked_traces
    api "debug/$id" -X DELETE >"$BATS_TEST_TMPDIR/end"
    wait_until 5 marks_at leaf1 0
    # A host that sets it: the switch that it is attached to takes it away.
    next_statistics
    next_statistics
    before=$(class_debug)
    start_flow 5003 100 "$BATS_FILE_TMPDIR/flow3" 0x08
    cleared() { [ "$(api switches | jq '[.switches[].statistics.cleared_in // 0 | tonumber] | add')" -ge 100 ]; }
    wait_until 30 cleared
    [ "$(class_debug)" = "$before" ]
    [ "$(efctl trace --ndjson --limit 0 'udp.dstport == 5003' | grep -c '"hops"')" = 0 ]
}

@test "a session outlives a controller that is killed" {
    local id directory before
    directory=$(demo_directory "$FABRIC")
    id=$(admitted 5001 '"duration_s": 600')
    before=$(api "debug/$id" | jq -c '[.start, .end, .filter, .sample, .servers]')
    demo_kill "$directory/controller.pid" KILL
    start_controller
    wait_until 10 session_is "$id" '.state == "active" and .marks == "installed"'
    [ "$(api "debug/$id" | jq -c '[.start, .end, .filter, .sample, .servers]')" = "$before" ]
    marks_at leaf1 2 # IPv4 and IPv6.
    marks_at leaf2 0
}

@test "marks end on time without the controller" {
    local id directory end late
    directory=$(demo_directory "$FABRIC")
    id=$(admitted 5001 '"duration_s": 8')
    wait_until 5 session_is "$id" '.marks == "installed"'
    end=$(date -d "$(api "debug/$id" | jq -r .end)" +%s%3N)
    demo_kill "$directory/controller.pid" KILL
    marks_at leaf1 2
    wait_until 20 marks_at leaf1 0
    late=$(($(date +%s%3N) - end))
    echo "gone $late ms after the end"
    [ "$late" -lt 2000 ]
    # Who comes back clears away, and remembers it.
    start_controller
    wait_until 10 session_is "$id" '.state == "ended" and .marks == "none"'
    no_rules() { api switches | jq -e '[.switches[].rules[]] == []' >/dev/null; }
    wait_until 10 no_rules
}

@test "a session that begins later waits" {
    local id
    id=$(admitted 5001 "\"sample\": 16, \"start\": \"$(date -u -d '20 seconds' +%FT%TZ)\", \"end\": \"$(date -u -d '60 seconds' +%FT%TZ)\"")
    session_is "$id" '.state == "scheduled" and .marks == "none"'
    marks_at leaf1 0
    wait_until 30 session_is "$id" '.state == "active" and .marks == "installed"'
    marks_at leaf1 2
}

@test "what is wrong is said" {
    [ "$(api debug -d '[' | code)" = bad_request ]
    [ "$(api debug -d '{"servers": []}' | code)" = bad_request ]
    api debug -d '{"servers": ["h1", "nosuch"]}' | jq -e '.error.message == "servers[1]: the topology has no host '"'nosuch'"'"'
    api debug -d '{"servers": ["h1"], "sample": 3}' | jq -e '.error.message | startswith("sample: must be a power of two")'
    api debug -d '{"servers": ["h1"], "filter": "udp && udp.length > 5"}' |
        jq -e '.error | .code == "bad_filter" and .offset == 7 and (.message | contains("udp.length"))'
    api debug -d '{"servers": ["h1"], "end": "2020-01-01T00:00:00Z"}' | jq -e '.error.message | startswith("end: ")'
    api debug -d '{"servers": ["h1"], "end": "2030-01-01T00:00:00Z", "duration_s": 5}' | jq -e '.error.message | startswith("duration_s: ")'
    run -2 efctl debug disable 12
    run -1 efctl debug enable nosuch
    [[ $output == *"no host 'nosuch'"* ]]
}

@test "who may only look enables nothing; who does is in the audit log" {
    local viewer operator
    change_configuration '.access = {anonymous: "admin"}'
    viewer=$(api tokens -d '{"name": "looks", "role": "viewer"}' | jq -r .token)
    operator=$(api tokens -d '{"name": "asks", "role": "operator"}' | jq -r .token)
    [ "$(api debug -H "Authorization: Bearer $viewer" -d '{"servers": ["h1"]}' | code)" = forbidden ]
    api debug -H "Authorization: Bearer $viewer" | jq -e '.sessions == []'
    [ "$(api debug -H "Authorization: Bearer $operator" -d '{"servers": ["h1"], "sample": 1024}' | jq -r .state)" = active ]
    api 'audit?limit=20' | jq -e '[.. | objects | select(.path? == "/v1/debug") | [.actor, .status]]
        | contains([["token:asks", 201]]) and contains([["token:looks", 403]])'
}

@test "without edge ports nothing is marked" {
    change_configuration '.everflow.edge_ports = "none"'
    enable 5001 | jq -e '.error | .code == "not_configured" and (.message | contains("edge_ports"))'
    change_configuration '.everflow.edge_ports = "hosts" | .everflow.classes -= ["debug"]'
    enable 5001 | jq -e '.error | .code == "not_configured" and (.message | contains("\"debug\""))'
}
