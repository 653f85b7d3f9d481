#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A program that cannot do what it was asked says so in one clear line, ends
# with a status other than zero, and leaves nothing half-started.

load common

# Whatever should have been refused and was not.
teardown() {
    [ -z "${busy-}" ] || kill "$busy" 2>/dev/null || :
    demo_kill "$BATS_TEST_TMPDIR/pid" KILL
}

# refused STATUS TEXT PROGRAM ARGUMENT...: one line on stderr that has TEXT.
refused() {
    local status=$1 text=$2 program=$3 rc=0
    shift 3
    timeout 20 "$EF_BUILD/$program" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null 3>&- || rc=$?
    echo "${program##*/} $*: status $rc: $(cat "$BATS_TEST_TMPDIR/err")"
    [ "$rc" = "$status" ]
    [ ! -s "$BATS_TEST_TMPDIR/out" ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/err")" = 1 ]
    grep -q "^${program##*/}: " "$BATS_TEST_TMPDIR/err"
    grep -qF -- "$text" "$BATS_TEST_TMPDIR/err"
}

A=analyzer/ef-analyzer R=reshuffler/ef-reshuffler C=controller/ef-controller
E=utilities/efctl/efctl F=utilities/fabric/ef-fabric

@test "a wrong option is named, with what was meant" {
    for program in $A $R $C $E $F; do
        refused 2 "unknown option --hepl; did you mean --help?" "$program" --hepl
    done
    refused 2 "did you mean --source?" $A --sorce afpacket:lo
    refused 2 "did you mean trace?" $E trcae
    refused 2 "--memory" $A --name a --source afpacket:lo --memory 1K
    refused 2 "not an IPv4 or IPv6 address" $R --vip 10.0.0.999 --source afpacket:lo --sink ip --analyzer a=10.0.0.1
    refused 2 "twice" $R --vip 10.0.0.9 --source afpacket:lo --sink ip --analyzer a=10.0.0.1 --analyzer a=10.0.0.2
}

@test "what is required is said" {
    refused 2 "--name is required" $A
    refused 2 "--vip is required" $R
    refused 2 "--config" $C
    refused 2 "no command" $E
    refused 2 "say what to do" $F
}

@test "an interface, namespace or file that is not there is named" {
    refused 1 "no interface 'nope0'" $A --name a --source afpacket:nope0
    refused 1 "no network namespace 'nope'" $A --name a --source afpacket:lo@nope
    refused 1 "/nonexistent/x.pcap" $A --name a --source pcap:/nonexistent/x.pcap
    refused 1 "no interface 'nope0'" $R --vip 10.0.0.9 --source afpacket:nope0 --sink ip --analyzer a=10.0.0.1
    refused 1 "/nonexistent" $C --config /nonexistent
    refused 1 "there is no fabric 'nope'" $F --name nope status
    refused 2 "known: afpacket:IFACE" $A --name a --source zigbee:0
}

@test "a port in use is named, and the process that was to go to the background is gone" {
    python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 18799))
print("ready", flush=True)
time.sleep(60)' >"$BATS_TEST_TMPDIR/busy" 3>&- &
    busy=$!
    wait_until 10 grep -q ready "$BATS_TEST_TMPDIR/busy"
    refused 1 18799 $A --name a --source afpacket:lo --http 127.0.0.1:18799 --detach --pidfile "$BATS_TEST_TMPDIR/pid" --control "$BATS_TEST_TMPDIR/ctl"
    refused 1 18799 $R --vip 10.0.0.9 --source afpacket:lo --sink ip --analyzer a=10.0.0.1 --http 127.0.0.1:18799 --detach --pidfile "$BATS_TEST_TMPDIR/pid" --control "$BATS_TEST_TMPDIR/ctl"
    [ ! -e "$BATS_TEST_TMPDIR/pid" ]
    [ ! -e "$BATS_TEST_TMPDIR/ctl" ]
}

@test "plain HTTP beyond loopback is refused" {
    refused 1 "only served on loopback" $A --name a --source afpacket:lo --http 0.0.0.0:18799
}

@test "an unreachable controller, daemon or port is said with what to do" {
    refused 1 "is ef-controller running?" $E --controller http://127.0.0.1:1 status
    refused 1 "does the daemon run" $E daemon /nonexistent status
}

# The programs may lie where nobody else may look, so they are copied.
@test "without root, what needs it says so" {
    cp "$EF_BUILD/$A" "$EF_BUILD/$R" "$EF_BUILD/$F" "$BATS_TEST_TMPDIR"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_RUN_TMPDIR"
    for words in "ef-analyzer --name a --source afpacket:lo" \
        "ef-reshuffler --vip 10.0.0.9 --source afpacket:lo --sink ip --analyzer a=10.0.0.1" "ef-fabric --name nope up"; do
        # shellcheck disable=SC2086
        run setpriv --reuid=65534 --regid=65534 --clear-groups timeout 20 "$BATS_TEST_TMPDIR/"$words
        echo "$output"
        [ "$status" = 1 ]
        [ "${#lines[@]}" = 1 ]
        grep -qi root <<<"$output"
    done
}
