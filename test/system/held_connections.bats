#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Thousands of connections that are only held, of all kinds, from many addresses
# and from the operator's own: the controller answers all the same, and neither its
# memory nor its files grow without bound. How fast it answers is measured by
# `make bench BENCH=api`.

bats_require_minimum_version 1.5.0

load common.bash

HELD=10000
ASKED=5
ADDRESSES=(127.0.0.1 127.0.0.{2..21})

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    local pki=$BATS_FILE_TMPDIR/pki
    efctl pki init "$pki"
    efctl pki sign "$pki" controller 127.0.0.1
    efctl pki sign "$pki" alice
    echo '{"name": "held", "switches": [], "hosts": []}' >topology.json
    jq -n '{listen: "127.0.0.1:0", topology: "topology.json", analyzers: [],
            everflow: {targets: ["10.255.255.1"], classes: ["tcp_syn"]}}' >plain.json
    jq '.tls = {cert: "pki/controller.crt", key: "pki/controller.key", ca: "pki/ca.crt"}' plain.json >tls.json
    start plain
    start tls
}

teardown_file() {
    local file
    for file in "$BATS_FILE_TMPDIR"/*.pid; do
        [ ! -f "$file" ] || kill "$(cat "$file")" 2>/dev/null || :
    done
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return
    [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge $((HELD + 1000)) ] ||
        skip "no $HELD open files are allowed here (ulimit -Hn)"
}

teardown() {
    [ ! -f holder.pid ] || kill "$(cat holder.pid)" 2>/dev/null || :
    rm -f holder.pid
}

start() { # NAME
    "$EF_BUILD/controller/ef-controller" --config "$1.json" --detach --pidfile "$PWD/$1.pid" --log-file "$PWD/$1.log" \
        3>&- 4>&-
}

address() { # NAME
    ss -Hltnp | sed -n "s/^LISTEN .* \(127\.0\.0\.1:[0-9]*\) .*pid=$(cat "$1.pid"),.*/\1/p" | head -n 1
}

# ask NAME PATH CURL-ARGUMENT...
ask() {
    local name=$1 path=$2 url
    shift 2
    url=http://$(address "$name")
    [ "$name" = plain ] || set -- --cacert pki/ca.crt --cert pki/alice.crt --key pki/alice.key "$@"
    [ "$name" = plain ] || url=https://$(address "$name")
    curl -sSf --max-time 60 "$@" "$url$path"
}

memory_kib() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(cat "$1.pid")/status"; }

n_files() { find "/proc/$(cat "$1.pid")/fd" -type l | wc -l; }

has_few_files() { [ "$(n_files "$1")" -lt 100 ]; }

# Many connections are held: the server answers who is on an address of them, and who is not.
stand_firm() { # NAME KIND,...
    local line before from to pid
    before=$(memory_kib "$1")
    coproc HOLDER { exec "$EF_SOURCE/test/system/held_connections.py" "$(address "$1")" "$HELD" "$2" "${ADDRESSES[@]}" \
        3>&-; }
    from=${HOLDER[0]} to=${HOLDER[1]} pid=$HOLDER_PID
    echo "$pid" >holder.pid
    read -rt 300 line <&"$from"
    [ "$line" = held ]
    for ((i = 0; i < ASKED; i++)); do
        ask "$1" /v1/status | jq -e '.role == "controller"'
        ask "$1" /v1/status --interface 127.0.0.99 | jq -e '.role == "controller"'
    done
    echo "memory: $before KiB before, $(memory_kib "$1") KiB at most; $(n_files "$1") files"
    [ "$(n_files "$1")" -lt 1200 ]
    [ "$(memory_kib "$1")" -lt $((before + 120000)) ]
    # To make room for others; on a slow machine many had their time before that.
    ask "$1" /metrics | awk -v held="$HELD" '/^everflow_http_connections_closed_total/ { n += $2 } END { exit n < held / 10 }'
    kill -0 "$pid" # It holds them still.
    exec {to}>&- {from}<&-
    wait_until 120 has_few_files "$1"
    ask "$1" /v1/status | jq -e '.role == "controller"'
}

@test "10,000 connections that are only held keep nobody from being answered" {
    stand_firm plain silent,half,trickle,hello,unread
}

@test "nor do those over TLS" {
    HELD=2000
    stand_firm tls silent,hello,drops
}

@test "who sends a byte now and then has no longer for a request than others" {
    run -0 "$EF_SOURCE/test/system/held_connections.py" "$(address plain)" trickle
    [ "$output" = closed ]
    ask plain /metrics | grep -q '^everflow_http_connections_closed_total{reason="too_slow"} [1-9]'
}
