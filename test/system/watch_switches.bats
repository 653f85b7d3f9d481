#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the controller says by itself of links, switches and copies that fail, on a
# real fabric with real traffic: the right thing, once, and when it is over.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0
load common

NAME=watchsw PORT=18640

setup_file() {
    suite_begin $NAME $PORT --spines 2 --leaves 2 --hosts-per-leaf 1
    demo_fabric $NAME traffic start >&2
}

teardown_file() { suite_end $NAME; }

setup() { export EFCTL_CONTROLLER=http://127.0.0.1:$PORT; }

fabric() { demo_fabric $NAME "$@"; }

# alerts KIND STATE: "subject: summary" of each.
alerts() { efctl alert --all --json | jq -r --arg kind "$1" --arg state "$2" '.alerts[] | select(.kind == $kind and .state == $state) | "\(.subject): \(.summary)"'; }
# shellcheck disable=SC2053 # $3 is a pattern.
has() { [[ $(alerts "$1" "$2") == $3 ]]; }
active() { efctl alert --json | jq -r '.alerts | length'; }
copies_flow() { [ "$(efctl status --json | jq '[.analyzers[].copies_received] | add')" -gt 200 ]; }

@test "with everything in order there is no alert" {
    wait_until 60 copies_flow
    [ "$(active)" = 0 ]
}

@test "a link that goes down is named by both its ends, once, and resolved" {
    fabric fault add --kind link-down --at leaf2:spine2
    wait_until 10 has link open "leaf2-spine2: the link between * is down: port * has no carrier"
    [ "$(efctl alert --json | jq -c '[.alerts[] | select(.kind == "link")] | map(.evidence.link | [.from, .to] | sort)')" = '[["leaf2","spine2"]]' ]
    fabric fault clear all
    wait_until 10 has link resolved "leaf2-spine2: *"
    [ -z "$(alerts link open)" ]
}

# Its copies come in numbers, so that their end means something.
is_busy() {
    local before after
    before=$(copies_of "$1")
    read -rt 3 <> <(:) || :
    after=$(copies_of "$1")
    [ $((after - before)) -ge 10 ]
}
copies_of() { efctl status --json | jq --arg address "$(jq -r --arg name "$1" '.switches[] | select(.name == $name).loopback' "$(demo_topology $NAME)")" '[.reshufflers[].switches[$address].received // 0] | add'; }

@test "a switch whose ovs-vswitchd was killed is named, and resolved when it is back" {
    wait_until 60 is_busy spine1
    fabric fault add --kind switch-crash --at spine1
    wait_until 30 has switch open "spine1: spine1 has failed: no copy of a packet comes from it any more, and its ovs-vswitchd does not answer its database"
    fabric fault clear all
    wait_until 40 has switch resolved "spine1: *"
    [ -z "$(alerts switch open)" ]
    # It numbers its copies anew, which are none that came before.
    wait_until 40 began_anew spine1
}
of_switch() { efctl status --json | jq --arg address "$(jq -r --arg name "$1" '.switches[] | select(.name == $name).loopback' "$(demo_topology $NAME)")" "[.reshufflers[].switches[\$address].$2 // 0] | add"; }
began_anew() { [ "$(of_switch "$1" restarts)" = 1 ] && [ "$(of_switch "$1" duplicates)" = 0 ]; }

@test "copies that get lost are told of, and as what they are" {
    fabric fault add --kind mirror-loss --at leaf2 --rate 50% --seed 1
    wait_until 40 has copies open "leaf2: copies of packets are lost between the reshufflers and leaf2 (* so far): traces lack hops, packets themselves are not dropped"
    fabric fault clear all
    wait_until 90 has copies resolved "leaf2: none*" || wait_until 1 has copies resolved "leaf2: *"
}

@test "a switch none of whose copies arrives, though it makes some, loses copies: it has not failed" {
    wait_until 60 is_busy spine2
    fabric fault add --kind mirror-loss --at spine2 --rate 100% --seed 1
    wait_until 40 has copies open "spine2: copies of packets are lost between the reshufflers and spine2 (*"
    [ -z "$(alerts switch open)" ]
    fabric fault clear all
}

@test "copies of all that overrun the reshuffler's link are that link's, not each switch's" {
    local place
    place=$(jq -r '.hosts[] | select(.role == "reshuffler") | "\(.switch):\(.name)"' "$(demo_topology $NAME)")
    fabric fault add --kind queue --at "$place" --rate 40kbit
    wait_until 60 has copies open "*${place/:/>}: copies of packets are lost at the link from ${place%:*} to ${place#*:}, on the way of those of *"
    [ "$(efctl alert --json | jq --arg subject "${place/:/>}" '.alerts[] | select(.subject == $subject).evidence.switches | length >= 2')" = true ]
    fabric fault clear all
}
