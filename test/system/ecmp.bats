#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The application "ecmp" and its watcher on a real fabric: a switch that sends most
# flows one way is found, for all traffic or for the prefix that is hit; heavy flows
# are no alarm.

bats_require_minimum_version 1.5.0
load common

FABRIC=skewed
PORT=18860

setup_file() {
    export DEMO_EVERFLOW='{"decap": true, "probe_sources": ["10.1.0.11"]}'
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 3 --hosts-per-leaf 1
    demo_fabric "$FABRIC" traffic start --connections 40 --datagrams 0 --seed 7
}

teardown_file() { suite_end "$FABRIC"; }
teardown() { fault clear all; }

api() { curl -s "http://127.0.0.1:$PORT/v1/$1" "${@:2}"; }
fault() { demo_fabric "$FABRIC" fault "$@"; }
is_over() { [ "$(api "diagnoses/$1" | jq -r .state)" != running ]; }
diagnose() { # OPTIONS: the answer in "$result"
    local id
    result=$BATS_TEST_TMPDIR/result
    id=$(api diagnoses -d "{\"app\": \"ecmp\"$1}" | jq -r .id)
    wait_until 80 is_over "$id"
    api "diagnoses/$id" >"$result"
    jq -c '.verdict, .error, .progress[].text' "$result"
    [ "$(jq -r .state "$result")" = "done" ]
}
alerts() { api 'alerts?state=active' | jq -c '[.alerts[] | [.kind, .subject]]'; }
has_alerts() { [ "$(alerts)" = "$1" ]; }
counters() { api counters | jq -c .counters; }
no_counters() { [ "$(counters)" = "[]" ]; }

@test "even shares are no alarm, nor are heavy flows" {
    # One connection of which every packet is traced, beside the background.
    api rules -d '{"name": "heavy", "rules": [{"name": "a", "match": "icmp", "action": "mark"}]}'
    ip netns exec "ef-$FABRIC-h1" ping -q -i 0.01 -c 1000 10.2.0.11 &
    diagnose ', "duration_s": 12'
    wait $!
    jq -e '.verdict | .kind == "none" and .device == null and (.summary | contains("evenly"))' "$result"
    [ "$(alerts)" = "[]" ]
    api rules/heavy -X DELETE
}

@test "a skewed switch is found, with the link and all traffic" {
    fault add --kind ecmp-skew --at leaf2:spine1 --rate 95%
    wait_until 25 has_alerts '[["ecmp","leaf2"]]'
    # (With the first few flows one does not know yet which are hit.)
    all_traffic() { api 'alerts?state=active' | jq -e '.alerts[0].evidence | .device == "leaf2" and .link.to == "spine1" and .class == "all traffic"' >/dev/null; }
    wait_until 30 all_traffic
    diagnose ', "switch": "leaf2"'
    jq -e '.verdict | .kind == "ecmp" and .device == "leaf2" and .link.from == "leaf2" and .link.to == "spine1"
        and .class == "all traffic" and (.details.prefixes | length == 2 and all(.[]; .uneven))' "$result"
    # Finer counters were installed for that, have counted, and are removed again.
    jq -e '[.progress[].text] | any(.[]; test("[1-9][0-9]* finer counters by prefix"))' "$result"
    jq -e '.evidence.counters.flows >= 30' "$result"
    wait_until 5 no_counters
    fault clear all
    wait_until 60 has_alerts '[]'
}

@test "if only one prefix is hit, it is named" {
    fault add --kind ecmp-skew --at leaf1:spine2 --rate 98% --match 'ip.dst == 10.3.0.0/24'
    wait_until 40 has_alerts '[["ecmp","leaf1"]]'
    diagnose ', "switch": "leaf1"'
    jq -e '.verdict | .device == "leaf1" and .link.to == "spine2" and (.class | contains("10.3.0.0/24") and (contains("10.2.0") | not))' "$result"
    wait_until 5 no_counters
}

@test "what was wrong in an order is said" {
    [ "$(api diagnoses -d '{"app": "ecmp", "switch": "leaf9"}' | jq -r .error.message)" = "switch: the topology has no 'leaf9'" ]
    [[ $(api diagnoses -d '{"app": "ecmp", "swich": "leaf1"}' | jq -r .error.message) == "swich: unknown; did you mean switch?" ]]
}
