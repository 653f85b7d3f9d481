#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The application "rdma" and its watcher on a real fabric: storms of pauses and where
# they begin, queue pairs that complain; and silence without either.

bats_require_minimum_version 1.5.0
load common

FABRIC=paused
PORT=18900

setup_file() {
    export DEMO_EVERFLOW='{"classes": ["tcp_syn", "tcp_fin", "tcp_rst", "debug", "pfc", "rdma_nack", "cnp"]}'
    suite_begin "$FABRIC" "$PORT" --spines 1 --leaves 2 --hosts-per-leaf 2
}

teardown_file() { suite_end "$FABRIC"; }
teardown() { fault clear all; }

api() { curl -s "http://127.0.0.1:$PORT/v1/$1" "${@:2}"; }
fault() { demo_fabric "$FABRIC" fault "$@"; }
is_over() { [ "$(api "diagnoses/$1" | jq -r .state)" != running ]; }
diagnose() { # OPTIONS: the answer in "$result"
    local id
    result=$BATS_TEST_TMPDIR/result
    id=$(api diagnoses -d "{\"app\": \"rdma\"$1}" | jq -r .id)
    wait_until 60 is_over "$id"
    api "diagnoses/$id" >"$result"
    jq -c '.verdict, .error, .progress[].text' "$result"
    [ "$(jq -r .state "$result")" = "done" ]
}
has_alerts() { [ "$(api 'alerts?state=active' | jq -c '[.alerts[] | [.kind, .subject]] | sort')" = "$1" ]; }

@test "without a fault there is nothing to say" {
    diagnose ', "duration_s": 4'
    jq -e '.verdict | .kind == "none" and .device == null' "$result"
    has_alerts '[]'
}

@test "a host that pauses its switch is found, and each pause has a trace" {
    fault add --kind pfc-storm --at h1 --rate 50
    wait_until 15 has_alerts '[["pfc","h1>leaf1"]]'
    diagnose ', "last_s": 5'
    jq -e '.verdict | .kind == "pause-storm" and .device == "h1" and .link.from == "h1" and .link.to == "leaf1" and .details.classes == 8' "$result"
    jq -e '(.evidence.traces | length) >= 1' "$result"
    efctl trace --ndjson --limit 0 macc | jq -es 'map(select(.hops)) | length > 20 and all(.[]; .n_hops == 1)'
    fault clear all
    wait_until 30 has_alerts '[]'
}

@test "pauses are followed to where they begin" {
    # h3 pauses leaf2, which pauses spine1, which pauses leaf1.
    fault add --kind pfc-storm --at h3 --rate 50
    fault add --kind pfc-storm --at leaf2:spine1 --rate 50
    fault add --kind pfc-storm --at spine1:leaf1 --rate 50
    begins_at_h3() { has_alerts '[["pfc","h3>leaf2"]]'; }
    wait_until 20 begins_at_h3
    diagnose ', "last_s": 5'
    jq -e '.verdict | .device == "h3" and .link.from == "h3" and .link.to == "leaf2"' "$result"
    jq -e '.evidence.storms | length == 3 and all(.[]; .device == "h3") and (map(select(.at == "leaf1"))[0].paused == ["leaf1", "spine1", "leaf2"])' "$result"
    fault clear all
    wait_until 30 has_alerts '[]'
}

@test "switches that pause each other in a circle are a deadlock" {
    fault add --kind pfc-storm --at spine1:leaf2 --rate 50
    fault add --kind pfc-storm --at leaf2:spine1 --rate 50
    wait_until 20 has_circle
    diagnose ', "last_s": 5'
    jq -e '.verdict | .kind == "pause-deadlock" and .details.circle' "$result"
    fault clear all
    wait_until 30 has_alerts '[]'
}
has_circle() { api 'alerts?state=active' | jq -e '.alerts | length > 0 and all(.[]; .kind == "pfc" and .evidence.circle)' >/dev/null; }

@test "queue pairs that lose packets, and receivers that are not ready" {
    fault add --kind rdma-nack --at h4 --rate 20
    rdma_alert() { api 'alerts?state=active' | jq -e '.alerts | length == 1 and .[0].kind == "rdma" and .[0].evidence.device == "h4"' >/dev/null; }
    wait_until 15 rdma_alert
    diagnose ', "last_s": 6'
    jq -e '.verdict | .kind == "rdma-nack" and .device == "h4" and .link.to == "leaf2" and .details.kind == "sequence" and .details.queue_pair == 257
        and .details.count >= 10 and (.class | contains("queue pair 0x101"))
        and .details.loss == null and (.summary | endswith("None of the packets in question was seen to be dropped or corrupted."))' "$result"
    fault clear all
    wait_until 30 has_alerts '[]'
    fault add --kind rdma-nack --at h2 --rate 20 --type rnr
    rnr_alert() { api 'alerts?state=active' | jq -e '.alerts[0].evidence | .device == "h2" and .kind == "rnr"' >/dev/null; }
    wait_until 15 rnr_alert
}

# RoCEv2 data (RC SEND only) from h2 to h4, some 20 a second, for a minute at most.
send_data() {
    local netns dst
    netns=$(jq -r '.hosts[] | select(.name == "h2").netns' "$(demo_topology "$FABRIC")")
    dst=$(jq -r '.hosts[] | select(.name == "h4").address' "$(demo_topology "$FABRIC")")
    # shellcheck disable=SC2016 # It is for the inner shell.
    timeout 60 ip netns exec "$netns" bash -c \
        'while :; do printf "\4\0\377\377\0\0\1\2\200\0\0\1some data1234" >"/dev/udp/$0/4791"; read -rt 0.05 <> <(:); done' \
        "$dst" 2>/dev/null 3>&- &
    sender=$!
}

@test "packets that a queue pair misses are tied to the link that dropped them" {
    api rules -d '{"name": "roce", "duration_s": 120, "rules": [{"name": "roce", "match": "udp,tp_dst=4791"}]}' | jq -e .name
    fault add --kind random-drop --at leaf1:spine1 --rate 50% --seed 1 --match "udp.dstport == 4791"
    fault add --kind rdma-nack --at h4 --rate 20
    send_data
    loss_alert() { api 'alerts?state=active' | jq -e '.alerts[] | select(.kind == "rdma").evidence | .device == "h4" and .loss.from == "leaf1" and .loss.to == "spine1"' >/dev/null; }
    wait_until 40 loss_alert
    diagnose ', "last_s": 6'
    kill "$sender"
    jq -e '.verdict | .kind == "rdma-nack" and .details.loss.from == "leaf1" and .details.loss.to == "spine1" and
        (.summary | test("dropped between leaf1 and spine1"))' "$result"
    jq -e '.evidence.traces as $all | .verdict.details.loss.traces | all(.[]; IN($all[]))' "$result"
}

@test "wrong orders are refused" {
    [[ $(api diagnoses -d '{"app": "rdma", "last_s": 0}' | jq -r .error.message) == "last_s: "* ]]
    [[ $(api diagnoses -d '{"app": "rdma", "lasts_s": 0}' | jq -r .error.message) == "lasts_s: unknown; did you mean last_s?" ]]
}
