#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What ef-analyzer counts and what it keeps: load of ports and links, counters by
# filter added while copies come, --keep with an accounting that closes.
#
# Each test is a subshell; it, its setup and its teardown share their variables:
# shellcheck disable=SC2030,SC2031

load common
bats_require_minimum_version 1.5.0

PORT=18822
URL=http://127.0.0.1:$PORT

setup_file() {
    "$EF_SOURCE/test/system/make_copies.py" --packets 1000 "$BATS_FILE_TMPDIR/copies.pcap"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    PIDS=()
    mkfifo copies
    exec {COPIES}<>copies # Neither end waits for the other.
}

teardown() {
    local pid
    exec {COPIES}>&- # Who waits for more sees the end.
    for pid in "${PIDS[@]}"; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
}

# analyzer OPTION...: one that reads what `play` writes.
analyzer() {
    "$EF_BUILD/analyzer/ef-analyzer" --name counts --source "pcap:$PWD/copies" --http 127.0.0.1:$PORT "$@" \
        >log 2>&1 3>&- {COPIES}>&- &
    PIDS+=($!)
    head -c 24 "$BATS_FILE_TMPDIR/copies.pcap" >&"$COPIES" # The source opens when it knows what it reads.
    wait_until 10 curl -sf -o /dev/null "$URL/v1/status"
}

play() {
    tail -c +25 "$BATS_FILE_TMPDIR/copies.pcap" >copies
    exec {COPIES}>&-
    wait_until 10 all_closed
}

all_closed() { curl -sf "$URL/v1/status" | jq -e '.traces_closed == 1000' >/dev/null; }

# asks STATUS CURL-ARGUMENT...: the answer is in the file `answer`.
asks() {
    local status=$1
    shift
    [ "$(curl -s -o answer -w '%{http_code}' "$@")" = "$status" ] || { cat answer; return 1; }
}

@test "counters by filter, added while it runs" {
    analyzer
    asks 201 "$URL/v1/counters" -d '{"name": "low", "filter": "tcp.srcport<1034"}'
    fits Counter answer
    asks 201 "$URL/v1/counters" -d '{"name": "all"}'
    asks 201 "$URL/v1/counters" -d '{"name": "none", "filter": "trace.loop || trace.probe"}'
    asks 201 "$URL/v1/counters" -d '{"name": "low", "filter": "tcp.srcport < 1034"}'
    asks 409 "$URL/v1/counters" -d '{"name": "low", "filter": "udp"}'
    asks 400 "$URL/v1/counters" -d '{"name": "x y", "filter": "udp"}'
    asks 400 "$URL/v1/counters" -d '{"name": "x", "filter": "tcp.prot"}'
    jq -e '.error.code == "bad_filter" and .error.offset == 0' answer
    asks 400 "$URL/v1/counters" -d 'tcp'
    play
    asks 200 "$URL/v1/counters"
    fits Counters answer
    jq -e '[.counters[] | {name, packets, bytes}] == [{name: "low", packets: 10, bytes: 540},
        {name: "all", packets: 1000, bytes: 54000}, {name: "none", packets: 0, bytes: 0}]' answer
    asks 200 "$URL/v1/counters/all"
    fits CounterValues answer
    jq -e '([.values[].packets] | add) == 1000 and .interval_s == 10
        and .values[0].start == "2026-11-21T02:30:00.000000000Z"' answer
    asks 200 -G "$URL/v1/counters/all" -d end=2026-11-21T02:29:59Z
    jq -e '.values == []' answer
    asks 400 -G "$URL/v1/counters/all" -d end=never
    curl -sf "$URL/metrics" >metrics
    grep -qx 'everflow_counter_packets_total{name="low"} 10' metrics
    asks 200 -X DELETE "$URL/v1/counters/low"
    fits Removed answer
    asks 404 "$URL/v1/counters/low"
    asks 404 -X DELETE "$URL/v1/counters/low"
    asks 405 -X POST "$URL/v1/counters/all"
    asks 404 "$URL/v1/counters/"
}

# groups NAME: each group of a counter with what it counted, a line each; values over time add up to it.
groups() {
    asks 200 "$URL/v1/counters/$1" || return
    fits CounterValues answer || return
    jq -e 'all(.groups[]; ([.values[].packets] | add) == .packets and ([.values[].bytes] | add) == .bytes)' answer >/dev/null || return
    jq -r '.groups[] | "\(.group) \(.packets) \(.bytes)"' answer
}

@test "counters by filter, broken down by switch, port and prefix" {
    analyzer --memory 1G
    asks 201 "$URL/v1/counters" -d '{"name": "switch", "group_by": "switch"}'
    fits Counter answer
    jq -e '.group_by == "switch"' answer
    asks 201 "$URL/v1/counters" -d '{"name": "port", "filter": "tcp.srcport < 1034", "group_by": "port"}'
    asks 201 "$URL/v1/counters" -d '{"name": "source", "group_by": "src/24"}'
    asks 201 "$URL/v1/counters" -d '{"name": "host", "group_by": "src/64"}'
    asks 201 "$URL/v1/counters" -d '{"name": "host", "group_by": "src/64"}'
    asks 409 "$URL/v1/counters" -d '{"name": "host", "group_by": "dst/64"}'
    asks 409 "$URL/v1/counters" -d '{"name": "host"}'
    asks 400 "$URL/v1/counters" -d '{"name": "wrong", "group_by": "prefix"}'
    jq -e '.error.code == "bad_group"' answer
    asks 400 "$URL/v1/counters" -d '{"name": "wrong", "group_by": "dst/129"}'
    asks 201 "$URL/v1/counters" -d '{"name": "plain", "group_by": "none"}'
    play
    run -0 groups switch
    [ "$output" = "$(printf '10.255.0.%d 1000 54000\n' 1 2 3 4 5)" ]
    jq -e '.packets == 1000 and .groups[0].switch == "10.255.0.1"' answer
    run -0 groups port
    [ "$output" = "$(for i in 1 2 3 4 5; do echo "10.255.0.$i port $((99 + i)) ingress 10 540"; done)" ]
    jq -e '.groups[0] | .switch == "10.255.0.1" and .port == 100 and .direction == "ingress"' answer
    run -0 groups source
    [ "$output" = "$(echo '10.0.0.0/24 256 13824
10.0.1.0/24 256 13824
10.0.2.0/24 256 13824
10.0.3.0/24 232 12528')" ]
    # More hosts than groups: the rest is there, too, as "other".
    run -0 groups host
    [ "${#lines[@]}" -gt 16 ]
    [[ "${lines[-1]}" == "other "* ]]
    jq -e '([.groups[].packets] | add) == 1000 and .packets == 1000 and (.groups | length) <= 512' answer
    asks 200 "$URL/v1/counters/plain"
    fits CounterValues answer
    jq -e '.group_by == "none" and (has("groups") | not)' answer
    asks 200 -G "$URL/v1/counters/switch" -d end=2026-11-21T02:29:59Z
    jq -e 'all(.groups[]; .packets == 1000 and .values == [])' answer
}

@test "efctl counters: groups summed over the analyzers, with the topology's names" {
    analyzer
    # Asked twice, this analyzer is two that saw the same.
    controller "$URL" '{"name": "t", "vip": "10.1.0.21", "hosts": [], "switches": [{"name": "leaf1", "role": "leaf",
        "loopback": "10.255.0.1", "ovsdb": "unix:/nowhere", "ports": [{"number": 100, "name": "p", "peer": {"node": "h1"}}]}]}'
    run -0 counters add switch '' --group-by switch
    run -0 counters add port tcp --group-by port
    run -0 counters add port tcp --group-by port
    run -1 counters add port tcp --group-by switch
    [[ "$output" == *"other groups"* ]]
    run -1 counters add wrong tcp --group-by prefix
    [[ "$output" == *"group_by"* ]]
    run -0 counters add plain tcp --group-by none
    run -0 counters add plain tcp
    play
    counters show switch --step 1h --json >answer
    fits CounterValues answer
    jq -e '.packets == 2000 and .interval_s == 3600 and (.groups | length) == 5 and .groups[0].name == "leaf1"
        and all(.groups[]; .packets == 2000 and ([.values[].packets] | add) == 2000 and (.values | length) <= 2)' answer
    run -0 counters show port
    [[ "${lines[0]}" == "GROUP "*"PACKETS"* ]]
    [[ "${lines[1]}" == "leaf1 port 100 ingress "*" 2,000 "* ]]
    [[ "${lines[2]}" == "10.255.0.2 port 101 ingress "*" 2,000 "* ]]
    [[ "${lines[6]}" == "all "*" 2,000 "* ]]
    run -0 counters show port --step 1h
    [[ "$output" == *"GROUP "*"FROM "*"leaf1 port 100 ingress "*" 2,000 "* ]]
    run -0 counters
    [[ "${lines[1]}" == "switch "*" switch"* && "${lines[2]}" == "port "*" port "*" tcp"* ]]
    run -2 counters show port --group-by port
    run -2 counters --step 1m
    run -2 counters show port --step soon
    run -1 counters show port --step 15s
    # What was added is there again in an analyzer that starts anew, as it was.
    kill -9 "${PIDS[0]}"
    wait "${PIDS[0]}" || :
    exec {COPIES}<>copies
    analyzer
    wait_until 20 has_port_groups
}

has_port_groups() { curl -sf "$URL/v1/counters/port" | jq -e '.group_by == "port" and .groups == []' >/dev/null; }

@test "load of ports and links" {
    analyzer
    play
    asks 200 "$URL/v1/load"
    fits Load answer
    jq -e '[.ports | sort_by(.port)[] | [.switch, .port, .direction, .packets, .bytes]] ==
        [range(5) | ["10.255.0.\(. + 1)", . + 100, "ingress", 1000, 54000]]' answer
    jq -e '[.links | sort_by(.from)[] | [.from, .to, .packets]] ==
        [range(1; 5) | ["10.255.0.\(.)", "10.255.0.\(. + 1)", 1000]] and .uncounted == 0' answer
    jq -e '[.switches | sort_by(.switch)[] | [.switch, .copies, .packets, .bytes]] ==
        [range(5) | ["10.255.0.\(. + 1)", 1000, 1000, 54000]]' answer
    asks 200 "$URL/v1/latency"
    fits Latency answer
    jq -e '.links == []' answer
    curl -sf "$URL/metrics" >metrics
    grep -qx 'everflow_port_packets_total{switch="10.255.0.2",port="101",direction="ingress"} 1000' metrics
    grep -qx 'everflow_link_bytes_total{from="10.255.0.1",to="10.255.0.2"} 54000' metrics
}

# The sum of what the answer's ports say they saw.
packets() { jq '[.ports[].packets] | add // 0' answer; }

# load_since_reading: the answer of the last second starts at a reading, behind all packets.
load_since_reading() {
    asks 200 -G "$URL/v1/load" -d start=-1s
    [ "$(packets)" = 0 ]
}

@test "load of a time span" {
    analyzer
    asks 200 -G "$URL/v1/load" -d start=-1h
    fits Load answer
    jq -e '.ports == [] and .span_s > 0 and .start < .end' answer
    play
    asks 200 -G "$URL/v1/load" -d start=-1h
    [ "$(packets)" = 5000 ]
    wait_until 20 load_since_reading
    jq -e '.span_s < 7 and ([.switches[].copies] | add) == 0 and (.links | length) == 4' answer
    asks 400 -G "$URL/v1/load" -d start=-1h -d end=2000-01-01T00:00:00Z
    jq -e '.error.code == "bad_time"' answer
    asks 200 -G "$URL/v1/load" -d start=2000-01-01T00:00:00Z -d end=now
    [ "$(packets)" = 5000 ]
    asks 400 -G "$URL/v1/load" -d start=soon
    asks 400 -G "$URL/v1/load" -d since=now
}

@test "what is not kept is counted, and every copy accounted for" {
    analyzer --keep 'tcp.srcport < 1034'
    play
    asks 200 "$URL/v1/status"
    fits AnalyzerStatus answer
    jq -e '.traces_stored == 10 and .traces_unkept == 990 and .drops.policy == 4950 and .copies_assembled == 50
        and .copies_received == .copies_assembled + ([.drops[]] | add) and .keep == "tcp.srcport < 1034"' answer
    asks 200 "$URL/v1/traces?limit=0"
    jq -e '.count == 10' answer
    asks 200 "$URL/v1/load"
    jq -e '[.ports[].packets] == [1000, 1000, 1000, 1000, 1000]' answer
}

@test "abnormal, debug, control and probe: nothing of plain traffic is kept" {
    analyzer --keep abnormal+debug+control+probe
    play
    asks 200 "$URL/v1/status"
    jq -e '.traces_stored == 0 and .traces_unkept == 1000 and .drops.policy == .copies_received' answer
    run -2 "$EF_BUILD/analyzer/ef-analyzer" --name x --source pcap:x --keep abnormal+debgu
    [[ "$output" == *"neither classes"* ]]
}

# controller OTHER-URL TOPOLOGY: for this analyzer and another one.
controller() {
    jq -n --arg url "$URL" --arg other "$1" '{listen: "127.0.0.1:18825", topology: "topology.json", reshufflers: [],
        analyzers: [{name: "counts", url: $url}, {name: "gone", url: $other}],
        everflow: {targets: ["10.1.0.21"], encap: "erspan3", classes: ["tcp_syn"]}}' >controller.json
    echo "$2" >topology.json
    "$EF_BUILD/controller/ef-controller" --config controller.json >controller.log 2>&1 3>&- {COPIES}>&- &
    PIDS+=($!)
    wait_until 10 curl -sf -o /dev/null http://127.0.0.1:18825/v1/status
}

NOWHERE=http://127.0.0.1:1
NO_TOPOLOGY='{"name": "none", "vip": "10.1.0.21", "switches": [], "hosts": []}'

counters() { "$EF_BUILD/utilities/efctl/efctl" --controller http://127.0.0.1:18825 counters "$@"; }
load_of() { "$EF_BUILD/utilities/efctl/efctl" --controller http://127.0.0.1:18825 load "$@"; }

@test "efctl counters: through the controller, which says whose part is missing" {
    analyzer
    controller "$NOWHERE" "$NO_TOPOLOGY"
    run -1 counters add low 'tcp.srcport < 1034'
    [[ "$output" == *"without gone: "* ]]
    run -1 counters add low udp
    [[ "$output" == *"another filter"* ]]
    run -1 counters add other 'tcp.prot'
    [[ "$output" == *"tcp.prot"* ]]
    play
    run -0 counters
    [[ "${lines[1]}" == "low "*" 10 "*"tcp.srcport < 1034"* ]]
    [[ "$output" == *"without gone: "* ]]
    run -0 counters show low
    [[ "$output" == *"all "*" 10 "* ]]
    counters show low --json | jq -e '.packets == 10 and ([.values[].packets] | add) == 10 and (.incomplete | length) == 1'
    # Joined by the controller; the sums stay.
    curl -sG http://127.0.0.1:18825/v1/counters/low -d step=1h >answer
    [ "$(jq -r '.interval_s, (.values | length <= 2), ([.values[].packets] | add), (.values[0].start | endswith(":00:00.000000000Z"))' answer | xargs)" = "3600 true 10 true" ]
    counters --json >answer
    fits Counters answer
    run -1 counters remove low
    run -1 counters show low
    [[ "$output" == *"no counter 'low'"* ]]
    run -2 counters add low
    run -1 counters show ../status
}

@test "efctl load: summed over the analyzers, with the topology's names" {
    analyzer
    # Asked twice, this analyzer is two that saw the same.
    controller "$URL" '{"name": "t", "vip": "10.1.0.21", "hosts": [], "switches": [{"name": "leaf1", "role": "leaf",
        "loopback": "10.255.0.1", "ovsdb": "unix:/nowhere", "ports": [{"number": 100, "name": "p", "peer": {"node": "h1"}}]}]}'
    run -0 load_of
    [[ "$output" == *"None."* ]]
    play
    load_of --json >answer
    fits Load answer
    jq -e '[.ports | sort_by(.port)[] | [.switch, .port, .direction, .packets, .bytes]] ==
        [range(5) | ["10.255.0.\(. + 1)", . + 100, "ingress", 2000, 108000]]' answer
    jq -e '[.switches[].copies] == [2000, 2000, 2000, 2000, 2000] and ([.links[].packets] | add) == 8000
        and (has("incomplete") | not)' answer
    jq -e '.ports[] | select(.port == 100) | .name == "leaf1" and .peer == "h1"' answer
    jq -e '[.links[] | select(.from_name == "leaf1") | .to] == ["10.255.0.2"]' answer
    run -0 load_of --last 1h
    [[ "$output" == *"leaf1 "*" 100 "*"h1 "*" ingress "*" 2,000 "* ]]
    [[ "$output" == *"leaf1 "*"10.255.0.2 "*" 2,000 "* ]]
    load_of --latency --json >answer
    fits Latency answer
    run -0 load_of --latency
    [[ "$output" == *"No probe"* ]]
    run -2 load_of --last 1h --start -5m
    run -2 load_of --latency --last 1h
    run -2 load_of --last soon
    run -2 load_of leaf1
    # shellcheck disable=SC2016
    run -0 timeout 20 bash -c '"$0" "$@" | sed 2q' "$EF_BUILD/utilities/efctl/efctl" \
        --controller http://127.0.0.1:18825 load --watch --last 10s
    [[ "${lines[0]}" == "Traced packets from "* ]]
}

@test "efctl load: says whose part is missing" {
    analyzer
    controller "$NOWHERE" "$NO_TOPOLOGY"
    play
    run -0 load_of
    [[ "$output" == *"without gone: "* ]]
    [[ "$output" == *"10.255.0.1 "*" 100 "*" 1,000 "* ]]
    run -0 load_of --latency
    [[ "$output" == *"without gone: "* ]]
}
