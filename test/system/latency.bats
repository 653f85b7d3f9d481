#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The application "latency" and the watcher of links on a real fabric: a delay that
# is put on one link is found on that link and no other, and without one nothing is.

bats_require_minimum_version 1.5.0
load common

FABRIC=slow
PORT=18840

# The controller anew, with nothing learned.
restart_controller() {
    demo_kill "$(demo_directory "$FABRIC")/controller.pid"
    demo_daemon "$FABRIC" controller controller/ef-controller --config "$(demo_directory "$FABRIC")/controller.json"
    demo_wait_configured "$FABRIC" "$PORT"
}

setup_file() {
    export DEMO_EVERFLOW='{"decap": true, "probe_sources": ["10.1.0.11"]}' DEMO_PROBER=h1
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 3 --hosts-per-leaf 1
    # The links are learned faster.
    local configuration
    configuration=$(demo_directory "$FABRIC")/controller.json
    jq '.watchers = {latency_s: 1}' "$configuration" >"$BATS_FILE_TMPDIR/c" && cp "$BATS_FILE_TMPDIR/c" "$configuration"
    restart_controller
}

teardown_file() { suite_end "$FABRIC"; }
teardown() { demo_fabric "$FABRIC" fault clear all; }

api() { curl -s "http://127.0.0.1:$PORT/v1/$1" "${@:2}"; }
fault() { demo_fabric "$FABRIC" fault "$@"; }
is_over() { [ "$(api "diagnoses/$1" | jq -r .state)" != running ]; }
learned() { api status | jq -e '.link_watch.links == 6 and .link_watch.learned == 6' >/dev/null; }

# diagnose SRC DST: the application's answer in "$result".
diagnose() {
    local id
    result=$BATS_TEST_TMPDIR/result
    id=$(api diagnoses -d "{\"app\": \"latency\", \"src\": \"$1\", \"dst\": \"$2\"}" | jq -r .id)
    wait_until 80 is_over "$id"
    api "diagnoses/$id" >"$result"
    jq -c '.verdict, .error, .progress[].text, (.evidence.links[] | [.a, .b, .between, .added_us, .noise_us])' "$result"
    [ "$(jq -r .state "$result")" = "done" ]
}

# names LINK US: the verdict is that link, and so many us, give or take 10 % or 20 us, or on a
# busy machine within the interval that it says itself.
names() {
    jq -e --arg link "$1" --argjson us "$2" '.verdict | .kind == "latency" and ([.link.from, .link.to] | sort | join("-")) == $link
        and (.details | (.added_us - $us | fabs) <= ([$us / 10, 20] | max) or (.interval_us[0] <= $us and $us <= .interval_us[1]))' "$result" >/dev/null
}

# finds SRC DST LINK US: on a machine that is busy with other things so small a delay may not
# stand out, or not all the time; then it is said what its noise floor is, but another link is never named.
finds() {
    local _
    for _ in 1 2 3; do
        diagnose "$1" "$2"
        ! names "$3" "$4" || return 0
        jq -e --arg link "$3" --argjson us "$4" '.verdict | (.kind == "none" and (.details | .added_us < .noise_floor_us or (.added_us < 2 * $us)) and (.summary | contains("noise floor"))) or
            (.kind == "latency" and ([.link.from, .link.to] | sort | join("-")) == $link)' "$result"
    done
    echo "# this machine is too busy for $4 us: $(jq -r .verdict.summary "$result")" >&3
}

@test "a millisecond on a link, without any history: the link, and who sends late" {
    fault add --kind delay --at leaf2:spine1 --delay 1ms
    diagnose h1 h2
    names leaf2-spine1 1000
    jq -e '.verdict | .device == "leaf2" and .link.from == "leaf2" and .link.to == "spine1" and .persistent' "$result"
    # Their SYNs are not marked any more.
    [ "$(api rules)" = '{"rule_sets":[]}' ]
    fault clear all
    restart_controller # It has learned from a fault.
}

@test "without a fault none is found, and the links of their packets are known" {
    wait_until 240 learned
    # Two that talk: the traces of their SYNs tell which links they use.
    ip netns exec "ef-$FABRIC-h2" "$EF_SOURCE/test/system/listening.py" server 7100 >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/pid"
    wait_until 10 grep -q ready "$BATS_TEST_TMPDIR/server"
    for _ in 1 2 3; do ip netns exec "ef-$FABRIC-h1" bash -c ': >/dev/tcp/10.2.0.11/7100'; done
    diagnose h1 h2
    kill "$(cat "$BATS_TEST_TMPDIR/pid")"
    jq -e '.verdict.kind == "none" and .verdict.device == null and .verdict.link == null' "$result"
    jq -e '.evidence.links | map(select(.between)) | length == 4 and all(.[]; [.a, .b] | any(. == "leaf1" or . == "leaf2"))' "$result"
    jq -e '(.evidence.links[0].series | length) > 1 and (.evidence.probes | length) >= 12' "$result"
}

@test "200 us are found on their link and no other, unless there is more noise" {
    wait_until 240 learned
    fault add --kind delay --at spine2:leaf3 --delay 200us
    finds h1 h3 leaf3-spine2 200
    jq -e '.verdict.details.compared_with == "history"' "$result"
}

@test "50 us are found on their link and no other, unless there is more noise" {
    wait_until 240 learned
    fault add --kind delay --at leaf1:spine1 --delay 50us
    finds h1 h2 leaf1-spine1 50
}

@test "a queue is told from a delay" {
    wait_until 240 learned
    fault add --kind queue --at leaf2:spine2 --rate 2mbit
    # Bursts that fill it for some milliseconds, all of which go that way.
    bash -c 'while sleep 0.2; do '"$EF_BUILD"'/guided-prober/ef-prober --topology '"$(demo_topology "$FABRIC")"' --sink ip@ef-'"$FABRIC"'-h1 \
        --dst leaf2 --via leaf2,spine2,leaf2 --length 1200 --count 8 --interval 1ms >/dev/null 2>&1; done' 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/pid"
    diagnose h1 h2
    kill "$(cat "$BATS_TEST_TMPDIR/pid")"
    jq -e '.verdict | (.kind == "queue" or .kind == "latency") and ([.link.from, .link.to] | sort) == ["leaf2", "spine2"]' "$result"
}

@test "the watcher raises an alert for a link that becomes slow, and takes it back" {
    wait_until 240 learned
    alert() { api 'alerts?state=active' | jq -e '.alerts | length == 1 and .[0].kind == "latency" and .[0].subject == "leaf3-spine1"' >/dev/null; }
    none() { api 'alerts?state=active' | jq -e '.alerts == []' >/dev/null; }
    wait_until 60 none
    fault add --kind delay --at leaf3:spine1 --delay 1ms
    wait_until 20 alert
    api 'alerts?state=active' | jq -e '.alerts[0].evidence | (.added_us > 500) and ([.link.from, .link.to] | sort) == ["leaf3", "spine1"]'
    # Who sends late is found, too, if this machine is not too busy for that; another is never named.
    sent_by() { api 'alerts?state=active' | jq -e '.alerts[0].evidence | .device == "leaf3" and .link.to == "spine1" and .direction == "one"' >/dev/null; }
    wait_until 60 sent_by || api 'alerts?state=active' | jq -e '.alerts | all(.[]; .evidence | .device == null and .direction == "unknown")'
    fault clear all
    wait_until 60 none
}

@test "wrong orders are refused" {
    refusal() { api diagnoses -d "$1" | jq -r .error.message | tee -a "$BATS_TEST_TMPDIR/refusals"; }
    [ "$(refusal '{"app": "latency", "src": "h1"}')" = "dst: missing" ]
    [ "$(refusal '{"app": "latency", "src": "h1", "dst": "h9"}')" = "dst: the topology has no host 'h9'" ]
    [[ $(refusal '{"app": "latency", "src": "h1", "dst": "10.1.0.11"}') == "dst: both are at leaf1"* ]]
    [[ $(refusal '{"app": "latency", "src": "h1", "dst": "h2", "filter": "tcp.prot"}') == "filter: "*"'tcp.prot'"* ]]
    [[ $(refusal '{"app": "latency", "src": "h1", "dst": "h2", "duration_s": 0}') == "duration_s: "* ]]
}
