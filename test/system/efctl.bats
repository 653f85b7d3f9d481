#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# efctl as its user meets it: answers, errors and exit statuses, against a real
# HTTP server with canned documents, a daemon's control socket, and the real
# controller. What exactly is drawn is tested by test/unit/efctl.

bats_require_minimum_version 1.5.0
load common

GOLDEN=$EF_SOURCE/test/golden/efctl

setup_file() {
    export CANNED=$BATS_FILE_TMPDIR/canned
    mkdir "$CANNED"
    "$EF_SOURCE/test/system/canned_http.py" "$CANNED" >"$BATS_FILE_TMPDIR/canned.log" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/canned.pid"
    wait_until 10 test -s "$CANNED/port"
    unset EFCTL_CONTROLLER
    URL=http://127.0.0.1:$(cat "$CANNED/port")
    export URL
    export NO_COLOR=
}

teardown_file() {
    kill "$(cat "$BATS_FILE_TMPDIR/canned.pid")"
}

# What the controller would answer: the documents of the golden tests, traces
# as one line each.
setup() {
    export EFCTL_CONTROLLER=$URL
    rm -f "$CANNED"/v1_* "$CANNED/requests"
    can_traces trace
    cp "$GOLDEN/topology.json" "$CANNED/v1_topology"
    cp "$GOLDEN/switches.json" "$CANNED/v1_switches"
    cp "$GOLDEN/status.json" "$CANNED/v1_status"
}

can_traces() { # NAME
    jq -c '.traces[], ({end: true} + (. | del(.traces)))' \
        "$GOLDEN/$1.json" >"$CANNED/v1_traces.new"
    mv "$CANNED/v1_traces.new" "$CANNED/v1_traces"
}

# The last request for traces, decoded.
asked() {
    grep /v1/traces "$CANNED/requests" | tail -n 1 | sed 's/%/\\x/g' | xargs -0 printf '%b'
}

@test "each command draws what the controller answers" {
    diff "$GOLDEN/trace.txt" <(efctl trace)
    diff "$GOLDEN/topology.txt" <(efctl topology)
    diff "$GOLDEN/status.txt" <(efctl status | sed "s,$URL,http://127.0.0.1:8780,")
    # Without the columns from SINCE on, which depend on the time of day.
    diff <(cut -c1-70 "$GOLDEN/switches.txt") <(efctl switches | cut -c1-70)
}

@test "--json is the controller's document" {
    for what in topology switches status; do
        diff <(jq -S . "$CANNED/v1_$what") <(efctl $what --json | jq -S .)
    done
    diff <(jq -S . "$GOLDEN/trace.json") <(efctl trace --json | jq -S .)
    can_traces trace-more
    diff <(jq -S . "$GOLDEN/trace-more.json") <(efctl --controller "$URL" trace --json | jq -S .)
}

@test "--ndjson passes a line per trace and the last line" {
    efctl trace --ndjson >"$BATS_TEST_TMPDIR/lines"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" = 3 ]
    diff <(jq -S . "$CANNED/v1_traces") <(jq -S . "$BATS_TEST_TMPDIR/lines")
}

@test "the question is what the operator wrote" {
    efctl trace >/dev/null
    [ "$(asked)" = "/v1/traces?limit=10&format=ndjson" ]
    efctl trace ip.dst == 10.4.0.11 '&&' tcp --condition 'trace.hops > 2' --last 5m -n 0 >/dev/null
    [ "$(asked)" = "/v1/traces?filter=ip.dst == 10.4.0.11 && tcp&condition=trace.hops > 2&start=-5m&limit=0&format=ndjson" ]
    efctl trace --start 2026-11-21T02:30:00+01:00 --end now >/dev/null
    [ "$(asked)" = "/v1/traces?start=2026-11-21T02:30:00+01:00&end=now&limit=10&format=ndjson" ]
}

@test "--id shows one trace in full, by the beginning of its id" {
    run efctl trace --id 51c0
    [ "$status" -eq 0 ]
    [[ $output == *"id 51c0ffee00000002"*"hop 1 "*"0000 "* ]]
    [[ $output != *3f2a9c01d4e5b677* ]]
    run efctl trace --id 77
    [ "$status" -eq 1 ]
    [ "$output" = "efctl: no trace has an id that begins with 77; old traces make room for new ones" ]
    jq -cn '{end: true, count: 0, more: false, incomplete: [{analyzer: "analyzer2", error: "it is down"}]}' >"$CANNED/v1_traces"
    run efctl trace --id 51c0
    [ "$status" -eq 1 ]
    [ "$output" = "efctl: no trace has an id that begins with 51c0; but analyzer2, which may have it, did not answer" ]
    can_traces trace
    run efctl trace --id 0x12
    [ "$status" -eq 2 ]
}

@test "an empty or partial answer says so" {
    can_traces trace-none
    run efctl trace
    [ "$status" -eq 0 ]
    [[ $output == "No trace matches."* ]]
    can_traces trace-more
    run efctl trace
    [[ $output == *"for all --all"*"Incomplete: analyzer2 did not answer: "* ]]
}

@test "status fails if something is down" {
    cp "$GOLDEN/status-bad.json" "$CANNED/v1_status"
    run efctl status
    [ "$status" -eq 1 ]
    [[ $output == *"4 of 6 configured"*"analyzer2"*"down"* ]]
    run efctl status --json
    [ "$status" -eq 1 ]
}

@test "a wrong filter is shown with a caret" {
    echo '{"error":{"code":"bad_filter","message":"unknown field tcp.prot","offset":6}}' >"$CANNED/v1_traces"
    echo 400 >"$CANNED/v1_traces.status"
    run efctl trace 'tcp &&tcp.prot == 80'
    [ "$status" -eq 1 ]
    [ "${lines[1]}" = "    tcp &&tcp.prot == 80" ]
    [ "${lines[2]}" = "          ^" ]
    [ "${lines[3]}" = "    unknown field tcp.prot" ]
}

@test "errors are one line each and name a remedy" {
    run efctl --controller http://127.0.0.1:1 status
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == "efctl: no answer from the controller: 127.0.0.1:1: connection refused"*EFCTL_CONTROLLER* ]]
    rm "$CANNED/v1_status"
    run efctl status
    [ "$status" -eq 1 ]
    [[ $output == "efctl: $URL answers with HTTP status 404; is that the controller?" ]]
    echo 'hello' >"$CANNED/v1_status"
    run efctl status
    [ "$status" -eq 1 ]
    [[ $output == "efctl: $URL does not answer with JSON"* ]]
    echo '{"error":{"code":"busy","message":"too many\u001b[2J questions"}}' >"$CANNED/v1_status"
    echo 503 >"$CANNED/v1_status.status"
    run efctl status
    [ "$output" = 'efctl: too many\x1b[2J questions' ]
    run efctl --controller nonsense status
    [ "$status" -eq 1 ]
    [[ $output == "efctl: 'nonsense' is not a URL"* ]]
}

@test "an answer that is cut short is no answer" {
    head -n 1 "$CANNED/v1_traces" >"$CANNED/cut"
    cp "$CANNED/cut" "$CANNED/v1_traces"
    run efctl trace
    [ "$status" -eq 1 ]
    [[ $output == "efctl: the controller's answer ended early"* ]]
    echo 100000 >"$CANNED/v1_traces.length"
    run efctl trace --json
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    echo 'no json' >"$CANNED/v1_traces"
    rm "$CANNED/v1_traces.length"
    run efctl trace
    [ "$status" -eq 1 ]
    [[ $output == "efctl: the controller's answer is not one trace per line"* ]]
}

@test "wrong usage exits with 2 and says what was meant" {
    local line words
    while IFS='|' read -r words line; do
        # shellcheck disable=SC2086
        run efctl $words
        echo "efctl $words: $output"
        [ "$status" -eq 2 ]
        [ "${#lines[@]}" -eq 1 ]
        [[ $output == *"$line"* ]]
    done <<'END'
|no command; see efctl --help
trcae|did you mean trace?
nonsense-word|see efctl --help
help nonsense-word|see efctl --help
status --jsn|did you mean --json?
status now|'now' is not expected here
trace --limit many|--limit
trace --limit|needs a value
trace --last 5|is not a duration
trace --last -5m|must be positive
trace --start yesterday|is not a time
trace --last 5m --start now|leave out --start and --end
trace --json --ndjson|choose one
trace --follow --json|--follow does not end
trace --id 12 --follow|goes neither with
daemon|SOCKET
daemon /run/x.ctl|COMMAND
END
}

@test "every command has a --help with its options" {
    local all
    all=$(efctl --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
    for command in $all; do
        [ "$command" != help ] || continue
        run efctl "$command" --help
        [ "$status" -eq 0 ]
        [[ $output == "usage: efctl $command "*"Examples:"* ]]
        diff <(efctl "$command" -h) <(efctl help "$command")
    done
    efctl --version | grep -q '^efctl (everflow-ovs) '
    diff <(efctl help) <(efctl --help)
}

@test "--pcapng writes a file, or nothing" {
    printf '\012\015\015\012capture' >"$CANNED/v1_traces"
    run efctl trace tcp --limit 0 --pcapng "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 0 ]
    [ "$output" = "$BATS_TEST_TMPDIR/out: 11 B" ]
    cmp "$CANNED/v1_traces" "$BATS_TEST_TMPDIR/out"
    [ "$(asked)" = "/v1/traces?filter=tcp&limit=0&format=pcapng" ]
    efctl trace --pcapng - | cmp "$CANNED/v1_traces"
    run efctl trace --pcapng /nonexistent/out
    [ "$status" -eq 1 ]
    [ "$output" = "efctl: cannot write /nonexistent/out: No such file or directory" ]
    echo 100000 >"$CANNED/v1_traces.length"
    run efctl trace --pcapng "$BATS_TEST_TMPDIR/partial"
    [ "$status" -eq 1 ]
    [ ! -e "$BATS_TEST_TMPDIR/partial" ]
    echo 503 >"$CANNED/v1_traces.status"
    run efctl trace --pcapng "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 1 ]
    [ -s "$BATS_TEST_TMPDIR/out" ]
}

@test "a reader that goes away is no error, a full disk is" {
    for _ in $(seq 2000); do head -n 1 "$CANNED/v1_traces"; done >"$CANNED/many"
    echo '{"end":true,"count":2000,"more":false}' >>"$CANNED/many"
    mv "$CANNED/many" "$CANNED/v1_traces"
    for form in --ndjson --json ''; do
        # shellcheck disable=SC2086
        { efctl trace $form 2>"$BATS_TEST_TMPDIR/err"; echo $? >"$BATS_TEST_TMPDIR/rc"; } | head -n 1 >/dev/null
        [ "$(cat "$BATS_TEST_TMPDIR/rc")" -eq 0 ]
        [ ! -s "$BATS_TEST_TMPDIR/err" ]
    done
    run bash -c "'$EF_BUILD/utilities/efctl/efctl' trace >/dev/full"
    [ "$status" -eq 1 ]
    [ "$output" = "efctl: cannot write the answer: No space left on device" ]
}

# Runs efctl on a terminal of its own; prints what the terminal got.
on_terminal() {
    TERM=xterm script -qec "'$EF_BUILD/utilities/efctl/efctl' $1" /dev/null </dev/null | tr -d '\r'
}

@test "colour on a terminal, unless NO_COLOR says no" {
    [[ $(on_terminal status) == *$'\033[32m'* ]]
    [[ $(NO_COLOR=1 on_terminal status) != *$'\033'* ]]
    [[ $(efctl status) != *$'\033'* ]]
    run on_terminal 'trace --pcapng -'
    [[ $output == *"a capture is not for a terminal"* ]]
}

n_lines_are() { [ "$(wc -l <"$2")" -ge "$1" ]; }
has_requests() { [ "$(grep -c traces "$CANNED/requests")" -ge "$1" ]; }

@test "--follow prints what is new, once, and waits for a controller that went away" {
    cp "$CANNED/v1_traces" "$BATS_TEST_TMPDIR/both"
    sed -i 1d "$CANNED/v1_traces"
    "$EF_BUILD/utilities/efctl/efctl" trace --follow --ndjson >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    wait_until 10 has_requests 2
    # What was there at the start is not shown.
    [ ! -s "$BATS_TEST_TMPDIR/out" ]
    echo 503 >"$CANNED/v1_traces.status"
    wait_until 10 test -s "$BATS_TEST_TMPDIR/err"
    cp "$BATS_TEST_TMPDIR/both" "$CANNED/v1_traces"
    rm "$CANNED/v1_traces.status"
    wait_until 10 n_lines_are 1 "$BATS_TEST_TMPDIR/out"
    n=$(grep -c traces "$CANNED/requests")
    wait_until 10 has_requests $((n + 2))
    kill $pid
    wait $pid || :
    [ "$(jq -r .id "$BATS_TEST_TMPDIR/out")" = 3f2a9c01d4e5b677 ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/err")" -eq 1 ]
}

@test "--follow with a time begins with what is there; ends with its reader" {
    efctl trace --follow --start -1h 3>&- | head -n 12 >"$BATS_TEST_TMPDIR/out"
    diff "$GOLDEN/trace.txt" "$BATS_TEST_TMPDIR/out"
}

# A control socket that answers with $1 to every line.
control_socket() {
    # shellcheck disable=SC2016
    printf '#!/bin/bash\nread -r line\nprintf %q "$line"\n' "$1" >"$BATS_TEST_TMPDIR/answer"
    chmod +x "$BATS_TEST_TMPDIR/answer"
    socat "UNIX-LISTEN:$BATS_TEST_TMPDIR/x.ctl,fork" "EXEC:$BATS_TEST_TMPDIR/answer" 3>&- &
    control_pid=$!
    wait_until 10 test -S "$BATS_TEST_TMPDIR/x.ctl"
}

@test "daemon talks to a control socket" {
    control_socket 'you said %s\n\033[2J\n'
    run efctl daemon "$BATS_TEST_TMPDIR/x.ctl" log-level debug
    kill $control_pid
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "you said log-level debug" ]
    [ "${lines[1]}" = '\x1b[2J' ]
}

@test "daemon fails if the daemon refuses, or is not there" {
    control_socket 'error: unknown command %s\n'
    run efctl daemon "$BATS_TEST_TMPDIR/x.ctl" nonsense
    kill $control_pid
    [ "$status" -eq 1 ]
    [ "$output" = "efctl: unknown command nonsense" ]
    run efctl daemon "$BATS_TEST_TMPDIR/none.ctl" help
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == *"No such file or directory; does the daemon run"* ]]
}

@test "bash completes commands, options and files" {
    # shellcheck disable=SC1091
    . "$EF_SOURCE/utilities/efctl/efctl.bash-completion"
    complete_words() { # WORD...: the candidates for the last one
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _efctl
        printf '%s\n' "${COMPREPLY[@]}" | sort
    }
    [ "$(complete_words efctl t | xargs)" = "token topology trace" ]
    [ "$(complete_words efctl --controller "$URL" switche)" = switches ]
    [ "$(complete_words efctl trace --no)" = "" ]
    [ "$(complete_words efctl config "")" = check ]
    touch "$BATS_TEST_TMPDIR/capture.pcapng"
    [ "$(complete_words efctl trace --pcapng "$BATS_TEST_TMPDIR/cap")" = "$BATS_TEST_TMPDIR/capture.pcapng" ]
    # Every option of --help is there, and no other.
    local all
    all=$(efctl --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
    diff <(complete_words efctl "") <(echo "$all")
    for command in $all; do
        [ "$command" != help ] || continue
        diff <(efctl "$command" --help | grep -o -- '--[a-z][a-z-]*' | sort -u) \
            <(complete_words efctl "$command" --) || false
    done
}

# The real analyzer and controller. The analyzer reads a capture of what a real
# switch copied; the controller knows a second analyzer that is not there.
start_suite() {
    for program in controller/ef-controller analyzer/ef-analyzer; do
        [ -x "$EF_BUILD/$program" ] || skip "$program is not built"
    done
    suite=$BATS_TEST_TMPDIR/suite
    mkdir "$suite"
    jq '.switches |= [.[] | select(.name == "leaf1") | .ovsdb = "unix:/nonexistent/db.sock"]' \
        "$GOLDEN/topology.json" >"$suite/topology.json"
    jq -n --arg d "$suite" '{listen: "unix:\($d)/controller.sock", topology: "topology.json",
        analyzers: [{name: "analyzer1", url: "unix:\($d)/analyzer1.sock"}, {name: "analyzer2", url: "unix:\($d)/none.sock"}],
        reshufflers: [], everflow: {targets: ["10.255.255.1"], encap: "erspan3", classes: ["tcp_syn"],
        debug_dscp: 1, sample_bits: 0, sample_value: 1, truncate: 0}}' >"$suite/config.json"
    "$EF_BUILD/analyzer/ef-analyzer" --name analyzer1 --source "pcap:$EF_SOURCE/test/vectors/ovs/erspan3.pcap" \
        --memory 32M --http "unix:$suite/analyzer1.sock" --detach --pidfile "$suite/analyzer1.pid" --log-file "$suite/log" 3>&-
    "$EF_BUILD/controller/ef-controller" --config "$suite/config.json" --detach \
        --pidfile "$suite/controller.pid" --control "$suite/ctl" --log-file "$suite/log" 3>&-
    export EFCTL_CONTROLLER=unix:$suite/controller.sock
    wait_until 10 stored 4
}

has_no_controller() { ! curl -s --unix-socket "$suite/controller.sock" http://controller/v1/status >/dev/null; }

stored() { [ "$(efctl status --json | jq '[.analyzers[].traces_stored // 0] | add')" = "$1" ]; }

teardown() {
    local file
    for file in "$BATS_TEST_TMPDIR"/suite/*.pid; do
        [ ! -s "$file" ] || kill "$(cat "$file")"
    done
}

@test "the real daemons understand efctl, and efctl them" {
    start_suite
    run efctl trace tcp.flags.syn == 1 --condition 'trace.hops == 1'
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "2026-"*" 10.0.0.1:"*" > 10.0.0.2:80 TCP [S] "* ]]
    [[ ${lines[1]} == "1 hop, id "* ]]
    [ "${lines[2]}" = "  1  leaf1 (10.255.0.1)  port 1 from spine1  ttl 64  0 us" ]
    [[ ${lines[6]} == "Incomplete: analyzer2 did not answer: "* ]]
    [ "${#lines[@]}" -eq 7 ]
    id=$(efctl trace --ndjson | head -n 1 | jq -r .id)
    [[ $(efctl trace --id "${id:0:8}") == *"id $id"*"sequence 0"* ]]
    [[ $(efctl trace udp) == "No trace matches."*"Only 0 of 1 switches are configured"* ]]
    run efctl trace tcp.srcprt == 80
    [ "$status" -eq 1 ]
    [ "${lines[1]}" = "    tcp.srcprt == 80" ]
    [ "${lines[2]}" = "    ^" ]
    run efctl trace --condition 'trace.hops > 1 &&'
    [ "${lines[1]}" = "    trace.hops > 1 &&" ]
    [ "${lines[2]}" = "                     ^" ]
    run efctl status
    [ "$status" -eq 1 ]
    [[ $output == *"0 of 1 configured"*"1 of 2 up"* ]]
    [[ $(efctl switches) == *"leaf1 "*unreachable* ]]
    [[ $(efctl topology) == "demo: 1 switch, 10 hosts"* ]]
    [[ $(efctl daemon "$suite/ctl" version) == everflow-ovs* ]]
    [ "$(efctl trace --pcapng - | tshark -r - -Y 'tcp.flags.syn == 1' 2>/dev/null | wc -l)" = 2 ]
}

@test "efctl store: what is kept, a line per trace, and files of them" {
    start_suite
    run efctl store status
    [ "$status" -eq 1 ] # analyzer2 is not there.
    [[ $output == *"IN MEMORY"*"INDEX"*"switches "*"No analyzer has an archive"*"analyzer2: "* ]]
    efctl store status --json | jq -e '.analyzers[0].indexes | length > 0'
    run efctl store query tcp.flags.syn == 1
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == START*VERDICT*PACKET ]]
    [[ ${lines[1]} == "2026-"*" 10.0.0.1:"*" > 10.0.0.2:80 TCP [S] "* ]]
    [ "$(efctl store query --limit 1 | grep -c '^2026-')" = 1 ]
    [ "$(efctl store query --ndjson | tail -n 1 | jq .end)" = true ]
    n=$(efctl store query --json --limit 0 | jq '.traces | length')
    # analyzer2 is not there: what there is is written, and that it is not all is an error.
    for name in all.ndjson all.pcapng all.parquet; do
        run --separate-stderr efctl store export "$BATS_TEST_TMPDIR/$name"
        [ "$status" -eq 1 ]
        # shellcheck disable=SC2154 # bats sets it.
        echo "$name: $stderr"
        [[ $stderr == "efctl: incomplete: analyzer2: "* ]]
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done
    [[ $output == *"all.parquet: $n traces, "* ]]
    [ "$(head -c 4 "$BATS_TEST_TMPDIR/all.parquet")$(tail -c 4 "$BATS_TEST_TMPDIR/all.parquet")" = PAR1PAR1 ]
    [ ! -e "$BATS_TEST_TMPDIR/all.parquet.part" ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/all.ndjson")" = $((n + 1)) ]
    efctl store export - --format ndjson 'tcp.flags.syn == 1' 2>/dev/null | jq -es '.[-1].end and length > 1'
    run efctl store export "$BATS_TEST_TMPDIR/syn.pcapng" tcp.flags.syn == 1
    [ "$(tshark -r "$BATS_TEST_TMPDIR/syn.pcapng" 2>/dev/null | wc -l)" = 2 ]
    run efctl store export "$BATS_TEST_TMPDIR/x.parquet" tcp.srcprt == 1
    [ "$status" -eq 1 ]
    [ ! -e "$BATS_TEST_TMPDIR/x.parquet" ]
    # With all there, it is a success.
    jq 'del(.analyzers[1])' "$suite/config.json" >"$suite/one.json"
    kill "$(cat "$suite/controller.pid")"
    wait_until 10 has_no_controller
    "$EF_BUILD/controller/ef-controller" --config "$suite/one.json" --detach --pidfile "$suite/controller.pid" \
        --control "$suite/ctl" --log-file "$suite/log" 3>&-
    wait_until 10 stored 4
    for name in all.ndjson all.pcapng all.parquet; do
        efctl store export "$BATS_TEST_TMPDIR/$name"
    done
    for wrong in "" "nonsense" "status now" "export" "export x.txt" "query --format ndjson" "export x.ndjson --json" \
        "query --json --ndjson" "export x --format xml" "export - --format parquet"; do
        # shellcheck disable=SC2086
        run efctl store $wrong
        [ "$status" -eq 2 ]
    done
    [ ! -e x.ndjson ]
}

# answer_fits SCHEMA SOCKET PATH: what a daemon answers is as doc/openapi.json says.
answer_fits() {
    curl -s --unix-socket "$2" "http://daemon$3" | fits "$1" || { echo "$3"; return 1; }
}

@test "what the daemons answer is as doc/openapi.json says" {
    start_suite
    controller=$suite/controller.sock analyzer=$suite/analyzer1.sock
    answer_fits Traces "$controller" "/v1/traces"
    answer_fits Traces "$analyzer" "/v1/traces?limit=1"
    answer_fits Topology "$controller" "/v1/topology"
    answer_fits Switches "$controller" "/v1/switches"
    answer_fits ControllerStatus "$controller" "/v1/status"
    answer_fits AnalyzerStatus "$analyzer" "/v1/status"
    for socket in "$controller" "$analyzer"; do
        for wrong in "/v1/nothing" "/v1/traces?filter=x" "/v1/traces?condition=1" "/v1/traces?limit=-1" \
            "/v1/traces?start=soon" "/v1/traces?format=xml" "/v1/traces?nonsense=1"; do
            answer_fits Error "$socket" "$wrong"
        done
    done
    # And the check itself finds what does not fit.
    run answer_fits Switches "$controller" "/v1/topology"
    [ "$status" -ne 0 ]
    # The last line of NDJSON.
    curl -s --unix-socket "$controller" 'http://daemon/v1/traces?format=ndjson' | tail -n 1 |
        fits TracesEnd
}
