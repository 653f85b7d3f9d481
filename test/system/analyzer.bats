#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ef-analyzer over HTTP and its control socket, on captures whose traces are
# known (make_copies.py).
#
# Each test is a subshell; it, its setup and its teardown share their variables:
# shellcheck disable=SC2030,SC2031

load common

PORT=18821
URL=http://127.0.0.1:$PORT

setup_file() {
    "$EF_SOURCE/test/system/make_copies.py" --packets 3000 "$BATS_FILE_TMPDIR/copies.pcap"
    "$EF_BUILD/analyzer/ef-analyzer" --name offline --source "pcap:$BATS_FILE_TMPDIR/copies.pcap" \
        --http 127.0.0.1:$PORT --control "$BATS_FILE_TMPDIR/ctl" >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/pid"
    wait_until 10 all_there
}

teardown_file() {
    kill "$(cat "$BATS_FILE_TMPDIR/pid")"
}

all_there() {
    curl -sf "$URL/v1/status" | jq -e '.traces_stored == 3000' >/dev/null
}

get() { # PATH [PARAMETER=VALUE]...
    local path=$1 parameters=()
    shift
    for parameter in "$@"; do parameters+=(--data-urlencode "$parameter"); done
    curl -sG "$URL$path" "${parameters[@]}"
}

# says STATUS CODE PATH [PARAMETER=VALUE]...: the HTTP status and the error's code.
says() {
    local status=$1 code=$2 path=$3 parameters=()
    shift 3
    for parameter in "$@"; do parameters+=(--data-urlencode "$parameter"); done
    [ "$(curl -sG -o "$BATS_TEST_TMPDIR/error" -w '%{http_code}' "$URL$path" "${parameters[@]}")" = "$status" ]
    cat "$BATS_TEST_TMPDIR/error"
    [ "$(jq -r .error.code "$BATS_TEST_TMPDIR/error")" = "$code" ]
}

@test "a trace has the hops, fields and times of its packet" {
    get /v1/traces 'filter=ip.src == 10.0.1.44' >"$BATS_TEST_TMPDIR/answer"
    jq -e '.count == 1 and .more == false and (.traces | length) == 1' "$BATS_TEST_TMPDIR/answer"
    jq -e '.traces[0] | .packet.src == "10.0.1.44" and .packet.dst == "10.200.0.1" and .packet.proto == 6
           and .packet.dstport == 80 and .packet.ip_id == 300 and .packet.tcp_flags == "S" and .packet.length == 54
           and .n_hops == 5 and .n_copies == 5 and .time_source == "switch" and .latency_us == 40
           and .analyzer == "offline"' "$BATS_TEST_TMPDIR/answer"
    jq -e '.traces[0].hops | [.[].switch] == ["10.255.0.1", "10.255.0.2", "10.255.0.3", "10.255.0.4", "10.255.0.5"]
           and [.[].since_first_us] == [0, 10, 20, 30, 40] and [.[].sequence] == [300, 300, 300, 300, 300]' \
        "$BATS_TEST_TMPDIR/answer"
}

@test "limits give the newest, in ascending order" {
    get /v1/traces limit=3 | jq -e '[.traces[].packet.ip_id] == [2997, 2998, 2999] and .more'
    get /v1/traces | jq -e '.count == 100 and .more'
    get /v1/traces limit=0 | jq -e '.count == 3000 and (.more | not) and ([.traces[].start] | . == sort)'
    get /v1/traces limit=0 format=ndjson >"$BATS_TEST_TMPDIR/lines"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" = 3001 ]
    [ "$(tail -n 1 "$BATS_TEST_TMPDIR/lines")" = '{"end":true,"count":3000,"more":false}' ]
    jq -es '.[:-1] | all(.[]; .n_hops == 5)' "$BATS_TEST_TMPDIR/lines"
    get /v1/traces limit=0 'filter=udp' | jq -e '. == {"traces": [], "count": 0, "more": false}'
}

@test "start, end, filter and condition choose" {
    start=$(get /v1/traces limit=0 | jq -r '.traces[1000].start')
    get /v1/traces "end=$start" limit=0 | jq -e '.count == 1001'
    get /v1/traces "start=$start" limit=0 | jq -e '.count == 2000'
    get /v1/traces "start=$start" "end=$start" | jq -e '.count == 1'
    get /v1/traces start=-1s | jq -e '.count == 0'
    get /v1/traces 'condition=trace.hops == 5 && trace.latency_us >= 40' limit=0 | jq -e '.count == 3000'
    get /v1/traces 'condition=trace.loop' | jq -e '.count == 0'
    get /v1/traces 'filter=switch == 10.255.0.3 && tcp.srcport < 1034' limit=0 | jq -e '.count == 10'
}

@test "a trace is found by its id, and an answer says how it was found" {
    id=$(get /v1/traces limit=1 | jq -r '.traces[0].id')
    get /v1/traces "id=$id" limit=0 | jq -e --arg id "$id" '.count == 1 and .traces[0].id == $id'
    get /v1/traces "id=${id:0:6}" limit=0 | jq -e --arg id "$id" '.count >= 1 and ([.traces[].id] | index($id) != null)'
    get /v1/traces 'filter=switch == 10.255.0.3 && tcp.srcport < 1034' limit=0 explain=1 |
        jq -e '.count == 10 and .explain.columns_decide == false and (.explain.plan.filter | contains("srcport"))'
    get /v1/traces limit=0 explain=1 | jq -e '.explain.columns_decide and .explain.traces_looked_at == 0'
}

@test "a wrong question gets its mistake said" {
    says 400 bad_id /v1/traces 'id=0x12'
    says 400 bad_explain /v1/traces 'explain=yes'
    says 400 bad_filter /v1/traces 'filter=ip.dst == 10.0.0.1 &&'
    jq -e '.error.offset >= 20' "$BATS_TEST_TMPDIR/error"
    says 400 bad_filter /v1/traces 'filter=trace.hops > 1'
    says 400 bad_condition /v1/traces 'condition=ip.src == 10.0.0.1'
    says 400 bad_time /v1/traces 'start=yesterday'
    says 400 bad_limit /v1/traces 'limit=-1'
    says 400 bad_format /v1/traces 'format=xml'
    [ "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$URL/v1/traces")" = 405 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$URL/v2/traces")" = 404 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$URL/v1/traces?limt=1")" = 400 ]
}

@test "readers that go away or hang do not hinder others" {
    for _ in 1 2 3 4 5; do
        curl -sN "$URL/v1/traces?limit=0" | head -c 1000 >/dev/null
    done
    exec {slow}<>/dev/tcp/127.0.0.1/$PORT
    printf 'GET /v1/traces?limit=0 HTTP/1.1\r\nHost: x\r\n\r\n' >&"$slow"
    get /v1/traces limit=0 | jq -e '.count == 3000'
    exec {slow}>&-
    no_answer_open() { get /v1/status | jq -e '.queries_open == 0'; }
    wait_until 10 no_answer_open
}

@test "status, metrics and counters agree" {
    get /v1/status | jq -e '.role == "analyzer" and .name == "offline" and .copies_received == 15000
        and .copies_assembled == 15000 and ([.drops[]] | add) == 0 and .traces_open == 0 and .traces_closed == 3000
        and .traces_evicted == 0 and (.oldest | startswith("2026-11-21T02:30:0")) and .sources[0].state == "ended"
        and .switches["10.255.0.5"] == {"copies": 3000, "first_sequence": 0, "last_sequence": 2999}
        and (.memory | .source_rings + .worker_rings + .open_traces + .switch_counts + .closed_traces + .answers + .counters + .fates) == .memory_bytes'
    get /metrics >"$BATS_TEST_TMPDIR/metrics"
    grep -qx 'everflow_copies_assembled_total 15000' "$BATS_TEST_TMPDIR/metrics"
    grep -qx 'everflow_drops_total{reason="table_full"} 0' "$BATS_TEST_TMPDIR/metrics"
    grep -qx 'everflow_switch_copies_total{switch="10.255.0.1"} 3000' "$BATS_TEST_TMPDIR/metrics"
    efctl daemon "$BATS_FILE_TMPDIR/ctl" counters | grep -Eq '^copies_assembled +15000$'
    efctl daemon "$BATS_FILE_TMPDIR/ctl" status | jq -e '.traces_closed == 3000'
    efctl daemon "$BATS_FILE_TMPDIR/ctl" explain 00 | grep -q '^discarded: '
}

@test "copies of the patched Open vSwitch are read, with their debug mark" {
    # asked FILE ARGUMENT...: the traces of a vector of the switch.
    asked() {
        local file=$EF_SOURCE/test/vectors/ovs/$1
        shift
        "$EF_BUILD/analyzer/ef-analyzer" --name vectors --source "pcap:$file" --http 127.0.0.1:$((PORT + 1)) "$@" \
            2>"$BATS_TEST_TMPDIR/log" 3>&- &
        local analyzer=$!
        closed() {
            curl -sf 127.0.0.1:$((PORT + 1))/v1/status |
                jq -e '.traces_stored > 0 and .traces_open == 0 and .sources[0].state == "ended" and
                       .traces_stored == .traces_closed and
                       .copies_received == .copies_assembled + ([.drops[]] | add)' >/dev/null
        }
        wait_until 10 closed
        curl -sf 127.0.0.1:$((PORT + 1))/v1/traces >"$BATS_TEST_TMPDIR/answer"
        kill "$analyzer"
        wait "$analyzer" || :
    }
    asked debug.pcap
    jq -e '.count == 5 and all(.traces[]; .debug and .hops[0].dscp == 2 and .hops[0].port == 1)' "$BATS_TEST_TMPDIR/answer"
    asked debug.pcap --debug-dscp 2
    jq -e '.count == 5 and all(.traces[]; .debug | not)' "$BATS_TEST_TMPDIR/answer"
    asked truncated.pcap
    jq -e '[.traces[] | select(.hops[0].truncated)] | length == 1
           and .[0].packet.length == 1066 and (.[0].packet.hex | length) == 160' "$BATS_TEST_TMPDIR/answer"
    asked gre.pcap
    jq -e '[.traces[] | [.packet.tcp_flags, .hops[0].port, .hops[0].switch_time]] ==
           [["S", 1, null], ["SA", 2, null], ["FA", 2, null], ["FA", 1, null]]' "$BATS_TEST_TMPDIR/answer"
    asked outer6-erspan3.pcap
    jq -e '[.traces[] | [.packet.tcp_flags, .hops[0].switch, .hops[0].port, .hops[0].sequence]] ==
           [["S", "fd00:255::1", 1, 0], ["SA", "fd00:255::1", 2, 1], ["FA", "fd00:255::1", 1, 2],
            ["FA", "fd00:255::1", 2, 3]] and all(.traces[]; .hops[0].switch_time != null)' "$BATS_TEST_TMPDIR/answer"
    asked outer6-mtu.pcap
    jq -e '.count == 4 and all(.traces[]; .hops[0].truncated and .packet.length == 1514)' "$BATS_TEST_TMPDIR/answer"
}
