#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ef-analyzer --archive: answers over restarts, kill -9 at any instant, a full disk.
# EF_KILL_ROUNDS says how often it is killed; 8 unless told.
#
# Each test is a subshell; it, its setup and its teardown share their variables:
# shellcheck disable=SC2030,SC2031

bats_require_minimum_version 1.5.0
load common

PORT=18841
URL=http://127.0.0.1:$PORT
PACKETS=3000

setup_file() {
    "$EF_SOURCE/test/system/make_copies.py" --packets $PACKETS "$BATS_FILE_TMPDIR/copies.pcap"
}

setup() {
    DIR=$BATS_TEST_TMPDIR/archive
    mkdir "$DIR"
}

teardown() {
    stop KILL
    ! mountpoint -q "$DIR" || umount "$DIR"
}

start() { # [OPTION]...
    "$EF_BUILD/analyzer/ef-analyzer" --name kept --source "pcap:$BATS_FILE_TMPDIR/copies.pcap" --idle 300ms \
        --archive "$DIR" --http 127.0.0.1:$PORT "$@" >>"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/pid"
    wait_until 20 answers || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
}

stop() { # SIGNAL
    local pid
    [ -e "$BATS_TEST_TMPDIR/pid" ] || return 0
    pid=$(cat "$BATS_TEST_TMPDIR/pid")
    rm "$BATS_TEST_TMPDIR/pid"
    disown "$pid" 2>/dev/null || :
    kill -"$1" "$pid" 2>/dev/null || :
    wait_until 20 has_ended "$pid"
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }

answers() { curl -sf "$URL/v1/status" >/dev/null; }

status() { curl -sf "$URL/v1/status" | jq -r "$1"; }

status_is() { [ "$(status "$1")" = true ]; }

count() { curl -sf "$URL/v1/traces?limit=0&format=ndjson" | tail -n 1 | jq "${1:-.count}"; }

@test "answers have what earlier runs archived" {
    start
    wait_until 20 status_is ".archive.traces_taken == $PACKETS"
    [ "$(count)" = $PACKETS ]
    # Within a second all is on the disk; nothing is sealed yet.
    wait_until 20 status_is ".tails == {read: $PACKETS, taken: $PACKETS, written: $PACKETS, synced: $PACKETS, sealed: 0}"
    curl -sf "$URL/metrics" | grep -qx "everflow_archive_tail_total{stage=\"synced\"} $PACKETS"
    curl -sfG "$URL/v1/traces" --data-urlencode 'filter=ip.src == 10.0.1.44' -d explain=1 |
        jq -e '.explain.archive | .segments >= 0 and .traces >= .traces_read'
    stop TERM
    [ -n "$(compgen -G "$DIR/*.parquet")" ]
    [ -z "$(compgen -G "$DIR/spool-*")" ]
    start
    wait_until 20 status_is ".archive.traces_taken == $PACKETS"
    # The capture was played twice, so each trace was there twice.
    [ "$(count)" = $((2 * PACKETS)) ]
    curl -sf "$URL/v1/traces?limit=0" | jq -e '[.traces[].start] | . == sort'
    curl -sfG "$URL/v1/traces" --data-urlencode 'filter=ip.src == 10.0.1.44' | jq -e '.count == 2 and .traces[0] == .traces[1]'
    curl -sf "$URL/v1/traces?limit=7" | jq -e '.count == 7 and .more'
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$URL/v1/traces?limit=99999999")" = 400 ]
}

@test "kill -9 at any instant: what was archived is there, and it starts again" {
    promised=0
    for ((round = 0; round < ${EF_KILL_ROUNDS:-8}; round++)); do
        start
        # Between the first trace and long after the last.
        read -rt "0.$((RANDOM % 700 + 200))" <> <(:) || :
        taken=$(status .archive.traces_taken)
        promised=$((promised + taken))
        stop KILL
    done
    [ "$promised" -gt 0 ]
    start
    wait_until 20 status_is ".archive.traces_taken == $PACKETS"
    [ "$(count)" -ge $((promised + PACKETS)) ]
    [ "$(count .incomplete)" = null ]
    # No trace is another than it was.
    curl -sf "$URL/v1/traces?limit=0" | jq -e '[.traces[] | del(.end)] | group_by(.id) | all(.[]; (unique | length) == 1)'
    wait_until 20 status_is '.archive.unsealed <= 1 and .archive.broken_files == 0 and .archive.alarm == null'
}

@test "a full disk is an alarm, counted, and hinders nothing else" {
    mount -t tmpfs -o size=4m tmpfs "$DIR" || skip "cannot mount a tmpfs here"
    head -c 3972K /dev/zero >"$DIR/filler"
    start
    wait_until 20 status_is ".traces_closed == $PACKETS and .archive.traces_taken == $PACKETS"
    status_is '.archive.alarm == "No space left on device" and .archive.traces_dropped > 0'
    curl -sf "$URL/metrics" >"$BATS_TEST_TMPDIR/metrics"
    grep -qx 'everflow_archive_alarm 1' "$BATS_TEST_TMPDIR/metrics"
    grep -qx "everflow_archive_lost_total{reason=\"disk\"} $(status .archive.traces_dropped)" "$BATS_TEST_TMPDIR/metrics"
    [ "$(count)" = $PACKETS ]
    kept=$(status '.archive.traces_taken - .archive.traces_dropped')
    stop KILL
    rm "$DIR/filler"
    start
    wait_until 20 status_is ".archive.traces_taken == $PACKETS and .archive.alarm == null"
    [ "$(count)" = $((kept + PACKETS)) ]
}

@test "a directory that cannot be used is refused" {
    refused() { # TEXT OPTION...
        run -1 timeout 60 "$EF_BUILD/analyzer/ef-analyzer" --name x --source "pcap:$BATS_FILE_TMPDIR/copies.pcap" "${@:2}"
        [[ $output == *"$1"* ]]
    }
    refused "No such file" --archive "$DIR/none"
    start
    refused "another process" --archive "$DIR"
}
