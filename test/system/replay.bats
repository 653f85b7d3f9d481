#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ef-replay, as a new user would use it: copies with a known story go to an
# analyzer, which must tell the same story.

bats_require_minimum_version 1.5.0
load common

PORT=18851
URL=http://127.0.0.1:$PORT

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    "$EF_BUILD/utilities/replay/ef-replay" --packets 4000 --rate 40000 --lost 1% --duplicated 1% --reorder 5ms \
        --loops 1% --drops 1% --muxed 1% --debug 5% --sink pcap:copies.pcap --truth truth --truth-all >said
    "$EF_BUILD/analyzer/ef-analyzer" --name offline --source pcap:copies.pcap --http 127.0.0.1:$PORT >log 2>&1 3>&- &
    echo $! >pid
    wait_until 10 all_there
    curl -sf "$URL/v1/traces?limit=0&format=ndjson" >traces
}

teardown_file() {
    kill "$(cat "$BATS_FILE_TMPDIR/pid")"
}

# Every packet of which a copy arrived.
all_there() {
    local n
    n=$(jq -s '[.[] | select(.packet and (.path | length) > (.lost | length))] | length' "$BATS_FILE_TMPDIR/truth")
    curl -sf "$URL/v1/status" | jq -e --argjson n "$n" '.traces_stored == $n' >/dev/null
}

# Joins the traces with the truth, by id: what is printed is wrong.
compare() { # JQ_OF_TRACE JQ_OF_TRUTH
    jq -s -c --slurpfile truth "$BATS_FILE_TMPDIR/truth" \
        '($truth | map(select(.id)) | INDEX(.id)) as $is
         | .[] | select(.id) | {id, said: ('"$1"'), is: ($is[.id] | '"$2"')} | select(.said != .is)' \
        "$BATS_FILE_TMPDIR/traces"
}

@test "it says how many copies it sent, as many as arrived" {
    run -0 cat "$BATS_FILE_TMPDIR/said"
    [[ $output =~ ^([0-9]+)\ copies\ in\ [0-9.]+\ s$ ]]
    [ "${BASH_REMATCH[1]}" = "$(jq 'select(.end).copies.arrived' "$BATS_FILE_TMPDIR/truth")" ]
    curl -sf "$URL/v1/status" | jq -e --argjson n "${BASH_REMATCH[1]}" '.copies_received == $n and .copies_assembled == $n'
}

@test "each trace has the switches of the truth, in order, less the lost copies" {
    run -0 compare '[.hops[].switch]' '[.lost as $lost | .path | to_entries[] | select(.key | IN($lost[]) | not).value]'
    [ -z "$output" ]
}

@test "repeated copies are told from hops" {
    run -0 compare .n_duplicates '(.duplicated | length)'
    [ -z "$output" ]
}

@test "debug packets are told from others" {
    run -0 compare .debug .debug
    [ -z "$output" ]
}

@test "loops are found where no lost copy hides them, and nowhere else" {
    run -0 compare .loop '(.kind == "loop")'
    [ -z "$output" ]
}

@test "the same seed and start give the same truth, another seed another" {
    cd "$BATS_TEST_TMPDIR"
    for seed in 5 5 6; do
        "$EF_BUILD/utilities/replay/ef-replay" --seed $seed --lost 5% --speed 0 --start 2026-11-21T00:00:00Z \
            --sink pcap:/dev/null --truth "truth$((++n))"
    done
    cmp truth1 truth2
    run -1 cmp -s truth1 truth3
}

@test "a capture is played as it is" {
    cd "$BATS_TEST_TMPDIR"
    run -0 "$EF_BUILD/utilities/replay/ef-replay" --capture "$BATS_FILE_TMPDIR/copies.pcap" --speed 0 --sink pcap:again.pcap
    cmp <(tshark -r "$BATS_FILE_TMPDIR/copies.pcap" -T fields -e frame.len -e ip.src -e gre.sequence_number 2>/dev/null) \
        <(tshark -r again.pcap -T fields -e frame.len -e ip.src -e gre.sequence_number 2>/dev/null)
}

@test "wrong options say what is wrong and what to do" {
    local replay=$EF_BUILD/utilities/replay/ef-replay
    run -2 --separate-stderr "$replay"
    [[ $stderr == *"--sink is required"* ]]
    run -2 --separate-stderr "$replay" --sink ip --lost 101%
    [[ $stderr == *"--lost: '101' is not a number from 0 to 100"* ]]
    run -2 --separate-stderr "$replay" --sink ip --capture x --packets 5
    [[ $stderr == *"--capture plays a file as it is"* ]]
    run -2 --separate-stderr "$replay" --sink ip --loop 1%
    [[ $stderr == *"did you mean --loops?"* ]]
    run -2 --separate-stderr "$replay" --sink ip --loops 60% --drops 60%
    [[ $stderr == *"more than 1 together"* ]]
    run -1 --separate-stderr "$replay" --sink ip --capture /nonexistent
    [[ $stderr == *"/nonexistent"* ]]
}
