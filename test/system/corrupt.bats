#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Packets that a link corrupts, on a real fabric: the link is named, and nobody is said to
# drop them; and silence without a fault, also for probes, whose checksums are wrong on purpose.

bats_require_minimum_version 1.5.0
load common

FABRIC=garbled
PORT=18960

setup_file() {
    export DEMO_EVERFLOW='{"decap": true, "probe_sources": ["10.1.0.11"]}' DEMO_PROBER=h1
    suite_begin "$FABRIC" "$PORT" --spines 1 --leaves 2 --hosts-per-leaf 2
    demo_fabric "$FABRIC" traffic start --connections 40 --datagrams 0 --seed 7 >&2
}

teardown_file() {
    demo_fabric "$FABRIC" traffic stop >&2
    suite_end "$FABRIC"
}
teardown() { fault clear all; }

api() { curl -s "http://127.0.0.1:$PORT/v1/$1" "${@:2}"; }
efctl() { "$EF_BUILD/utilities/efctl/efctl" --controller "http://127.0.0.1:$PORT" "$@"; }
fault() { demo_fabric "$FABRIC" fault "$@"; }
has_traces() { [ "$(efctl trace --ndjson --limit 50 "${@:2}" | jq -s 'map(select(.hops)) | length')" -ge "$1" ]; }
has_alerts() { [ "$(api 'alerts?state=active' | jq -c '[.alerts[] | select(.kind != "latency" and .kind != "ecmp") | [.kind, .subject]] | sort')" = "$1" ]; }
corrupt_alert() { api 'alerts?state=active&kind=corrupt' | jq -e ".alerts | length == 1 and (.[0] | $1)" >/dev/null; }

@test "without a fault nothing is corrupt, and probes are not" {
    wait_until 30 has_traces 50
    efctl probe dst=h3 via=leaf1,spine1,leaf1 proto=tcp dst-port=443 --count 20 >&2
    wait_until 30 has_traces 10 --condition trace.probe
    [ "$(api load | jq '[.links[].corrupted] | add')" -eq 0 ]
    has_alerts '[]'
    run ! has_traces 1 --condition trace.corrupt
}

@test "a link that corrupts every packet is named, with how many of how many" {
    fault add --kind corrupt --at spine1:leaf2 --match tcp --rate 1
    certain() {
        corrupt_alert '.subject == "spine1>leaf2" and .severity == "critical" and .evidence.device == "spine1"
            and .evidence.link.from == "spine1" and .evidence.link.to == "leaf2" and .evidence.corrupted > 2
            and .evidence.packets >= .evidence.corrupted'
    }
    wait_until 30 certain
    [[ $(api 'alerts?state=active&kind=corrupt' | jq -r '.alerts[0].summary') == "The link spine1 - leaf2 corrupts packets: "* ]]
    # Nobody else is charged with it.
    has_alerts '[["corrupt","spine1>leaf2"]]'
    efctl trace --ndjson --limit 20 --condition trace.corrupt >"$BATS_TEST_TMPDIR/traces"
    jq -es 'map(select(.hops)) | length > 0 and all(.[]; .corrupt and (.hops | map(select(.corrupt)) | length == 1 and .[0].name == "leaf2"))' "$BATS_TEST_TMPDIR/traces"
    [ "$(api load | jq '[.links[] | select(.corrupted > 0) | .from_name + ">" + .to_name] | unique | join(" ")' -r)" = "spine1>leaf2" ]
    curl -s "http://127.0.0.1:$((PORT + 1))/metrics" "http://127.0.0.1:$((PORT + 2))/metrics" | awk '/^everflow_corrupt_total/ {n += $2} END {exit n == 0}'
    fault clear all
    wait_until 60 has_alerts '[]'
}

@test "the other direction is another link, and one in ten is enough" {
    fault add --kind corrupt --at leaf1:spine1 --match tcp --rate 0.1 --seed 3
    rare() { corrupt_alert '.subject == "leaf1>spine1" and .evidence.device == "leaf1"'; }
    wait_until 60 rare
    fault clear all
    wait_until 60 has_alerts '[]'
}
