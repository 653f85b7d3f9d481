#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The bookkeeping of the fault matrix, without a fabric: which runs are left, and
# what the tables say of those that were made.

bats_require_minimum_version 1.5.0

setup() {
    export PYTHONDONTWRITEBYTECODE=1
    matrix=$EF_SOURCE/test/fault-matrix
    results=$BATS_TEST_TMPDIR/results.jsonl
}

left() { # ARGUMENT...: how many runs are left
    "$matrix/matrix.py" --count --label 2x4 --results "$results" --kinds loop,delay --placements 2 "$@"
}

made() { # KIND NUMBER [MORE]: a run of the first seed
    local more=${3-}
    jq -nc --arg kind "$1" --argjson number "$2" --argjson more "${more:-null}" '
        {kind: $kind, number: $number, label: "2x4", seed: "1", fault: "--kind \($kind)", hit: true, has_link: true,
         has_class: false, seconds: {detected: 2, device: 2, link: 2}, said: [], wrong: [], late: [],
         took_s: 8, spent_s: {add: 1, verdict: 7}} + ($more // {})' >>"$results"
}

@test "an interrupted matrix goes on where it was, with the same seed" {
    [ "$(left)" = 6 ]
    made none 1
    made loop 1
    [ "$(left)" = 4 ]
    printf '{"kind": "delay", "numb' >>"$results" # It was cut off.
    [ "$(left)" = 4 ]
    [ "$(left --seed 2)" = 6 ]
    [ "$(left --first 2)" = 6 ]
    [ "$(left --first 2 --placements 1)" = 3 ]
    made delay 1 # Behind half a line: lost with it, never a wrong result.
    run ! left
    sed -i '$d' "$results"
    printf '{"half' >>"$results"
    python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import plan; plan.cut_half_line(sys.argv[2])' "$matrix" "$results"
    made delay 1
    [ "$(left)" = 3 ]
}

@test "the time that is left is what runs of those kinds took" {
    made none 1 '{"took_s": 12}'
    made loop 1 '{"took_s": 6}'
    run -0 python3 -c '
import sys; sys.path.insert(0, sys.argv[1]); import plan
results = plan.read(sys.argv[2])
print(plan.time_left([("none", 2), ("loop", 2), ("delay", 1)], results), plan.time_left([("none", 1)], []) > 0)
' "$matrix" "$results"
    [ "$output" = "27 True" ]
}

@test "the tables have a line for each kind, and count what met no packet not" {
    made loop 1
    made loop 2 '{"seconds": {"detected": 4, "device": 4}, "wrong": ["leaf9 is down"]}'
    made loop 3 '{"hit": false, "seconds": {}}'
    made none 1 '{"fault": null, "wrong": ["smoke"]}'
    made loop 1 '{"label": "3x6", "seconds": {}}'
    run -0 "$matrix/table.py" --readme "$results"
    [ "${lines[0]}" = "| fault | runs | detected | device | link | class | to the device, s (median / worst) | wrong |" ]
    [ "${lines[2]}" = "| loop | 3 | 67 % | 67 % | 33 % | - | 3.0 / 4.0 | 1 |" ]
    [ "${lines[3]}" = "| none | 1 | - | - | - | - | - | 1 |" ]
    [ "${#lines[@]}" = 4 ]
    run -0 "$matrix/table.py" "$results"
    [ "${lines[2]}" = "| 2x4 | loop | 2 | 100 % | 100 % | 50 % | - | 3.0 / 4.0 | 1 |" ]
    [ "${lines[4]}" = "| 3x6 | loop | 1 | 0 % | 0 % | 0 % | - | - | 0 |" ]
    run -0 "$matrix/table.py" --wrong "$results"
    [ "${lines[0]}" = "2x4 loop 2 (--kind loop): leaf9 is down" ]
    [ "${#lines[@]}" = 2 ]
    run -0 --separate-stderr "$matrix/table.py" --times "$results"
    [ "${lines[2]}" = "| 2x4 | loop | 3 | 8.0 | add 1.0, verdict 7.0 |" ]
}

@test "of two matrices the second one leaves the first alone" {
    export MATRIX_LOCK=$BATS_TEST_TMPDIR/lock
    flock -F "$MATRIX_LOCK" sleep 60 3>&- &
    local holder=$!
    locked() { ! flock -n "$MATRIX_LOCK" true; }
    for _ in $(seq 100); do ! locked || break; sleep 0.1; done
    run -1 "$matrix/run"
    kill "$holder"
    [ "$output" = "fault-matrix: another one runs ($MATRIX_LOCK); wait for its end" ]
}
