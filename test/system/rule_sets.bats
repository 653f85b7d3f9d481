#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run sets status and output.
# Rules that switches have for a time (/v1/rules), at real switches: they take
# effect, end on time, and do so even without the controller.

bats_require_minimum_version 1.5.0
load common

FABRIC=ruled
PORT=18880

setup_file() { suite_begin "$FABRIC" "$PORT" --spines 1 --leaves 2 --hosts-per-leaf 1; }
teardown_file() { suite_end "$FABRIC"; }
teardown() {
    local name
    for name in $(api rules | jq -r '.rule_sets[].name'); do api "rules/$name" -X DELETE >"$BATS_TEST_TMPDIR/end"; done
}

api() { curl -s "http://127.0.0.1:$PORT/v1/$1" "${@:2}"; }
switch_has() { # SWITCH RULE STATE
    api switches | jq -e --arg s "$1" --arg r "$2" --arg t "$3" \
        '.switches[] | select(.name == $s) | .rules[] | select(.name == $r).status.state == $t' >/dev/null
}
has_none() { api switches | jq -e '[.switches[].rules[]] == []' >/dev/null; }
# What the switch itself does, by its own word.
rules_at() { demo_fabric "$FABRIC" exec "$1" -- ovs-appctl everflow/show | grep -c '^rule ' || :; }
n_rules_at() { [ "$(rules_at "$1")" = "$2" ]; }
set_is() { api rules | jq -e --arg n "$1" --arg s "$2" '.rule_sets[] | select(.name == $n).state == $s' >/dev/null; }
n_traces() { [ "$(efctl trace --ndjson --limit 0 "$1" | grep -c '"hops"')" = "$2" ]; }
ping_h2() { ip netns exec "ef-$FABRIC-h1" ping -c 1 -W 2 -p "$1" 10.2.0.11 >/dev/null; }

@test "a set of rules takes effect at its switches, and ends when it is removed" {
    api rules -d '{"name": "pings", "switches": ["leaf1"], "duration_s": 600,
                   "rules": [{"name": "icmp", "match": "icmp,icmp_type=8", "action": "mark"}]}' >"$BATS_TEST_TMPDIR/set"
    fits RuleSet <"$BATS_TEST_TMPDIR/set"
    jq -e '.state == "pending" and .switches == ["leaf1"] and .rules[0].name == "@operator/pings/icmp"' "$BATS_TEST_TMPDIR/set"
    wait_until 5 set_is pings installed
    api rules | fits RuleSets
    switch_has leaf1 @operator/pings/icmp active
    n_rules_at leaf1 1
    n_rules_at leaf2 0
    # What leaf1 marks, all switches copy.
    ping_h2 01
    wait_until 10 n_traces 'icmp.type == 8' 1
    efctl trace --ndjson 'icmp.type == 8' | jq -es '[.[0].hops[].name] == ["leaf1", "spine1", "leaf2"]'
    [ "$(api rules/pings -X DELETE | jq -r .name)" = pings ]
    wait_until 2 has_none
    wait_until 2 n_rules_at leaf1 0
    [ "$(api rules)" = '{"rule_sets":[]}' ]
    [ "$(api rules/pings -X DELETE | jq -r .error.code)" = no_rules ]
}

@test "a set that expires is gone from the switches within 2 s" {
    api rules -d '{"name": "short", "duration_s": 3, "rules": [{"name": "a", "match": "udp,tp_dst=4000"}]}'
    wait_until 3 set_is short installed
    gone() { [ "$(api rules)" = '{"rule_sets":[]}' ]; }
    wait_until 5 gone
    wait_until 2 has_none
    for s in leaf1 leaf2 spine1; do n_rules_at $s 0; done
}

@test "what a switch refuses is told, and is not the switch's error" {
    api rules -d '{"name": "wrong", "rules": [{"name": "a", "match": "tcp,tp_port=80"}]}'
    wait_until 5 set_is wrong refused
    api rules | jq -e '.rule_sets[0].error | contains("refuses rule '"'a'"'") and contains("tp_port")'
    efctl status --json | jq -e '.switches.configured == 3'
    api rules/wrong -X DELETE
    wait_until 2 has_none
    [ "$(api rules -d '{"name": "a"}' | jq -r .error.message)" = "rules: missing" ]
    [ "$(api rules -d '{"name": "a", "rules": [], "duration_s": 0}' | jq -r .error.code)" = bad_request ]
    [ "$(api rules -d '[' | jq -r .error.code)" = bad_request ]
}

@test "without its controller a switch stops by itself; a new controller clears away" {
    local directory
    directory=$(demo_directory "$FABRIC")
    api rules -d '{"name": "left", "duration_s": 4, "rules": [{"name": "a", "match": "udp,tp_dst=4000"}]}'
    wait_until 3 set_is left installed
    demo_kill "$directory/controller.pid" KILL
    n_rules_at leaf1 1
    expired() { demo_fabric "$FABRIC" exec leaf1 -- ovs-appctl everflow/show | grep -q '^rule .*(expired)$'; }
    wait_until 8 expired
    demo_daemon "$FABRIC" controller controller/ef-controller --config "$directory/controller.json"
    wait_until 10 has_none
    wait_until 2 n_rules_at leaf1 0
    efctl status --json | jq -e '.switches.configured == 3'
}
